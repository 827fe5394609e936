/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parameter list of PERSISTENT RESERVE OUT (SPC-4 6.16.3, 6.16.4) and the TransportIDs in it
 * (7.6.4.6). What is wrong behind the keys is noted, not told: the key is looked at first, by
 * pr_decide, and a wrong one is RESERVATION CONFLICT whatever else is wrong.
 *
 * Threads: the reactor of the nexus. Ownership: a request owns its list of others.
 */
#include "daemon/base/bytes.h"
#include "scsi/exec_internal.h"
#include "scsi/iov.h"
#include "scsi/pr_internal.h"
#include "scsi/scsi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LIST_LENGTH = 24,
	LIST_FLAGS = 20,
	SPEC_I_PT = 0x08,
	ALL_TG_PT = 0x04,
	APTPL = 0x01,
	SPEC_IDS_LENGTH = 24, /* TRANSPORTID PARAMETER DATA LENGTH */
	SPEC_IDS = 28,
	MOVE_FLAGS = 17,
	MOVE_UNREG = 0x02,
	MOVE_PORT = 18,
	MOVE_ID_LENGTH = 20,
	MOVE_ID = 24,
	ID_HEADER = 4,
	ID_MIN = 24,
	ID_PROTOCOL = 0x3f, /* and the reserved bits above it */
	PROTOCOL_ISCSI = 0x05,
	ID_WITH_ISID = 0x40,
	ID_FORMAT = 0xc0,
	ISID_DIGITS = 12,
	NAME_MAX_LENGTH = 223, /* of an iSCSI name, RFC 7143 4.2.7.1 */
};

static const char separator[] = ",i,0x";

struct parse {
	struct pr_request *rq;
	struct it_nexus *n;
	struct scsi_lu *lu;
	const uint8_t *list;
	size_t length;
	unsigned room; /* of rq->others */
	int error;     /* -ENOMEM */
};

static void wrong(struct parse *p, struct scsi_sense sense)
{
	if (p->rq->has_sense)
		return;
	p->rq->has_sense = true;
	p->rq->sense = sense;
}

/* More than a table may have are refused, be some of them the same. */
static void add_other(struct parse *p, const char *initiator, const char *target, uint16_t relative)
{
	struct pr_request *rq = p->rq;

	if (p->error)
		return;
	if (rq->n_others == PR_REGISTRATIONS_MAX) {
		wrong(p, sense_make(SENSE_ILLEGAL_REQUEST, ASC_REGISTRATION_RESOURCES));
		return;
	}
	if (rq->n_others == p->room) {
		unsigned room = p->room ? p->room * 2 : 4;
		struct pr_nexus *more = realloc(rq->others, room * sizeof(*more));

		if (!more) {
			p->error = -ENOMEM;
			return;
		}
		rq->others = more;
		p->room = room;
	}
	if (pr_nexus_set(&rq->others[rq->n_others], initiator, target, relative))
		rq->n_others++;
}

/* The target port of number i of this device. */
static bool target_port(struct it_nexus *n, unsigned i, uint16_t *ret_relative,
			char ret_name[static SCSI_PORT_NAME])
{
	if (n->neighbours)
		return n->neighbours->target_port(n, i, ret_relative, ret_name);
	if (i)
		return false;
	*ret_relative = n->relative_port;
	snprintf(ret_name, SCSI_PORT_NAME, "%s", n->target_port);
	return true;
}

/* An initiator port on the port asked, or on all of the device. */
static void add_initiator(struct parse *p, const char *initiator, bool all_ports)
{
	char target[SCSI_PORT_NAME];
	uint16_t relative;

	if (!all_ports) {
		add_other(p, initiator, p->n->target_port, p->n->relative_port);
		return;
	}
	for (unsigned i = 0; target_port(p->n, i, &relative, target); i++)
		add_other(p, initiator, target, relative);
}

/* Ports of this initiator that the LU knows: that are logged in, or registered. */
static bool add_known_ports(struct parse *p, const char *name, bool all_ports)
{
	const struct pr_table *t = lu_pr_get(p->lu);
	size_t length = strlen(name);
	bool found = false;
	struct list *pos;

	pthread_mutex_lock(&p->lu->lock);
	list_for_each (pos, &p->lu->itls) {
		const struct it_nexus *n = list_entry(pos, struct itl, lu_node)->nexus;

		if (strncmp(n->initiator_port, name, length) != 0 ||
		    strncmp(n->initiator_port + length, separator, 3) != 0)
			continue;
		add_initiator(p, n->initiator_port, all_ports);
		found = true;
	}
	pthread_mutex_unlock(&p->lu->lock);
	for (unsigned i = 0; t && i < t->n; i++) {
		const char *port = t->regs[i].nexus.initiator;

		if (strncmp(port, name, length) != 0 || strncmp(port + length, separator, 3) != 0)
			continue;
		add_initiator(p, port, all_ports);
		found = true;
	}
	pr_table_put(t);
	return found;
}

