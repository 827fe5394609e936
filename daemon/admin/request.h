/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One administrative request from its line to its answer, and the table of methods.
 *
 * Threads: the control reactor. Ownership: a method that returns without having answered keeps the
 * request and answers later; answering frees it.
 */
#ifndef HAWSER_DAEMON_ADMIN_REQUEST_H
#define HAWSER_DAEMON_ADMIN_REQUEST_H

#include "config/schema.h"
#include "daemon/apply.h"
#include "daemon/state.h"

#include <jansson.h>

struct admin_conn;
struct daemon;

enum admin_access { ADMIN_NONE, ADMIN_READ, ADMIN_CHANGE };

/* JSON-RPC's own codes, and those of this protocol. */
enum admin_code {
	ADMIN_PARSE_ERROR = -32700,
	ADMIN_INVALID_REQUEST = -32600,
	ADMIN_UNKNOWN_METHOD = -32601,
	ADMIN_INVALID_PARAMS = -32602,
	ADMIN_INTERNAL = -32603,
	ADMIN_REFUSED = 1,   /* what was asked contradicts itself or the configuration */
	ADMIN_NOT_FOUND = 2, /* the object is not there */
	ADMIN_CONFLICT = 3,  /* it stems from hawser.conf, or is in use */
	ADMIN_FAILED = 4,    /* the system said no */
	ADMIN_DENIED = 5,    /* the caller may not */
};

struct admin_request {
	struct admin_conn *conn; /* NULL: the answer goes to answer() */
	struct daemon *daemon;
	const struct admin_method *method;
	json_t *id;     /* NULL: a notification, nobody waits for an answer */
	json_t *params; /* an object, never NULL */
	/* For methods that change the configuration. */
	struct apply_request apply;
	enum apply_result (*edit)(struct admin_request *rq, struct apply_request *ar);
	json_t *result; /* filled by edit, sent when it has been applied */
	void *data;     /* a method's own, freed with free() */
	/* For tests. */
	void (*answer)(struct admin_request *rq, json_t *message);
	void *answer_arg;
};

struct admin_method {
	const char *name; /* "target.create" */
	enum admin_access access;
	void (*run)(struct admin_request *rq);
	const char *params; /* for docs and tests: names parted by blanks, optional ones in [] */
	const char *help;
};

/* One table for each noun; ends with a row without name. */
extern const struct admin_method admin_target_methods[], admin_lun_methods[],
    admin_portal_methods[], admin_access_methods[], admin_session_methods[],
    admin_reservation_methods[], admin_daemon_methods[], admin_config_methods[],
    admin_account_methods[], admin_isns_methods[], admin_alua_methods[];

const struct admin_method *admin_method_find(const char *name);
/* Calls each for every method of every table. */
void admin_method_each(void (*each)(const struct admin_method *m, void *arg), void *arg);

/* Dispatches a parsed message: frees or answers rq whatever happens. */
void admin_dispatch(struct admin_request *rq, json_t *message, enum admin_access access);

/* Answers; the request is gone afterwards. result is taken over. */
void admin_reply(struct admin_request *rq, json_t *result);
void admin_fail(struct admin_request *rq, enum admin_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* admin.c: sends a message to the peer of rq->conn and frees rq's hold on it. */
void admin_send(struct admin_request *rq, json_t *message);

/* Applies what edit makes of the configuration, then answers with rq->result, or why not. */
void admin_apply(struct admin_request *rq,
		 enum apply_result (*edit)(struct admin_request *rq, struct apply_request *ar));

/* Parameters. NULL or false: absent or of another type; then the request has been failed. */
const char *admin_text(struct admin_request *rq, const char *name);
bool admin_number(struct admin_request *rq, const char *name, uint64_t max, uint64_t *ret);
/* Optional ones: false only if there and wrong, and then failed. */
bool admin_optional_text(struct admin_request *rq, const char *name, const char **ret);
bool admin_optional_bool(struct admin_request *rq, const char *name, bool *ret);

/* By name as the protocol compares names (RFC 3722). */
struct config_target *admin_find_target(const struct config *c, const char *name);
/* Answers with what `add` puts into the list of that name for each target, or for the one that the
 * request names. */
void admin_list_by_target(struct admin_request *rq, const char *list_name,
			  void (*add)(const struct daemon *d, const struct config_target *t,
				      json_t *list));
/* Inside an edit: the object to be changed, NULL and ar refused when it is not there or stems from
 * hawser.conf, which is changed by its author only. */
struct config_target *edit_target(struct apply_request *ar, const char *name);
struct config_lu *edit_lu(struct apply_request *ar, const char *name);
struct config_account *edit_account(struct apply_request *ar, const char *name);
/* Notes that the object must be kept. */
enum apply_result edit_keep(struct apply_request *ar, enum state_kind kind, const void *object);
enum apply_result edit_drop(struct apply_request *ar, enum state_kind kind, const char *key);
enum apply_result edit_no_memory(struct apply_request *ar);
/* How many targets map this LU; text of the first. */
unsigned edit_users(const struct config *c, const char *lu, char *first, size_t firstsize);

/* Objects by their settings; "origin" says where they stem from. */
json_t *admin_object_json(const struct config_scope *scope, const void *object);
json_t *admin_origin_json(const struct config_origin *o);
/* Settings from params; names in `skip` (parted by blanks) are left out. 0, or -EINVAL and why. */
int admin_object_from_json(const struct config_scope *scope, json_t *params, const char *skip,
			   void *object, char *why, size_t whysize);

#endif
