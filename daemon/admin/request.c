/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dispatch of administrative requests by the tables of methods, and answers.
 */
#include "daemon/admin/request.h"
#include "daemon/base/log.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct admin_method *const tables[] = {
	admin_target_methods, admin_lun_methods,     admin_portal_methods,
	admin_access_methods, admin_session_methods, admin_reservation_methods,
	admin_daemon_methods, admin_config_methods,  admin_account_methods,
	admin_isns_methods,   admin_alua_methods,
};

void admin_method_each(void (*each)(const struct admin_method *m, void *arg), void *arg)
{
	for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct admin_method *m = tables[i]; m->name; m++)
			each(m, arg);
}

const struct admin_method *admin_method_find(const char *name)
{
	for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct admin_method *m = tables[i]; m->name; m++)
			if (!strcmp(m->name, name))
				return m;
	return NULL;
}

static void answer(struct admin_request *rq, json_t *message)
{
	json_object_set_new(message, "jsonrpc", json_string("2.0"));
	json_object_set(message, "id", rq->id ? rq->id : json_null());
	if (rq->answer)
		rq->answer(rq, message);
	else
		admin_send(rq, message);
	json_decref(message);
	json_decref(rq->id);
	json_decref(rq->params);
	json_decref(rq->result);
	free(rq->data);
	free(rq);
}

void admin_reply(struct admin_request *rq, json_t *result)
{
	json_t *message = json_object();

	json_object_set_new(message, "result", result ? result : json_object());
	answer(rq, message);
}

void admin_fail(struct admin_request *rq, enum admin_code code, const char *format, ...)
{
	json_t *message = json_object(), *error = json_object();
	char text[900];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_object_set_new(error, "code", json_integer(code));
	/* A text cut inside a character, or a name of foreign bytes, is no JSON string. */
	json_object_set_new(error, "message",
			    json_string(text) ?: json_string("refused; see the log"));
	json_object_set_new(message, "error", error);
	answer(rq, message);
}

static enum admin_code code_of(enum apply_result result)
{
	switch (result) {
	case APPLY_INVALID:
		return ADMIN_REFUSED;
	case APPLY_CONFLICT:
		return ADMIN_CONFLICT;
	case APPLY_NOT_FOUND:
		return ADMIN_NOT_FOUND;
	case APPLY_DONE:
	case APPLY_FAILED:
		break;
	}
	return ADMIN_FAILED;
}

static enum apply_result prepare(struct apply_request *ar)
{
	struct admin_request *rq = list_entry(ar, struct admin_request, apply);

	return rq->edit(rq, ar);
}

static void applied(struct apply_request *ar)
{
	struct admin_request *rq = list_entry(ar, struct admin_request, apply);
	json_t *result = rq->result;

	if (ar->result != APPLY_DONE) {
		log_info(LOG_ADMIN, "%s refused: %s", rq->method->name, ar->why);
		admin_fail(rq, code_of(ar->result), "%s", ar->why);
		return;
	}
	rq->result = NULL;
	if (ar->unclosed[0]) {
		result = result ? result : json_object();
		json_object_set_new(result, "unclosed", json_string(ar->unclosed));
	}
	admin_reply(rq, result);
}

void admin_apply(struct admin_request *rq,
		 enum apply_result (*edit)(struct admin_request *rq, struct apply_request *ar))
{
	rq->edit = edit;
	rq->apply.prepare = prepare;
	rq->apply.done = applied;
	apply_submit(rq->daemon, &rq->apply);
}

static bool take_message(struct admin_request *rq, json_t *message, const char **ret_method)
{
	json_t *params = json_object_get(message, "params");
	const char *version = json_string_value(json_object_get(message, "jsonrpc"));

	*ret_method = json_string_value(json_object_get(message, "method"));
	rq->id = json_incref(json_object_get(message, "id"));
	rq->params = params ? json_incref(params) : json_object();
	return version && !strcmp(version, "2.0") && *ret_method && rq->params &&
	       (!rq->id || json_is_string(rq->id) || json_is_integer(rq->id) ||
		json_is_null(rq->id));
}

