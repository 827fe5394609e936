/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A test initiator: sends any PDU, right or wrong, and watches every PDU that comes back against
 * the rules that hold for all (numbering, padding, lengths, reserved fields). For protocol tests,
 * fuzzers and benchmarks; never part of the product.
 *
 * Threads: a struct ini belongs to one thread; blocking calls with time limits.
 * Ownership: ini_close frees what hangs on it; a received PDU's data is freed by ini_pdu_free.
 */
#ifndef HAWSER_TESTS_INITIATOR_H
#define HAWSER_TESTS_INITIATOR_H

#include "transport/iscsi/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INI_WAIT_MS 10000 /* the limit of every wait unless the call says otherwise */

struct ini_pdu {
	uint8_t bhs[ISCSI_BHS_SIZE];
	uint8_t *data; /* NUL behind it */
	uint32_t length;
};

#define INI_TRACKS 256 /* more than commands outstanding */

/* What has come for a command. */
struct ini_track {
	uint32_t itt, cmdsn, edtl;
	bool open, counted; /* counted: not immediate */
	uint32_t datasn, r2tsn;
	uint32_t offset, burst, asked;
};

struct ini {
	int fd;
	char host[64];
	uint16_t port;
	bool header_digest, data_digest; /* in force */
	bool full_feature;
	uint8_t isid[6];
	uint16_t tsih, cid;
	uint32_t itt, cmdsn; /* the next to be used */
	uint32_t exp_statsn; /* the next expected */
	bool withholds;      /* acknowledges nothing from `acked` on, as if it had not come */
	uint32_t acked;
	bool statsn_known;
	uint32_t exp_cmdsn, max_cmdsn; /* as last heard */
	bool window_known;
	/* What was declared or negotiated. */
	uint32_t max_recv, max_send; /* data segment lengths: ours, the target's */
	uint32_t max_burst, first_burst, max_r2t;
	bool initial_r2t, immediate_data, fast_abort;
	/* The validator. */
	unsigned violations;
	char violation[256]; /* the first one */
	bool recovery;       /* ErrorRecoveryLevel 1: replicas and recovery R2Ts may come */
	bool any_pdu;        /* PDUs of full-feature phase are expected without ini_login */
	struct ini_track track[INI_TRACKS];
	/* Faults to be sent on purpose. */
	bool corrupt_header_digest, corrupt_data_digest;
};

/* Fresh state with an ISID of its own, and a connection. 0 or a negative errno. */
int ini_open(struct ini *i, const char *host, uint16_t port);
/* Another connection with the same state (after the first was closed). */
int ini_reopen(struct ini *i);
void ini_close(struct ini *i); /* just closes the socket */

int ini_send_bytes(struct ini *i, const void *bytes, size_t n);
/* Completes a header (DataSegmentLength, TotalAHSLength), adds digests and padding as in force. */
int ini_send(struct ini *i, uint8_t bhs[static 48], const void *data, uint32_t length);
int ini_send_ahs(struct ini *i, uint8_t bhs[static 48], const void *ahs, uint16_t ahs_length,
		 const void *data, uint32_t length);

/* 1: a PDU; 0: nothing within timeout_ms; -ENOTCONN: the target closed; other negative errno. */
int ini_receive(struct ini *i, struct ini_pdu *ret, int timeout_ms);
void ini_pdu_free(struct ini_pdu *p);
/* True if the target closes (after any PDUs, which are dropped) within timeout_ms. */
bool ini_closed(struct ini *i, int timeout_ms);

/* What a request says as ExpStatSN. */
static inline uint32_t ini_ack(const struct ini *i)
{
	return i->withholds ? i->acked : i->exp_statsn;
}

/* Headers with ITT, CmdSN and ExpStatSN filled in; advance CmdSN unless immediate. */
void ini_nop(struct ini *i, struct bhs_nop *ret, bool immediate);
void ini_text(struct ini *i, struct bhs_text *ret, bool immediate);
void ini_logout(struct ini *i, struct bhs_logout_request *ret, uint8_t reason);
void ini_tmf(struct ini *i, struct bhs_tmf_request *ret, uint8_t function, uint64_t lun);
void ini_login_header(struct ini *i, struct bhs_login_request *ret, int csg, int nsg, bool transit);
/* flags: ISCSI_CMD_READ, ISCSI_CMD_WRITE; F and SIMPLE are set. */
void ini_command(struct ini *i, struct bhs_scsi_command *ret, uint64_t lun, uint8_t flags,
		 uint32_t edtl, const uint8_t *cdb, size_t cdb_length);

/* Text of key=value pairs, each followed by NUL, from a string that separates them by '\n'. */
uint32_t ini_pairs(const char *lines, uint8_t *buf, uint32_t size);
/* The value of a key in a data segment; NULL: not there. Points into data. */
const char *ini_value(const struct ini_pdu *p, const char *key);

struct ini_login {
	const char *initiator; /* NULL: iqn.2004-01.example:test */
	const char *target;    /* NULL: discovery session */
	const char *keys;      /* further pairs, '\n' between; NULL: the usual ones */
	int csg;               /* first stage, 1 unless set */
	bool security;         /* begin in the security stage */
};

/* Logs in, answers taken over into the state. The status (class << 8 | detail), 0 for success, or
 * a negative errno. last, if not NULL, gets the last response (caller frees it). */
int ini_login(struct ini *i, const struct ini_login *l, struct ini_pdu *last);

/* One SCSI command from its header to its status. */
struct ini_scsi {
	uint64_t lun;
	uint8_t cdb[16];
	uint8_t cdb_length;
	const void *out; /* data to send, edtl bytes of it at most */
	void *in;        /* room for data that comes */
	uint32_t edtl;
	bool immediate;    /* the I bit */
	uint8_t attribute; /* 0: SIMPLE */
	/* result */
	uint8_t response, status, flags;
	uint32_t residual;
	uint32_t received; /* bytes of data in */
	uint8_t sense[252];
	uint32_t sense_length;
	unsigned n_r2t, n_data_in;
	uint32_t itt;
};
/* 0, or a negative errno; -EBADMSG: Reject (reason in response). */
int ini_scsi(struct ini *i, struct ini_scsi *c);
/* Key << 16 | ASC << 8 | ASCQ of fixed or descriptor sense, 0 without sense. */
uint32_t ini_sense(const struct ini_scsi *c);
/* Sends only the header (with immediate data if allowed); ini_scsi_finish does the rest. */
int ini_scsi_start(struct ini *i, struct ini_scsi *c);
int ini_scsi_finish(struct ini *i, struct ini_scsi *c);
/* One PDU that has come: 1 if the command has ended with it, 0 if not, or a negative errno. */
int ini_scsi_take(struct ini *i, struct ini_scsi *c, const struct ini_pdu *p);

/* Sends the Data-Out PDUs for one R2T, `chunk` bytes each (0: the largest allowed). */
int ini_answer_r2t(struct ini *i, const struct ini_pdu *r2t, const uint8_t *data, uint32_t chunk);

#endif
