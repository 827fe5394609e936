/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's socket for its administrator. */
#include "tests/protocol/protocol.h"

#include <jansson.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

json_t *admin(const struct server *s, const char *method, const char *params)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), n;
	json_t *answer, *result;
	json_error_t error;
	char request[1024];

	n = snprintf(request, sizeof(request),
		     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}\n", method,
		     params);
	ck_assert(n > 0 && n < (int)sizeof(request));
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/admin.sock", s->dir);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	ck_assert_int_eq(send(fd, request, (size_t)n, 0), n);
	answer = json_loadfd(fd, JSON_DISABLE_EOF_CHECK, &error);
	close(fd);
	ck_assert_msg(answer != NULL, "%s: %s", method, error.text);
	result = json_incref(json_object_get(answer, "result"));
	ck_assert_msg(
	    result != NULL, "%s {%s}: %s", method, params,
	    json_string_value(json_object_get(json_object_get(answer, "error"), "message")));
	json_decref(answer);
	return result;
}

void change(const struct server *s, const char *method, const char *params)
{
	json_decref(admin(s, method, params));
}

static unsigned count_sessions(const struct server *s, const char *target)
{
	json_t *result = admin(s, "session.list", ""), *row;
	unsigned n = 0;
	size_t i;

	json_array_foreach(json_object_get(result, "sessions"), i, row)
	{
		const char *name = json_string_value(json_object_get(row, "target"));

		n += name && !strcmp(name, target) && json_object_get(row, "connection");
	}
	json_decref(result);
	return n;
}

void await_sessions(const struct server *s, const char *target, unsigned n)
{
	int64_t end = clock_ms() + patience(5000);
	unsigned is;

	while ((is = count_sessions(s, target)) != n)
		ck_assert_msg(clock_ms() < end, "%u sessions with %s, wanted %u", is, target, n);
}
