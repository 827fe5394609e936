/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending, solicited data, and what happens to tasks when the socket is full. */
#include "tests/unit/tcp/support.h"

#include <fcntl.h>
#include <sys/ioctl.h>

static uint8_t buffer[1 << 20], want[1 << 20], wire[1 << 21];
static struct iovec iov[3];

/* Three pieces of odd sizes. */
static struct iscsi_task *task_on_buffer(uint32_t itt, uint32_t length)
{
	pattern(buffer, length, itt);
	memcpy(want, buffer, length);
	iov[0] = (struct iovec){ buffer, 1001 };
	iov[1] = (struct iovec){ buffer + 1001, 3001 };
	iov[2] = (struct iovec){ buffer + 4002, length - 4002 };
	return task_create(itt, iov, 3, length);
}

/* All that comes to the initiator, turning the reactor meanwhile; at most max bytes. */
static size_t drain(uint8_t *to, size_t max)
{
	size_t n = 0;
	unsigned idle = 0;

	fcntl(rig.fd, F_SETFL, O_NONBLOCK);
	while (n < max && idle < 3) {
		ssize_t r = read(rig.fd, to + n, max - n);

		if (r > 0)
			n += (size_t)r;
		idle = r > 0 ? 0 : idle + 1;
		turn();
	}
	return n;
}

