/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of administrators, asked by their methods in a world.
 *
 * Threads: one. Ownership: answers belong to the caller.
 */
#ifndef HAWSER_UNIT_DAEMON_ADMIN_FIXTURE_H
#define HAWSER_UNIT_DAEMON_ADMIN_FIXTURE_H

#include "daemon/admin/request.h"
#include "tests/unit/daemon/world.h"

static json_t *answered;

static void take_answer(struct admin_request *rq, json_t *message)
{
	(void)rq;
	answered = json_incref(message);
}

/* A request as text in which @ is the folder; the answer, to be freed by the caller. */
static json_t *ask_as(struct world *w, enum admin_access access, const char *text)
{
	struct admin_request *rq = calloc(1, sizeof(*rq));
	char *whole = world_text(text);
	json_error_t error;
	json_t *message = json_loads(whole, 0, &error);

	ck_assert_msg(message != NULL, "%s: %s", error.text, whole);
	free(whole);
	rq->daemon = &w->d;
	rq->answer = take_answer;
	answered = NULL;
	admin_dispatch(rq, message, access);
	json_decref(message);
	while (!answered)
		world_turn(w);
	return answered;
}

static json_t *ask(struct world *w, const char *method, const char *params)
{
	char text[2000];

	snprintf(text, sizeof(text),
		 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":%s}", method, params);
	return ask_as(w, ADMIN_CHANGE, text);
}

static void good(struct world *w, const char *method, const char *params)
{
	json_t *a = ask(w, method, params);

	ck_assert_msg(json_object_get(a, "result") != NULL, "%s",
		      json_dumps(a, JSON_COMPACT | JSON_ENCODE_ANY));
	ck_assert_int_eq(json_integer_value(json_object_get(a, "id")), 7);
	json_decref(a);
}

static void bad(struct world *w, const char *method, const char *params, int code, const char *word)
{
	json_t *a = ask(w, method, params), *e = json_object_get(a, "error");
	const char *text = json_string_value(json_object_get(e, "message"));

	ck_assert_msg(e != NULL, "%s %s was not refused", method, params);
	ck_assert_msg(strstr(text, word), "\"%s\" is not in: %s", word, text);
	ck_assert_int_eq(json_integer_value(json_object_get(e, "code")), code);
	json_decref(a);
}

#endif
