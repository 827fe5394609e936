/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/interfaces.h"
#include "backing/offload.h"
#include "daemon/apply.h"
#include "daemon/base/log.h"
#include "daemon/daemon.h"
#include "transport/iscsi/policy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define INTERFACES_MAX 64  /* of which initiators are told */
#define SETTLE_MS      500 /* changes come in bursts */

struct interfaces {
	struct daemon *daemon;
	struct reactor_fd netlink;
	struct reactor_timer settle;
	struct offload_queue *queue;
	struct offload_job job;
	bool reading;
	unsigned n, n_read;
	struct iscsi_interface list[INTERFACES_MAX], read[INTERFACES_MAX];
};

/* Up and with a carrier, no loopback, nothing link-local. */
static bool is_reachable(const struct ifaddrs *a)
{
	const struct sockaddr_in6 *v6 = (const void *)a->ifa_addr;

	if (!a->ifa_addr || (a->ifa_flags & IFF_LOOPBACK))
		return false;
	if ((a->ifa_flags & (IFF_UP | IFF_RUNNING)) != (IFF_UP | IFF_RUNNING))
		return false;
	if (a->ifa_addr->sa_family == AF_INET6)
		return !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
	return a->ifa_addr->sa_family == AF_INET;
}

static void format(const struct sockaddr *a, struct iscsi_interface *to)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;
	char text[INET6_ADDRSTRLEN];

	memset(to, 0, sizeof(*to));
	to->family = (uint8_t)a->sa_family;
	if (a->sa_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, to->host, sizeof(to->host));
		return;
	}
	inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
	snprintf(to->host, sizeof(to->host), "[%s]", text);
}

static unsigned read_all(struct iscsi_interface *list)
{
	struct ifaddrs *all = NULL;
	unsigned n = 0;

	if (getifaddrs(&all))
		return 0;
	for (const struct ifaddrs *a = all; a && n < INTERFACES_MAX; a = a->ifa_next)
		if (is_reachable(a))
			format(a->ifa_addr, &list[n++]);
	freeifaddrs(all);
	return n;
}

/* Nothing of the configuration changes, but what the reactors make of it. */
static enum apply_result prepare(struct apply_request *r)
{
	r->n_changes++;
	return APPLY_DONE;
}

static void republished(struct apply_request *r)
{
	if (r->result != APPLY_DONE)
		log_warn(LOG_DAEMON, "new addresses of the machine are not told to initiators: %s",
			 r->why);
	free(r);
}

static void republish(struct daemon *d)
{
	struct apply_request *r = calloc(1, sizeof(*r));

	if (!r)
		return;
	r->prepare = prepare;
	r->done = republished;
	log_info(LOG_DAEMON, "the addresses of the machine have changed");
	apply_submit(d, r);
}

static void read_work(struct offload_job *job)
{
	struct interfaces *i = list_entry(job, struct interfaces, job);

	i->n_read = read_all(i->read);
}

static void read_done(struct offload_job *job)
{
	struct interfaces *i = list_entry(job, struct interfaces, job);
	bool same = i->n == i->n_read && !memcmp(i->list, i->read, i->n * sizeof(i->list[0]));

	i->reading = false;
	if (same)
		return;
	i->n = i->n_read;
	memcpy(i->list, i->read, i->n * sizeof(i->list[0]));
	/* Before the boot has ended that will take them along. */
	if (i->daemon->node.config && !i->daemon->stop)
		republish(i->daemon);
}

static void settled(struct reactor_timer *timer)
{
	struct interfaces *i = list_entry(timer, struct interfaces, settle);

	if (i->reading) {
		reactor_timer_arm(i->daemon->control, timer, SETTLE_MS);
		return;
	}
	i->reading = true;
	i->job = (struct offload_job){ .work = read_work,
				       .done = read_done,
				       .reply_to = i->daemon->control };
	offload_submit(i->queue, &i->job);
}

/* What it says does not matter, nor whether some of it was lost: everything is read anew. */
static void notified(struct reactor_fd *rfd, uint32_t events)
{
	struct interfaces *i = list_entry(rfd, struct interfaces, netlink);
	char buf[8192];

	(void)events;
	for (;;) {
		ssize_t n = recv(rfd->fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (n <= 0 && (n == 0 || (errno != ENOBUFS && errno != EINTR)))
			break;
	}
	reactor_timer_arm(i->daemon->control, &i->settle, SETTLE_MS);
}

static int watch(struct interfaces *i)
{
	struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE), r;

	if (fd < 0)
		return -errno;
	i->netlink = (struct reactor_fd){ .fd = fd, .ready = notified };
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	if (!r)
		r = reactor_fd_add(i->daemon->control, &i->netlink, EPOLLIN);
	if (r) {
		close(fd);
		i->netlink.fd = -1;
	}
	return r;
}

int interfaces_start(struct daemon *d, struct interfaces **ret)
{
	struct interfaces *i = calloc(1, sizeof(*i));
	int r;

	if (!i)
		return -ENOMEM;
	i->daemon = d;
	i->netlink.fd = -1;
	reactor_timer_init(&i->settle, settled);
	r = offload_queue_create("interfaces", 1, &i->queue);
	if (!r)
		r = watch(i);
	if (r) {
		interfaces_stop(i);
		return r;
	}
	i->n = read_all(i->list);
	*ret = i;
	return 0;
}

void interfaces_stop(struct interfaces *i)
{
	if (!i)
		return;
	reactor_timer_disarm(&i->settle);
	if (i->netlink.fd >= 0) {
		reactor_fd_del(i->daemon->control, &i->netlink);
		close(i->netlink.fd);
	}
	offload_queue_destroy(i->queue);
	free(i);
}

int interfaces_copy(const struct interfaces *i, struct iscsi_interface **ret, unsigned *ret_n)
{
	if (!i || !i->n)
		return 0;
	*ret = calloc(i->n, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, i->list, i->n * sizeof(**ret));
	*ret_n = i->n;
	return 0;
}
