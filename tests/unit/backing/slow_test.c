/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store on a file system that stops answering: the reactor, the other stores and the stop go
 * on. The file system is a FUSE server of this test, which answers READ, WRITE and FSYNC
 * only while its gate is open. Left out, with the reason, where FUSE cannot be mounted.
 */
#include "tests/unit/backing/support.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#define MIB ((uint64_t)1 << 20)
enum {
	FILE_NODE = 2,
	SIZE = 64 << 20,
	HELD_MAX = 1024,
	REQUEST_MAX = 1 << 20,
	SERVER_SECONDS = 30
};

/* Of the server, which is a process of its own: when it dies the kernel ends all that waits. */
static struct {
	int fd, wake;
	uint64_t unique[HELD_MAX];
	uint32_t size[HELD_MAX]; /* of READ or WRITE */
	uint32_t opcode[HELD_MAX];
	char *request;
} fuse;

/* Of both processes. */
static struct {
	_Atomic bool gate_open;
	_Atomic unsigned held;
} * shared;

static pid_t server;
static char dir[300];

static void answer(uint64_t unique, int error, void *data, size_t length)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + length),
				     .error = error,
				     .unique = unique };
	struct iovec iov[2] = { { &h, sizeof(h) }, { data, length } };

	/* Fails when the asker was interrupted: nobody waits then. */
	(void)!writev(fuse.fd, iov, length ? 2 : 1);
}

static struct fuse_attr attr(uint64_t node)
{
	return (struct fuse_attr){ .ino = node,
				   .size = node == FILE_NODE ? SIZE : 0,
				   .blocks = SIZE / 512,
				   .mode = node == FILE_NODE ? S_IFREG | 0600 : S_IFDIR | 0700,
				   .nlink = 1,
				   .blksize = 4096 };
}

static void finish(uint32_t opcode, uint64_t unique, uint32_t size)
{
	static char zeros[REQUEST_MAX];
	struct fuse_write_out out = { .size = size };

	if (opcode == FUSE_READ)
		answer(unique, 0, zeros, size);
	else if (opcode == FUSE_WRITE)
		answer(unique, 0, &out, sizeof(out));
	else
		answer(unique, 0, NULL, 0);
}

static void hold_or_finish(const struct fuse_in_header *h, uint32_t size)
{
	unsigned n = shared->held;

	if (shared->gate_open || n == HELD_MAX) {
		finish(h->opcode, h->unique, size);
		return;
	}
	fuse.opcode[n] = h->opcode;
	fuse.unique[n] = h->unique;
	fuse.size[n] = size;
	shared->held = n + 1;
}

static void serve(const struct fuse_in_header *h, const void *arg)
{
	const struct fuse_read_in *rw = arg; /* fuse_write_in has its size at the same place */
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = FUSE_KERNEL_MINOR_VERSION,
				      .max_readahead = 0,
				      .flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES,
				      .max_background = 512,
				      .congestion_threshold = 512,
				      .max_write = 128 * 1024 };
	struct fuse_entry_out entry = { .nodeid = FILE_NODE,
					.entry_valid = 3600,
					.attr_valid = 3600,
					.attr = attr(FILE_NODE) };
	struct fuse_attr_out a = { .attr_valid = 3600, .attr = attr(h->nodeid) };
	struct fuse_open_out open_out = { .fh = 1 };

	switch (h->opcode) {
	case FUSE_INIT:
		answer(h->unique, 0, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		answer(h->unique, 0, &entry, sizeof(entry));
		return;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		answer(h->unique, 0, &a, sizeof(a));
		return;
	case FUSE_OPEN:
		answer(h->unique, 0, &open_out, sizeof(open_out));
		return;
	case FUSE_READ:
	case FUSE_WRITE:
		hold_or_finish(h, rw->size);
		return;
	case FUSE_FSYNC:
		hold_or_finish(h, 0);
		return;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(h->unique, 0, NULL, 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: /* want no answer */
		return;
	default:
		answer(h->unique, -ENOSYS, NULL, 0);
	}
}

static void let_go(void)
{
	eventfd_t ignored;

	(void)eventfd_read(fuse.wake, &ignored);
	for (unsigned i = 0; shared->gate_open && i < shared->held; i++)
		finish(fuse.opcode[i], fuse.unique[i], fuse.size[i]);
	if (shared->gate_open)
		shared->held = 0;
}

/* Ends by its alarm at the latest. */
static void run_server(void)
{
	struct pollfd p[2] = { { fuse.fd, POLLIN, 0 }, { fuse.wake, POLLIN, 0 } };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(SERVER_SECONDS);
	for (;;) {
		ssize_t n = -1;

		(void)poll(p, 2, -1);
		if (p[1].revents)
			let_go();
		if (p[0].revents)
			n = read(fuse.fd, fuse.request, REQUEST_MAX);
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			serve((void *)fuse.request, fuse.request + sizeof(struct fuse_in_header));
		else if (n < 0 && p[0].revents && errno == ENODEV)
			_exit(0); /* unmounted */
	}
}

static void gate(bool open)
{
	shared->gate_open = open;
	(void)eventfd_write(fuse.wake, 1);
}

/* False and says why. */
static bool fuse_mount(void)
{
	char options[128];

	fuse.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	snprintf(dir, sizeof(dir), "%s", temp_path("/tmp", "fuse"));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fuse.fd,
		 getuid(), getgid());
	if (fuse.fd < 0 || mkdir(dir, 0700) < 0 ||
	    mount("hawser-test", dir, "fuse.hawser", MS_NOSUID | MS_NODEV, options) < 0) {
		printf("FUSE cannot be mounted (%s): a store that hangs is not tried\n",
		       strerrordesc_np(errno));
		rmdir(dir);
		return false;
	}
	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	shared->gate_open = true;
	fuse.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fuse.request = aligned(REQUEST_MAX);
	server = fork();
	if (server == 0)
		run_server();
	ck_assert_int_gt(server, 0);
	/* The server's alone: with it the connection ends. */
	close(fuse.fd);
	return true;
}

