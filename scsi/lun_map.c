/* SPDX-License-Identifier: BSD-2-Clause */
/* LUN maps and the eight bytes of a LUN (SAM-5 4.7). */
#include "scsi/lu.h"
#include "scsi/nexus.h"

#include <stdlib.h>
#include <string.h>

enum { LUN_METHOD = 0xc0, LUN_FLAT = 0x40 };

static int compare_luns(const void *a, const void *b)
{
	const struct scsi_lun_entry *x = a, *y = b;

	return (x->lun > y->lun) - (x->lun < y->lun);
}

struct scsi_lun_map *lun_map_create(const struct scsi_lun_entry *entries, unsigned n)
{
	struct scsi_lun_map *m = calloc(1, sizeof(*m) + n * sizeof(m->entries[0]));

	if (!m)
		return NULL;
	atomic_init(&m->refs, 1);
	m->n = n;
	for (unsigned i = 0; i < n; i++) {
		m->entries[i] = entries[i];
		lu_ref(entries[i].lu);
	}
	if (n)
		qsort(m->entries, n, sizeof(m->entries[0]), compare_luns);
	return m;
}

/* The map is immutable but for its count. */
static struct scsi_lun_map *writable(const struct scsi_lun_map *m)
{
	union {
		const struct scsi_lun_map *in;
		struct scsi_lun_map *out;
	} u = { .in = m };

	return u.out;
}

void lun_map_ref(const struct scsi_lun_map *m)
{
	atomic_fetch_add_explicit(&writable(m)->refs, 1, memory_order_relaxed);
}

void lun_map_unref(const struct scsi_lun_map *m)
{
	struct scsi_lun_map *map;

	if (!m)
		return;
	map = writable(m);
	if (atomic_fetch_sub_explicit(&map->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (unsigned i = 0; i < map->n; i++)
		lu_unref(map->entries[i].lu);
	free(map);
}

/* Peripheral device addressing of bus 0 and flat space addressing; one level only. */
uint64_t scsi_lun_decode(const uint8_t lun[static 8])
{
	for (int i = 2; i < 8; i++)
		if (lun[i])
			return SCSI_LUN_INVALID;
	if (!lun[0])
		return lun[1];
	if ((lun[0] & LUN_METHOD) == LUN_FLAT)
		return (uint64_t)(lun[0] & ~LUN_METHOD) << 8 | lun[1];
	return SCSI_LUN_INVALID;
}

void scsi_lun_encode(uint64_t lun, uint8_t out[static 8])
{
	memset(out, 0, 8);
	if (lun >= 256)
		out[0] = (uint8_t)(LUN_FLAT | lun >> 8);
	out[1] = (uint8_t)lun;
}
