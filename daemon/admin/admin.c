/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The admin socket: accepting, who is who, lines in, lines out; see admin.h.
 *
 * A connection has one request in progress at a time; further lines wait unread, so that a client
 * can make neither memory nor the queue of changes grow.
 */
#include "daemon/admin/admin.h"
#include "daemon/admin/request.h"
#include "daemon/base/acceptor.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LINE_MAX_BYTES  (1u << 20)
#define CONNECTIONS_MAX 64
#define READERS_MAX     48 /* the rest is for those who may change things */
#define NO_GROUP        ((gid_t)-1)

struct admin {
	struct daemon *daemon;
	struct acceptor acceptor;
	struct list conns;
	unsigned n_conns;
	gid_t changers, readers; /* NO_GROUP: there is no such group */
	bool inherited;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t dev; /* of the socket's name: only our own is removed */
	ino_t ino;
};

struct admin_conn {
	struct list node;
	struct admin *admin;
	struct reactor_fd fd;
	enum admin_access access;
	struct reactor_job resume;
	bool busy;   /* a request is in progress */
	bool closed; /* freed when not busy */
	bool eof;    /* the peer sends no more */
	bool broken; /* an answer could not be made */
	char *in, *out;
	size_t in_length, in_size, out_length, out_sent;
};

static void conn_free(struct admin_conn *c)
{
	reactor_job_cancel(&c->resume);
	list_del(&c->node);
	c->admin->n_conns--;
	free(c->in);
	free(c->out);
	free(c);
}

/* A request in progress holds the connection: it is freed with its answer. */
static void conn_close(struct admin_conn *c)
{
	if (!c->closed) {
		c->closed = true;
		reactor_fd_del(c->admin->daemon->control, &c->fd);
		close(c->fd.fd);
	}
	if (!c->busy)
		conn_free(c);
}

