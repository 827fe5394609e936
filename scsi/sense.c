/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sense data: constructors, the one exchange from errno, and both encodings (SPC-4 4.5).
 *
 * Threads: pure functions. Ownership: values only.
 */
#include "scsi/sense.h"

#include "daemon/base/bytes.h"
#include "scsi/lu.h"

#include <errno.h>
#include <string.h>

struct scsi_sense sense_make(enum scsi_sense_key key, uint16_t asc_ascq)
{
	return (struct scsi_sense){ .key = (uint8_t)key, .asc_ascq = asc_ascq };
}

struct scsi_sense sense_invalid_opcode(void)
{
	return sense_make(SENSE_ILLEGAL_REQUEST, 0x2000);
}

struct scsi_sense sense_invalid_field(uint16_t byte)
{
	return (struct scsi_sense){ .key = SENSE_ILLEGAL_REQUEST,
				    .asc_ascq = 0x2400,
				    .field_valid = true,
				    .field_in_cdb = true,
				    .field = byte };
}

struct scsi_sense sense_invalid_field_bit(uint16_t byte, uint8_t bit)
{
	struct scsi_sense s = sense_invalid_field(byte);

	s.bit_valid = true;
	s.bit = bit;
	return s;
}

struct scsi_sense sense_invalid_parameter(uint16_t byte)
{
	return (struct scsi_sense){
		.key = SENSE_ILLEGAL_REQUEST, .asc_ascq = 0x2600, .field_valid = true, .field = byte
	};
}

struct scsi_sense sense_invalid_parameter_bit(uint16_t byte, uint8_t bit)
{
	struct scsi_sense s = sense_invalid_parameter(byte);

	s.bit_valid = true;
	s.bit = bit;
	return s;
}

struct scsi_sense sense_parameter_list_length(void)
{
	return sense_make(SENSE_ILLEGAL_REQUEST, 0x1a00);
}

struct scsi_sense sense_lba_out_of_range(void)
{
	return sense_make(SENSE_ILLEGAL_REQUEST, 0x2100);
}

struct scsi_sense sense_lun_not_supported(void)
{
	return sense_make(SENSE_ILLEGAL_REQUEST, 0x2500);
}

struct scsi_sense sense_write_protected(void)
{
	return sense_make(SENSE_DATA_PROTECT, 0x2700);
}

struct scsi_sense sense_medium_not_present(void)
{
	return sense_make(SENSE_NOT_READY, 0x3a00);
}

struct scsi_sense sense_miscompare(uint64_t offset)
{
	return (struct scsi_sense){
		.key = SENSE_MISCOMPARE, .asc_ascq = 0x1d00, .info_valid = true, .info = offset
	};
}

struct scsi_sense sense_unit_attention(uint16_t asc_ascq)
{
	return sense_make(SENSE_UNIT_ATTENTION, asc_ascq);
}

struct scsi_sense sense_not_ready(int why)
{
	switch ((enum lu_not_ready)why) {
	case LU_READY:
		return sense_make(SENSE_NO_SENSE, 0x0000);
	case LU_NO_STORE: /* manual intervention required: only the administrator can help */
		return sense_make(SENSE_NOT_READY, 0x0403);
	case LU_STOPPED: /* initializing command required: START STOP UNIT with START=1 */
		return sense_make(SENSE_NOT_READY, 0x0402);
	case LU_EJECTED:
		return sense_medium_not_present();
	case LU_FORMATTING:
		return sense_make(SENSE_NOT_READY, 0x0404);
	case LU_SANITIZING:
		return sense_make(SENSE_NOT_READY, 0x041b);
	case LU_FORMAT_FAILED:
		return sense_make(SENSE_MEDIUM_ERROR, 0x3101);
	case LU_SANITIZE_FAILED:
		return sense_make(SENSE_MEDIUM_ERROR, 0x3103);
	}
	return sense_make(SENSE_NOT_READY, 0x0400);
}

