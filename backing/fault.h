/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `fault` store stands in front of another one and misbehaves as it is told, at opening
 * (backing_params.fault_spec) and at run time (ops->control, any thread). The text:
 *
 *   text    = [ rule { (";" | newline) rule } ]
 *   rule    = action { " " key "=" value }
 *   action  = "error"    fails with the error `code`, EIO if not said
 *           | "enospc"   error code=ENOSPC kind=write+zero, unless said otherwise
 *           | "torn"     of a write only the first half reaches the store, then EIO
 *           | "delay"    goes on after `ms` milliseconds; further rules are looked at
 *           | "hang"     is held until it is released
 *           | "release"  lets go what hangs, and removes the hang rules (takes no keys)
 *           | "clear"    removes all rules; what hangs goes on hanging (takes no keys)
 *   key     = "kind"     read, write, flush, trim, zero, extents, joined by "+"; all if not said
 *           | "from", "length"  bytes with units (64K): only what touches this range
 *           | "skip"     the first n that match are spared
 *           | "count"    after n times the rule is spent
 *           | "ms"       of delay
 *           | "code"     of error: EIO, ENOSPC, ENODATA, EREMOTEIO, EILSEQ, ETIMEDOUT, ENOMEM,
 *                        EBUSY, EAGAIN, EROFS, ENODEV
 *
 * Rules are tried in the order in which they came; the first that applies decides. Text with a
 * fault in it changes nothing. Example: "delay ms=200 kind=read; error from=1M length=64K count=3".
 *
 * Threads: fault_spec_parse is pure; a set of rules is guarded by its store's lock.
 */
#ifndef HAWSER_BACKING_FAULT_H
#define HAWSER_BACKING_FAULT_H

#include "backing/backing.h"

enum { FAULT_RULES_MAX = 64 };

enum fault_action {
	FAULT_NONE,
	FAULT_ERROR,
	FAULT_TORN,
	FAULT_DELAY,
	FAULT_HANG,
	FAULT_RELEASE,
	FAULT_CLEAR,
};

struct fault_rule {
	enum fault_action action;
	unsigned kinds; /* bits by enum backing_kind */
	uint64_t from, length;
	uint64_t skip, left; /* to be spared; to be struck, UINT64_MAX: for ever */
	uint32_t ms;
	int error; /* negative errno */
};

/* Parses text into rules. Returns how many, or -EINVAL or -E2BIG. */
int fault_spec_parse(const char *text, struct fault_rule *rules, unsigned max);

/* What is to be done with an io: FAULT_NONE, ERROR, TORN or HANG; *ret_ms a delay before. Counts
 * the rules. */
struct fault_rule fault_decide(struct fault_rule *rules, unsigned n, const struct backing_io *io,
			       uint32_t *ret_ms);

#endif