/* -1: the peer is gone. */
static int conn_flush(struct admin_conn *c)
{
	while (c->out_sent < c->out_length) {
		ssize_t n =
		    send(c->fd.fd, c->out + c->out_sent, c->out_length - c->out_sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		c->out_sent += (size_t)n;
	}
	free(c->out);
	c->out = NULL;
	c->out_length = c->out_sent = 0;
	return 0;
}

/* Keeps the answer; what follows from it happens at the end of the turn, outside of the method. */
void admin_send(struct admin_request *rq, json_t *message)
{
	struct admin_conn *c = rq->conn;
	char *text, *line = NULL;
	size_t length;

	c->busy = false;
	if (c->closed) {
		conn_free(c);
		return;
	}
	reactor_defer(c->admin->daemon->control, REACTOR_STAGE_SEND, &c->resume);
	if (!rq->id && json_object_get(message, "result"))
		return; /* a notification that went well */
	text = json_dumps(message, JSON_COMPACT);
	length = text ? strlen(text) : 0;
	if (text)
		line = realloc(text, length + 1);
	if (!line) {
		free(text);
		c->broken = true;
		return;
	}
	line[length] = '\n';
	c->out = line;
	c->out_length = length + 1;
	c->out_sent = 0;
}

static int handle_line(struct admin_conn *c, const char *line, size_t length)
{
	struct admin_request *rq = calloc(1, sizeof(*rq));
	json_error_t error;
	json_t *message;

	if (!rq)
		return -1;
	rq->conn = c;
	rq->daemon = c->admin->daemon;
	c->busy = true;
	message = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	if (!message) {
		rq->params = json_object();
		/* jansson quotes what it found: the line may be anything. */
		admin_fail(rq, ADMIN_PARSE_ERROR, "not JSON: error in column %d", error.column);
		return 0;
	}
	admin_dispatch(rq, message, c->access);
	json_decref(message);
	return 0;
}

/* The next whole lines, one at a time. -1: the connection must end. */
static int handle_lines(struct admin_conn *c)
{
	while (!c->busy && !c->out && !c->broken && c->in_length) {
		char *end = memchr(c->in, '\n', c->in_length), *line;
		size_t used;
		int r;

		if (!end)
			return 0;
		used = (size_t)(end - c->in) + 1;
		line = malloc(used);
		if (!line)
			return -1;
		memcpy(line, c->in, used);
		c->in_length -= used;
		memmove(c->in, c->in + used, c->in_length);
		r = used > 1 ? handle_line(c, line, used - 1) : 0;
		free(line);
		if (r)
			return r;
	}
	return 0;
}

/* -1: gone, or beyond the limits. */
static int read_more(struct admin_conn *c)
{
	ssize_t n;

	if (c->in_size - c->in_length < 4096) {
		size_t size = c->in_size ? c->in_size * 2 : 8192;
		char *grown = size > 2 * (size_t)LINE_MAX_BYTES ? NULL : realloc(c->in, size);

		if (!grown)
			return -1;
		c->in = grown;
		c->in_size = size;
	}
	do
		n = recv(c->fd.fd, c->in + c->in_length, c->in_size - c->in_length, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	c->eof = n == 0;
	c->in_length += (size_t)n;
	if (c->in_length > LINE_MAX_BYTES && !memchr(c->in, '\n', c->in_length)) {
		log_warn(LOG_ADMIN, "a line longer than %u bytes; connection closed",
			 LINE_MAX_BYTES);
		return -1;
	}
	return 0;
}

/* Writes, handles and reads on as far as it goes. */
static void conn_go_on(struct admin_conn *c)
{
	uint32_t events;

	if (conn_flush(c) || c->broken || handle_lines(c)) {
		conn_close(c);
		return;
	}
	/* A peer that has said all still gets its answers. */
	if (c->eof && !c->busy && !c->out) {
		conn_close(c);
		return;
	}
	events = c->out ? EPOLLOUT : c->busy || c->eof ? 0 : EPOLLIN;
	if (c->fd.events != events)
		reactor_fd_mod(c->admin->daemon->control, &c->fd, events);
}

static void conn_resume(struct reactor_job *job)
{
	conn_go_on(list_entry(job, struct admin_conn, resume));
}

static void conn_ready(struct reactor_fd *rfd, uint32_t events)
{
	struct admin_conn *c = list_entry(rfd, struct admin_conn, fd);

	/* Both directions are closed: nobody reads an answer. */
	if ((events & (EPOLLHUP | EPOLLERR)) && !(events & EPOLLIN)) {
		conn_close(c);
		return;
	}
	if ((events & EPOLLIN) && read_more(c)) {
		conn_close(c);
		return;
	}
	conn_go_on(c);
}

static bool in_group(int fd, const struct ucred *cred, gid_t group)
{
	gid_t groups[256];
	socklen_t length = sizeof(groups);

	if (group == NO_GROUP)
		return false;
	if (cred->gid == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length))
		return false;
	for (unsigned i = 0; i < length / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

static enum admin_access access_of(const struct admin *a, int fd)
{
	struct ucred cred;
	socklen_t length = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length))
		return ADMIN_NONE;
	if (cred.uid == 0 || cred.uid == geteuid() || in_group(fd, &cred, a->changers))
		return ADMIN_CHANGE;
	if (in_group(fd, &cred, a->readers))
		return ADMIN_READ;
	log_warn(LOG_ADMIN,
		 "uid %u refused: it is neither root nor in group hawser-admin or hawser",
		 cred.uid);
	return ADMIN_NONE;
}

/* Says why in the protocol's own form, then closes. */
static void turn_away(int fd, const char *why)
{
	char text[300];
	int n = snprintf(text, sizeof(text),
			 "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":%d,\"message\":"
			 "\"%s\"}}\n",
			 ADMIN_DENIED, why);

	if (send(fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug(LOG_ADMIN, "could not say why: %s", text_errno(errno));
	close(fd);
}

static void accepted(struct admin *a, int fd)
{
	struct admin_conn *c;
	enum admin_access access = access_of(a, fd);

	if (access == ADMIN_NONE) {
		turn_away(fd, "you are neither root nor in group hawser-admin or hawser; ask an "
			      "administrator to add you");
		return;
	}
	if (a->n_conns >= (access == ADMIN_CHANGE ? CONNECTIONS_MAX : READERS_MAX)) {
		turn_away(fd, "too many administrative connections; close some");
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return;
	}
	c->admin = a;
	c->access = access;
	c->fd.fd = fd;
	c->fd.ready = conn_ready;
	reactor_job_init(&c->resume, conn_resume);
	list_add_tail(&a->conns, &c->node);
	a->n_conns++;
	if (reactor_fd_add(a->daemon->control, &c->fd, EPOLLIN)) {
		close(fd);
		conn_free(c);
	}
}

static void take(struct acceptor *acceptor, int fd, const struct sockaddr_storage *peer)
{
	(void)peer;
	accepted(list_entry(acceptor, struct admin, acceptor), fd);
}

static void starved(struct acceptor *acceptor, int error)
{
	(void)acceptor;
	log_peer(LOG_ADMIN, LOG_LEVEL_WARN,
		 "no administrative connection can be accepted: %s; trying again",
		 text_errno(error));
}

static gid_t group_id(const char *name)
{
	struct group *g = getgrnam(name); // NOLINT(concurrency-mt-unsafe): before the threads

	return g ? g->gr_gid : NO_GROUP;
}

static void make_folder(const char *path)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *slash = strrchr(path, '/');

	if (slash == path)
		return;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	if (mkdir(folder, 0755) && errno != EEXIST)
		log_debug(LOG_ADMIN, "%s: %s", folder, text_errno(errno));
}

/* A name left by a daemon that died is removed; one that somebody answers is not, or will when he
 * has the time, and neither is what is no socket (connect says ECONNREFUSED to that, too). */
static int remove_stale(const struct sockaddr_un *address)
{
	struct stat st;
	int fd, r;

	if (lstat(address->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	r = connect(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
	close(fd);
	if (!r || r == -EAGAIN)
		return -EADDRINUSE;
	if (r == -ECONNREFUSED && unlink(address->sun_path))
		return -errno;
	return 0;
}

static int listen_at(struct admin *a, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;
	int fd, r;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	make_folder(path);
	r = remove_stale(&address);
	if (r)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Everybody may connect: the peer's credentials decide, and are told why not. */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || chmod(path, 0666) ||
	    listen(fd, 16) || stat(path, &st)) {
		r = -errno;
		close(fd);
		return r;
	}
	snprintf(a->path, sizeof(a->path), "%s", path);
	a->dev = st.st_dev;
	a->ino = st.st_ino;
	return fd;
}

static const char *remedy(int error)
{
	if (error == -EADDRINUSE)
		return "another daemon answers there, stop it or set socket";
	if (error == -EEXIST)
		return "it is not a socket and stays; remove it or set daemon: socket";
	return "set daemon: socket to a place that can be written";
}

int admin_start(struct daemon *d, int inherited_fd)
{
	struct admin *a = calloc(1, sizeof(*a));
	const char *path = d->settings.socket;
	int fd;

	if (!a)
		return -ENOMEM;
	a->daemon = d;
	list_init(&a->conns);
	acceptor_init(&a->acceptor);
	a->acceptor.taken = take;
	a->acceptor.starved = starved;
	a->changers = group_id("hawser-admin");
	a->readers = group_id("hawser");
	fd = inherited_fd >= 0 ? inherited_fd : listen_at(a, path);
	if (fd < 0) {
		log_error(LOG_ADMIN, "cannot start: socket %s: %s; %s", path, text_errno(-fd),
			  remedy(fd));
		free(a);
		return fd;
	}
	d->admin = a;
	return acceptor_start(&a->acceptor, d->control, fd);
}

void admin_remove_socket(struct admin *a)
{
	struct stat st;

	if (a && a->path[0] && !stat(a->path, &st) && st.st_dev == a->dev && st.st_ino == a->ino)
		unlink(a->path);
}

void admin_stop(struct admin *a)
{
	struct list *l, *tmp;

	if (!a)
		return;
	list_for_each_safe (l, tmp, &a->conns) {
		struct admin_conn *c = list_entry(l, struct admin_conn, node);

		c->busy = false;
		conn_close(c);
	}
	acceptor_stop(&a->acceptor);
	admin_remove_socket(a);
	a->daemon->admin = NULL;
	free(a);
}
