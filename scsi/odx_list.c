/* SPDX-License-Identifier: BSD-2-Clause */
#include "scsi/odx_list.h"

#include "daemon/base/bytes.h"

#define TOO_MANY_SEGMENTS 0x2608

/* What differs between the two lists. */
struct shape {
	size_t header;
	uint16_t ranges_length; /* byte of the field */
};

static bool refuse(struct scsi_sense *why, struct scsi_sense sense)
{
	*why = sense;
	return false;
}

static bool refuse_field(struct scsi_sense *why, size_t byte)
{
	return refuse(why, sense_invalid_parameter((uint16_t)byte));
}

/*
 * The three lengths, of the CDB, of the list and of the descriptors, each within the one before. A
 * list that ends within what it announces is told by the CDB's length, whatever the cause.
 */
static bool read_lengths(const uint8_t *list, size_t length, const struct shape *s,
			 struct odx_list *ret, struct scsi_sense *why)
{
	size_t announced = get_be16(list) + 2u;
	size_t ranges = get_be16(list + s->ranges_length);

	if (announced < s->header + sizeof(struct odx_descriptor))
		return refuse_field(why, 0);
	if (ranges < sizeof(struct odx_descriptor) || ranges % sizeof(struct odx_descriptor) ||
	    ranges > announced - s->header)
		return refuse_field(why, s->ranges_length);
	if (length < s->header + ranges)
		return refuse(why, sense_parameter_list_length());
	ret->n = (unsigned)(ranges / sizeof(struct odx_descriptor));
	if (ret->n > ROD_RANGES_MAX)
		return refuse(why, sense_make(SENSE_ILLEGAL_REQUEST, TOO_MANY_SEGMENTS));
	return true;
}

/* Flags are all that may be set in their byte. */
static bool read_flags(const uint8_t *list, struct odx_list *ret, struct scsi_sense *why)
{
	const uint16_t at = offsetof(struct odx_populate, flags);
	unsigned wrong = list[at] & ~(unsigned)(ODX_IMMED | ODX_RTV);

	ret->flags = list[at];
	if (wrong)
		return refuse(
		    why, sense_invalid_parameter_bit(at, (uint8_t)(31 - __builtin_clz(wrong))));
	return true;
}

static bool overlaps_earlier(const struct odx_list *l, const struct rod_range *r)
{
	for (unsigned i = 0; i < l->n && &l->ranges[i] != r; i++) {
		const struct rod_range *other = &l->ranges[i];

		if (r->offset < other->offset + other->length &&
		    other->offset < r->offset + r->length)
			return true;
	}
	return false;
}

static bool read_ranges(const uint8_t *list, size_t header, const struct lu_geometry *geo,
			struct odx_list *ret, struct scsi_sense *why)
{
	uint64_t size = atomic_load(&geo->blocks), block = geo->block_size;

	ret->bytes = 0;
	for (unsigned i = 0; i < ret->n; i++) {
		size_t at = header + i * sizeof(struct odx_descriptor);
		uint64_t lba = get_be64(list + at);
		uint32_t blocks = get_be32(list + at + offsetof(struct odx_descriptor, blocks));
		struct rod_range *r = &ret->ranges[i];

		if (lba > size || blocks > size - lba)
			return refuse(why, sense_lba_out_of_range());
		*r = (struct rod_range){ lba * block, blocks * block };
		ret->bytes += r->length; /* 64 of 2^44 at most */
		if (ret->bytes > ROD_BYTES_MAX)
			return refuse_field(why, at + offsetof(struct odx_descriptor, blocks));
		if (overlaps_earlier(ret, r))
			return refuse_field(why, at);
	}
	return true;
}

static bool read_list(const uint8_t *list, size_t length, const struct shape *s,
		      const struct lu_geometry *geo, struct odx_list *ret, struct scsi_sense *why)
{
	return read_lengths(list, length, s, ret, why) && read_flags(list, ret, why) &&
	       read_ranges(list, s->header, geo, ret, why);
}

/* What may be asked for, and what it becomes (SPC-4 table 107). */
static const struct {
	uint32_t asked, type;
} types[] = {
	{ ROD_CHANGE_VULNERABLE, ROD_CHANGE_VULNERABLE },
	{ ROD_POINT_IN_TIME, ROD_CHANGE_VULNERABLE },
	{ ROD_ANY_POINT_IN_TIME, ROD_CHANGE_VULNERABLE },
	{ ROD_ACCESS_UPON_REFERENCE, ROD_ACCESS_UPON_REFERENCE },
};

static uint32_t type_for(uint32_t asked)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].asked == asked)
			return types[i].type;
	return 0;
}

bool odx_read_populate(const uint8_t *list, size_t length, const struct lu_geometry *geo,
		       struct odx_list *ret, struct scsi_sense *why)
{
	static const struct shape shape = { sizeof(struct odx_populate),
					    offsetof(struct odx_populate, ranges_length) };
	const struct odx_populate *l = (const void *)list;
	uint32_t timeout_s = get_be32(l->timeout);

	if (!read_list(list, length, &shape, geo, ret, why))
		return false;
	if (timeout_s > ROD_TIMEOUT_MAX_S)
		return refuse_field(why, offsetof(struct odx_populate, timeout));
	ret->timeout_s = timeout_s ? timeout_s : ROD_TIMEOUT_S;
	ret->type = ret->flags & ODX_RTV ? type_for(get_be32(l->type)) : ROD_CHANGE_VULNERABLE;
	if (!ret->type)
		return refuse_field(why, offsetof(struct odx_populate, type));
	return true;
}

bool odx_read_write(const uint8_t *list, size_t length, const struct lu_geometry *geo,
		    struct odx_list *ret, struct scsi_sense *why)
{
	static const struct shape shape = { sizeof(struct odx_write),
					    offsetof(struct odx_write, ranges_length) };
	const struct odx_write *l = (const void *)list;

	if (!read_list(list, length, &shape, geo, ret, why))
		return false;
	ret->token = l->token;
	ret->offset = get_be64(l->offset);
	return true;
}
