/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text of login and text negotiations (RFC 7143 6.1, 6.2): key=value pairs, each ended by a NUL,
 * collected over PDUs with the C bit on the way in, cut into PDUs on the way out.
 *
 * Threads: none of its own. Ownership: a text_in and a text_out own their heap memory; pairs point
 * into the text they were read from.
 */
#ifndef HAWSER_ISCSI_TEXT_H
#define HAWSER_ISCSI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define TEXT_KEY_MAX   63         /* bytes of a key name (RFC 7143 6.1) */
#define TEXT_VALUE_MAX 255        /* of a value, unless its key says otherwise */
#define TEXT_IN_MAX    65536u     /* what a peer may send before it is answered */
#define TEXT_IN_PDUS   64         /* and in how many PDUs */
#define TEXT_OUT_MAX   65536u     /* answers of a login */
#define TEXT_LIST_MAX  (8u << 20) /* a list of targets */

struct text_in {
	char *bytes; /* length of them, then a NUL that no peer has sent */
	uint32_t length, size;
	unsigned pdus;
	struct iovec iov; /* where the next segment goes */
};

/* Room for a segment; in->iov says where. 0, -EMSGSIZE beyond the limits, -ENOMEM. */
int text_in_reserve(struct text_in *in, uint32_t length);
/* The segment is there. */
void text_in_append(struct text_in *in, uint32_t length);
/* Forgets the text, keeps the memory for the next; text_in_free gives it back too. */
void text_in_reset(struct text_in *in);
void text_in_free(struct text_in *in);

struct text_pair {
	char key[TEXT_KEY_MAX + 1];
	const char *value; /* ends with NUL */
	size_t value_length;
};

struct text_cursor {
	const char *p;
	size_t left;
};

struct text_cursor text_cursor_on(const struct text_in *in);
/* True: *ret is the next pair. False: the end, or *ret_error is -EPROTO: no '=', no key or a key
 * that is too long. Empty pairs (NULs in a row) are skipped. */
bool text_next(struct text_cursor *c, struct text_pair *ret, int *ret_error);

struct text_out {
	char *bytes;
	uint32_t length, size, limit;
	uint32_t sent; /* bytes that went out already */
	int error;     /* sticky: -EMSGSIZE or -ENOMEM */
};

/* Appends "key=value" and its NUL. */
void text_put(struct text_out *o, const char *key, const char *value);
void text_put_number(struct text_out *o, const char *key, uint64_t value);
/* The next part of at most `limit` bytes; *ret_more: something is left behind it. */
const char *text_out_part(struct text_out *o, uint32_t limit, uint32_t *ret_length, bool *ret_more);
void text_out_reset(struct text_out *o);
void text_out_free(struct text_out *o);

/* A numerical-value: decimal without leading zeros, or 0x and hex digits. 0, -EINVAL, -ERANGE. */
int text_number(const char *value, uint64_t *ret);
/* The next item of a comma list into item; false at the end. Items that do not fit are skipped. */
bool text_list_next(const char **list, char item[static TEXT_VALUE_MAX + 1]);
/* Reject, Irrelevant, NotUnderstood. */
bool text_is_reserved(const char *value);

#endif