/* Lower case, as names are compared (RFC 3722), and nothing that no name has. */
static bool take_name(const uint8_t *from, size_t length, char out[static NAME_MAX_LENGTH + 1])
{
	static const char *const kinds[] = { "iqn.", "eui.", "naa." };

	if (length > NAME_MAX_LENGTH)
		return false;
	for (size_t i = 0; i < length; i++) {
		uint8_t c = from[i];

		if (c <= ' ' || c == ',' || c == 0x7f)
			return false;
		out[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	}
	out[length] = '\0';
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(out, kinds[i], 4))
			return true;
	return false;
}

static bool take_isid(const char *digits, uint64_t *ret)
{
	static const char hex[] = "0123456789abcdef";
	uint64_t v = 0;
	unsigned n = 0;

	for (; digits[n]; n++) {
		char c =
		    (char)(digits[n] >= 'A' && digits[n] <= 'F' ? digits[n] | 0x20 : digits[n]);
		const char *at = strchr(hex, c);

		if (!at || n == ISID_DIGITS)
			return false;
		v = v << 4 | (uint64_t)(at - hex);
	}
	*ret = v;
	return n == ISID_DIGITS;
}

/* What is behind the end of the text is padding. The text, or NULL: it has no end. */
static const char *text_of(const uint8_t *id, size_t length)
{
	size_t n = strnlen((const char *)id, length);

	for (size_t i = n; i < length; i++)
		if (id[i])
			return NULL;
	return n < length ? (const char *)id : NULL;
}

/* The name and, in format 01b, the port that a TransportID gives; false: it is none of ours. */
static bool take_id(const uint8_t *id, size_t length, char name[static NAME_MAX_LENGTH + 1],
		    char port[static SCSI_PORT_NAME])
{
	bool with_isid = (id[0] & ID_FORMAT) == ID_WITH_ISID;
	const char *text = text_of(id + ID_HEADER, length - ID_HEADER), *end;
	uint64_t isid;

	if ((id[0] & ID_PROTOCOL) != PROTOCOL_ISCSI || !text || (!with_isid && (id[0] & ID_FORMAT)))
		return false;
	*port = '\0';
	end = with_isid ? strstr(text, separator) : text + strlen(text);
	if (!end || !take_name((const uint8_t *)text, (size_t)(end - text), name))
		return false;
	if (!with_isid)
		return true;
	if (!take_isid(end + strlen(separator), &isid))
		return false;
	snprintf(port, SCSI_PORT_NAME, "%s%s%012llx", name, separator, (unsigned long long)isid);
	return true;
}

/* Bytes of the TransportID at offset `at`, 0: it is cut short or its length is no good. */
static size_t id_length(const struct parse *p, size_t at)
{
	size_t length;

	if (p->length - at < ID_MIN)
		return 0;
	length = ID_HEADER + (size_t)get_be16(p->list + at + 2);
	return length >= ID_MIN && length % 4 == 0 && length <= p->length - at ? length : 0;
}

/* Nobody of this name can ever come: it is a mistake (and may be an old name). */
static bool admitted(const struct parse *p, const char *name)
{
	return !p->n->neighbours || p->n->neighbours->admits(p->n, name);
}

/* One port, or all that are known of the name; false: none is. */
static bool add_named(struct parse *p, const char *name, const char *port, bool all_ports)
{
	if (!*port)
		return add_known_ports(p, name, all_ports);
	add_initiator(p, port, all_ports);
	return true;
}

static void parse_spec(struct parse *p, bool all_ports)
{
	char name[NAME_MAX_LENGTH + 1], port[SCSI_PORT_NAME];
	size_t at = SPEC_IDS, length;

	if (p->length < SPEC_IDS) {
		wrong(p, sense_parameter_list_length());
		return;
	}
	if (get_be32(p->list + SPEC_IDS_LENGTH) != p->length - SPEC_IDS) {
		wrong(p, sense_invalid_parameter(SPEC_IDS_LENGTH));
		return;
	}
	for (; at < p->length && !p->rq->has_sense; at += length) {
		uint16_t field = (uint16_t)at;

		length = id_length(p, at);
		if (!length || !take_id(p->list + at, length, name, port) || !admitted(p, name) ||
		    !add_named(p, name, port, all_ports))
			wrong(p, sense_invalid_parameter(field));
	}
}

