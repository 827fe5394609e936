/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moving and comparing bytes that lie in vectors.
 *
 * Threads: pure functions. Offsets and lengths are bytes and lie within the vectors: the callers
 * have checked them.
 */
#ifndef HAWSER_SCSI_IOV_H
#define HAWSER_SCSI_IOV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

void iov_copy_in(const struct iovec *iov, unsigned n, size_t offset, const void *from, size_t len);
void iov_copy_out(const struct iovec *iov, unsigned n, size_t offset, void *to, size_t len);
/* Fills len bytes with a pattern of period bytes, again and again. */
void iov_fill(const struct iovec *iov, unsigned n, size_t len, const void *pattern, size_t period);
bool iov_is_zero(const struct iovec *iov, unsigned n, size_t len);
/* The part [offset, offset + len) of a vector as a vector of its own; out has room for as many
 * entries as that part has. Their number. */
unsigned iov_slice(const struct iovec *iov, unsigned n, size_t offset, size_t len,
		   struct iovec *out);
/* ORs len bytes of from, beginning at offset, into iov. */
void iov_or(const struct iovec *iov, unsigned n, const struct iovec *from, unsigned n_from,
	    size_t offset, size_t len);
/* Compares len bytes of a from the beginning with b from b_offset on; the offset of the first
 * difference within a, or len. */
size_t iov_mismatch(const struct iovec *a, unsigned na, const struct iovec *b, unsigned nb,
		    size_t b_offset, size_t len);

#endif