/* A parameter that no row names would be a typing error that goes unnoticed. */
static const char *unknown_param(const struct admin_method *m, json_t *params)
{
	const char *name;
	json_t *v;

	json_object_foreach(params, name, v)
	{
		size_t length = strlen(name);
		const char *at = m->params;

		while ((at = strstr(at, name))) {
			if ((at == m->params || strchr(" [", at[-1])) &&
			    (!at[length] || strchr(" ]", at[length])))
				break;
			at += length ? length : 1;
			if (!*at)
				at = NULL;
			if (!at)
				break;
		}
		if (!at && !strchr(m->params, '*'))
			return name;
	}
	return NULL;
}

void admin_dispatch(struct admin_request *rq, json_t *message, enum admin_access access)
{
	const char *method, *unknown;

	if (!json_is_object(message)) {
		admin_fail(rq, ADMIN_INVALID_REQUEST,
			   "a request is one JSON object; batches are not offered");
		return;
	}
	if (!take_message(rq, message, &method)) {
		admin_fail(
		    rq, ADMIN_INVALID_REQUEST,
		    "not a JSON-RPC 2.0 request: \"jsonrpc\", \"method\" or \"id\" is wrong");
		return;
	}
	rq->method = admin_method_find(method);
	if (!rq->method) {
		admin_fail(rq, ADMIN_UNKNOWN_METHOD, "there is no method \"%.64s\"", method);
		return;
	}
	if (rq->method->access > access) {
		log_warn(LOG_ADMIN, "%s denied: the caller may only read", rq->method->name);
		admin_fail(rq, ADMIN_DENIED,
			   "%s: only root and the group hawser-admin may change anything", method);
		return;
	}
	if (!json_is_object(rq->params)) {
		admin_fail(rq, ADMIN_INVALID_PARAMS, "%s: \"params\" must be an object", method);
		return;
	}
	unknown = unknown_param(rq->method, rq->params);
	if (unknown) {
		admin_fail(rq, ADMIN_INVALID_PARAMS,
			   "%s: there is no parameter \"%.64s\"; known "
			   "are: %s",
			   method, unknown, rq->method->params);
		return;
	}
	if (!rq->daemon->node.config && strncmp(method, "daemon.", 7) != 0) {
		admin_fail(rq, ADMIN_FAILED, "the daemon is still starting; try again in a moment");
		return;
	}
	rq->method->run(rq);
}

static const char *text_of(json_t *j)
{
	const char *s = json_string_value(j);

	return s && strlen(s) == json_string_length(j) ? s : NULL;
}

const char *admin_text(struct admin_request *rq, const char *name)
{
	const char *s = text_of(json_object_get(rq->params, name));

	if (!s || !*s) {
		admin_fail(rq, ADMIN_INVALID_PARAMS, "%s: \"%s\" is missing or not a text",
			   rq->method->name, name);
		return NULL;
	}
	return s;
}

bool admin_number(struct admin_request *rq, const char *name, uint64_t max, uint64_t *ret)
{
	json_t *j = json_object_get(rq->params, name);

	if (!json_is_integer(j) || json_integer_value(j) < 0 ||
	    (uint64_t)json_integer_value(j) > max) {
		admin_fail(rq, ADMIN_INVALID_PARAMS, "%s: \"%s\" must be a number from 0 to %llu",
			   rq->method->name, name, (unsigned long long)max);
		return false;
	}
	*ret = (uint64_t)json_integer_value(j);
	return true;
}

bool admin_optional_text(struct admin_request *rq, const char *name, const char **ret)
{
	json_t *j = json_object_get(rq->params, name);

	if (j && !text_of(j)) {
		admin_fail(rq, ADMIN_INVALID_PARAMS, "%s: \"%s\" must be a text", rq->method->name,
			   name);
		return false;
	}
	if (j)
		*ret = text_of(j);
	return true;
}

bool admin_optional_bool(struct admin_request *rq, const char *name, bool *ret)
{
	json_t *j = json_object_get(rq->params, name);

	if (j && !json_is_boolean(j)) {
		admin_fail(rq, ADMIN_INVALID_PARAMS, "%s: \"%s\" must be true or false",
			   rq->method->name, name);
		return false;
	}
	if (j)
		*ret = json_is_true(j);
	return true;
}
