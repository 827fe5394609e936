/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sense data as a value: built by named constructors, passed by value, encoded once when the
 * status goes out (fixed or descriptor format, as D_SENSE of the Control mode page says).
 *
 * Threads: pure functions.
 */
#ifndef HAWSER_SCSI_SENSE_H
#define HAWSER_SCSI_SENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scsi_sense_key {
	SENSE_NO_SENSE = 0x0,
	SENSE_RECOVERED_ERROR = 0x1,
	SENSE_NOT_READY = 0x2,
	SENSE_MEDIUM_ERROR = 0x3,
	SENSE_HARDWARE_ERROR = 0x4,
	SENSE_ILLEGAL_REQUEST = 0x5,
	SENSE_UNIT_ATTENTION = 0x6,
	SENSE_DATA_PROTECT = 0x7,
	SENSE_COPY_ABORTED = 0xa,
	SENSE_ABORTED_COMMAND = 0xb,
	SENSE_MISCOMPARE = 0xe,
};

struct scsi_sense {
	uint8_t key;       /* enum scsi_sense_key */
	uint16_t asc_ascq; /* ASC << 8 | ASCQ */
	bool info_valid;   /* INFORMATION field */
	uint64_t info;
	bool field_valid;  /* field pointer (sense key specific) */
	bool field_in_cdb; /* C/D: in the CDB, else in the parameter data */
	bool bit_valid;
	uint8_t bit;
	uint16_t field;      /* byte offset */
	bool progress_valid; /* sense key specific progress indication */
	uint16_t progress;
};

#define SENSE_MAX 96 /* longest encoding */

struct scsi_sense sense_make(enum scsi_sense_key key, uint16_t asc_ascq);
struct scsi_sense sense_invalid_opcode(void);         /* 5/20/00 */
struct scsi_sense sense_invalid_field(uint16_t byte); /* 5/24/00 in the CDB */
struct scsi_sense sense_invalid_field_bit(uint16_t byte, uint8_t bit);
struct scsi_sense sense_invalid_parameter(uint16_t byte); /* 5/26/00 in the list */
struct scsi_sense sense_parameter_list_length(void);      /* 5/1A/00 */
struct scsi_sense sense_lba_out_of_range(void);           /* 5/21/00 */
struct scsi_sense sense_lun_not_supported(void);          /* 5/25/00 */
struct scsi_sense sense_write_protected(void);            /* 7/27/00 */
struct scsi_sense sense_medium_not_present(void);         /* 2/3A/00 */
struct scsi_sense sense_miscompare(uint64_t offset);      /* E/1D/00 */
struct scsi_sense sense_unit_attention(uint16_t asc_ascq);
struct scsi_sense sense_not_ready(int why); /* enum lu_not_ready */
struct scsi_sense sense_invalid_parameter_bit(uint16_t byte, uint8_t bit);

/* The one exchange from errno: write says whether the failed I/O changed the medium. ENOSPC,
 * EDQUOT -> 7/27/07; EIO -> 3/11/00 or 3/0C/00; ENODEV, ENXIO -> 4/3E/01; ENOMEM -> B/55/03 ... */
struct scsi_sense sense_from_errno(int negative_errno, bool write);

/* Encodes; returns the length (18 or 8 and more). */
size_t sense_encode(const struct scsi_sense *s, bool descriptor, uint8_t out[static SENSE_MAX]);

#endif
