/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/iscsi/chap.h"

#include "daemon/base/binary.h"
#include "transport/iscsi/keys.h"
#include "transport/iscsi/text.h"

#include <nettle/md5.h>
#include <nettle/memops.h>
#include <nettle/nettle-meta.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <nettle/sha3.h>
#include <stdlib.h>
#include <string.h>

static const struct algorithm {
	enum chap_algorithm id;
	const char *name;
	const struct nettle_hash *hash;
} algorithms[] = {
	{ CHAP_MD5, "md5", &nettle_md5 },
	{ CHAP_SHA1, "sha1", &nettle_sha1 },
	{ CHAP_SHA256, "sha256", &nettle_sha256 },
	{ CHAP_SHA3_256, "sha3-256", &nettle_sha3_256 },
};
#define N_ALGORITHMS (sizeof(algorithms) / sizeof(algorithms[0]))

union context {
	struct md5_ctx md5;
	struct sha1_ctx sha1;
	struct sha256_ctx sha256;
	struct sha3_256_ctx sha3_256;
};

static const struct algorithm *algorithm_of(uint64_t id)
{
	for (unsigned i = 0; i < N_ALGORITHMS; i++)
		if (algorithms[i].id == id)
			return &algorithms[i];
	return NULL;
}

enum chap_algorithm chap_algorithm_find(const char *name)
{
	for (unsigned i = 0; i < N_ALGORITHMS; i++)
		if (!strcmp(algorithms[i].name, name))
			return algorithms[i].id;
	return (enum chap_algorithm)0;
}

size_t chap_digest_length(enum chap_algorithm a)
{
	const struct algorithm *row = algorithm_of(a);

	return row ? row->hash->digest_size : 0;
}

void chap_digest(enum chap_algorithm a, uint8_t identifier, const struct chap_secret *secret,
		 const uint8_t *challenge, size_t challenge_length,
		 uint8_t ret[static CHAP_DIGEST_MAX])
{
	const struct nettle_hash *hash = algorithm_of(a)->hash;
	union context context;

	hash->init(&context);
	hash->update(&context, 1, &identifier);
	hash->update(&context, secret->length, secret->bytes);
	hash->update(&context, challenge_length, challenge);
	memset(ret, 0, CHAP_DIGEST_MAX);
	hash->digest(&context, hash->digest_size, ret);
	explicit_bzero(&context, sizeof(context));
}

void chap_account_clear(struct chap_account *a)
{
	free(a->name);
	free(a->mutual_name);
	explicit_bzero(a, sizeof(*a));
}

static enum chap_result end(struct chap *c, enum chap_result result, const char *why)
{
	c->state = CHAP_OVER;
	c->why = why;
	return result;
}

/* The first of the list that is allowed: by every account that may come, or at least by one. */
static enum chap_algorithm choose(const char *list, unsigned allowed)
{
	char item[TEXT_VALUE_MAX + 1];
	uint64_t id;

	while (text_list_next(&list, item))
		if (!text_number(item, &id) && algorithm_of(id) && (allowed & CHAP_BIT(id)))
			return (enum chap_algorithm)id;
	return (enum chap_algorithm)0;
}

#define MARK 4

static void mark_of(const struct chap_random *random, const uint8_t *bytes, size_t n,
		    uint8_t ret[static MARK])
{
	struct sha256_ctx context;

	sha256_init(&context);
	sha256_update(&context, CHAP_KEY, random->key);
	sha256_update(&context, n, bytes);
	sha256_digest(&context, MARK, ret);
}

/* A challenge that this process has made, on whatever connection (9.2.1). */
static bool is_ours(const struct chap_random *random, const uint8_t *challenge, size_t n)
{
	uint8_t mark[MARK];
	bool possible = false;

	for (unsigned i = 0; i < N_ALGORITHMS; i++)
		possible |= n == algorithms[i].hash->digest_size;
	if (!possible)
		return false;
	mark_of(random, challenge, n - MARK, mark);
	return memeql_sec(mark, challenge + n - MARK, MARK);
}

/* CHAP_A has come: which one, and our challenge (12.1.3, second step). */
static enum chap_result challenge(struct chap *c, const struct chap_keys *k,
				  const struct chap_accounts *accounts,
				  const struct chap_random *random, struct text_out *out)
{
	char text[2 * CHAP_DIGEST_MAX + 3];
	unsigned all = CHAP_ALL, any = 0;

	if (k->i || k->c || k->n || k->r)
		return end(c, CHAP_INVALID, "CHAP keys before CHAP_A was answered");
	if (!k->a)
		return end(c, CHAP_MISSING, "CHAP_A is missing");
	for (unsigned i = 0; i < accounts->n; i++) {
		all &= accounts->list[i]->algorithms;
		any |= accounts->list[i]->algorithms;
	}
	c->algorithm = choose(k->a, all);
	if (!c->algorithm)
		c->algorithm = choose(k->a, any);
	if (!c->algorithm)
		return end(c, CHAP_DENIED, "no CHAP algorithm that is allowed was offered");
	/* As long as the digest: what every initiator takes. */
	c->challenge_length = (uint8_t)chap_digest_length(c->algorithm);
	c->identifier = random->fresh[0];
	memcpy(c->challenge, random->fresh + 1, c->challenge_length);
	mark_of(random, c->challenge, c->challenge_length - MARK,
		c->challenge + c->challenge_length - MARK);
	binary_format(c->challenge, c->challenge_length, text);
	text_put_number(out, key_table[KEY_CHAP_A].name, c->algorithm);
	text_put_number(out, key_table[KEY_CHAP_I].name, c->identifier);
	text_put(out, key_table[KEY_CHAP_C].name, text);
	c->state = CHAP_WANTS_RESPONSE;
	return CHAP_CONTINUE;
}

