/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The privileged helper; see helper.h.
 *
 * Each request is one packet that carries one end of a socket pair of its own; the helper forks a
 * child, which opens the path and answers there. So a path that hangs (a dead NFS server) holds
 * only the one who asked.
 */
#include "daemon/helper.h"
#include "config/config.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/state.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct helper {
	int fd;
	pid_t pid;
};

enum helper_request_kind { HELPER_OPEN = 1 };

struct helper_request {
	uint32_t kind, flags, mode;
	char path[PATH_MAX];
};

/* What stores ask for; anything else is refused. */
#define OPEN_FLAGS                                                                                 \
	(O_ACCMODE | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC | O_NONBLOCK | O_SYNC | O_DSYNC |     \
	 O_NOFOLLOW | O_LARGEFILE)

/* Sends one byte block with a descriptor (-1: none). */
static int send_with_fd(int socket, const void *data, size_t length, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	union {
		const void *from;
		void *base; /* sendmsg only reads */
	} u = { .from = data };
	struct iovec iov = { .iov_base = u.base, .iov_len = length };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *c = &control.align;

		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	while (sendmsg(socket, &msg, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* The bytes received; *ret_fd is -1 if no descriptor came. */
static ssize_t receive_with_fd(int socket, void *data, size_t length, int *ret_fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { .iov_base = data, .iov_len = length };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	struct cmsghdr *c;
	ssize_t n;

	*ret_fd = -1;
	do
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return n;
}

/* Is this path, without links and "..", below one of the folders? */
static bool is_below(const char *real, const char *folders)
{
	for (const char *p = folders; *p;) {
		size_t n = strcspn(p, ":"), m = n;

		while (m > 1 && p[m - 1] == '/')
			m--;
		if (m && p[0] == '/' && !strncmp(real, p, m) &&
		    (m == 1 || real[m] == '/' || !real[m]))
			return true;
		p += n;
		p += *p == ':';
	}
	return false;
}

/* Judged as the kernel sees it: links (/dev/disk/by-id) are followed, so that they cannot lead
 * out. What is to be made is judged by its folder. */
static bool is_allowed(const char *path, const char *folders)
{
	char real[PATH_MAX], folder[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (path[0] != '/' || !slash[1])
		return false;
	snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	if (!realpath(path, real) && (errno != ENOENT || !realpath(folder, real)))
		return false;
	return is_below(real, folders);
}

/* Once more when it is open: a link may have been turned meanwhile. */
static bool is_still_allowed(int fd, const char *folders)
{
	char link[64], real[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof(real) - 1);
	if (n <= 0)
		return false;
	real[n] = '\0';
	return is_below(real, folders);
}

static int open_for(const struct helper_request *q, const char *folders, int *ret_error)
{
	struct stat st;
	int fd;

	*ret_error = EACCES;
	/* What is made is new: a link that leads nowhere must not have it made elsewhere. */
	if ((q->flags & ~(uint32_t)OPEN_FLAGS) || !is_allowed(q->path, folders) ||
	    ((q->flags & O_CREAT) && !(q->flags & O_EXCL)))
		return -1;
	fd = open(q->path, (int)q->flags | O_CLOEXEC | O_NOCTTY, q->mode & 0666);
	*ret_error = errno;
	if (fd < 0)
		return -1;
	*ret_error = EACCES;
	if (is_still_allowed(fd, folders)) {
		if (!fstat(fd, &st) && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
			return fd;
		*ret_error = EINVAL;
	}
	close(fd);
	return -1;
}

static void serve(const struct helper_request *q, int reply, const char *folders)
{
	int error = 0, fd = open_for(q, folders, &error);

	if (fd >= 0)
		error = 0;
	send_with_fd(reply, &error, sizeof(error), fd);
	_exit(0);
}

/* Opening whatever the folders hold, and nothing else. */
static void keep_capabilities(void)
{
	const uint32_t kept = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, caps))
		return;
	caps[0].effective = caps[0].permitted &= kept;
	caps[1].effective = caps[1].permitted = 0;
	caps[0].inheritable = caps[1].inheritable = 0;
	syscall(SYS_capset, &header, caps);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Of the daemon's descriptors only this one; a child that hangs must not keep a port open. */
static void keep_descriptor(int socket)
{
	if (socket > 3)
		close_range(3, (unsigned)socket - 1, 0);
	close_range((unsigned)socket + 1, ~0u, 0);
}

static void helper_main(int socket, const char *folders)
{
	static struct helper_request q;

	keep_descriptor(socket);
	keep_capabilities();

	signal(SIGCHLD, SIG_IGN); /* children are not waited for */
	prctl(PR_SET_NAME, "hawser-helper");
	for (;;) {
		int reply;
		ssize_t n = receive_with_fd(socket, &q, sizeof(q), &reply);

		if (n <= 0)
			_exit(0); /* the daemon is gone */
		if (n == sizeof(q) && q.kind == HELPER_OPEN && reply >= 0 &&
		    memchr(q.path, '\0', sizeof(q.path)) && fork() == 0)
			serve(&q, reply, folders);
		if (reply >= 0)
			close(reply);
	}
}

int helper_start(const struct config_daemon *d, struct helper **ret)
{
	struct helper *h = calloc(1, sizeof(*h));
	int pair[2];

	if (!h)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(h);
		return -errno;
	}
	h->pid = fork();
	if (h->pid < 0) {
		int r = -errno;

		close(pair[0]);
		close(pair[1]);
		free(h);
		return r;
	}
	if (h->pid == 0) {
		close(pair[0]);
		helper_main(pair[1], d->store_paths);
	}
	close(pair[1]);
	h->fd = pair[0];
	/* The helper has what it needs; the threads to come inherit this. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		log_warn(LOG_DAEMON, "no_new_privs cannot be set: %s", text_errno(errno));
	*ret = h;
	return 0;
}

void helper_stop(struct helper *h)
{
	if (!h)
		return;
	close(h->fd);
	waitpid(h->pid, NULL, 0);
	free(h);
}

int helper_open(void *arg, const char *path, int flags, unsigned mode)
{
	struct helper *h = arg;
	struct helper_request *q;
	int pair[2], error = EIO, fd = -1, r;

	if (strlen(path) >= sizeof(q->path))
		return -ENAMETOOLONG;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	q = calloc(1, sizeof(*q));
	r = q ? 0 : -ENOMEM;
	if (q) {
		q->kind = HELPER_OPEN;
		q->flags = (uint32_t)flags;
		q->mode = mode;
		memcpy(q->path, path, strlen(path));
		r = send_with_fd(h->fd, q, sizeof(*q), pair[1]);
	}
	free(q);
	close(pair[1]);
	if (r)
		error = -r;
	else if (receive_with_fd(pair[0], &error, sizeof(error), &fd) != sizeof(error))
		error = EIO;
	close(pair[0]);
	if (fd >= 0)
		return fd;
	return error ? -error : -EIO;
}

int helper_drop_privileges(const struct config_daemon *d, struct state *s, char *why,
			   unsigned whysize)
{
	struct passwd *pw;
	int r;

	if (!d->user)
		return 0;
	pw = getpwnam(d->user); // NOLINT(concurrency-mt-unsafe): the only caller
	if (!pw) {
		snprintf(why, whysize, "there is no user \"%s\"; create it or remove daemon: user",
			 d->user);
		return -ENOENT;
	}
	if (geteuid() == pw->pw_uid)
		return 0;
	r = state_give(s, pw->pw_uid, pw->pw_gid);
	if (r) {
		snprintf(why, whysize, "state folder %s cannot be given to user \"%s\": %s",
			 d->state_dir, d->user, text_errno(-r));
		return r;
	}
	/* glibc's calls change every thread; capabilities go with the last uid 0. */
	if (initgroups(d->user, pw->pw_gid) || setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid)) {
		r = -errno;
		snprintf(why, whysize, "cannot become user \"%s\": %s; start as root", d->user,
			 text_errno(errno));
		return r;
	}
	return 0;
}
