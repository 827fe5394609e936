/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Block commands that move data or verify it (SBC-3 5): pure functions from the CDB and the
 * geometry to a plan. Offsets and lengths are bytes in 64 bits; nothing here can wrap, because a
 * range is compared by subtraction and the medium is smaller than 2^64 bytes.
 *
 * Threads: pure functions. Ownership: none.
 */
#include "daemon/base/bytes.h"
#include "scsi/cdb.h"
#include "scsi/compound.h"
#include "scsi/mode.h"
#include "scsi/opcodes.h"

struct range {
	uint64_t lba;
	uint32_t blocks;
	uint8_t flags;         /* byte 1; zero in 6-byte CDBs */
	uint16_t length_field; /* byte of the length, for the field pointer */
};

/* The group code (SAM-5 5.2) says the shape. */
static inline struct range range_of(const uint8_t *cdb)
{
	switch (cdb[0] >> 5) {
	case 1:
	case 2:
		return (struct range){ get_be32(cdb + offsetof(struct cdb_rw10, lba)),
				       get_be16(cdb + offsetof(struct cdb_rw10, length)), cdb[1],
				       offsetof(struct cdb_rw10, length) };
	case 4:
		return (struct range){ get_be64(cdb + offsetof(struct cdb_rw16, lba)),
				       get_be32(cdb + offsetof(struct cdb_rw16, length)), cdb[1],
				       offsetof(struct cdb_rw16, length) };
	case 5:
		return (struct range){ get_be32(cdb + offsetof(struct cdb_rw12, lba)),
				       get_be32(cdb + offsetof(struct cdb_rw12, length)), cdb[1],
				       offsetof(struct cdb_rw12, length) };
	default: /* SBC-3 5.7: 21 bits of LBA, zero stands for 256 blocks */
		return (struct range){ get_be24(cdb + offsetof(struct cdb_rw6, lba)) & 0x1fffff,
				       cdb[4] ? cdb[4] : 256, 0, offsetof(struct cdb_rw6, length) };
	}
}

/* The size is read once for each decision: it may change at any time. */
static inline uint64_t size_of(const struct lu_geometry *geo)
{
	return atomic_load_explicit(&geo->blocks, memory_order_relaxed);
}

static inline bool beyond(uint64_t size, const struct range *r)
{
	return r->lba > size || r->blocks > size - r->lba;
}

/* FUA, or the cache is switched off. */
static inline bool durable(const struct scsi_request *rq, uint8_t flags)
{
	return (flags & CDB_FUA) || mode_write_through(rq->lu);
}

static struct scsi_plan too_long(const struct range *r)
{
	return plan_fail(sense_invalid_field(r->length_field));
}

/* A range that is refused, or is none. */
static __attribute__((noinline, cold)) struct scsi_plan not_moved(const struct scsi_request *rq,
								  const struct range *r)
{
	/* The size may have grown since the test that led here: only no blocks at all are GOOD. */
	if (beyond(size_of(rq->geo), r))
		return plan_fail(sense_lba_out_of_range());
	if (r->blocks > rq->geo->max_blocks)
		return too_long(r);
	return r->blocks ? plan_fail(sense_lba_out_of_range()) : plan_good();
}

/* One test for all that is not a plain move, and the plan written once, in place: this is what
 * every I/O goes through. */
static inline bool moves(const struct scsi_request *rq, const struct range *r)
{
	return __builtin_expect(
	    r->blocks && r->blocks <= rq->geo->max_blocks && !beyond(size_of(rq->geo), r), 1);
}

static inline struct scsi_plan plan_move(const struct scsi_request *rq, enum plan_kind kind,
					 const struct range *r, bool fua)
{
	return (struct scsi_plan){ .kind = kind,
				   .compound = kind == PLAN_COMPOUND ? COMPOUND_WRITE_VERIFY
								     : COMPOUND_UNSET,
				   .fua = fua,
				   .offset = r->lba * rq->geo->block_size,
				   .length = (uint64_t)r->blocks * rq->geo->block_size,
				   .data_length = r->blocks * rq->geo->block_size };
}

struct scsi_plan sbc_plan_read(const struct scsi_request *rq)
{
	struct range r = range_of(rq->cdb);

	if (!moves(rq, &r))
		return not_moved(rq, &r);
	return plan_move(rq, PLAN_READ, &r, r.flags & CDB_FUA);
}

struct scsi_plan sbc_plan_write(const struct scsi_request *rq)
{
	struct range r = range_of(rq->cdb);

	if (!moves(rq, &r))
		return not_moved(rq, &r);
	return plan_move(rq, PLAN_WRITE, &r, durable(rq, r.flags));
}

struct scsi_plan sbc_plan_write_verify(const struct scsi_request *rq)
{
	struct range r = range_of(rq->cdb);

