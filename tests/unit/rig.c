/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/rig.h"

#include "backing/backing.h"
#include "daemon/base/bytes.h"
#include "scsi/exec.h"
#include "scsi/lu.h"
#include "scsi/tmf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_lu(struct rig *r, unsigned n)
{
	struct lu_params p = { .block_size = RIG_BLOCK, .physical_block = 4096, .thin = true };
	const char *why = NULL;

	snprintf(p.id.serial, sizeof(p.id.serial), "rig%u", n);
	snprintf(p.id.vendor, sizeof(p.id.vendor), "HAWSER  ");
	snprintf(p.id.product, sizeof(p.id.product), "VIRTUAL-DISK    ");
	snprintf(p.id.revision, sizeof(p.id.revision), "0001");
	p.id.naa[0] = 0x60;
	p.id.naa[15] = (uint8_t)n;
	r->store[n] = fake_store_new(RIG_SIZE, BACKING_CAN_TRIM | BACKING_THIN);
	if (lu_create(&p, &r->store[n]->b, &r->lu[n], &why)) {
		fprintf(stderr, "rig: %s\n", why ? why : "no memory");
		abort();
	}
}

struct iscsi_policy *rig_policy(struct rig *r)
{
	struct iscsi_policy *p = fake_policy(1);
	struct scsi_lun_entry entries[RIG_LUS];

	for (unsigned i = 0; i < RIG_LUS; i++)
		entries[i] = (struct scsi_lun_entry){ .lun = i, .lu = r->lu[i] };
	lun_map_unref(p->targets[0].map);
	p->targets[0].map = lun_map_create(entries, RIG_LUS);
	if (!p->targets[0].map)
		abort();
	return p;
}

void rig_start(struct rig *r, void (*edit)(struct iscsi_policy *))
{
	memset(r, 0, sizeof(*r));
	for (unsigned i = 0; i < RIG_LUS; i++)
		make_lu(r, i);
	r->policy = rig_policy(r);
	if (edit)
		edit(r->policy);
	fake_net_start(&r->net, r->policy);
	if (scsi_reactor_start(r->net.reactor, r->net.arena))
		abort();
	scsi_tmf_set_reactors(&r->net.reactor, 1);
	portal_set_reactors(&r->net.reactor, 1);
}

void rig_stop(struct rig *r)
{
	struct list *pos;

	for (unsigned i = 0; i < RIG_LUS; i++) {
		r->store[i]->hold = false;
		fake_store_let(r->store[i]);
	}
	list_for_each (pos, &r->net.conns)
		fake_hang_up(list_entry(pos, struct fake_conn, node));
	fake_turn(&r->net, 4);
	iscsi_reactor_stop(r->net.reactor);
	fake_turn(&r->net, 4);
	scsi_reactor_stop(r->net.reactor);
	fake_net_stop(&r->net);
	for (unsigned i = 0; i < RIG_LUS; i++) {
		lu_unref(r->lu[i]);
		fake_store_free(r->store[i]);
	}
}

static void take_attentions(struct fake_initiator *i)
{
	static const uint8_t test_unit_ready[16];

	for (uint8_t lun = 0; lun < RIG_LUS; lun++) {
		struct rig_command q = { .cdb = test_unit_ready, .lun = lun };
		unsigned status = SCSI_CHECK_CONDITION;

		for (unsigned n = 0; n < 8 && status == SCSI_CHECK_CONDITION; n++) {
			struct fake_pdu *p = rig_command(i, &q);

			if (!p)
				abort();
			status = p->bhs[3];
			free(p);
		}
	}
}

struct fake_initiator rig_login_isid(struct rig *r, uint8_t isid, const char *keys)
{
	struct fake_initiator i = fake_initiator(&r->net);
	char text[2048];
	struct fake_pdu *p;

	i.isid[5] = isid;
	snprintf(text, sizeof(text), FAKE_NORMAL "%s", keys ? keys : "");
	p = fake_login(&i, FAKE_OP_FFP, text);
	if (!p || fake_status(p)) {
		fprintf(stderr, "rig: login refused: %04x\n", p ? fake_status(p) : 0xffff);
		abort();
	}
	i.tsih = get_be16(p->bhs + 14);
	free(p);
	i.itt = 100;
	take_attentions(&i);
	return i;
}

