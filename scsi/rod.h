/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ROD tokens (SPC-4 5.16.6): 512 bytes that stand for ranges of a LU at a point in time. POPULATE
 * TOKEN creates one; WRITE USING TOKEN uses it, from whatever nexus, on whatever LU, as long as
 * that nexus has the token's LU too.
 *
 * A token is known by what this table holds, never by what its bytes say: they are compared as a
 * whole with those that were handed out, of which 32 are random. Nothing of the table outlives the
 * process.
 *
 * A token of changing data is no token: what is written to one of its ranges revokes it, before
 * the write reaches the store (rod_watch.c). GATE_TOKEN is set on the nexuses of a LU that has
 * tokens, so a LU without any pays nothing.
 *
 * Threads: any. Ownership: the table owns the tokens; who holds one pins it with rod_create or
 * rod_find, and lets go with rod_put. A token refers to its LU by address only, until lu_unref has
 * told it that the LU is gone. Locks: the table's before a LU's.
 */
#ifndef HAWSER_SCSI_ROD_H
#define HAWSER_SCSI_ROD_H

#include "daemon/base/list.h"
#include "scsi/sense.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct it_nexus;
struct itl;
struct scsi_lu;

#define ROD_TOKEN_SIZE      512u
#define ROD_MANAGEMENT_SIZE 96u            /* of these, what REPORT ALL ROD TOKENS tells */
#define ROD_RANGES_MAX      64u            /* of one token: what Windows sends at most */
#define ROD_BYTES_MAX       (256ull << 20) /* of one token: what Windows asks for at most */
#define ROD_TIMEOUT_S       60u            /* inactivity, unless POPULATE TOKEN says otherwise */
#define ROD_TIMEOUT_MAX_S   600u

/* How many there may be at once; see rod_create. */
#define ROD_NEXUS_MAX 256u
#define ROD_LU_MAX    512u
#define ROD_MAX       2048u

/* ROD types (SPC-4 table 107, SBC-3 4.28). */
enum rod_type {
	ROD_ACCESS_UPON_REFERENCE = 0x00010000,
	ROD_POINT_IN_TIME = 0x00800000, /* of whatever kind we like; so is ANY_POINT_IN_TIME */
	ROD_CHANGE_VULNERABLE = 0x00800001,
	ROD_ANY_POINT_IN_TIME = 0x0080ffff,
	ROD_BLOCK_ZERO = 0xffff0001,
};

enum rod_state {
	ROD_VALID,
	ROD_REVOKED, /* its data has changed, or it has had to make room for another one */
	ROD_EXPIRED,
	ROD_DELETED, /* DEL_TKN */
};

struct rod_range {
	uint64_t offset, length; /* bytes of the LU */
};

struct rod {
	struct list bucket, node; /* under the table's lock, as is all that is not said otherwise */
	struct list lu_node;      /* lu->rods, under lu->lock; off it: its ranges are not watched */
	struct scsi_lu *lu;       /* NULL: gone */
	_Atomic int state;        /* enum rod_state */
	_Atomic uint64_t expires_ms; /* NEVER while there are users */
	unsigned users;
	uint64_t owner; /* it_nexus.port_hash */
	uint32_t timeout_s;
	/* From here on it never changes. */
	uint64_t id;
	uint64_t bytes; /* of all ranges */
	uint32_t block_size;
	uint8_t token[ROD_TOKEN_SIZE];
	unsigned n;
	struct rod_range ranges[];
};

struct rod_params {
	struct itl *itl; /* of whose LU; the token is charged to its nexus */
	uint32_t type;   /* ACCESS UPON REFERENCE or CHANGE VULNERABLE */
	uint32_t timeout_s;
	uint64_t now_ms;
	unsigned n;
	const struct rod_range *ranges;
};

/*
 * Creates a token, pins it and watches its ranges: what is written to them from the moment on that
 * every reactor has seen GATE_TOKEN revokes it. What was under way before is the caller's to wait
 * for. A nexus that has too many loses the one it has not used for longest. 0, -ENOSPC (others have
 * taken all there are, or all of the LU), -ENOMEM or -EIO (no random numbers).
 */
int rod_create(const struct rod_params *p, struct rod **ret);

/* The token of these bytes, pinned. NULL: *ret says why not (SPC-4 table 108). Not for ROD BLOCK
 * ZERO, see rod_is_zero. */
struct rod *rod_find(const uint8_t token[static ROD_TOKEN_SIZE], uint64_t now_ms,
		     struct scsi_sense *ret);

/* The well-known token for zeros (SBC-3 4.28.4.3), whatever its reserved bytes hold. */
bool rod_is_zero(const uint8_t token[static ROD_TOKEN_SIZE]);

/* Lets go of a token; its inactivity begins now. */
void rod_put(struct rod *r, uint64_t now_ms);

/* Nobody can use it any more, nor go on to. */
void rod_delete(struct rod *r);

/* VALID: its data is still what it was. To be asked after reading, before what was read is
 * believed. */
static inline enum rod_state rod_state(const struct rod *r)
{
	return (enum rod_state)atomic_load(&r->state);
}

/* Under which LUN this nexus sees the LU of a token; NULL if it does not: whoever has only got hold
 * of the bytes can do nothing with them. Reactor of the nexus. */
struct itl *rod_source(const struct rod *r, const struct it_nexus *n);

/* Writes the management part of each valid token of a LU, as far as there is room; the number of
 * all of them. */
unsigned rod_report(const struct scsi_lu *lu, uint64_t now_ms, uint8_t *out, unsigned max);

/* The sense of a token that is not there or not valid. */
struct scsi_sense rod_sense(enum rod_state state);

/* Something in these bytes of the LU is about to change: tokens of it are revoked. Without
 * GATE_TOKEN there is no need to say so. now_ms 0: not known, none expires. */
void rod_touch(struct scsi_lu *lu, uint64_t offset, uint64_t length, uint64_t now_ms);
/* All of them: the medium is another one from here on. */
void rod_touch_all(struct scsi_lu *lu);
/* Nothing refers to the LU any more; before it is freed. */
void rod_lu_gone(struct scsi_lu *lu);

/* The monotonic clock does not get there. */
#define ROD_NEVER UINT64_MAX

/* Between rod.c and rod_watch.c, under the table's lock: a token ends the way it came to an end
 * first. */
void rod_end(struct rod *r, enum rod_state state);
void rod_watch(struct rod *r);
void rod_unwatch(struct rod *r);

/* The bytes of a token (SPC-4 5.16.6.5, SBC-3 4.28.4): r has id, bytes and block size. */
int rod_build(struct rod *r, const struct rod_params *p);

#endif
