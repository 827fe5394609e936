/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parameter lists of POPULATE TOKEN and WRITE USING TOKEN (SBC-3 5.11.2, 5.46.2): from bytes to
 * ranges that lie on the medium, do not overlap and are no more than VPD page 8Fh allows.
 *
 * Threads: pure functions. Ownership: odx_list points into the list it was made from.
 */
#ifndef HAWSER_SCSI_ODX_LIST_H
#define HAWSER_SCSI_ODX_LIST_H

#include "scsi/lu.h"
#include "scsi/rod.h"

struct odx_populate {
	uint8_t length[2], flags, reserved, timeout[4], type[4], reserved2[2], ranges_length[2];
};
_Static_assert(sizeof(struct odx_populate) == 16, "SBC-3 5.11.2");

struct odx_write {
	uint8_t length[2], flags, reserved[5], offset[8], token[ROD_TOKEN_SIZE], reserved2[6];
	uint8_t ranges_length[2];
};
_Static_assert(sizeof(struct odx_write) == 536, "SBC-3 5.46.2");

struct odx_descriptor {
	uint8_t lba[8], blocks[4], reserved[4];
};
_Static_assert(sizeof(struct odx_descriptor) == 16, "SBC-3 5.11.3");

enum odx_flags {
	ODX_IMMED = 0x01,
	ODX_RTV = 0x02,     /* POPULATE TOKEN: ROD TYPE is valid */
	ODX_DEL_TKN = 0x02, /* WRITE USING TOKEN */
};

struct odx_list {
	uint8_t flags;
	uint32_t type, timeout_s; /* POPULATE TOKEN; chosen, where the list leaves the choice */
	const uint8_t *token;     /* WRITE USING TOKEN; not looked at yet */
	uint64_t offset;          /* into its data, in blocks; not looked at yet */
	unsigned n;
	struct rod_range ranges[ROD_RANGES_MAX]; /* some may be empty */
	uint64_t bytes;                          /* of all */
};

/* False: *why says what is wrong. The list has at least the length of its struct. */
bool odx_read_populate(const uint8_t *list, size_t length, const struct lu_geometry *geo,
		       struct odx_list *ret, struct scsi_sense *why);
bool odx_read_write(const uint8_t *list, size_t length, const struct lu_geometry *geo,
		    struct odx_list *ret, struct scsi_sense *why);

/* The byte of the list where the descriptor of a range of WRITE USING TOKEN begins. */
static inline uint16_t odx_write_field(unsigned range)
{
	return (uint16_t)(sizeof(struct odx_write) + range * sizeof(struct odx_descriptor));
}

#endif
