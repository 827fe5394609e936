/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UNMAP (SBC-3 5.33): the descriptors have been validated, all of them; here they are trimmed, a
 * few pieces at a time.
 */
#include "daemon/base/bytes.h"
#include "scsi/compound_internal.h"
#include "scsi/iov.h"

enum { HEADER = 8, DESCRIPTOR = 16 };

static unsigned n_descriptors(const struct scsi_task *t)
{
	uint8_t length[2];
	size_t bytes, there = t->buf.length;

	if (there < HEADER)
		return 0;
	iov_copy_out(t->buf.iov, t->buf.n, 2, length, sizeof(length));
	bytes = get_be16(length);
	if (bytes > there - HEADER)
		bytes = there - HEADER;
	return (unsigned)(bytes / DESCRIPTOR);
}

static void descriptor(const struct scsi_task *t, uint64_t i, uint64_t *ret_offset,
		       uint64_t *ret_length)
{
	uint64_t block = t->lu->geo.block_size;
	uint8_t d[DESCRIPTOR];

	iov_copy_out(t->buf.iov, t->buf.n, HEADER + i * DESCRIPTOR, d, sizeof(d));
	*ret_offset = get_be64(d) * block;
	*ret_length = get_be32(d + 8) * block;
}

static bool overlaps_detached(struct compound *c)
{
	uint64_t offset, length;

	for (unsigned i = 0; i < n_descriptors(c->t); i++) {
		descriptor(c->t, i, &offset, &length);
		if (exec_overlaps_detached(c->t, offset, length))
			return true;
	}
	return false;
}

static enum compound_step trim_step(struct compound *c)
{
	unsigned n = n_descriptors(c->t);

	while (c->in_flight < COMPOUND_ABREAST && c->done < n) {
		uint64_t offset, length;
		uint32_t piece;

		descriptor(c->t, c->done, &offset, &length);
		if (c->at == length) {
			c->done++;
			c->at = 0;
			continue;
		}
		piece = compound_span(c, offset + c->at, length - c->at);
		compound_io(c, BACKING_TRIM, offset + c->at, piece, NULL, 0);
		c->at += piece;
	}
	return c->in_flight ? STEP_IO : STEP_GOOD;
}

enum compound_step unmap_step(struct compound *c)
{
	if (overlaps_detached(c))
		return STEP_BUSY;
	exec_count(c->t, unmaps, 1);
	c->step = trim_step;
	return STEP_NEXT;
}