static void small_socket(void)
{
	int size = 4096;

	setsockopt(tcp_conn_of(rig.conn)->rfd.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

/* Checks the Data-In PDUs of one task of `length` bytes. Returns bytes used. */
static size_t check_data_in(const uint8_t *p, uint32_t length, bool status)
{
	const uint8_t *begin = p;
	uint32_t at = 0, sn = 0;

	while (at < length) {
		const struct bhs_data_in *d = (const void *)p;
		uint32_t n = get_be24(d->data_segment_length);
		bool last = at + n == length;

		ck_assert_uint_eq(d->opcode, ISCSI_OP_DATA_IN);
		ck_assert_uint_eq(get_be32(d->datasn), sn++);
		ck_assert_uint_eq(get_be32(d->buffer_offset), at);
		ck_assert_uint_eq(d->flags & 0x81, (last || (at + n) % 65536 == 0 ? 0x80 : 0) |
						       (last && status ? 1 : 0));
		p += 48;
		ck_assert(!memcmp(p, want + at, n));
		p += (n + 3) & ~3u;
		at += n;
	}
	return (size_t)(p - begin);
}

START_TEST(put_data)
{
	COVERS("P-076 P-077 P-078");
	struct iscsi_task *t;
	size_t n;

	rig_start();
	if (_i)
		small_socket();
	t = task_on_buffer(5, 300001);
	rig.conn->dm->put_data(t, 0, 300001, true);
	if (_i) { /* the socket is full: it is not over */
		turn();
		turn();
		ck_assert_uint_eq(rig.n_complete, 0);
	}
	n = drain(wire, sizeof(wire));
	ck_assert_uint_eq(rig.n_complete, 1);
	ck_assert_uint_eq(check_data_in(wire, 300001, true), n);
	ck_assert_uint_eq(t->data_in_pdus, (300001 + 8191) / 8192);
	task_free(t);
	rig_stop();
}
END_TEST

/* A buffer in more pieces than a batch has entries. */
START_TEST(many_pieces)
{
	enum { PIECES = 3 * TCP_BATCH_IOV, PIECE = 100 };
	static struct iovec pieces[PIECES];
	struct iscsi_task *t;
	size_t n;

	rig_start();
	pattern(want, PIECES * PIECE, 5);
	memcpy(buffer, want, PIECES * PIECE);
	for (size_t i = 0; i < PIECES; i++)
		pieces[i] = (struct iovec){ buffer + i * PIECE, PIECE };
	t = task_create(5, pieces, PIECES, PIECES * PIECE);
	rig.conn->dm->put_data(t, 0, PIECES * PIECE, true);
	n = drain(wire, sizeof(wire));
	ck_assert_uint_eq(rig.n_complete, 1);
	ck_assert_uint_eq(check_data_in(wire, PIECES * PIECE, true), n);
	task_free(t);
	rig_stop();
}
END_TEST

/* Released while a batch has its buffers: told when the batch is gone, and no completion. */
START_TEST(release_in_batch)
{
	COVERS("P-120");
	struct iscsi_task *t, *other;
	static uint8_t spare[512];
	struct iovec v = { spare, sizeof(spare) };

	rig_start();
	small_socket();
	t = task_on_buffer(5, 600000);
	other = task_create(6, &v, 1, sizeof(spare));
	rig.conn->dm->put_data(t, 0, 600000, true);
	rig.conn->dm->put_data(other, 0, sizeof(spare), true);
	turn();
	ck_assert(!rig.conn->dm->release(t));
	ck_assert_uint_eq(rig.n_released, 0);
	drain(wire, sizeof(wire));
	ck_assert_uint_eq(rig.n_released, 1);
	ck_assert_uint_eq(rig.n_complete, 1); /* of the other */
	task_free(t);
	task_free(other);
	rig_stop();
}
END_TEST

/* Released before anything of it is in a batch: at once, and nothing goes out. */
START_TEST(release_in_queue)
{
	struct iscsi_task *t;

	rig_start();
	t = task_on_buffer(5, 10000);
	rig.conn->dm->put_data(t, 0, 10000, true);
	ck_assert(rig.conn->dm->release(t));
	ck_assert_uint_eq(drain(wire, sizeof(wire)), 0);
	ck_assert_uint_eq(rig.n_complete + rig.n_released, 0);
	task_free(t);
	rig_stop();
}
END_TEST

/* The connection dies with a batch unsent: what was released is given back. */
START_TEST(connection_dies_blocked)
{
	struct iscsi_task *t;
	struct iscsi_pdu pdu = { .bhs = { ISCSI_OP_NOP_IN } };

	rig_start();
	small_socket();
	t = task_on_buffer(5, 600000);
	rig.conn->dm->put_data(t, 0, 600000, true);
	turn();
	ck_assert(!rig.conn->dm->release(t));
	list_init(&pdu.node);
	rig.conn->dm->send_control(rig.conn, &pdu);
	rig.conn->dm->terminate(rig.conn, false);
	turn();
	ck_assert_uint_eq(rig.n_down, 1);
	ck_assert_uint_eq(rig.n_released, 1);
	ck_assert_uint_eq(rig.n_complete, 0);
	ck_assert_uint_eq(rig.n_sent, 1);
	task_free(t);
	rig_stop();
}
END_TEST

/* What is queued goes out, then the end; it is over when the peer closes. */
START_TEST(graceful_end)
{
	COVERS("P-131");
	struct iscsi_pdu pdus[3];
	int unread;
	ssize_t n;

	rig_start();
	for (unsigned i = 0; i < 3; i++) {
		memset(&pdus[i], 0, sizeof(pdus[i]));
		pdus[i].bhs[0] = ISCSI_OP_LOGOUT_RESPONSE;
		pdus[i].bhs[16] = (uint8_t)i;
		pdus[i].takes_statsn = true;
		rig.conn->dm->send_control(rig.conn, &pdus[i]);
	}
	rig.conn->dm->terminate(rig.conn, true);
	turn();
	turn();
	ck_assert_uint_eq(rig.n_sent, 3);
	n = read(rig.fd, wire, sizeof(wire));
	ck_assert_int_eq((int)n, 144);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(wire[48 * i + 16], i);
		ck_assert_uint_eq(get_be32(wire + 48 * i + 24), i);
	}
	ck_assert_int_eq((int)read(rig.fd, wire, sizeof(wire)), 0);
	ck_assert_uint_eq(rig.n_down, 0);
	/* What the peer still says is taken off the socket and comes to nobody. */
	feed(wire, 96);
	ck_assert_int_eq(ioctl(rig.fd, TIOCOUTQ, &unread), 0);
	ck_assert_int_eq(unread, 0);
	ck_assert_uint_eq(rig.n_headers, 0);
	ck_assert_uint_eq(rig.n_down, 0);
	shutdown(rig.fd, SHUT_WR);
	turn();
	turn();
	ck_assert_uint_eq(rig.n_down, 1);
	rig_stop();
}
END_TEST

static void read_r2t(struct bhs_r2t *r)
{
	turn();
	ck_assert_int_eq((int)read(rig.fd, r, sizeof(*r)), 48);
	ck_assert_uint_eq(r->opcode, ISCSI_OP_R2T);
}

static size_t data_out(uint8_t *to, const struct bhs_r2t *r, uint32_t sn, uint32_t offset,
		       uint32_t length, bool final)
{
	struct bhs_data_out d = { .opcode = ISCSI_OP_DATA_OUT, .flags = final ? 0x80 : 0 };

	memcpy(d.itt, r->itt, 4);
	memcpy(d.ttt, r->ttt, 4);
	put_be32(d.datasn, sn);
	put_be32(d.buffer_offset, offset);
	return build(to, (uint8_t *)&d, NULL, 0, want + offset, length);
}

/* 100000 bytes by R2Ts of 65536 at most; the answers cut at many places. */
START_TEST(get_data)
{
	COVERS("P-089 P-090 P-091 P-095");
	static const size_t steps[] = { 1, 47, 48, 49, 4096, 70001, 200000 };
	struct iscsi_task *t;
	struct bhs_r2t r;
	uint32_t asked = 0;

	rig_start();
	set_digests(false, _i % 2);
	t = task_on_buffer(9, 100000);
	memset(buffer, 0, 100000);
	rig.conn->dm->get_data(t, 0, 100000);
	for (uint32_t sn = 0; asked < 100000; sn++) {
		uint32_t length, at = 0;
		size_t n = 0;

		read_r2t(&r);
		length = get_be32(r.desired_length);
		ck_assert_uint_eq(get_be32(r.r2tsn), sn);
		ck_assert_uint_eq(get_be32(r.buffer_offset), asked);
		ck_assert_uint_eq(length, sn ? 34464 : 65536);
		for (uint32_t k = 0; at < length; k++) {
			uint32_t part = length - at < 30001 ? length - at : 30001;

			n += data_out(wire + n, &r, k, asked + at, part, at + part == length);
			at += part;
		}
		for (size_t from = 0; from < n; from += steps[_i])
			feed(wire + from, n - from < steps[_i] ? n - from : steps[_i]);
		asked += length;
	}
	for (unsigned k = 0; k < 8; k++)
		turn();
	ck_assert_uint_eq(rig.n_complete, 1);
	ck_assert_uint_eq(rig.n_bad, 0);
	ck_assert(!memcmp(buffer, want, 100000));
	task_free(t);
	rig_stop();
}
END_TEST

static const struct wrong {
	const char *name;
	uint32_t sn, offset, length;
	bool final;
} wrong[] = {
	{ "DataSN", 1, 0, 512, false },         { "offset", 0, 512, 512, false },
	{ "too long", 0, 0, 4612, false },      { "F too soon", 0, 0, 512, true },
	{ "beyond all", 0, 1 << 20, 4, false },
};

START_TEST(wrong_data_out)
{
	COVERS("P-097 P-098 P-100 P-101");
	const struct wrong *w = &wrong[_i];
	struct iscsi_task *t;
	struct bhs_r2t r;

	rig_start();
	t = task_on_buffer(9, 4608);
	memset(buffer, 0xee, sizeof(buffer));
	rig.conn->dm->get_data(t, 0, 4608);
	read_r2t(&r);
	if (w->offset < 4608)
		feed(wire, data_out(wire, &r, w->sn, w->offset, w->length, w->final));
	else
		feed(wire, build(wire,
				 (const uint8_t *)&(struct bhs_data_out){
				     .opcode = ISCSI_OP_DATA_OUT,
				     .itt = { 0, 0, 0, 9 },
				     .buffer_offset = { 0, 0x10, 0, 0 } },
				 NULL, 0, want, 4));
	ck_assert_msg(rig.n_bad == 1 && rig.bad_task == t, "%s", w->name);
	ck_assert_uint_eq(rig.n_complete, 0);
	for (unsigned n = 0; n < 8192; n++)
		ck_assert_uint_eq(buffer[n], 0xee);
	task_free(t);
	rig_stop();
}
END_TEST

/* Released in the midst of a Data-Out: the rest is dropped, and the stream goes on. */
START_TEST(release_while_receiving)
{
	COVERS("P-104 E-034");
	uint8_t nop[48] = { ISCSI_OP_NOP_OUT | 0x40, 0x80 };
	struct iscsi_task *t;
	struct bhs_r2t r;
	size_t n;

	rig_start();
	t = task_on_buffer(9, 60000);
	memset(buffer, 0xee, 60000);
	rig.conn->dm->get_data(t, 0, 60000);
	read_r2t(&r);
	n = data_out(wire, &r, 0, 0, 60000, true);
	feed(wire, 20048);
	ck_assert(rig.conn->dm->release(t));
	task_free(t);
	feed(wire + 20048, n - 20048);
	feed(nop, 48);
	ck_assert_uint_eq(rig.n_rx, 1);
	ck_assert_uint_eq(rig.n_complete + rig.n_bad, 0);
	for (unsigned k = 20000; k < 60000; k++)
		ck_assert_uint_eq(buffer[k], 0xee);
	rig_stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tcp/tcp_tx");
	SRunner *runner = srunner_create(suite);
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, put_data, 0, 2);
	tcase_add_test(c, many_pieces);
	tcase_add_test(c, release_in_batch);
	tcase_add_test(c, release_in_queue);
	tcase_add_test(c, connection_dies_blocked);
	tcase_add_test(c, graceful_end);
	tcase_add_loop_test(c, get_data, 0, 7);
	tcase_add_loop_test(c, wrong_data_out, 0, (int)(sizeof(wrong) / sizeof(wrong[0])));
	tcase_add_test(c, release_while_receiving);
	suite_add_tcase(suite, c);
	return unit_end(runner);
}