static void fuse_end(void)
{
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	close(fuse.wake);
	free(fuse.request);
	munmap(shared, sizeof(*shared));
	rmdir(dir);
}

static const struct {
	const char *engine;
	enum backing_cache cache;
} variants[] = {
	{ "uring", BACKING_CACHE_BUFFERED }, { "uring", BACKING_CACHE_DIRECT },
	{ "aio", BACKING_CACHE_BUFFERED },   { "aio", BACKING_CACHE_DIRECT },
	{ "offload", BACKING_CACHE_DIRECT },
};

enum { N_SLOW = 400 };

/* READ, WRITE and FLUSH in turns, each at its own place. */
static void submit_slow(struct rig *r, struct try *t, void *buf)
{
	for (unsigned i = 0; i < N_SLOW; i++) {
		enum backing_kind kind = i % 3 == 0   ? BACKING_READ
					 : i % 3 == 1 ? BACKING_WRITE
						      : BACKING_FLUSH;

		t[i] = make_try(kind, (uint64_t)i * 65536, 4096);
		t[i].one = (struct iovec){ (char *)buf + (size_t)i * 4096, 4096 };
		t[i].io.iov = &t[i].one;
		t[i].io.iovcnt = 1;
		try_submit(r, &t[i]);
	}
}

START_TEST(a_hung_store_holds_only_itself)
{
	struct backing_params p = { .type = "file",
				    .engine = variants[_i].engine,
				    .cache = variants[_i].cache,
				    .block_size = 512 };
	struct try *t = calloc(N_SLOW, sizeof(*t));
	char path[350], *buf = aligned((size_t)N_SLOW * 4096), *good_buf = aligned(65536);
	struct rig slow, good;
	unsigned ended = 0;

	if ((strcmp(variants[_i].engine, "offload") && !engine_wanted(variants[_i].engine)) ||
	    !fuse_mount())
		goto out;
	rig_start(&slow);
	good = slow; /* one reactor for both */
	snprintf(path, sizeof(path), "%s/file", dir);
	p.path = path;
	rig_open(&slow, &p);
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0); /* the open file keeps it */
	p.path = temp_path("/tmp", "good");
	p.create = true;
	p.size = 16 * MIB;
	rig_open(&good, &p);
	unlink(p.path);
	ck_assert_str_eq(slow.b->info.engine, "offload"); /* whatever was asked for */
	ck_assert_int_eq(do_rw(&slow, BACKING_READ, 32 * MIB, buf, 4096, false), 0);

	gate(false);
	submit_slow(&slow, t, buf);
	while (!shared->held)
		reactor_turn(slow.reactor, 1);
	for (unsigned i = 0; i < 100; i++) {
		uint64_t at = (i % 16) * MIB;

		fill(good_buf, 65536, i);
		ck_assert_int_eq(do_rw(&good, BACKING_WRITE, at, good_buf, 65536, i % 10 == 0), 0);
		ck_assert_int_eq(do_rw(&good, BACKING_READ, at, good_buf, 65536, false), 0);
		if (i % 10 == 0)
			ck_assert_int_eq(do_plain(&good, BACKING_FLUSH, 0, 0), 0);
	}
	ck_assert_int_eq(do_plain(&good, BACKING_TRIM, 0, 16 * MIB), 0);
	for (unsigned i = 0; i < N_SLOW; i++)
		ended += t[i].ended;
	ck_assert_msg(ended < N_SLOW, "the slow store did not hang");

	gate(true);
	for (unsigned i = 0; i < N_SLOW; i++)
		ck_assert_int_eq(try_wait(&slow, &t[i]), 0);
	rig_shut(&good);
	rig_end(&slow);
	fuse_end();
out:
	free(t);
	free(buf);
	free(good_buf);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("slow");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_hung_store_holds_only_itself, 0,
			    sizeof(variants) / sizeof(variants[0]));
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return run_suite(suite());
}
