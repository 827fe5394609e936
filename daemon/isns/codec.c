/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/isns/codec.h"

#include <errno.h>
#include <string.h>

#define VERSION 1

void isns_begin(struct isns_message *m, void *buffer, size_t size, uint16_t function,
		uint16_t flags)
{
	m->w = writer_on(buffer, size);
	writer_be16(&m->w, VERSION);
	writer_be16(&m->w, function);
	writer_be16(&m->w, 0); /* length: isns_end */
	writer_be16(&m->w, flags | ISNS_CLIENT | ISNS_FIRST | ISNS_LAST);
	writer_be16(&m->w, 0); /* transaction: isns_set_xid */
	writer_be16(&m->w, 0); /* sequence: each of ours is one PDU */
}

void isns_put(struct isns_message *m, uint32_t tag, const void *value, uint32_t length)
{
	uint32_t padding = -length & 3;

	writer_be32(&m->w, tag);
	writer_be32(&m->w, length + padding);
	writer_bytes(&m->w, value, length);
	writer_zeros(&m->w, padding);
}

void isns_put_text(struct isns_message *m, uint32_t tag, const char *text)
{
	isns_put(m, tag, text, (uint32_t)strlen(text) + 1);
}

void isns_put_number(struct isns_message *m, uint32_t tag, uint32_t value)
{
	uint8_t bytes[4];

	put_be32(bytes, value);
	isns_put(m, tag, bytes, sizeof(bytes));
}

int isns_end(struct isns_message *m, size_t *ret_length)
{
	size_t length = (size_t)(m->w.p - m->w.base);

	if (m->w.broken || length - ISNS_HEADER_SIZE > ISNS_PAYLOAD_MAX)
		return -EMSGSIZE;
	put_be16(m->w.base + 4, (uint16_t)(length - ISNS_HEADER_SIZE));
	*ret_length = length;
	return 0;
}

void isns_set_xid(void *message, uint16_t xid)
{
	put_be16((uint8_t *)message + 8, xid);
}

int isns_parse_header(const uint8_t bytes[static ISNS_HEADER_SIZE], struct isns_header *ret)
{
	struct reader r = reader_on(bytes, ISNS_HEADER_SIZE);

	ret->version = reader_be16(&r);
	ret->function = reader_be16(&r);
	ret->length = reader_be16(&r);
	ret->flags = reader_be16(&r);
	ret->xid = reader_be16(&r);
	ret->sequence = reader_be16(&r);
	return ret->version != VERSION || ret->length % 4 || ret->length > ISNS_PAYLOAD_MAX
		   ? -EPROTO
		   : 0;
}

bool isns_next(struct reader *r, struct isns_attribute *ret, int *ret_error)
{
	*ret_error = 0;
	if (!r->left)
		return false;
	ret->tag = reader_be32(r);
	ret->length = reader_be32(r);
	if (ret->length % 4)
		r->broken = true;
	ret->value = reader_take(r, ret->length);
	if (r->broken)
		*ret_error = -EPROTO;
	return !r->broken;
}

/* The answer to a notice names its destination: the first attribute of the notice (5.7.5.9). */
static int put_destination(struct isns_message *m, const uint8_t *payload, size_t length)
{
	struct reader r = reader_on(payload, length);
	struct isns_attribute a;
	int error;

	if (!isns_next(&r, &a, &error))
		return -EPROTO;
	isns_put(m, a.tag, a.value, a.length);
	return 0;
}

int isns_answer(const struct isns_header *h, const uint8_t *payload, void *buffer, size_t size)
{
	static const uint8_t status[4];
	struct isns_message m;
	size_t length;
	int r = 0;

	if (h->function != ISNS_ESI && h->function != ISNS_SCN)
		return -EPROTO;
	isns_begin(&m, buffer, size, h->function | ISNS_ANSWER, 0);
	writer_bytes(&m.w, status, sizeof(status));
	if (h->function == ISNS_ESI)
		writer_bytes(&m.w, payload, h->length); /* the whole comes back, 5.7.5.10 */
	else
		r = put_destination(&m, payload, h->length);
	if (!r)
		r = isns_end(&m, &length);
	if (r)
		return r;
	isns_set_xid(buffer, h->xid);
	return (int)length;
}

bool isns_scn_removes(const uint8_t *payload, size_t length)
{
	struct reader r = reader_on(payload, length);
	struct isns_attribute a;
	bool removes = false;
	int error;

	while (isns_next(&r, &a, &error))
		if (a.tag == ISNS_SCN_BITMAP && a.length == 4 && a.value)
			removes |= get_be32(a.value) & ISNS_SCN_REMOVED;
	return removes && !error;
}
