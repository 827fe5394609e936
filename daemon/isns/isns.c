/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/isns/isns.h"
#include "config/address.h"
#include "daemon/base/log.h"
#include "daemon/isns/notice.h"
#include "daemon/isns/plan.h"
#include "daemon/isns/server.h"
#include "transport/portal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVERS_MAX   8
#define REFRESH_PARTS 3    /* of the period that we ask for */
#define REPAIR_MS     1000 /* after a notice that something is gone */

struct isns {
	struct reactor *control;
	struct list servers;
	unsigned n;
	struct isns_plan *plan;
	struct isns_bytes goodbye; /* ours; of the last plan that had one */
	struct isns_notices notices;
	struct reactor_timer repair;
};

static void begin_all(struct isns *i)
{
	struct list *l;

	list_for_each (l, &i->servers)
		isns_server_begin(list_entry(l, struct isns_server, node));
}

/* A round that is under way ends first: notices come as often as a server likes. */
static void repair(struct reactor_timer *timer)
{
	struct isns *i = list_entry(timer, struct isns, repair);
	bool busy = false;
	struct list *l;

	list_for_each (l, &i->servers) {
		struct isns_server *s = list_entry(l, struct isns_server, node);

		if (s->state == ISNS_IDLE)
			isns_server_begin(s);
		else
			busy = true;
	}
	if (busy)
		reactor_timer_arm(i->control, &i->repair, REPAIR_MS);
}

/* Perhaps what is gone is ours. */
static void removed(struct isns_notices *n)
{
	struct isns *i = list_entry(n, struct isns, notices);

	if (list_empty(&i->repair.node))
		reactor_timer_arm(i->control, &i->repair, REPAIR_MS);
}

/* IPv4 as IPv6 writes it: the listening socket is of both families. The scope of a link-local
 * address is not compared, it may be left out in the configuration. */
