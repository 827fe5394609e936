/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protocol tests: a daemon of their own (main.c, daemon.c), and what the tests share (support.c).
 * One file for each subject; each adds its tests to a test case of its name.
 *
 * After each test the daemon must still serve: a session that was there before the test reads its
 * pattern (the witness), and no PDU of any session may have broken a rule that holds for all.
 *
 * Threads: none. Ownership: sessions and PDUs that support.c hands out end with the test.
 */
#ifndef HAWSER_TESTS_PROTOCOL_H
#define HAWSER_TESTS_PROTOCOL_H

#include "daemon/base/bytes.h"
#include "tests/initiator/initiator.h"
#include "tests/lib/covers.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Rows of tables leave out what is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct server {
	pid_t pid;
	char dir[64];
	uint16_t port, port2, port6; /* groups 1, 2, and 1 on [::1]; port6 0: no IPv6 here */
};

/* The usual one, and one with short limits of time and number. */
extern struct server server, strict;

#define LOGIN_LIMIT_S  3 /* of `strict` */
#define NOP_INTERVAL_S 1
#define NOP_LIMIT_S    2
#define STRICT_WINDOW  8
#define STRICT_OWN     7  /* sessions of an initiator name */
#define STRICT_UNKNOWN 16 /* connections that have not logged in */

/* Targets of `server`. */
#define BASE           "iqn.2026-01.org.example:"
#define T_MAIN         BASE "main"
#define T_WITNESS      BASE "witness"
#define T_CLOSED       BASE "closed"    /* no access rule */
#define T_OFFLINE      BASE "offline"   /* switched off */
#define T_FRIENDS      BASE "friends"   /* for initiators BASE "friend*" */
#define T_SMALL        BASE "small"     /* small limits */
#define T_LIMITED      BASE "limited"   /* two sessions at once */
#define T_SOLICITED    BASE "solicited" /* InitialR2T=Yes, ImmediateData=No */
#define T_NO_DIGEST    BASE "nodigest"  /* digests: None only */
#define T_DIGEST       BASE "digest"    /* digests: CRC32C only */
#define T_GROUP2       BASE "group2"    /* portal group 2 only */
#define T_NO_ZERO      BASE "nozero"    /* LUN 1 only */
#define T_RESET        BASE "reset"     /* for resets, and a store that hangs */
#define T_MCS          BASE "mcs"       /* eight connections in a session */
#define T_LEVEL_1      BASE "level1"    /* ErrorRecoveryLevel 1 */
#define T_CHAP         BASE "chap"      /* for accounts "user", "0xabc" and "strong" */
#define T_CHAP_BOUND   BASE "chapbound" /* for account "user", and FRIEND only */
#define T_CHAP_MUST    BASE "chapmust"  /* for account "both", which wants mutual CHAP */
#define T_PR           BASE "pr"        /* for reservations, LUN 0 */
#define CHAP_SECRET    "one-way-secret-a"
#define CHAP_SECRET2   "one-way-secret-b"
#define CHAP_OURS      "secret-of-the-target"
#define TEXT_50        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwx"
#define LONG_ACCOUNT   "255-" TEXT_50 TEXT_50 TEXT_50 TEXT_50 TEXT_50 "a" /* as long as can be */
#define LONG_ACCOUNT_X "255-" TEXT_50 TEXT_50 TEXT_50 TEXT_50 TEXT_50 "b"
#define READER         BASE "reader" /* may only read T_RESET */
#define FRIEND         BASE "friend1"
#define T_MAIN_ALIAS   "protocol tests"

#define SMALL_RECV  4096u
#define SMALL_BURST 8192u
#define SMALL_FIRST 4096u
#define SMALL_R2T   2u

/* LUNs of T_MAIN. */
enum {
	LUN_RAM = 0, /* 64 MiB, 512e, thin */
	LUN_4K = 1,
	LUN_NULL = 2, /* 1 TiB */
	LUN_FILE = 3, /* thin file */
	LUN_READ_ONLY = 4,
	LUN_REMOVABLE = 5,
	LUN_FAULT = 6, /* misbehaves by address, see below */
	LUN_HUGE = 7,  /* null, 3 TiB */
	LUN_FLAT = 300,
	LUN_NOWHERE = 99,
};

