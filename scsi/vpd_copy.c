/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Third-party copy, SPC-4 7.8.17: a list of descriptors. Windows looks at the first one only, and
 * takes anything else there for a disk without offloaded data transfer.
 */
#include "daemon/base/bytes.h"
#include "scsi/copy_internal.h"
#include "scsi/rod.h"
#include "scsi/vpd.h"

#include <string.h>

#define OPTIMAL_BYTES (64u << 20) /* of one WRITE USING TOKEN: it must not take 4 s */

/* SBC-3 6.6.6.3 */
struct rod_limits {
	uint8_t vendor[6], ranges[2], timeout_max[4], timeout[4], blocks_max[8], blocks_optimal[8];
};
_Static_assert(sizeof(struct rod_limits) == 0x20, "SBC-3 6.6.6.3");

static size_t put_limits(const struct scsi_request *rq, uint8_t *out)
{
	struct rod_limits *d = (void *)out;
	uint32_t block = rq->geo->block_size;

	memset(d, 0, sizeof(*d));
	put_be16(d->ranges, ROD_RANGES_MAX);
	put_be32(d->timeout_max, ROD_TIMEOUT_MAX_S);
	put_be32(d->timeout, ROD_TIMEOUT_S);
	put_be64(d->blocks_max, ROD_BYTES_MAX / block);
	put_be64(d->blocks_optimal, OPTIMAL_BYTES / block);
	return sizeof(*d);
}

/* SPC-4 7.8.17.4, from the table of commands: opcodes, each with its service actions. */
static size_t put_commands(const struct scsi_request *rq, uint8_t *out)
{
	static const uint8_t opcodes[] = { 0x83, 0x84 };
	const struct scsi_op *ops;
	size_t n = 1;
	unsigned rows;

	ops = scsi_op_table(&rows);
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		uint8_t *count = out + n + 1;

		out[n] = opcodes[i];
		*count = 0;
		n += 2;
		for (unsigned row = 0; row < rows; row++) {
			if (ops[row].opcode != opcodes[i] || !scsi_op_offered(&ops[row], rq))
				continue;
			out[n++] = ops[row].action;
			(*count)++;
		}
	}
	out[0] = (uint8_t)(n - 1);
	return n;
}

/* SPC-4 7.8.17.9, with the features of block devices, SBC-3 6.6.6.4. */
struct rod_features {
	uint8_t remote, reserved[11], lifetime_min[4], lifetime_max[4], timeout_max[4];
	uint8_t reserved2[18], block_length[2];
	uint8_t format, reserved3, length[2], reserved4[2], granularity[2];
	uint8_t bytes_max[8], bytes_optimal[8], to_segment[8], from_segment[8], reserved5[8];
};
_Static_assert(sizeof(struct rod_features) == 44 + 48, "SPC-4 7.8.17.9");

/* A token lives as long as it is used, if nothing else ends it; none of another copy manager is
 * known. */
static size_t put_features(const struct scsi_request *rq, uint8_t *out)
{
	struct rod_features *d = (void *)out;

	(void)rq;
	memset(d, 0, sizeof(*d));
	put_be32(d->lifetime_max, UINT32_MAX);
	put_be32(d->timeout_max, ROD_TIMEOUT_MAX_S);
	put_be16(d->block_length, 48);
	put_be16(d->length, 44);
	put_be64(d->bytes_max, ROD_BYTES_MAX);
	put_be64(d->bytes_optimal, OPTIMAL_BYTES);
	put_be64(d->to_segment, ROD_BYTES_MAX);
	put_be64(d->from_segment, OPTIMAL_BYTES);
	return sizeof(*d);
}

/* SPC-4 7.8.17.10 */
static size_t put_types(const struct scsi_request *rq, uint8_t *out)
{
	enum { TOKEN_OUT = 0x01, TOKEN_IN = 0x02, DESCRIPTOR = 64 };
	static const struct {
		uint32_t type;
		uint8_t flags;
	} types[] = {
		{ ROD_CHANGE_VULNERABLE, TOKEN_IN | TOKEN_OUT },
		{ ROD_ACCESS_UPON_REFERENCE, TOKEN_IN | TOKEN_OUT },
		{ ROD_BLOCK_ZERO, TOKEN_IN },
	};
	const size_t n = sizeof(types) / sizeof(types[0]);

	(void)rq;
	memset(out, 0, 4 + n * DESCRIPTOR);
	put_be16(out + 2, (uint16_t)(n * DESCRIPTOR));
	for (size_t i = 0; i < n; i++) {
		put_be32(out + 4 + i * DESCRIPTOR, types[i].type);
		out[4 + i * DESCRIPTOR + 4] = types[i].flags;
	}
	return 4 + n * DESCRIPTOR;
}

/* SPC-4 7.8.17.11 */
struct general_copy {
	uint8_t copies[4], identified[4], segment_max[4], granularity, inline_granularity;
	uint8_t reserved[18];
};
_Static_assert(sizeof(struct general_copy) == 0x20, "SPC-4 7.8.17.11");

static size_t put_general(const struct scsi_request *rq, uint8_t *out)
{
	struct general_copy *d = (void *)out;

	memset(d, 0, sizeof(*d));
	put_be32(d->copies, COPIES_MAX);
	put_be32(d->identified, COPIES_MAX);
	d->granularity = (uint8_t)__builtin_ctz(rq->geo->block_size);
	return sizeof(*d);
}

/* In ascending order. put: what follows the descriptor's header of 4 bytes; its length. */
static const struct {
	uint16_t type;
	size_t (*put)(const struct scsi_request *rq, uint8_t *out);
} descriptors[] = {
	{ 0x0000, put_limits }, { 0x0001, put_commands }, { 0x0106, put_features },
	{ 0x0108, put_types },  { 0x8001, put_general },
};

size_t vpd_third_party_copy(const struct scsi_request *rq, uint8_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++) {
		size_t length = descriptors[i].put(rq, out + n + 4);

		for (; length % 4; length++)
			out[n + 4 + length] = 0;
		put_be16(out + n, descriptors[i].type);
		put_be16(out + n + 2, (uint16_t)length);
		n += 4 + length;
	}
	return n;
}
