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

void itl_free(struct itl *itl);
void itl_ua_locked(struct itl *itl, uint16_t asc_ascq); /* under lu->lock */

#endif