	/* SBC-3 5.44: only 00b and 01b; the upper bit of the field is at fault. */
	if (r.flags & 0x04)
		return plan_fail(sense_invalid_field_bit(1, 2));
	if (!moves(rq, &r))
		return not_moved(rq, &r);
	return plan_move(rq, PLAN_COMPOUND, &r, true); /* what is verified is on the medium */
}

struct scsi_plan sbc_plan_verify(const struct scsi_request *rq)
{
	static const uint8_t kinds[4] = { COMPOUND_VERIFY_MEDIUM, COMPOUND_VERIFY_DATA,
					  COMPOUND_UNSET, COMPOUND_VERIFY_BLOCK };
	struct range r = range_of(rq->cdb);
	unsigned bytchk = (unsigned)(r.flags & CDB_BYTCHK) >> CDB_BYTCHK_SHIFT;
	const struct lu_geometry *geo = rq->geo;
	struct scsi_plan p;

	if (kinds[bytchk] == COMPOUND_UNSET) /* SBC-3 5.34: 10b is reserved */
		return plan_fail(sense_invalid_field_bit(1, 2));
	if (beyond(size_of(geo), &r))
		return plan_fail(sense_lba_out_of_range());
	/* Only data that moves is bound by MAXIMUM TRANSFER LENGTH (SBC-3 6.6.4). */
	if (kinds[bytchk] == COMPOUND_VERIFY_DATA && r.blocks > geo->max_blocks)
		return too_long(&r);
	if (!r.blocks)
		return plan_good();
	p = (struct scsi_plan){ .kind = PLAN_COMPOUND,
				.compound = kinds[bytchk],
				.offset = r.lba * geo->block_size,
				.length = (uint64_t)r.blocks * geo->block_size };
	if (kinds[bytchk] == COMPOUND_VERIFY_DATA)
		p.data_length = r.blocks * geo->block_size;
	else if (kinds[bytchk] == COMPOUND_VERIFY_BLOCK)
		p.data_length = geo->block_size;
	return p;
}

/* A compound command on a range that is not empty and lies on the medium. */
static struct scsi_plan plan_compound(const struct scsi_request *rq, enum scsi_compound compound,
				      const struct range *r)
{
	struct scsi_plan p = plan_move(rq, PLAN_COMPOUND, r, durable(rq, r->flags));

	p.compound = (uint8_t)compound;
	return p;
}

struct scsi_plan sbc_plan_compare_write(const struct scsi_request *rq)
{
	struct range r = {
		.lba = get_be64(rq->cdb + offsetof(struct cdb_compare_write, lba)),
		.blocks = rq->cdb[offsetof(struct cdb_compare_write, blocks)],
		.flags = rq->cdb[1],
		.length_field = offsetof(struct cdb_compare_write, blocks),
	};
	struct scsi_plan p;

	if (r.blocks > rq->geo->max_compare_write)
		return too_long(&r);
	if (r.blocks && !moves(rq, &r))
		return not_moved(rq, &r);
	if (beyond(size_of(rq->geo), &r))
		return plan_fail(sense_lba_out_of_range());
	p = plan_compound(rq, COMPOUND_COMPARE_WRITE, &r); /* of no blocks too: see exec.c */
	p.data_length *= 2; /* what must be there, then what shall be */
	return p;
}

struct scsi_plan sbc_plan_or_write(const struct scsi_request *rq)
{
	struct range r = range_of(rq->cdb);

	if (!moves(rq, &r))
		return not_moved(rq, &r);
	return plan_compound(rq, COMPOUND_OR_WRITE, &r);
}

/* SBC-4 5.48. A boundary is not offered: MAXIMUM ATOMIC BOUNDARY SIZE is zero. */
struct scsi_plan sbc_plan_write_atomic(const struct scsi_request *rq)
{
	uint32_t unit = 1u << rq->geo->physical_exponent;
	struct range r = {
		.lba = get_be64(rq->cdb + offsetof(struct cdb_write_atomic, lba)),
		.blocks = get_be16(rq->cdb + offsetof(struct cdb_write_atomic, length)),
		.flags = rq->cdb[1],
		.length_field = offsetof(struct cdb_write_atomic, length),
	};

	if (r.blocks > rq->geo->max_atomic || r.blocks % unit)
		return too_long(&r);
	if (!moves(rq, &r))
		return not_moved(rq, &r);
	if (r.lba % unit)
		return plan_fail(sense_invalid_field(offsetof(struct cdb_write_atomic, lba)));
	return plan_compound(rq, COMPOUND_WRITE_ATOMIC, &r);
}