static const struct chap_account *find(const struct chap_accounts *accounts, const char *name)
{
	for (unsigned i = 0; i < accounts->n; i++)
		if (!strcmp(accounts->list[i]->name, name))
			return accounts->list[i];
	return NULL;
}

/* Does a secret give this response to our challenge? The one place that compares. */
static bool responds(const struct chap *c, const struct chap_secret *secret,
		     const uint8_t response[static CHAP_DIGEST_MAX])
{
	uint8_t digest[CHAP_DIGEST_MAX];
	bool same;

	chap_digest(c->algorithm, c->identifier, secret, c->challenge, c->challenge_length, digest);
	same = memeql_sec(digest, response, chap_digest_length(c->algorithm));
	explicit_bzero(digest, sizeof(digest));
	return same && secret->length;
}

/* The same work whoever is named and whatever fails, so that time tells nothing. */
static bool proves(const struct chap *c, const struct chap_account *a,
		   const uint8_t response[static CHAP_DIGEST_MAX])
{
	static const struct chap_account nobody;
	const struct chap_account *who = a ? a : &nobody;
	bool proven = false;

	for (unsigned i = 0; i < CHAP_SECRETS; i++)
		proven |= responds(c, &who->secret[i], response);
	/* What we ourselves would answer is somebody's reflection (9.2.1). */
	return !responds(c, &who->mutual, response) && proven;
}

/* The initiator's own challenge; we answer it (12.1.3, last step). */
static enum chap_result prove_ours(struct chap *c, const struct chap_keys *k,
				   const struct chap_random *random, struct text_out *out)
{
	uint8_t theirs[CHAP_BINARY_MAX], digest[CHAP_DIGEST_MAX];
	char text[2 * CHAP_DIGEST_MAX + 3];
	uint64_t identifier;
	size_t length;

	if (text_number(k->i, &identifier) || identifier > UINT8_MAX)
		return end(c, CHAP_INVALID, "CHAP_I is not a number from 0 to 255");
	if (binary_parse(k->c, theirs, sizeof(theirs), &length) || !length)
		return end(c, CHAP_INVALID, "CHAP_C is not a challenge of 1 to 1024 bytes");
	if (is_ours(random, theirs, length))
		return end(c, CHAP_DENIED, "its challenge is ours, reflected");
	if (!c->account->mutual.length || !c->account->mutual_name)
		return end(c, CHAP_DENIED,
			   "it wants our proof, and the account has no secret "
			   "for that");
	chap_digest(c->algorithm, (uint8_t)identifier, &c->account->mutual, theirs, length, digest);
	binary_format(digest, chap_digest_length(c->algorithm), text);
	text_put(out, key_table[KEY_CHAP_N].name, c->account->mutual_name);
	text_put(out, key_table[KEY_CHAP_R].name, text);
	return end(c, CHAP_PROVEN, NULL);
}

/* CHAP_N and CHAP_R have come, perhaps with a challenge for us (third step). */
static enum chap_result response(struct chap *c, const struct chap_keys *k,
				 const struct chap_accounts *accounts,
				 const struct chap_random *random, struct text_out *out)
{
	uint8_t bytes[CHAP_DIGEST_MAX] = { 0 };
	size_t length = 0;
	bool good, proven;

	if (k->a)
		return end(c, CHAP_INVALID, "CHAP_A a second time");
	if (!k->n || !k->r)
		return end(c, CHAP_MISSING, "CHAP_N or CHAP_R is missing");
	if (!k->i != !k->c)
		return end(c, CHAP_MISSING, "CHAP_I or CHAP_C is missing");
	good = !binary_parse(k->r, bytes, sizeof(bytes), &length) &&
	       length == chap_digest_length(c->algorithm);
	c->account = find(accounts, k->n);
	proven = proves(c, c->account, bytes);
	if (!good)
		return end(c, CHAP_DENIED, "CHAP_R is not of the length or form that it must be");
	if (!c->account)
		return end(c, CHAP_DENIED, "CHAP_N names no account that may log in here");
	if (!(c->account->algorithms & CHAP_BIT(c->algorithm)))
		return end(c, CHAP_DENIED, "the account does not allow this algorithm");
	if (!proven)
		return end(c, CHAP_DENIED, "CHAP_R is wrong: not the secret of the account");
	if (k->i)
		return prove_ours(c, k, random, out);
	if (c->account->require_mutual)
		return end(c, CHAP_DENIED,
			   "the account requires mutual CHAP, which was not asked for");
	return end(c, CHAP_PROVEN, NULL);
}

enum chap_result chap_step(struct chap *c, const struct chap_keys *k,
			   const struct chap_accounts *accounts, const struct chap_random *random,
			   struct text_out *out)
{
	switch (c->state) {
	case CHAP_WANTS_ALGORITHM:
		return challenge(c, k, accounts, random, out);
	case CHAP_WANTS_RESPONSE:
		return response(c, k, accounts, random, out);
	case CHAP_OFF:
	case CHAP_OVER:
		break;
	}
	return end(c, CHAP_INVALID, "CHAP keys where there is no CHAP");
}
