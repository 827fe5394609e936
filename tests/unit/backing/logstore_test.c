/* SPDX-License-Identifier: BSD-2-Clause */
/* The log store: what it records, in what order, what a reader makes of it, torn ends. */
#include "tests/unit/backing/support.h"

#include "backing/logstore.h"

#include <fcntl.h>

#define MIB ((uint64_t)1 << 20)

static char log_path[300];

static struct backing_params params(const char *fault)
{
	snprintf(log_path, sizeof(log_path), "%s", temp_path("/tmp", "log"));
	return (struct backing_params){ .type = "ram",
					.size = 4 * MIB,
					.block_size = 512,
					.log_path = log_path,
					.fault_spec = fault };
}

static void start(struct rig *r)
{
	struct backing_params p = params(NULL);

	unlink(log_path);
	rig_start(r);
	rig_open(r, &p);
}

START_TEST(records_all_that_changes)
{
	struct logstore_record rec;
	struct logstore_reader *l;
	struct iovec iov[2];
	struct rig r;
	char *out = aligned(8192);

	start(&r);
	fill(out, 8192, 1);
	iov[0] = (struct iovec){ out, 512 };
	iov[1] = (struct iovec){ out + 4096, 4096 };
	ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_WRITE,
							.offset = 512,
							.length = 4608,
							.iov = iov,
							.iovcnt = 2,
							.durable = true }),
			 0);
	ck_assert_int_eq(do_rw(&r, BACKING_READ, 512, out, 512, false), 0); /* is not recorded */
	ck_assert_int_eq(do_plain(&r, BACKING_FLUSH, 0, 0), 0);
	ck_assert_int_eq(do_plain(&r, BACKING_TRIM, MIB, 4096), 0);
	ck_assert_int_eq(do_io(&r, (struct backing_io){ .kind = BACKING_ZERO,
							.offset = 0,
							.length = 512,
							.may_trim = true }),
			 0);
	rig_end(&r);

	ck_assert_int_eq(logstore_reader_open(log_path, &l), 0);
	ck_assert_uint_eq(logstore_size(l), 4 * MIB);
	ck_assert_int_eq(logstore_next(l, &rec), 1);
	ck_assert(rec.kind == BACKING_WRITE && rec.durable && !rec.failed && rec.number == 1);
	ck_assert(rec.offset == 512 && rec.length == 4608);
	ck_assert_mem_eq(rec.data, out, 512);
	ck_assert_mem_eq((const char *)rec.data + 512, out + 4096, 4096);
	ck_assert_int_eq(logstore_next(l, &rec), 1);
	ck_assert(rec.kind == BACKING_FLUSH && rec.covers == 1);
	ck_assert_int_eq(logstore_next(l, &rec), 1);
	ck_assert(rec.kind == BACKING_TRIM && rec.offset == MIB && rec.length == 4096);
	ck_assert_int_eq(logstore_next(l, &rec), 1);
	ck_assert(rec.kind == BACKING_ZERO && rec.may_trim && !rec.durable);
	ck_assert_int_eq(logstore_next(l, &rec), 0);
	logstore_reader_close(l);
	unlink(log_path);
	free(out);
}
END_TEST

