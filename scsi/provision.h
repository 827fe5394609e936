/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Soft thresholds of a thin LU (SBC-3 4.7.3.7): what its store has allocated, what is left where
 * the store takes its space from, and who is told when a limit of either is reached.
 *
 * Threads: lu_space_report on the control reactor; the values are atomics that any reactor reads.
 * Ownership: the LU's.
 */
#ifndef HAWSER_SCSI_PROVISION_H
#define HAWSER_SCSI_PROVISION_H

#include "scsi/lu.h"

#define SPACE_UNKNOWN UINT64_MAX

/* All in bytes. */
struct space_report {
	uint64_t used, available;                     /* or SPACE_UNKNOWN */
	uint64_t used_threshold, available_threshold; /* 0: none */
};

/* Thresholds that have been crossed since the last report, or-ed. */
enum space_crossing { SPACE_USED = 1, SPACE_AVAILABLE = 2 };

/* Takes a look of the store's over: a threshold that is reached is told once to every nexus
 * (38h/07h, unless LBPERE is zero), and again after there has been some more room than it wants. */
unsigned lu_space_report(struct scsi_lu *lu, const struct space_report *r);

/* Space is counted in threshold sets of 1 MiB, 2^exponent logical blocks (VPD B2h). */
uint8_t provision_exponent(const struct lu_geometry *geo);
uint32_t provision_sets(uint64_t bytes);

/* The two threshold descriptors of mode page 1Ch/02h (SBC-3 6.5.7): available, used. */
#define PROVISION_DESCRIPTORS 16u /* bytes */
void provision_descriptors(const struct lu_geometry *geo, uint8_t *out);

#endif
