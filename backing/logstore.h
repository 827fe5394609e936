/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recording that the `log` store makes of another store: every write, trim and zero with its
 * data, every flush; for the power-cut checker, which asks what a crash may leave behind.
 *
 * A record is appended when the lower store has completed the io and before the caller hears of
 * it, so a prefix of the recording is one legitimate state after a crash of the store's writer.
 * What must survive a power cut: each record with `durable`, and, once a FLUSH record is there,
 * every record up to and with number `covers` (what had ended when the flush was submitted). Of the
 * others each may be there or not.
 *
 * The file, all words big-endian:
 *   header  64 bytes: "HAWSRLOG", u32 version = 1, u32 0, u64 size of the store, zeros
 *   record  64 bytes: u32 0x52454331 ("REC1"), u8 kind (enum backing_kind), u8 flags (1 durable,
 *           2 may_trim, 4 failed), u16 0, u64 number (from 1), u64 offset, u64 length, u64 covers,
 *           u32 CRC32C of the data, zeros up to byte 60, u32 CRC32C of bytes 0..59;
 *           then for WRITE `length` bytes of data
 * A torn record at the end counts as not there.
 *
 * Threads: a reader belongs to its caller; blocking. Ownership: record->data is the reader's and
 * good until the next call.
 */
#ifndef HAWSER_BACKING_LOGSTORE_H
#define HAWSER_BACKING_LOGSTORE_H

#include "backing/backing.h"

struct logstore_record {
	enum backing_kind kind;
	bool durable, may_trim;
	bool failed; /* the store reported an error: its range is undetermined */
	uint64_t number, offset, length;
	uint64_t covers;  /* FLUSH */
	const void *data; /* WRITE: length bytes */
};

struct logstore_reader;

/* 0, -EPROTO if it is no recording, or another negative errno. */
int logstore_reader_open(const char *path, struct logstore_reader **ret);
void logstore_reader_close(struct logstore_reader *r);   /* NULL allowed */
uint64_t logstore_size(const struct logstore_reader *r); /* of the store, bytes */
/* 1 and *ret, 0 at the end, or a negative errno. */
int logstore_next(struct logstore_reader *r, struct logstore_record *ret);
void logstore_rewind(struct logstore_reader *r);
/* Where the next record begins, bytes. */
uint64_t logstore_position(const struct logstore_reader *r);

/* Does to fd what the record did; a failed one and a FLUSH do nothing. */
int logstore_apply(const struct logstore_record *record, int fd);
/* Makes fd what the store was after the first n records: truncates, then applies. */
int logstore_replay(const char *path, uint64_t n, int fd);

/* For the `log` store: layout of header and record. */
enum { LOGSTORE_HEADER = 64 };
void logstore_put_header(uint8_t to[LOGSTORE_HEADER], uint64_t size);
void logstore_put_record(uint8_t to[LOGSTORE_HEADER], const struct logstore_record *record,
			 uint32_t data_crc);

#endif