/* Each prefix of the recording is the store as it was then. */
START_TEST(any_prefix_can_be_replayed)
{
	enum { N = 40, SIZE = 4 << 20 };
	char *model = calloc(1, SIZE), *buf = aligned(8192), *image = malloc(SIZE);
	char *at_20 = malloc(SIZE);
	char image_path[300];
	struct rig r;
	int fd;

	start(&r);
	for (unsigned i = 0; i < N; i++) {
		uint64_t at = (uint64_t)(i * 37u % 60) * 4096;

		if (i == 20)
			memcpy(at_20, model, SIZE);
		if (i % 5 == 4) {
			ck_assert_int_eq(do_plain(&r, BACKING_ZERO, at, 4096), 0);
			memset(model + at, 0, 4096);
			continue;
		}
		fill(buf, 8192, i);
		ck_assert_int_eq(do_rw(&r, BACKING_WRITE, at, buf, 8192, false), 0);
		memcpy(model + at, buf, 8192);
	}
	rig_end(&r);
	snprintf(image_path, sizeof(image_path), "%s", temp_path("/tmp", "image"));
	fd = open(image_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	unlink(image_path);
	ck_assert_int_eq(logstore_replay(log_path, UINT64_MAX, fd), 0);
	ck_assert_int_eq(pread(fd, image, SIZE, 0), SIZE);
	ck_assert_mem_eq(image, model, SIZE);
	ck_assert_int_eq(logstore_replay(log_path, 20, fd), 0);
	ck_assert_int_eq(pread(fd, image, SIZE, 0), SIZE);
	ck_assert_mem_eq(image, at_20, SIZE);
	ck_assert_int_eq(logstore_replay(log_path, 0, fd), 0);
	ck_assert_int_eq(pread(fd, image, SIZE, 0), SIZE);
	ck_assert(is_zero(image, SIZE));
	close(fd);
	unlink(log_path);
	free(model);
	free(buf);
	free(image);
	free(at_20);
}
END_TEST

static uint64_t count_records(void)
{
	struct logstore_record rec;
	struct logstore_reader *l;
	uint64_t n = 0;

	ck_assert_int_eq(logstore_reader_open(log_path, &l), 0);
	while (logstore_next(l, &rec) == 1)
		n++;
	logstore_reader_close(l);
	return n;
}

/* The daemon was killed while it wrote a record, and starts again on the same recording. */
START_TEST(goes_on_after_a_torn_record)
{
	struct backing_params p;
	char *buf = aligned(4096);
	struct rig r;
	struct stat st;

	start(&r);
	fill(buf, 4096, 1);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 0, buf, 4096, false), 0);
	rig_end(&r);
	ck_assert_uint_eq(count_records(), 3);
	ck_assert_int_eq(stat(log_path, &st), 0);
	ck_assert_int_eq(truncate(log_path, st.st_size - 100), 0);
	ck_assert_uint_eq(count_records(), 2);
	rig_start(&r);
	p = params(NULL);
	rig_open(&r, &p);
	ck_assert_int_eq(do_plain(&r, BACKING_FLUSH, 0, 0), 0);
	rig_end(&r);
	ck_assert_uint_eq(count_records(), 3);

	/* A recording of another store, or no recording, is not overwritten. */
	p = params(NULL);
	p.size = 8 * MIB;
	ck_assert_int_eq(backing_open(&p, &r.b, NULL), -ESTALE);
	ck_assert_int_eq(truncate(log_path, 10), 0);
	ck_assert_int_eq(backing_open(&p, &r.b, NULL), -EPROTO);
	unlink(log_path);
	free(buf);
}
END_TEST

/* fault in front of log: what fault refuses is not recorded, what it tears is, in its half. */
START_TEST(stacks_below_fault)
{
	struct backing_params p = params("torn count=1; error kind=write count=1");
	struct logstore_record rec;
	struct logstore_reader *l;
	char *buf = aligned(4096);
	struct rig r;

	unlink(log_path);
	rig_start(&r);
	rig_open(&r, &p);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 0, buf, 4096, false), -EIO);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 4096, buf, 4096, false), -EIO);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 8192, buf, 4096, false), 0);
	rig_end(&r);
	ck_assert_int_eq(logstore_reader_open(log_path, &l), 0);
	ck_assert_int_eq(logstore_next(l, &rec), 1);
	ck_assert(rec.offset == 0 && rec.length == 2048);
	ck_assert_int_eq(logstore_next(l, &rec), 1);
	ck_assert_uint_eq(rec.offset, 8192);
	ck_assert_int_eq(logstore_next(l, &rec), 0);
	logstore_reader_close(l);
	unlink(log_path);
	free(buf);
}
END_TEST

/* A FLUSH covers what had ended before it was submitted, and nothing else. */
START_TEST(flush_covers_what_had_ended)
{
	enum { N = 20 };
	struct try w[N], f = make_try(BACKING_FLUSH, 0, 0);
	struct logstore_record rec;
	struct logstore_reader *l;
	char *buf = aligned(4096);
	struct rig r;

	start(&r);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 0, buf, 4096, false), 0);
	ck_assert_int_eq(do_rw(&r, BACKING_WRITE, 4096, buf, 4096, false), 0);
	try_submit(&r, &f);
	for (int i = 0; i < N; i++) {
		w[i] = make_try(BACKING_WRITE, 0, 4096);
		w[i].one = (struct iovec){ buf, 4096 };
		w[i].io.iov = &w[i].one;
		w[i].io.iovcnt = 1;
		try_submit(&r, &w[i]);
	}
	ck_assert_int_eq(try_wait(&r, &f), 0);
	for (int i = 0; i < N; i++)
		ck_assert_int_eq(try_wait(&r, &w[i]), 0);
	rig_end(&r);
	ck_assert_int_eq(logstore_reader_open(log_path, &l), 0);
	do
		ck_assert_int_eq(logstore_next(l, &rec), 1);
	while (rec.kind != BACKING_FLUSH);
	ck_assert_uint_eq(rec.covers, 2);
	logstore_reader_close(l);
	unlink(log_path);
	free(buf);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("logstore");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, records_all_that_changes);
	tcase_add_test(tc, any_prefix_can_be_replayed);
	tcase_add_test(tc, goes_on_after_a_torn_record);
	tcase_add_test(tc, stacks_below_fault);
	tcase_add_test(tc, flush_covers_what_had_ended);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return run_suite(suite());
}