static void parse_move(struct parse *p)
{
	char name[NAME_MAX_LENGTH + 1], port[SCSI_PORT_NAME], target[SCSI_PORT_NAME];
	uint16_t wanted = get_be16(p->list + MOVE_PORT), relative;
	size_t length = id_length(p, MOVE_ID);
	unsigned i = 0;

	p->rq->unreg = p->list[MOVE_FLAGS] & MOVE_UNREG;
	p->rq->aptpl = p->list[MOVE_FLAGS] & APTPL;
	if (get_be32(p->list + MOVE_ID_LENGTH) != p->length - MOVE_ID || p->length == MOVE_ID) {
		wrong(p, sense_invalid_parameter(MOVE_ID_LENGTH));
		return;
	}
	/* A device is no nexus: the port's ISID must be there. */
	if (length != p->length - MOVE_ID || !take_id(p->list + MOVE_ID, length, name, port) ||
	    !*port || !admitted(p, name)) {
		wrong(p, sense_invalid_parameter(MOVE_ID));
		return;
	}
	while (target_port(p->n, i, &relative, target) && relative != wanted)
		i++;
	if (!target_port(p->n, i, &relative, target))
		wrong(p, sense_invalid_parameter(MOVE_PORT));
	else
		add_other(p, port, target, relative);
}

static void parse_flags(struct parse *p)
{
	uint8_t flags = p->list[LIST_FLAGS];
	struct pr_request *rq = p->rq;
	bool registers = rq->action == PR_REGISTER || rq->action == PR_REGISTER_IGNORE;

	rq->spec_i_pt = flags & SPEC_I_PT;
	if (rq->spec_i_pt && rq->action != PR_REGISTER) {
		wrong(p, sense_invalid_parameter_bit(LIST_FLAGS, 3));
		return;
	}
	if (!registers)
		return; /* the others are ignored (6.16.3) */
	rq->aptpl = flags & APTPL;
	rq->others_own = flags & ALL_TG_PT && !rq->spec_i_pt;
	if (rq->spec_i_pt)
		parse_spec(p, flags & ALL_TG_PT);
	if (flags & ALL_TG_PT)
		add_initiator(p, p->n->initiator_port, true);
}

int pr_request_parse(struct pr_request *rq, struct it_nexus *n, struct scsi_lu *lu,
		     const uint8_t *cdb, const uint8_t *list, size_t length)
{
	struct parse p = { .rq = rq, .n = n, .lu = lu, .list = list, .length = length };

	rq->action = (enum pr_action)(cdb[1] & 0x1f);
	rq->scope = cdb[2] >> 4;
	rq->type = cdb[2] & 0x0f;
	rq->key = get_be64(list);
	rq->action_key = get_be64(list + 8);
	(void)pr_nexus_set(&rq->own, n->initiator_port, n->target_port, n->relative_port);
	if (rq->action == PR_REGISTER_AND_MOVE)
		parse_move(&p);
	else
		parse_flags(&p);
	if (rq->aptpl && !pr_can_keep())
		wrong(&p, sense_invalid_parameter_bit(
			      rq->action == PR_REGISTER_AND_MOVE ? MOVE_FLAGS : LIST_FLAGS, 0));
	if (p.error)
		pr_request_clear(rq);
	return p.error;
}

void pr_request_clear(struct pr_request *rq)
{
	free(rq->others);
	rq->others = NULL;
	rq->n_others = 0;
}

size_t pr_put_transport_id(const char *initiator_port, uint8_t *out, size_t room)
{
	size_t text = strlen(initiator_port) + 1;
	size_t length = ID_HEADER + (text + 3) / 4 * 4;

	if (length < ID_MIN)
		length = ID_MIN;
	if (length > room)
		return 0;
	memset(out, 0, length);
	out[0] = ID_WITH_ISID | PROTOCOL_ISCSI;
	put_be16(out + 2, (uint16_t)(length - ID_HEADER));
	memcpy(out + ID_HEADER, initiator_port, text);
	return length;
}

/* Framing only: what the keys must come before is pr_decide's (SPC-4 6.16.2). */
struct scsi_plan pr_plan_out(const struct scsi_request *rq)
{
	uint32_t length = get_be32(rq->cdb + 5);

	return length < LIST_LENGTH ? plan_fail(sense_parameter_list_length())
				    : plan_collect(length);
}

/* PLAN_ACTION; the list is in the task's buffers. */
static void carry_out(struct scsi_task *t)
{
	size_t length = t->data_out_length;
	const uint8_t *list = t->home->answer;
	struct pr_request rq = { 0 };

	if (t->buf.n == 1)
		list = t->buf.iov[0].iov_base;
	else
		iov_copy_out(t->buf.iov, t->buf.n, 0, t->home->answer, length);
	if (pr_request_parse(&rq, t->nexus, t->lu, t->cdb, list, length) < 0)
		exec_fail(t, sense_from_errno(-ENOMEM, false));
	else
		pr_run_task(t, &rq);
}

struct scsi_plan pr_params_out(const struct scsi_request *rq, const uint8_t *list, size_t n)
{
	uint8_t action = rq->cdb[1] & 0x1f;

	/* 6.16.2: 24 bytes, but for lists of TransportIDs. */
	if (n != LIST_LENGTH && action != PR_REGISTER_AND_MOVE && !(list[LIST_FLAGS] & SPEC_I_PT))
		return plan_fail(sense_parameter_list_length());
	return (struct scsi_plan){ .kind = PLAN_ACTION, .action = carry_out };
}
