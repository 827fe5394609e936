/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/portal.h"

#include "scsi/lu.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The I/O reactors and how many connections each has; written once, before the first listener. */
static struct {
	struct reactor *const *set;
	unsigned n;
	_Atomic unsigned load[LU_REACTORS_MAX];
} places;

/* "192.0.2.1", "::1" and "[::1]". */
static int parse_address(const char *address, uint16_t port, struct sockaddr_storage *ret,
			 socklen_t *ret_length)
{
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;
	char text[INET6_ADDRSTRLEN];
	size_t n = strlen(address);

	memset(ret, 0, sizeof(*ret));
	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	if (n >= sizeof(text))
		return -EINVAL;
	memcpy(text, address, n);
	text[n] = '\0';
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		*ret_length = sizeof(*v4);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		*ret_length = sizeof(*v6);
		return 0;
	}
	return -EINVAL;
}

int portal_create(const struct datamover_ops *dm, const char *address, uint16_t port, uint16_t tpgt,
		  struct reactor *control, struct portal **ret)
{
	struct portal *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	err = parse_address(address, port, &p->address, &p->address_length);
	if (err) {
		free(p);
		return err;
	}
	p->refs = 1;
	p->dm = dm;
	p->port = port;
	p->tpgt = tpgt;
	p->control = control;
	p->inherited_fd = -1;
	portal_format(&p->address, p->text, sizeof(p->text));
	*ret = p;
	return 0;
}

int portal_listen(struct portal *p)
{
	return p->dm->listen(p);
}

void portal_unlisten(struct portal *p)
{
	p->dm->unlisten(p);
}

void portal_ref(struct portal *p)
{
	atomic_fetch_add(&p->refs, 1);
}

void portal_unref(struct portal *p)
{
	if (p && atomic_fetch_sub(&p->refs, 1) == 1)
		free(p);
}

void portal_set_reactors(struct reactor *const *set, unsigned n)
{
	places.set = set;
	places.n = n < LU_REACTORS_MAX ? n : LU_REACTORS_MAX;
	for (unsigned i = 0; i < places.n; i++)
		atomic_store(&places.load[i], 0);
}

struct reactor *const *portal_reactors(unsigned *ret_n)
{
	*ret_n = places.n;
	return places.set;
}

struct reactor *portal_place(void)
{
	unsigned best = 0;

	for (unsigned i = 1; i < places.n; i++) {
		if (atomic_load(&places.load[i]) < atomic_load(&places.load[best]))
			best = i;
	}
	atomic_fetch_add(&places.load[best], 1);
	return places.set[best];
}

void portal_unplace(const struct reactor *r)
{
	for (unsigned i = 0; i < places.n; i++) {
		if (places.set[i] == r)
			atomic_fetch_sub(&places.load[i], 1);
	}
}

void portal_move(const struct reactor *from, const struct reactor *to)
{
	for (unsigned i = 0; i < places.n; i++) {
		if (places.set[i] == to)
			atomic_fetch_add(&places.load[i], 1);
	}
	portal_unplace(from);
}

void portal_format(const struct sockaddr_storage *a, char *buf, size_t size)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;
	char text[INET6_ADDRSTRLEN];

	switch (a->ss_family) {
	case AF_INET:
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		snprintf(buf, size, "%s:%u", text, ntohs(v4->sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		snprintf(buf, size, "[%s]:%u", text, ntohs(v6->sin6_port));
		break;
	default:
		snprintf(buf, size, "?");
	}
}
