/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Vital product data pages (SPC-4 7.8, SBC-3 6.6): a table, one builder for each page.
 *
 * Threads: pure functions. Ownership: none.
 */
#ifndef HAWSER_SCSI_VPD_H
#define HAWSER_SCSI_VPD_H

#include "scsi/opcodes.h"

/* Peripheral qualifier 011b and device type 1Fh: no LU can be here (SPC-4 6.6.2). */
#define VPD_NO_LU 0x7f

/* Byte 0 of all INQUIRY data. */
uint8_t vpd_peripheral(const struct scsi_request *rq);

/* Writes the page, header included; returns its length, at most VPD_MAX, or 0 if this LU has no
 * such page. */
#define VPD_MAX 16384
size_t vpd_page(const struct scsi_request *rq, uint8_t page, uint8_t *out);

/* What follows the header of page 8Fh (vpd_copy.c); its length. */
size_t vpd_third_party_copy(const struct scsi_request *rq, uint8_t *out);

/* The designator of the SCSI device that a nexus is logged in to, a name string; its length, 256
 * bytes at most. */
size_t vpd_put_device_name(const struct it_nexus *nexus, uint8_t *out);

#endif
