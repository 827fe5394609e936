/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/provision.h"

#include "daemon/base/bytes.h"
#include "scsi/mode.h"
#include "scsi/nexus.h"
#include "scsi/scsi.h"

#include <string.h>

#define SET (1u << 20) /* bytes */

/* A limit that has been reached is armed again when this part of it is free again. */
#define HYSTERESIS 32

uint8_t provision_exponent(const struct lu_geometry *geo)
{
	return (uint8_t)__builtin_ctz(SET / geo->block_size);
}

uint32_t provision_sets(uint64_t bytes)
{
	uint64_t sets = bytes / SET;

	return sets < UINT32_MAX ? (uint32_t)sets : UINT32_MAX;
}

/* Used: reached from below. True: it has just been crossed. */
static bool used_crossed(_Atomic bool *reached, uint64_t is, uint64_t limit)
{
	bool was = atomic_load(reached);

	if (!limit || is == SPACE_UNKNOWN || is < limit - limit / HYSTERESIS)
		atomic_store(reached, false);
	else if (is >= limit)
		atomic_store(reached, true);
	return !was && atomic_load(reached);
}

static bool available_crossed(_Atomic bool *reached, uint64_t is, uint64_t limit)
{
	bool was = atomic_load(reached);

	if (!limit || is == SPACE_UNKNOWN || (is > limit && is - limit > limit / HYSTERESIS))
		atomic_store(reached, false);
	else if (is <= limit)
		atomic_store(reached, true);
	return !was && atomic_load(reached);
}

unsigned lu_space_report(struct scsi_lu *lu, const struct space_report *r)
{
	unsigned crossed = 0;

	atomic_store(&lu->space.used, r->used);
	atomic_store(&lu->space.available, r->available);
	atomic_store(&lu->geo.used_threshold, r->used_threshold);
	atomic_store(&lu->geo.available_threshold, r->available_threshold);
	if (used_crossed(&lu->space.used_reached, r->used, r->used_threshold))
		crossed |= SPACE_USED;
	if (available_crossed(&lu->space.available_reached, r->available, r->available_threshold))
		crossed |= SPACE_AVAILABLE;
	if (crossed && lu->geo.thin && mode_reports_thresholds(lu))
		lu_ua_all(lu, ASC_SOFT_THRESHOLD, NULL);
	return crossed;
}

/* SBC-3 table 179: THRESHOLD TYPE 000b (soft), and what it is about. */
static void put_descriptor(uint8_t *out, uint64_t threshold, uint8_t arming, uint8_t resource)
{
	memset(out, 0, 8);
	out[0] = (uint8_t)((threshold ? 0x80 : 0) | arming); /* ENABLED */
	out[1] = resource;
	put_be32(out + 4, provision_sets(threshold));
}

void provision_descriptors(const struct lu_geometry *geo, uint8_t *out)
{
	put_descriptor(out, atomic_load(&geo->available_threshold), 0x00 /* decreasing */, 0x01);
	put_descriptor(out + 8, atomic_load(&geo->used_threshold), 0x01 /* increasing */, 0x02);
}
