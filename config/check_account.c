/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What accounts must be: names that differ, secrets of a length that protects, and never one secret
 * for both directions (RFC 7143 9.2.1). No text names a secret.
 */
#include "config/check_internal.h"
#include "daemon/base/binary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int config_secret_bytes(const char *secret, uint8_t bytes[static CONFIG_SECRET_MAX],
			size_t *ret_length)
{
	size_t n = strlen(secret);
	int r;

	if (binary_is(secret)) {
		r = binary_parse(secret, bytes, CONFIG_SECRET_MAX, &n);
		if (r)
			return r == -EMSGSIZE ? -ERANGE : r;
	} else if (n > CONFIG_SECRET_MAX) {
		return -ERANGE;
	} else {
		memcpy(bytes, secret, n);
	}
	if (n < CONFIG_SECRET_MIN)
		return -ERANGE;
	*ret_length = n;
	return 0;
}

const struct config_account *config_same_secret(const struct config *c,
						const struct config_account *a)
{
	for (unsigned i = 0; i < c->n_accounts; i++) {
		const struct config_account *b = &c->accounts[i];

		if (strcmp(a->name, b->name) != 0 && a->secret && b->secret &&
		    !strcmp(a->secret, b->secret))
			return b;
	}
	return NULL;
}

struct decoded {
	uint8_t bytes[CONFIG_SECRET_MAX];
	size_t length; /* 0: none */
};

enum { SECRET_FIRST, SECRET_SECOND, SECRET_MUTUAL, SECRETS };

static bool same(const struct decoded *a, const struct decoded *b)
{
	return a->length && a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

static int decode(const struct config_account *a, const char *name, const char *secret,
		  struct decoded *to, struct config_error *err)
{
	int r = secret ? config_secret_bytes(secret, to->bytes, &to->length) : 0;

	if (r == -ERANGE)
		return refuse(err, &a->origin,
			      "account %s: %s must have %d to %d bytes (RFC 7143 9.2.1); "
			      "choose another",
			      a->name, name, CONFIG_SECRET_MIN, CONFIG_SECRET_MAX);
	if (r)
		return refuse(err, &a->origin,
			      "account %s: %s begins as hexadecimal (0x) or base64 (0b) and "
			      "is neither; write it so, or choose another",
			      a->name, name);
	return 0;
}

static int check_mutual(const struct config_account *a, struct config_error *err)
{
	if (!a->mutual_name != !a->mutual_secret)
		return refuse(err, &a->origin,
			      "account %s: mutual_name and mutual_secret belong together; "
			      "add the other one",
			      a->name);
	if (a->require_mutual && !a->mutual_secret)
		return refuse(err, &a->origin,
			      "account %s: require_mutual needs mutual_name and "
			      "mutual_secret",
			      a->name);
	return 0;
}

static int check_account(const struct config *c, unsigned i, struct decoded *d,
			 struct config_error *err)
{
	const struct config_account *a = &c->accounts[i];
	char buf[300];
	int r;

	if (!*a->name)
		return refuse(err, &a->origin, "an account has an empty name; give it one");
	for (unsigned j = 0; j < i; j++)
		if (!strcmp(a->name, c->accounts[j].name))
			return refuse(err, &a->origin,
				      "account %s: there is one of that name already (%s); "
				      "rename one",
				      a->name, where(&c->accounts[j].origin, buf));
	if (a->lost)
		return 0;
	if (!a->secret)
		return refuse(err, &a->origin,
			      "account %s: has no secret; add secret_file = \"/...\" or "
			      "secret",
			      a->name);
	r = decode(a, "secret", a->secret, &d[SECRET_FIRST], err);
	if (!r)
		r = decode(a, "secret2", a->secret2, &d[SECRET_SECOND], err);
	if (!r)
		r = decode(a, "mutual_secret", a->mutual_secret, &d[SECRET_MUTUAL], err);
	return r ? r : check_mutual(a, err);
}

/* The target's secret must be nobody else's: a challenge sent back to us would be answered. */
static int check_directions(const struct config *c, const struct decoded *d,
			    struct config_error *err)
{
	for (unsigned i = 0; i < c->n_accounts; i++) {
		const struct config_account *a = &c->accounts[i];
		const struct decoded *mutual = &d[(size_t)i * SECRETS + SECRET_MUTUAL];

		for (unsigned j = 0; j < c->n_accounts && mutual->length; j++) {
			const struct decoded *other = &d[(size_t)j * SECRETS];

			if (!same(mutual, &other[SECRET_FIRST]) &&
			    !same(mutual, &other[SECRET_SECOND]))
				continue;
			return refuse(err, &a->origin,
				      "account %s: mutual_secret is also the secret of "
				      "account %s; the two directions must not share one "
				      "(RFC 7143 9.2.1), choose another",
				      a->name, c->accounts[j].name);
		}
	}
	return 0;
}

int check_accounts(const struct config *c, struct config_error *err)
{
	size_t n = (size_t)c->n_accounts * SECRETS;
	struct decoded *d = calloc(n ? n : 1, sizeof(*d));
	int r = 0;

	if (!d)
		return refuse(err, NULL, "no memory to check the accounts");
	for (unsigned i = 0; i < c->n_accounts && !r; i++)
		r = check_account(c, i, &d[(size_t)i * SECRETS], err);
	if (!r)
		r = check_directions(c, d, err);
	explicit_bzero(d, n * sizeof(*d));
	free(d);
	return r;
}
