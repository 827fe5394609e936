/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/iscsi/text.h"
#include "daemon/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_FIRST_SIZE 1024u /* most logins fit */

/* Doubles until `need` fits; need is at most the caller's limit and the NUL. */
static int grow(char **bytes, uint32_t *size, uint32_t need)
{
	uint32_t n = *size ? *size : TEXT_FIRST_SIZE;
	char *p;

	if (need <= *size)
		return 0;
	while (n < need)
		n *= 2;
	p = realloc(*bytes, n);
	if (!p)
		return -ENOMEM;
	*bytes = p;
	*size = n;
	return 0;
}

int text_in_reserve(struct text_in *in, uint32_t length)
{
	int r;

	if (in->pdus >= TEXT_IN_PDUS || length > TEXT_IN_MAX - in->length)
		return -EMSGSIZE;
	r = grow(&in->bytes, &in->size, in->length + length + 1);
	if (r)
		return r;
	in->pdus++;
	in->bytes[in->length] = '\0';
	in->iov.iov_base = in->bytes + in->length;
	in->iov.iov_len = length;
	return 0;
}

void text_in_append(struct text_in *in, uint32_t length)
{
	in->length += length;
	in->bytes[in->length] = '\0';
}

void text_in_reset(struct text_in *in)
{
	in->length = 0;
	in->pdus = 0;
}

void text_in_free(struct text_in *in)
{
	free(in->bytes);
	memset(in, 0, sizeof(*in));
}

struct text_cursor text_cursor_on(const struct text_in *in)
{
	return (struct text_cursor){ .p = in->bytes, .left = in->length };
}

bool text_next(struct text_cursor *c, struct text_pair *ret, int *ret_error)
{
	const char *eq;
	size_t n, key;

	*ret_error = 0;
	while (c->left && !*c->p) {
		c->p++;
		c->left--;
	}
	if (!c->left)
		return false;
	/* A pair without its NUL at the end of the text ends with the NUL that text_in adds. */
	n = strnlen(c->p, c->left);
	eq = memchr(c->p, '=', n);
	key = eq ? (size_t)(eq - c->p) : 0;
	if (!key || key > TEXT_KEY_MAX) {
		*ret_error = -EPROTO;
		return false;
	}
	memcpy(ret->key, c->p, key);
	ret->key[key] = '\0';
	ret->value = eq + 1;
	ret->value_length = n - key - 1;
	c->p += n;
	c->left -= n;
	return true;
}

void text_put(struct text_out *o, const char *key, const char *value)
{
	size_t k = strlen(key), v = strlen(value);
	char *p;

	if (o->error)
		return;
	if (k + v + 2 > o->limit - o->length) {
		o->error = -EMSGSIZE;
		return;
	}
	o->error = grow(&o->bytes, &o->size, o->length + (uint32_t)(k + v) + 2);
	if (o->error)
		return;
	p = o->bytes + o->length;
	memcpy(p, key, k);
	p[k] = '=';
	memcpy(p + k + 1, value, v + 1);
	o->length += (uint32_t)(k + v) + 2;
}

void text_put_number(struct text_out *o, const char *key, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	text_put(o, key, digits);
}

const char *text_out_part(struct text_out *o, uint32_t limit, uint32_t *ret_length, bool *ret_more)
{
	uint32_t left = o->length - o->sent;
	const char *p = o->bytes ? o->bytes + o->sent : NULL;

	*ret_length = left < limit ? left : limit;
	*ret_more = left > limit;
	o->sent += *ret_length;
	return p;
}

void text_out_reset(struct text_out *o)
{
	o->length = 0;
	o->sent = 0;
	o->error = 0;
}

void text_out_free(struct text_out *o)
{
	free(o->bytes);
	o->bytes = NULL;
	o->size = 0;
	text_out_reset(o);
}

int text_number(const char *value, uint64_t *ret)
{
	unsigned base = 10;
	uint64_t n = 0;

	if (value[0] == '0' && (value[1] == 'x' || value[1] == 'X')) {
		base = 16;
		value += 2;
	} else if (value[0] == '0' && value[1]) {
		return -EINVAL; /* a decimal-constant begins with a digit that is not 0 */
	}
	if (!*value)
		return -EINVAL;
	for (; *value; value++) {
		unsigned d = (unsigned)text_hex_digit(*value);

		if (d >= base)
			return -EINVAL;
		if (n > (UINT64_MAX - d) / base)
			return -ERANGE;
		n = n * base + d;
	}
	*ret = n;
	return 0;
}

bool text_list_next(const char **list, char item[static TEXT_VALUE_MAX + 1])
{
	const char *p = *list;

	while (p) {
		const char *comma = strchr(p, ',');
		size_t n = comma ? (size_t)(comma - p) : strlen(p);
		const char *from = p;

		p = comma ? comma + 1 : NULL;
		*list = p;
		if (n > TEXT_VALUE_MAX)
			continue;
		memcpy(item, from, n);
		item[n] = '\0';
		return true;
	}
	return false;
}

bool text_is_reserved(const char *value)
{
	return !strcmp(value, "Reject") || !strcmp(value, "Irrelevant") ||
	       !strcmp(value, "NotUnderstood");
}
