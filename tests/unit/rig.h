/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iSCSI and SCSI layers together, between the fake datamover and fake stores: a target with two
 * LUs (LUN 0 and 1, 4 MiB each of 512 byte blocks) and initiators in full-feature phase.
 *
 * Threads: one. Ownership: PDUs belong to the caller (free).
 */
#ifndef HAWSER_TESTS_RIG_H
#define HAWSER_TESTS_RIG_H

#include "daemon/base/bytes.h"
#include "tests/unit/fake_initiator.h"
#include "tests/unit/fake_store.h"
#include "transport/iscsi/session.h"

#define RIG_LUS   2
#define RIG_BLOCK 512u
#define RIG_SIZE  (4u << 20)

struct rig {
	struct fake_net net;
	struct iscsi_policy *policy; /* of the first rig_start; for tests before the first login */
	struct fake_store *store[RIG_LUS];
	struct scsi_lu *lu[RIG_LUS];
};

/* What a SCSI Command says; zero is the usual. */
struct rig_command {
	const uint8_t *cdb; /* 16 bytes */
	uint32_t edtl;
	uint8_t flags; /* R, W, attribute; F is set unless no_final */
	bool no_final, immediate;
	bool keep_cmdsn; /* cmdsn is used as it is */
	uint32_t cmdsn;
	uint32_t itt; /* 0: the next */
	uint8_t lun;
	const void *data;
	uint32_t length;
	const void *ahs;
	uint16_t ahs_length;
};

/* edit: changes the policy before it is used; may be NULL. */
void rig_start(struct rig *r, void (*edit)(struct iscsi_policy *));
void rig_stop(struct rig *r);
/* A policy like that of rig_start, with the same LUs. */
struct iscsi_policy *rig_policy(struct rig *r);

/* Logs in with these keys more (NULL: none) and takes the unit attentions of both LUs. */
struct fake_initiator rig_login(struct rig *r, const char *keys);
struct fake_initiator rig_login_isid(struct rig *r, uint8_t isid, const char *keys);

/* Another connection of the session of `of`, or its first again; its numbers go on with those of
 * `of`. keys: NULL: none. */
struct fake_initiator rig_join(const struct fake_initiator *of, uint16_t cid, const char *keys);

/* What fake_feed returned; the ITT used is i->itt. */
int rig_send(struct fake_initiator *i, const struct rig_command *q);
/* As rig_send, with the next answer. */
struct fake_pdu *rig_command(struct fake_initiator *i, const struct rig_command *q);
/* Unsolicited Data-Out. */
struct rig_data {
	uint32_t itt, datasn, offset;
	const void *data;
	uint32_t length;
	bool final;
};
int rig_data_out(struct fake_initiator *i, const struct rig_data *q);
/* Any other request; the CmdSN moves on unless immediate. What fake_feed returned. */
int rig_feed(struct fake_initiator *i, uint8_t bhs[static 48], const void *data, uint32_t length);
/* A data segment with a digest that does not match. */
int rig_feed_damaged(struct fake_initiator *i, uint8_t bhs[static 48], const void *data,
		     uint32_t length);
/* NOP-Out that wants no answer, or is one (ttt): all that has been sent is acknowledged.
 * What fake_feed returned. */
int rig_acknowledge(struct fake_initiator *i, uint32_t ttt);
/* NOP-Out with this tag; immediate. */
struct fake_pdu *rig_ping(struct fake_initiator *i, uint32_t itt, const void *data,
			  uint32_t length);
/* A task management function, immediate unless said; the response code, 0xffff if none came. */
struct rig_tmf {
	uint8_t function, lun;
	bool ordered;
	uint32_t task, ref_cmdsn;
};
unsigned rig_tmf(struct fake_initiator *i, const struct rig_tmf *q);
int rig_send_tmf(struct fake_initiator *i, const struct rig_tmf *q);
struct fake_pdu *rig_logout(struct fake_initiator *i, uint8_t reason, uint16_t cid);

/* CDBs. */
void rig_read10(uint8_t cdb[static 16], uint32_t lba, uint16_t blocks);
void rig_write10(uint8_t cdb[static 16], uint32_t lba, uint16_t blocks);

/* Of an answer: opcode or 0xff, fields, sense key << 16 | ASC << 8 | ASCQ (0: none). */
unsigned rig_opcode(const struct fake_pdu *p);
uint32_t rig_sense(const struct fake_pdu *p);
#define rig_itt(p)       get_be32((p)->bhs + 16)
#define rig_statsn(p)    get_be32((p)->bhs + 24)
#define rig_exp_cmdsn(p) get_be32((p)->bhs + 28)
#define rig_max_cmdsn(p) get_be32((p)->bhs + 32)
#define rig_residual(p)  get_be32((p)->bhs + 44)

#endif