struct scsi_plan sbc_plan_write_same(const struct scsi_request *rq)
{
	struct range r = range_of(rq->cdb);
	const struct lu_geometry *geo = rq->geo;
	bool no_data = r.flags & CDB_WS_NDOB; /* reserved in the 10-byte form */
	bool unmap = r.flags & CDB_WS_UNMAP;
	uint64_t size = size_of(geo);

	/* LBPWS and LBPWS10 are set where the store can give space back (VPD page B2h). */
	if (unmap && !(geo->thin && geo->unmap_granularity))
		return plan_fail(sense_invalid_field_bit(1, 3));
	if (beyond(size, &r) || r.lba == size)
		return plan_fail(sense_lba_out_of_range());
	/* WSNZ=1 in VPD page B0h: zero does not stand for the rest of the medium. */
	if (!r.blocks || r.blocks > geo->max_write_same)
		return too_long(&r);
	return (struct scsi_plan){ .kind = PLAN_COMPOUND,
				   .compound = no_data ? COMPOUND_ZERO : COMPOUND_WRITE_SAME,
				   .may_trim = unmap,
				   .fua = mode_write_through(rq->lu),
				   .offset = r.lba * geo->block_size,
				   .length = (uint64_t)r.blocks * geo->block_size,
				   .data_length = no_data ? 0 : geo->block_size };
}

struct scsi_plan sbc_plan_sync_cache(const struct scsi_request *rq)
{
	struct range r = range_of(rq->cdb);
	const struct lu_geometry *geo = rq->geo;
	uint64_t size = size_of(geo), blocks = r.blocks;

	if (beyond(size, &r))
		return plan_fail(sense_lba_out_of_range());
	if (!blocks) /* SBC-3 5.32: to the end of the medium */
		blocks = size - r.lba;
	return (struct scsi_plan){ .kind = PLAN_FLUSH,
				   .immed = r.flags & CDB_IMMED,
				   .offset = r.lba * geo->block_size,
				   .length = blocks * geo->block_size };
}

/* GOOD says that the blocks were not all cached (SBC-3 5.12); CONDITION MET would promise it, and
 * the page cache behind the store makes no promises. */
struct scsi_plan sbc_plan_prefetch(const struct scsi_request *rq)
{
	struct range r = range_of(rq->cdb);

	return beyond(size_of(rq->geo), &r) ? plan_fail(sense_lba_out_of_range()) : plan_good();
}

struct scsi_plan sbc_plan_unmap(const struct scsi_request *rq)
{
	uint16_t length = get_be16(rq->cdb + offsetof(struct cdb_unmap, list_length));

	if (!length) /* SBC-3 5.33.1: not an error */
		return plan_good();
	if (length < sizeof(struct unmap_header))
		return plan_fail(sense_parameter_list_length());
	return plan_collect(length);
}

/* Every descriptor is checked before the first is carried out, so that an error leaves the medium
 * as it was. The span of all is reported as the plan's range. */
struct scsi_plan sbc_params_unmap(const struct scsi_request *rq, const uint8_t *list, size_t length)
{
	const struct lu_geometry *geo = rq->geo;
	uint64_t size = size_of(geo), sum = 0, first = UINT64_MAX, last = 0;
	size_t n;

	if (length < sizeof(struct unmap_header))
		return plan_fail(sense_parameter_list_length());
	n = get_be16(list + offsetof(struct unmap_header, descriptors_length));
	if (n > length - sizeof(struct unmap_header))
		n = length - sizeof(struct unmap_header);
	n /= sizeof(struct unmap_descriptor); /* a partial last one is ignored */
	if (n > geo->max_unmap_descriptors)
		return plan_fail(
		    sense_invalid_parameter(offsetof(struct unmap_header, descriptors_length)));

	for (size_t i = 0; i < n; i++) {
		size_t at = sizeof(struct unmap_header) + i * sizeof(struct unmap_descriptor);
		struct range r = { .lba = get_be64(list + at), .blocks = get_be32(list + at + 8) };

		if (beyond(size, &r))
			return plan_fail(sense_lba_out_of_range());
		sum += r.blocks; /* at most 4096 descriptors of 32 bits: no overflow */
		if (sum > geo->max_unmap_blocks)
			return plan_fail(sense_invalid_parameter(
			    (uint16_t)(at + offsetof(struct unmap_descriptor, blocks))));
		if (!r.blocks)
			continue;
		first = r.lba < first ? r.lba : first;
		last = r.lba + r.blocks > last ? r.lba + r.blocks : last;
	}
	if (!sum)
		return plan_good();
	return (struct scsi_plan){ .kind = PLAN_COMPOUND,
				   .compound = COMPOUND_UNMAP,
				   .may_trim = true,
				   .fua = mode_write_through(rq->lu),
				   .offset = first * geo->block_size,
				   .length = (last - first) * geo->block_size };
}
