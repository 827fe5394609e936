/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of UNH-IOL's suites for targets share (tests/standards/unh-iol-target.tsv, whose
 * ids they name). The full-feature suite is there in its full text, and its procedures are followed
 * as they stand; of the others only the titles are to be had, and their tests are our reading of
 * RFC 7143. What holds for every PDU (numbers, windows, reserved fields) the initiator checks on
 * each that comes, and a test fails by it.
 *
 * Threads: none. Ownership: sessions and PDUs end with the test (protocol.h).
 */
#ifndef HAWSER_TESTS_UNH_H
#define HAWSER_TESTS_UNH_H

#include "tests/protocol/protocol.h"

/* "Standard login, prep": a normal session, then INQUIRY, TEST UNIT READY and READ CAPACITY(10),
 * each to its end. keys NULL: the usual ones. */
struct ini *unh_session(const char *keys);
void unh_prep(struct ini *i);

#define SOLICITED      "InitialR2T=Yes\nImmediateData=No\n"
#define SOLICITED_1024 SOLICITED "MaxRecvDataSegmentLength=1024"
#define TRY_LEVEL_1    "ErrorRecoveryLevel=1\n"
#define UNH_BLOCK      40000u /* of LUN_RAM: where the writes go */

/* Answers R2Ts until the status, which must be GOOD. */
void unh_finish_write(struct ini *i, uint32_t itt, const uint8_t *data);
/* A write of `blocks` blocks whose data is asked for. */
void unh_write(struct ini *i, uint32_t lba, uint16_t blocks, const uint8_t *data);
/* The command fails with one of the senses (0: none other), or its connection is closed; a Reject,
 * further R2Ts and a request to log out may come first. True: closed. */
bool unh_fails(struct ini *i, uint32_t itt, uint32_t sense, uint32_t or_sense);

/* The Data-In PDUs of a READ(10), which ends GOOD. */
struct unh_piece {
	uint32_t itt, datasn, offset, length, ttt;
	uint64_t lun;
	uint8_t flags, status;
};
#define UNH_PIECES 256
unsigned unh_read(struct ini *i, uint64_t lun, uint32_t lba, uint16_t blocks,
		  struct unh_piece pieces[static UNH_PIECES]);
/* Data-In in what pieces, for a READ(10) of 2048 bytes. */
uint32_t unh_largest_data_in(struct ini *i);

/* A READ(10) whose header goes out alone; its ITT. */
uint32_t unh_start_read(struct ini *i, uint64_t lun, uint32_t lba, uint16_t blocks);

#endif