struct fake_initiator rig_login(struct rig *r, const char *keys)
{
	return rig_login_isid(r, 1, keys);
}

struct fake_initiator rig_join(const struct fake_initiator *of, uint16_t cid, const char *keys)
{
	struct fake_initiator i = fake_initiator(of->fc->net);
	char text[2048];
	struct fake_pdu *p;

	memcpy(i.isid, of->isid, sizeof(i.isid));
	i.tsih = of->tsih;
	i.cid = cid;
	i.cmdsn = of->cmdsn;
	i.itt = of->itt + 1000;
	snprintf(text, sizeof(text), FAKE_NORMAL "%s", keys ? keys : "");
	p = fake_login(&i, FAKE_OP_FFP, text);
	if (!p || fake_status(p) || get_be16(p->bhs + 14) != i.tsih) {
		fprintf(stderr, "rig: a connection refused: %04x\n", p ? fake_status(p) : 0xffff);
		abort();
	}
	free(p);
	return i;
}

int rig_send(struct fake_initiator *i, const struct rig_command *q)
{
	struct bhs_scsi_command h = { .opcode = ISCSI_OP_SCSI_COMMAND };
	uint8_t bytes[48];

	h.opcode |= q->immediate ? ISCSI_IMMEDIATE : 0;
	h.flags = (uint8_t)(q->flags | (q->no_final ? 0 : ISCSI_FINAL));
	h.lun[1] = q->lun;
	i->itt = q->itt ? q->itt : i->itt + 1;
	put_be32(h.itt, i->itt);
	put_be32(h.edtl, q->edtl);
	put_be32(h.cmdsn, q->keep_cmdsn ? q->cmdsn : i->cmdsn);
	i->cmdsn += !q->immediate && !q->keep_cmdsn;
	put_be32(h.exp_statsn, i->exp_statsn);
	memcpy(h.cdb, q->cdb, 16);
	memcpy(bytes, &h, sizeof(bytes));
	return fake_feed_ahs(i->fc, bytes, q->ahs, q->ahs_length, q->data, q->length);
}

struct fake_pdu *rig_command(struct fake_initiator *i, const struct rig_command *q)
{
	return rig_send(i, q) ? NULL : fake_next(i->fc);
}

int rig_data_out(struct fake_initiator *i, const struct rig_data *q)
{
	struct bhs_data_out h = { .opcode = ISCSI_OP_DATA_OUT };
	uint8_t bytes[48];

	h.flags = q->final ? ISCSI_FINAL : 0;
	put_be32(h.itt, q->itt);
	put_be32(h.ttt, ISCSI_TAG_RESERVED);
	put_be32(h.datasn, q->datasn);
	put_be32(h.buffer_offset, q->offset);
	memcpy(bytes, &h, sizeof(bytes));
	return fake_feed(i->fc, bytes, q->data, q->length);
}

static void number(struct fake_initiator *i, uint8_t bhs[static 48])
{
	struct bhs *h = (void *)bhs;

	put_be32(h->cmdsn, i->cmdsn);
	put_be32(h->exp_statsn, i->exp_statsn);
	i->cmdsn += !(h->opcode & ISCSI_IMMEDIATE);
}

int rig_feed(struct fake_initiator *i, uint8_t bhs[static 48], const void *data, uint32_t length)
{
	number(i, bhs);
	return fake_feed(i->fc, bhs, data, length);
}

int rig_feed_damaged(struct fake_initiator *i, uint8_t bhs[static 48], const void *data,
		     uint32_t length)
{
	struct iscsi_rx rx = { .length = length };
	size_t skip;
	int err;

	put_be24(bhs + 5, length);
	memcpy(rx.bhs, bhs, sizeof(rx.bhs));
	err = iscsi_rx_header(i->fc->c, &rx);
	if (err)
		return err;
	skip = rx.skip;
	for (unsigned n = 0; n < rx.iovcnt && length; n++) {
		size_t here = rx.iov[n].iov_len - skip;
		size_t take = length < here ? length : here;

		memcpy((uint8_t *)rx.iov[n].iov_base + skip, data, take);
		data = (const uint8_t *)data + take;
		length -= (uint32_t)take;
		skip = 0;
	}
	return iscsi_rx_data(i->fc->c, &rx, false);
}

