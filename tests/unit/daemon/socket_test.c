/* SPDX-License-Identifier: BSD-2-Clause */
/* The admin socket: lines in, lines out, limits, peers that go away. */
#include "daemon/admin/admin.h"
#include "tests/unit/daemon/world.h"

#include <jansson.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

static void start(struct world *w)
{
	struct world_apply a = { .request.boot = true };
	char path[100];

	world_start(w);
	snprintf(path, sizeof(path), "%s/admin.sock", w->dir);
	free(w->d.settings.socket);
	w->d.settings.socket = strdup(path);
	ck_assert_int_eq(admin_start(&w->d, -1), 0);
	ck_assert_int_eq(world_apply(w, &a, ""), APPLY_DONE);
}

static void end(struct world *w)
{
	char path[100];

	admin_stop(w->d.admin);
	snprintf(path, sizeof(path), "%s/admin.sock", w->dir);
	ck_assert_int_eq(access(path, F_OK), -1);
	world_end(w);
}

static int dial(struct world *w)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", w->d.settings.socket);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* One line, without its end; NULL: closed. The reactor runs meanwhile. */
static char *hear(struct world *w, int fd)
{
	static char line[65536];
	size_t n = 0;

	for (;;) {
		ssize_t r = recv(fd, line + n, 1, 0);

		if (r == 0 || (r < 0 && errno != EAGAIN))
			return NULL;
		if (r < 0)
			reactor_turn(w->d.control, 10);
		else if (line[n] == '\n')
			break;
		else
			ck_assert_uint_lt(++n, sizeof(line) - 1);
	}
	line[n] = '\0';
	return line;
}

#define LIST "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"target.list\"}\n"

static void ask_list(int fd, int id)
{
	char text[100];

	snprintf(text, sizeof(text), LIST, id);
	say(fd, text);
}

START_TEST(lines_in_lines_out)
{
	struct world w;
	int fd;

	start(&w);
	fd = dial(&w);
	ask_list(fd, 1);
	ck_assert_str_eq(hear(&w, fd),
			 "{\"result\":{\"targets\":[]},\"jsonrpc\":\"2.0\",\"id\":1}");
	/* In pieces, with an empty line before, and two in one go. */
	say(fd, "\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"meth");
	world_turn(&w);
	say(fd, "od\":\"target.list\"}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"lun.list\"}\n");
	ck_assert_ptr_nonnull(strstr(hear(&w, fd), "\"id\":\"x\""));
	ck_assert_ptr_nonnull(strstr(hear(&w, fd), "\"luns\""));
	close(fd);
	end(&w);
}
END_TEST

START_TEST(what_is_no_json)
{
	struct world w;
	int fd;

	start(&w);
	fd = dial(&w);
	say(fd, "\xff\x01 hello\n");
	ck_assert_ptr_nonnull(strstr(hear(&w, fd), "-32700"));
	say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"lun.list\"}\n");
	ck_assert_ptr_nonnull(strstr(hear(&w, fd), "-32700"));
	/* And it goes on. */
	ask_list(fd, 2);
	ck_assert_ptr_nonnull(strstr(hear(&w, fd), "\"id\":2"));
	close(fd);
	end(&w);
}
END_TEST

START_TEST(notifications_are_not_answered)
{
	struct world w;
	int fd;

	start(&w);
	fd = dial(&w);
	say(fd, "{\"jsonrpc\":\"2.0\",\"method\":\"target.create\","
		"\"params\":{\"name\":\"iqn.2026-01.org.example:n\"}}\n");
	ask_list(fd, 9);
	ck_assert_ptr_nonnull(strstr(hear(&w, fd), "org.example:n"));
	close(fd);
	end(&w);
}
END_TEST

START_TEST(half_closed_peer_gets_its_answer)
{
	struct world w;
	int fd;

	start(&w);
	fd = dial(&w);
	say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"target.create\"}\n");
	shutdown(fd, SHUT_WR);
	ck_assert_ptr_nonnull(strstr(hear(&w, fd), "iqn."));
	ck_assert_ptr_null(hear(&w, fd));
	close(fd);
	end(&w);
}
END_TEST