#define RAM_BLOCKS 131072u

/* Blocks (512 bytes) of LUN_FAULT; from each on, FAULT_BLOCKS behave so. */
#define FAULT_BLOCKS 2048u
#define FAULT_SLOW   2048u /* SLOW_MS later */
#define FAULT_STALL  4096u /* STALL_MS later */
#define FAULT_READ   8192u /* reads fail with EIO */
#define FAULT_WRITE  12288u
#define SLOW_MS      400
#define STALL_MS     2500

int server_start(struct server *s, const char *config(const struct server *s));
/* kill -9, and up again on the same port and folder. 0 or a negative errno. */
int server_kill_and_restart(struct server *s);
/* Its exit status; -1 if it does not end. */
int server_stop(struct server *s);
/* Is there a line in the log of `server` with this? */
bool log_has(const char *text);
const char *config_main(const struct server *s);
const char *config_strict(const struct server *s);
uint16_t free_port(int family);
/* support_admin.c: asks the daemon by its socket; params: the members of an object. The result,
 * which the caller lets go; fails the test if it is an error. */
struct json_t *admin(const struct server *s, const char *method, const char *params);
void change(const struct server *s, const char *method, const char *params); /* no result wanted */
/* The sessions with a target that have a connection become this many. */
void await_sessions(const struct server *s, const char *target, unsigned n);
/* False, and why not on stdout: it has ended, or the witness cannot read. */
bool witness_start(void);
void witness_check(void);
int witness_reads(void); /* a block, right: 0 */
void witness_stop(void);

/* Time limits: valgrind and sanitizers need more. */
int patience(int ms);
int64_t clock_ms(void);

/* For main.c. */
typedef void suite_fn(TCase *c);
suite_fn fast_abort_suite;
suite_fn atomic_suite, login_suite, login_refused_suite, login_text_suite, keys_suite, text_suite,
    discovery_suite, nop_suite, command_suite, data_out_suite, data_wrong_suite, data_in_suite,
    residual_suite, tmf_suite, abort_suite, logout_suite, reject_suite, cmdsn_suite, session_suite,
    digest_suite, lun_suite, scsi_suite, time_suite, stats_suite, fuzz_suite, chap_suite,
    chap_values_suite, unh_numbers_suite, unh_data_suite, unh_data_in_suite, unh_tasks_suite,
    unh_ping_suite, unh_digest_suite, unh_text_suite, unh_chap_suite, unh_login_suite,
    unh_keys_suite, replay_suite, unh_reassign_suite, unh_recovery_suite;
suite_fn mcs_login_suite, mcs_io_suite, mcs_loss_suite;
suite_fn reserve_suite, kept_suite, odx_suite, alua_suite;
suite_fn space_suite, hot_suite;
suite_fn tmf_sam5_suite, tmf_wait_suite;
suite_fn snack_suite, snack_status_suite, snack_mcs_suite, lost_suite;
suite_fn stuck_suite, churn_suite, show_suite;
void add_rows(TCase *c, const TTest *test, int rows);
#define add(c, test)             add_rows(c, test, 1)
#define add_table(c, test, rows) add_rows(c, test, (int)(sizeof(rows) / sizeof((rows)[0])))

/* Sessions. All fail the test when they cannot do what they say. */
struct ini *connect_to(uint16_t port); /* TCP only */
struct ini *discovery(void);
struct ini *session(const char *target);
struct ini *session_keys(const char *target, const char *keys);
struct ini *session_as(const char *initiator, const char *target);
/* The status of a login. */
int try_login(struct ini *i, const struct ini_login *l);
#define USUAL(first, r2t, immediate)                                                               \
	"InitialR2T=" r2t "\nImmediateData=" immediate "\nFirstBurstLength=" first                 \
	"\nMaxBurstLength=262144\nMaxRecvDataSegmentLength=65536"

