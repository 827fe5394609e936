/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CHAP (RFC 7143 12.1.3, 9.2.1; RFC 1994) as the target does it: a state machine over text keys.
 * It knows no PDU, no target and no rule; who calls it says which accounts may be proved.
 *
 * Threads: pure functions on values. Ownership: an account owns its name; struct chap has no heap.
 */
#ifndef HAWSER_ISCSI_CHAP_H
#define HAWSER_ISCSI_CHAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_out;

#define CHAP_BINARY_MAX 1024 /* bytes of a challenge (RFC 7143 12.1.3) */
#define CHAP_DIGEST_MAX 32
#define CHAP_SECRET_MAX 255
#define CHAP_SECRETS    2 /* valid at a time, so that one can be replaced without an outage */
#define CHAP_KEY        16
#define CHAP_FRESH      (1 + CHAP_DIGEST_MAX) /* random bytes that a challenge is made of */

/* IANA: PPP authentication algorithms. */
enum chap_algorithm { CHAP_MD5 = 5, CHAP_SHA1 = 6, CHAP_SHA256 = 7, CHAP_SHA3_256 = 8 };
#define CHAP_BIT(a) (1u << (a))
#define CHAP_ALL                                                                                   \
	(CHAP_BIT(CHAP_MD5) | CHAP_BIT(CHAP_SHA1) | CHAP_BIT(CHAP_SHA256) | CHAP_BIT(CHAP_SHA3_256))

struct chap_secret {
	uint8_t bytes[CHAP_SECRET_MAX];
	uint8_t length; /* 0: none */
};

struct chap_account {
	char *name;                              /* CHAP_N of the initiator */
	struct chap_secret secret[CHAP_SECRETS]; /* that it proves to have */
	char *mutual_name;                       /* our CHAP_N; NULL: we prove nothing */
	struct chap_secret mutual;               /* that we prove to have */
	bool require_mutual;                     /* refused unless it asks for our proof */
	unsigned algorithms;                     /* CHAP_BITs that are allowed */
};
/* Wipes the secrets and frees what it owns, not the account itself. */
void chap_account_clear(struct chap_account *a);

enum chap_result {
	CHAP_CONTINUE, /* an answer is in the text */
	CHAP_PROVEN,   /* and it is the last one: chap.account says who */
	CHAP_DENIED,   /* 0201 */
	CHAP_MISSING,  /* 0207: a key of this step is not there */
	CHAP_INVALID,  /* 0200: a key of another step */
};

enum chap_state { CHAP_OFF, CHAP_WANTS_ALGORITHM, CHAP_WANTS_RESPONSE, CHAP_OVER };

struct chap {
	enum chap_state state;
	enum chap_algorithm algorithm;
	uint8_t identifier;
	uint8_t challenge_length;
	uint8_t challenge[CHAP_DIGEST_MAX];
	const struct chap_account *account; /* named by CHAP_N; proven only if the result says so */
	const char *why;                    /* DENIED, MISSING, INVALID: for the log */
};

/* The CHAP keys of one text; NULL: not there. */
struct chap_keys {
	const char *a, *i, *c, *n, *r;
};

struct chap_accounts {
	const struct chap_account *const *list;
	unsigned n;
};

/* Random bytes. The last four of a challenge are a mark made of the others and of the key, by
 * which the process knows every challenge of its own when it comes back on another connection. */
struct chap_random {
	uint8_t fresh[CHAP_FRESH]; /* never used before */
	uint8_t key[CHAP_KEY];     /* the same for the life of the process */
};

/*
 * One request: its keys, the accounts that would do, and random bytes for a challenge. Answers go
 * to out. After anything but CONTINUE it is over.
 */
enum chap_result chap_step(struct chap *c, const struct chap_keys *k,
			   const struct chap_accounts *accounts, const struct chap_random *random,
			   struct text_out *out);

/* Length of a digest; 0: no such algorithm. */
size_t chap_digest_length(enum chap_algorithm a);
/* The response to a challenge (RFC 1994 4.1). */
void chap_digest(enum chap_algorithm a, uint8_t identifier, const struct chap_secret *secret,
		 const uint8_t *challenge, size_t challenge_length,
		 uint8_t ret[static CHAP_DIGEST_MAX]);
/* "md5", "sha1", "sha256", "sha3-256"; 0: none of them. */
enum chap_algorithm chap_algorithm_find(const char *name);

#endif