int rig_acknowledge(struct fake_initiator *i, uint32_t ttt)
{
	struct bhs_nop h = { .opcode = ISCSI_OP_NOP_OUT | ISCSI_IMMEDIATE, .flags = ISCSI_FINAL };
	uint8_t bytes[48];

	i->exp_statsn = i->fc->c->statsn;
	put_be32(h.itt, ISCSI_TAG_RESERVED);
	put_be32(h.ttt, ttt);
	memcpy(bytes, &h, sizeof(bytes));
	return rig_feed(i, bytes, NULL, 0);
}

struct fake_pdu *rig_ping(struct fake_initiator *i, uint32_t itt, const void *data, uint32_t length)
{
	struct bhs_nop h = { .opcode = ISCSI_OP_NOP_OUT | ISCSI_IMMEDIATE, .flags = ISCSI_FINAL };
	uint8_t bytes[48];

	put_be32(h.itt, itt);
	put_be32(h.ttt, ISCSI_TAG_RESERVED);
	memcpy(bytes, &h, sizeof(bytes));
	return rig_feed(i, bytes, data, length) ? NULL : fake_next(i->fc);
}

int rig_send_tmf(struct fake_initiator *i, const struct rig_tmf *q)
{
	struct bhs_tmf_request h = { .opcode = ISCSI_OP_TMF_REQUEST };
	uint8_t bytes[48];

	h.opcode |= q->ordered ? 0 : ISCSI_IMMEDIATE;
	h.function = (uint8_t)(0x80 | q->function);
	h.lun[1] = q->lun;
	put_be32(h.itt, ++i->itt);
	put_be32(h.referenced_tag, q->task ? q->task : ISCSI_TAG_RESERVED);
	put_be32(h.ref_cmdsn, q->ref_cmdsn);
	memcpy(bytes, &h, sizeof(bytes));
	return rig_feed(i, bytes, NULL, 0);
}

unsigned rig_tmf(struct fake_initiator *i, const struct rig_tmf *q)
{
	struct fake_pdu *p = rig_send_tmf(i, q) ? NULL : fake_next(i->fc);
	unsigned response = rig_opcode(p) == ISCSI_OP_TMF_RESPONSE ? p->bhs[2] : 0xffffu;

	free(p);
	return response;
}

struct fake_pdu *rig_logout(struct fake_initiator *i, uint8_t reason, uint16_t cid)
{
	struct bhs_logout_request h = { .opcode = ISCSI_OP_LOGOUT_REQUEST | ISCSI_IMMEDIATE };
	uint8_t bytes[48];

	h.reason = (uint8_t)(0x80 | reason);
	put_be32(h.itt, ++i->itt);
	put_be16(h.cid, cid);
	memcpy(bytes, &h, sizeof(bytes));
	return rig_feed(i, bytes, NULL, 0) ? NULL : fake_next(i->fc);
}

static void cdb10(uint8_t cdb[static 16], uint8_t opcode, uint32_t lba, uint16_t blocks)
{
	memset(cdb, 0, 16);
	cdb[0] = opcode;
	put_be32(cdb + 2, lba);
	put_be16(cdb + 7, blocks);
}

void rig_read10(uint8_t cdb[static 16], uint32_t lba, uint16_t blocks)
{
	cdb10(cdb, 0x28, lba, blocks);
}

void rig_write10(uint8_t cdb[static 16], uint32_t lba, uint16_t blocks)
{
	cdb10(cdb, 0x2a, lba, blocks);
}

unsigned rig_opcode(const struct fake_pdu *p)
{
	return p ? p->bhs[0] : 0xffu;
}

uint32_t rig_sense(const struct fake_pdu *p)
{
	const uint8_t *s;

	if (!p || p->bhs[0] != ISCSI_OP_SCSI_RESPONSE || p->length < 2 + 14)
		return 0;
	s = p->data + 2;
	return (uint32_t)(s[2] & 0x0f) << 16 | (uint32_t)s[12] << 8 | s[13];
}