/* Logs in step by step: sends text (pairs parted by '\n') with these flags; the answer. */
const struct ini_pdu *login_step(struct ini *i, uint8_t flags, const char *text);
#define NAMES(target)    "InitiatorName=" BASE "test\nTargetName=" target
#define SECURITY_STEP    0x00
#define SECURITY_TO_OP   0x81
#define SECURITY_TO_FULL 0x83
#define OP_STEP          0x04
#define OP_TO_FULL       0x87
/* The status of a Login Response. */
int login_status(const struct ini_pdu *p);

/* The next PDU, which must have this opcode. */
const struct ini_pdu *expect(struct ini *i, enum iscsi_opcode opcode);
/* The next PDU within ms; NULL: none. */
const struct ini_pdu *await_pdu(struct ini *i, int ms);
/* Nothing is on its way: the next PDU is the answer to a ping sent now. */
void expect_nothing(struct ini *i);
void expect_reject(struct ini *i, uint8_t reason);
/* Either: Rejected with `reason` and alive, or the connection is closed. True: closed. */
bool expect_reject_or_close(struct ini *i, uint8_t reason);
void expect_close(struct ini *i);
/* Takes PDUs until the connection is closed or a Reject comes; fails if neither comes. Its reason,
 * 0: closed. */
void ping(struct ini *i); /* immediate; its answer must be the next PDU */
bool still_works(struct ini *i);
void tmf(struct ini *i, uint8_t function, uint64_t lun, uint8_t response);

/* SCSI. */
#define READ10  0x28
#define WRITE10 0x2a
void rw10(struct ini_scsi *c, uint8_t opcode, uint64_t lun, uint32_t lba, uint16_t blocks,
	  void *buffer);
void cdb_of(struct ini_scsi *c, const char *hex); /* "12 01 83 00 ff 00" */
/* Takes unit attentions until the LUN is ready. */
void ready(struct ini *i, uint64_t lun);
void run_good(struct ini *i, struct ini_scsi *c);
void run_sense(struct ini *i, struct ini_scsi *c, uint32_t sense);
/* A command that is just started: its header as ini_command makes it. */
void start(struct ini *i, struct bhs_scsi_command *h);
void fill(uint8_t *p, size_t n, uint32_t seed);
/* Reads and compares. */
void expect_content(struct ini *i, uint64_t lun, uint32_t lba, uint16_t blocks,
		    const uint8_t *want);
const struct bhs_scsi_response *expect_status(struct ini *i, uint32_t itt, uint8_t status);
uint32_t sense_of(const struct ini_pdu *p); /* of a SCSI Response */

/* honest.c: another initiator writes, reads and verifies, from begin to end. The failure: NULL if
 * there is none. The end returns how many times it has written and read. */
void honest_begin(uint64_t seed);
const char *honest_failure(void);
unsigned long honest_end(void);

/* One Data-Out PDU of a task. */
struct data_out {
	uint32_t itt, ttt, datasn, offset, length;
	bool final;
	const uint8_t *data;
	uint64_t lun_field;
};
void send_data_out(struct ini *i, const struct data_out *d);
/* WRITE(10) whose header goes alone; flags without F: unsolicited data follows. */
uint32_t start_write(struct ini *i, uint64_t lun, uint32_t lba, uint16_t blocks, bool final,
		     const uint8_t *immediate, uint32_t immediate_length);

/* A WRITE of a block of LUN_RAM that has a CmdSN and is not sent: functions may announce it. */
struct absent {
	struct bhs_scsi_command h;
	uint32_t lba;
	uint8_t before[512]; /* what is in the block */
};
void absent_write(struct ini *i, uint32_t lba, struct absent *ret);
/* A function that names it. */
void absent_function(struct ini *i, const struct absent *a, uint8_t function,
		     struct bhs_tmf_request *ret);
/* Its number counts as received; now it comes after all, and nothing comes of it. */
void absent_is_never_run(struct ini *i, const struct absent *a);

#define be32_of(p, type, member) get_be32(((const struct type *)(const void *)(p)->bhs)->member)
#define bhs_of(p, type)          ((const struct type *)(const void *)(p)->bhs)

#endif
