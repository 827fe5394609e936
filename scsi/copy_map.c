/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The holes of a thin source, by GET LBA STATUS (SBC-3 5.5). What is written there meanwhile may be
 * missed: the host writes and copies at the same time, and both orders are right.
 *
 * Threads: pure functions. Ownership: none.
 */
#include "daemon/base/bytes.h"
#include "scsi/copy_internal.h"
#include "scsi/iov.h"

enum { HEADER = 8, DESCRIPTOR = 16, DEALLOCATED = 1 };

bool copy_map_find(const struct copy_map *m, uint64_t at, uint64_t *ret_end, bool *ret_hole)
{
	if (at < m->begin)
		return false;
	for (unsigned i = 0; i < m->n; i++) {
		if (at >= m->runs[i].end)
			continue;
		*ret_end = m->runs[i].end;
		*ret_hole = m->runs[i].hole;
		return true;
	}
	return false;
}

static void add(struct copy_map *m, uint64_t end, bool hole)
{
	m->runs[m->n].end = end;
	m->runs[m->n++].hole = hole;
}

void copy_map_take(struct copy_map *m, const struct scsi_task *t, uint64_t begin, uint64_t end)
{
	uint64_t block = t->lu->geo.block_size, next = begin;
	uint8_t d[DESCRIPTOR];

	m->begin = begin;
	m->n = 0;
	for (size_t at = HEADER; m->n < COPY_RUNS && at + DESCRIPTOR <= t->data_in_length;
	     at += DESCRIPTOR) {
		iov_copy_out(t->buf.iov, t->buf.n, at, d, sizeof(d));
		if (get_be64(d) * block != next || !get_be32(d + 8))
			break;
		next += get_be32(d + 8) * block;
		add(m, next, (d[12] & 0x0f) == DEALLOCATED);
	}
	if (!m->n)
		add(m, end, false);
}

void copy_map_unknown(struct copy_map *m, uint64_t begin, uint64_t end)
{
	m->begin = begin;
	m->n = 0;
	add(m, end, false);
}