/* The change is carried out all the same, and nothing of the connection is left. */
START_TEST(peer_that_does_not_wait)
{
	struct world w;
	int fd;

	start(&w);
	fd = dial(&w);
	say(fd, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"target.create\"}\n");
	close(fd);
	while (!w.d.node.config->n_targets || w.d.apply.run)
		world_turn(&w);
	fd = dial(&w);
	ask_list(fd, 1);
	ck_assert_ptr_nonnull(strstr(hear(&w, fd), "iqn."));
	close(fd);
	end(&w);
}
END_TEST

START_TEST(endless_line_is_cut)
{
	char block[4096];
	struct world w;
	ssize_t n;
	size_t sent = 0;
	int fd;

	start(&w);
	fd = dial(&w);
	memset(block, ' ', sizeof(block));
	/* Until it is closed, which must come soon after 1 MiB. */
	for (;;) {
		n = send(fd, block, sizeof(block), MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			break;
		sent += n > 0 ? (size_t)n : 0;
		ck_assert_uint_lt(sent, 4 << 20);
		if (n < 0)
			reactor_turn(w.d.control, 10);
	}
	ck_assert_uint_gt(sent, 1 << 20);
	close(fd);
	end(&w);
}
END_TEST

START_TEST(too_many_are_turned_away)
{
	struct world w;
	int fd[65];

	start(&w);
	for (unsigned i = 0; i < 65; i++) {
		fd[i] = dial(&w);
		reactor_turn(w.d.control, 0);
	}
	ck_assert_ptr_nonnull(strstr(hear(&w, fd[64]), "too many"));
	ck_assert_ptr_null(hear(&w, fd[64]));
	close(fd[0]);
	world_turn(&w);
	close(fd[64]);
	fd[64] = dial(&w);
	ask_list(fd[64], 1);
	ck_assert_ptr_nonnull(strstr(hear(&w, fd[64]), "\"id\":1"));
	for (unsigned i = 1; i < 65; i++)
		close(fd[i]);
	end(&w);
}
END_TEST

START_TEST(socket_in_use_is_not_taken)
{
	struct daemon other = { 0 };
	struct world w;

	start(&w);
	other.control = w.d.control;
	other.settings.socket = w.d.settings.socket;
	ck_assert_int_eq(admin_start(&other, -1), -EADDRINUSE);
	ck_assert_ptr_null(other.admin);
	end(&w);
}
END_TEST

/* A wrong setting must not cost a file. */
START_TEST(what_is_no_socket_stays)
{
	struct world w;
	char path[100];
	FILE *f;

	world_start(&w);
	snprintf(path, sizeof(path), "%s/precious", w.dir);
	f = fopen(path, "w");
	fputs("data", f);
	fclose(f);
	free(w.d.settings.socket);
	w.d.settings.socket = strdup(path);
	ck_assert_int_eq(admin_start(&w.d, -1), -EEXIST);
	ck_assert_int_eq(access(path, F_OK), 0);
	world_end(&w);
}
END_TEST

/* A full process neither spins nor forgets who waits. */
START_TEST(no_descriptors_left)
{
	struct rlimit limit, less;
	struct reactor_stats before, after;
	uint64_t until;
	struct world w;
	int fd;

	start(&w);
	fd = dial(&w);
	ask_list(fd, 1);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	less = limit;
	less.rlim_cur = (rlim_t)fd + 1;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &less), 0);
	reactor_get_stats(w.d.control, &before);
	until = reactor_now_ms(w.d.control) + 200;
	while (reactor_now_ms(w.d.control) < until)
		world_turn(&w);
	reactor_get_stats(w.d.control, &after);
	ck_assert_uint_lt(after.turns - before.turns, 20);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_ptr_nonnull(strstr(hear(&w, fd), "\"id\":1"));
	close(fd);
	end(&w);
}
END_TEST

START_TEST(stale_socket_is_replaced)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct world w;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	world_start(&w);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/admin.sock", w.dir);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
	free(w.d.settings.socket);
	w.d.settings.socket = strdup(a.sun_path);
	ck_assert_int_eq(admin_start(&w.d, -1), 0);
	fd = dial(&w);
	close(fd);
	end(&w);
}
END_TEST

UNIT_MAIN("daemon/socket", lines_in_lines_out, what_is_no_json, notifications_are_not_answered,
	  half_closed_peer_gets_its_answer, peer_that_does_not_wait, endless_line_is_cut,
	  too_many_are_turned_away, socket_in_use_is_not_taken, stale_socket_is_replaced,
	  what_is_no_socket_stays, no_descriptors_left)