/* Zero in the read or write column: the row of EIO stands for it. */
static const struct {
	int error;
	uint8_t read_key, write_key;
	uint16_t read, write;
} errors[] = {
	/* clang-format off */
	{ EIO,       SENSE_MEDIUM_ERROR,    SENSE_MEDIUM_ERROR,    0x1100, 0x0c00 },
	{ ENODATA,   SENSE_MEDIUM_ERROR,    SENSE_MEDIUM_ERROR,    0x1100, 0x0c00 },
	{ EILSEQ,    SENSE_MEDIUM_ERROR,    SENSE_MEDIUM_ERROR,    0x1100, 0x0c00 },
	{ EBADMSG,   SENSE_MEDIUM_ERROR,    SENSE_MEDIUM_ERROR,    0x1100, 0x0c00 },
	/* Space allocation failed write protect (SBC-3 4.7.3.6): hosts stop the writer and wait. */
	{ ENOSPC,    SENSE_MEDIUM_ERROR,    SENSE_DATA_PROTECT,    0x1100, 0x2707 },
	{ EDQUOT,    SENSE_MEDIUM_ERROR,    SENSE_DATA_PROTECT,    0x1100, 0x2707 },
	{ EFBIG,     SENSE_MEDIUM_ERROR,    SENSE_DATA_PROTECT,    0x1100, 0x2707 },
	{ EROFS,     SENSE_HARDWARE_ERROR,  SENSE_DATA_PROTECT,    0x4400, 0x2700 },
	{ EPERM,     SENSE_HARDWARE_ERROR,  SENSE_DATA_PROTECT,    0x4400, 0x2700 },
	{ EACCES,    SENSE_HARDWARE_ERROR,  SENSE_DATA_PROTECT,    0x4400, 0x2700 },
	{ ENODEV,    SENSE_HARDWARE_ERROR,  SENSE_HARDWARE_ERROR,  0x3e01, 0x3e01 },
	{ ENXIO,     SENSE_HARDWARE_ERROR,  SENSE_HARDWARE_ERROR,  0x3e01, 0x3e01 },
	/* Insufficient resources, said in a way that hosts retry. */
	{ ENOMEM,    SENSE_ABORTED_COMMAND, SENSE_ABORTED_COMMAND, 0x5503, 0x5503 },
	{ EAGAIN,    SENSE_ABORTED_COMMAND, SENSE_ABORTED_COMMAND, 0x5503, 0x5503 },
	{ EINTR,     SENSE_ABORTED_COMMAND, SENSE_ABORTED_COMMAND, 0x0000, 0x0000 },
	{ ECANCELED, SENSE_ABORTED_COMMAND, SENSE_ABORTED_COMMAND, 0x0000, 0x0000 },
	/* clang-format on */
};

struct scsi_sense sense_from_errno(int negative_errno, bool write)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == -negative_errno)
			return write ? sense_make(errors[i].write_key, errors[i].write)
				     : sense_make(errors[i].read_key, errors[i].read);
	return sense_make(SENSE_HARDWARE_ERROR, 0x4400); /* internal target failure */
}

/* Sense key specific data (SPC-4 4.5.2.4); false: there is none. */
static bool encode_key_specific(const struct scsi_sense *s, uint8_t out[static 3])
{
	if (s->field_valid) {
		out[0] = (uint8_t)(0x80 | (s->field_in_cdb ? 0x40 : 0) |
				   (s->bit_valid ? 0x08 | (s->bit & 7) : 0));
		put_be16(out + 1, s->field);
		return true;
	}
	if (s->progress_valid) {
		out[0] = 0x80;
		put_be16(out + 1, s->progress);
		return true;
	}
	return false;
}

static size_t encode_fixed(const struct scsi_sense *s, uint8_t *out)
{
	memset(out, 0, 18);
	out[0] = 0x70;
	/* SPC-4 4.5.3: a value that does not fit the field leaves VALID at zero. */
	if (s->info_valid && s->info <= UINT32_MAX) {
		out[0] |= 0x80;
		put_be32(out + 3, (uint32_t)s->info);
	}
	out[2] = s->key;
	out[7] = 18 - 8;
	put_be16(out + 12, s->asc_ascq);
	encode_key_specific(s, out + 15);
	return 18;
}

static size_t encode_descriptor(const struct scsi_sense *s, uint8_t *out)
{
	size_t n = 8;
	uint8_t specific[3];

	memset(out, 0, 8 + 12 + 8);
	out[0] = 0x72;
	out[1] = s->key;
	put_be16(out + 2, s->asc_ascq);
	if (s->info_valid) { /* information descriptor, SPC-4 4.5.2.2 */
		out[n + 1] = 0x0a;
		out[n + 2] = 0x80;
		put_be64(out + n + 4, s->info);
		n += 12;
	}
	if (encode_key_specific(s, specific)) { /* SPC-4 4.5.2.4 */
		out[n] = 0x02;
		out[n + 1] = 0x06;
		memcpy(out + n + 4, specific, sizeof(specific));
		n += 8;
	}
	out[7] = (uint8_t)(n - 8);
	return n;
}

size_t sense_encode(const struct scsi_sense *s, bool descriptor, uint8_t out[static SENSE_MAX])
{
	return descriptor ? encode_descriptor(s, out) : encode_fixed(s, out);
}
