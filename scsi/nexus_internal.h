/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What nexus.c lends to the executor.
 *
 * Threads: the reactor of the nexus. Ownership: the itl is freed; it has no task any more.
 */
#ifndef HAWSER_SCSI_NEXUS_INTERNAL_H
#define HAWSER_SCSI_NEXUS_INTERNAL_H

struct itl;

void itl_free(struct itl *itl);

#endif
