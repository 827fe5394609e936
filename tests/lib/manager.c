/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plays the service manager for a daemon under test:
 *
 *   hawser-test-manager [--listen PORT]... [--watchdog MS] COMMAND [ARGUMENT...]
 *
 * Starts the command with NOTIFY_SOCKET, with sockets that listen on 127.0.0.1 as LISTEN_FDS, and
 * with WATCHDOG_USEC. Says on stdout, a line each, "pid N", "notify KEY=VALUE" for all that the
 * daemon reports, and "exit STATUS" or "signal NUMBER" at its end. SIGTERM, SIGINT and SIGHUP are
 * passed on to it. PORT 0 is chosen by the kernel; "listen PORT" tells which.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_FD    3 /* SD_LISTEN_FDS_START */
#define MAX_SOCKETS 8

struct manager {
	int sockets[MAX_SOCKETS];
	int n_sockets;
	long watchdog_ms;
	char **command;
	int notify, signals;
	char address[64];
	pid_t pid;
};

static void fail(const char *what)
{
	fprintf(stderr, "hawser-test-manager: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: hawser-test-manager [--listen PORT]... [--watchdog MS] COMMAND...\n");
	exit(125);
}

/* A number of the command line within its bounds. */
static long number(const char *text, long max)
{
	char *end;
	long n;

	if (!text)
		usage();
	n = strtol(text, &end, 10);
	if (end == text || *end || n < 0 || n > max)
		usage();
	return n;
}

static int listen_at(long port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t length = sizeof(a);
	int one = 1, fd;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&a, &length))
		fail("listen");
	printf("listen %d\n", ntohs(a.sin_port));
	return fd;
}

/* An abstract name: nothing is left behind in a file system. */
static int open_notify(struct manager *m)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int n, fd;

	n = snprintf(m->address, sizeof(m->address), "@hawser-test-%ld", (long)getpid());
	memcpy(a.sun_path + 1, m->address + 1, (size_t)n - 1);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)))
		fail("notify socket");
	return fd;
}

static void set_number(const char *name, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	setenv(name, text, 1);
}

static void run_child(struct manager *m, const sigset_t *mask)
{
	sigprocmask(SIG_UNBLOCK, mask, NULL);
	/* Two steps, since a socket may have the number that another is to get. */
	for (int i = 0; i < m->n_sockets; i++)
		m->sockets[i] = fcntl(m->sockets[i], F_DUPFD, FIRST_FD + MAX_SOCKETS);
	for (int i = 0; i < m->n_sockets; i++) {
		if (dup2(m->sockets[i], FIRST_FD + i) < 0)
			fail("dup2");
		close(m->sockets[i]);
	}
	setenv("NOTIFY_SOCKET", m->address, 1);
	if (m->n_sockets) {
		set_number("LISTEN_FDS", m->n_sockets);
		set_number("LISTEN_PID", getpid());
	}
	if (m->watchdog_ms) {
		set_number("WATCHDOG_USEC", m->watchdog_ms * 1000LL);
		set_number("WATCHDOG_PID", getpid());
	}
	execvp(m->command[0], m->command);
	fail(m->command[0]);
}

static void show_notifications(int fd)
{
	char text[4096], *rest, *line;
	ssize_t n;

	while ((n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0) {
		text[n] = 0;
		rest = text;
		while ((line = strsep(&rest, "\n")))
			if (*line)
				printf("notify %s\n", line);
	}
}

/* Returns our exit status once the child has ended, else -1. */
static int handle_signal(struct manager *m)
{
	struct signalfd_siginfo info;
	int status;

	if (read(m->signals, &info, sizeof(info)) != sizeof(info))
		return -1;
	if (info.ssi_signo != SIGCHLD) {
		kill(m->pid, (int)info.ssi_signo);
		return -1;
	}
	if (waitpid(m->pid, &status, WNOHANG) != m->pid)
		return -1;
	show_notifications(m->notify);
	if (WIFSIGNALED(status)) {
		printf("signal %d\n", WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	printf("exit %d\n", WEXITSTATUS(status));
	return WEXITSTATUS(status);
}

static int manage(struct manager *m)
{
	struct pollfd fds[] = { { .fd = m->signals, .events = POLLIN },
				{ .fd = m->notify, .events = POLLIN } };
	int status = -1;

	while (status < 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			fail("poll");
		if (fds[1].revents)
			show_notifications(m->notify);
		if (fds[0].revents)
			status = handle_signal(m);
	}
	return status;
}

static void parse(struct manager *m, char **argv)
{
	for (argv++; *argv && !strncmp(*argv, "--", 2); argv += 2) {
		if (!strcmp(*argv, "--watchdog"))
			m->watchdog_ms = number(argv[1], 3600 * 1000);
		else if (!strcmp(*argv, "--listen") && m->n_sockets < MAX_SOCKETS)
			m->sockets[m->n_sockets++] = listen_at(number(argv[1], 65535));
		else
			usage();
	}
	if (!*argv)
		usage();
	m->command = argv;
}

int main(int argc, char **argv)
{
	struct manager m = { 0 };
	sigset_t mask;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(&m, argv);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	m.signals = signalfd(-1, &mask, SFD_CLOEXEC);
	if (m.signals < 0)
		fail("signalfd");
	m.notify = open_notify(&m);
	m.pid = fork();
	if (m.pid < 0)
		fail("fork");
	if (!m.pid)
		run_child(&m, &mask);
	for (int i = 0; i < m.n_sockets; i++)
		close(m.sockets[i]);
	printf("pid %ld\n", (long)m.pid);
	return manage(&m);
}
