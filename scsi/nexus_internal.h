/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What nexus.c and ua.c lend to other files.
 *
 * Threads: the reactor of the nexus, but for itl_ua_locked. Ownership: itl_free frees the itl,
 * which has no task any more.
 */
#ifndef HAWSER_SCSI_NEXUS_INTERNAL_H
#define HAWSER_SCSI_NEXUS_INTERNAL_H

#include <stdint.h>

struct itl;
struct scsi_lu;

void itl_free(struct itl *itl);
void itl_ua_locked(struct itl *itl, uint16_t asc_ascq); /* under lu->lock */
/* A gate bit of all nexuses of a LU; under lu->lock. */
void lu_gates_set(struct scsi_lu *lu, uint32_t bit);
void lu_gates_clear(struct scsi_lu *lu, uint32_t bit);

#endif