static struct in6_addr address_of(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *v4 = (const void *)a;
	struct in6_addr mapped = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	if (a->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
	memcpy(&mapped.s6_addr[12], &v4->sin_addr, 4);
	return mapped;
}

static bool from_server(struct isns_notices *n, const struct sockaddr_storage *peer)
{
	struct isns *i = list_entry(n, struct isns, notices);
	struct in6_addr who = address_of(peer);
	struct list *l;

	list_for_each (l, &i->servers) {
		struct isns_server *s = list_entry(l, struct isns_server, node);
		struct in6_addr server = address_of(&s->address);

		if (IN6_ARE_ADDR_EQUAL(&who, &server))
			return true;
	}
	return false;
}

int isns_start(struct reactor *control, struct isns **ret)
{
	struct isns *i = calloc(1, sizeof(*i));

	if (!i)
		return -ENOMEM;
	i->control = control;
	list_init(&i->servers);
	reactor_timer_init(&i->repair, repair);
	acceptor_init(&i->notices.acceptor);
	i->notices.removed = removed;
	i->notices.from_server = from_server;
	*ret = i;
	return 0;
}

static int resolve(const char *word, struct isns_server *s)
{
	struct sockaddr_in *v4 = (void *)&s->address;
	struct sockaddr_in6 *v6 = (void *)&s->address;
	struct config_address a;
	uint16_t port;

	/* config_check has seen that it is numeric. */
	if (config_parse_address(word, &a))
		return -EINVAL;
	port = htons(a.port ? a.port : ISNS_PORT);
	if (a.kind == ADDRESS_V4 && inet_pton(AF_INET, a.host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = port;
		s->address_length = sizeof(*v4);
	} else if (inet_pton(AF_INET6, a.host, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = port;
		s->address_length = sizeof(*v6);
	} else {
		return -EINVAL;
	}
	portal_format(&s->address, s->text, sizeof(s->text));
	return 0;
}

static struct isns_server *find(const struct list *servers, const char *text)
{
	struct list *l;

	list_for_each (l, servers) {
		struct isns_server *s = list_entry(l, struct isns_server, node);

		if (!strcmp(s->text, text))
			return s;
	}
	return NULL;
}

/* How many there were. */
static unsigned free_all(struct list *servers)
{
	struct list *l;
	unsigned n = 0;

	while ((l = list_pop(servers))) {
		isns_server_free(list_entry(l, struct isns_server, node));
		n++;
	}
	return n;
}

/* New servers come; those that are not named any more go at once, and forget us after the period.
 */
static void set_servers(struct isns *i, const char *list)
{
	char word[CONFIG_ADDRESS_MAX];
	struct list before;

	list_init(&before);
	list_splice_tail(&before, &i->servers);
	while (list && config_next_address(&list, word) && i->n < SERVERS_MAX) {
		struct isns_server *s = calloc(1, sizeof(*s)), *old;

		if (!s || resolve(word, s) || find(&i->servers, s->text)) {
			free(s);
			continue;
		}
		old = find(&before, s->text);
		if (old) {
			list_del(&old->node);
			list_add_tail(&i->servers, &old->node);
			free(s);
			continue;
		}
		isns_server_init(s, i->control);
		list_add_tail(&i->servers, &s->node);
		i->n++;
	}
	i->n -= free_all(&before);
	isns_notices_review(&i->notices);
}

static void listen_for_notices(struct isns *i)
{
	if (!i->n)
		isns_notices_stop(&i->notices);
	else if (i->notices.acceptor.rfd.fd < 0 && isns_notices_start(&i->notices, i->control))
		log_warn(LOG_DAEMON, "no port to hear of iSNS servers; they are only told");
}

static void keep_goodbye(struct isns *i)
{
	const struct isns_bytes *new = &i->plan->goodbye;
	uint8_t *bytes = new->length ? malloc(new->length) : NULL;

	if (!bytes)
		return;
	memcpy(bytes, new->bytes, new->length);
	free(i->goodbye.bytes);
	i->goodbye = (struct isns_bytes){ bytes, new->length };
}

/* But for the number of the transaction, which is set as they go out. */
static bool same_message(const struct isns_bytes *a, const struct isns_bytes *b)
{
	return a->length == b->length && !memcmp(a->bytes, b->bytes, 8) &&
	       !memcmp(a->bytes + 10, b->bytes + 10, a->length - 10);
}

static bool same_plan(const struct isns_plan *a, const struct isns_plan *b)
{
	if (!a || a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (!same_message(&a->messages[i], &b->messages[i]))
			return false;
	return true;
}

/* A round for who has news; the others go on with theirs. */
static void take_plan(struct isns *i, struct isns_plan *plan, uint32_t refresh_ms)
{
	bool same = same_plan(i->plan, plan);
	struct list *l;

	if (same) {
		isns_plan_free(plan);
	} else {
		isns_plan_free(i->plan);
		i->plan = plan;
		keep_goodbye(i);
	}
	list_for_each (l, &i->servers) {
		struct isns_server *s = list_entry(l, struct isns_server, node);
		bool fresh = !s->plan;

		s->plan = i->plan;
		s->goodbye = i->goodbye;
		s->refresh_ms = refresh_ms;
		if (fresh || !same)
			isns_server_begin(s);
	}
}

void isns_update(struct isns *i, const struct iscsi_policy *p, const struct config_daemon *c)
{
	struct isns_identity id = { .entity = c->node_name ? c->node_name : "hawserd",
				    .period_s = c->isns_period_s };
	struct isns_plan *plan;

	if (!i)
		return;
	set_servers(i, c->isns_servers);
	listen_for_notices(i);
	id.port = i->n ? i->notices.port : 0;
	id.esi_s = c->isns_esi_s;
	if (isns_plan_make(p, &id, &plan)) {
		log_error(LOG_DAEMON, "no memory to tell iSNS servers of a change");
		return;
	}
	take_plan(i, plan, c->isns_period_s * 1000u / REFRESH_PARTS);
}

void isns_say_goodbye(struct isns *i)
{
	struct list *l;

	if (!i)
		return;
	reactor_timer_disarm(&i->repair);
	list_for_each (l, &i->servers)
		list_entry(l, struct isns_server, node)->leaving = true;
	begin_all(i);
}

bool isns_is_idle(const struct isns *i)
{
	struct list *l;

	if (!i)
		return true;
	list_for_each (l, &i->servers)
		if (list_entry(l, struct isns_server, node)->state != ISNS_IDLE)
			return false;
	return true;
}

void isns_stop(struct isns *i)
{
	if (!i)
		return;
	reactor_timer_disarm(&i->repair);
	free_all(&i->servers);
	isns_notices_stop(&i->notices);
	isns_plan_free(i->plan);
	free(i->goodbye.bytes);
	free(i);
}

void isns_look(const struct isns *i, struct isns_view *ret)
{
	*ret = (struct isns_view){ 0 };
	if (!i)
		return;
	ret->plan = i->plan;
	ret->port = i->notices.acceptor.rfd.fd >= 0 ? i->notices.port : 0;
	ret->n_scn = i->notices.n_scn;
	ret->n_esi = i->notices.n_esi;
}

void isns_each(const struct isns *i, void (*each)(const struct isns_server *s, void *arg),
	       void *arg)
{
	struct list *l;

	if (!i)
		return;
	list_for_each (l, &i->servers)
		each(list_entry(l, struct isns_server, node), arg);
}
