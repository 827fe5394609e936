/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two rows of counters, in each of which an address has a place by a hash of its own; the smaller
 * of the two counts. An address is taken for more than it is only if others are at both its places,
 * and who they are cannot be foreseen, since the hash is salted.
 */
#include "transport/iscsi/crowd.h"

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#define ROWS   2u
#define PLACES 4096u /* a power of two */

static _Atomic uint32_t counters[ROWS][PLACES];
static _Atomic uint64_t salt;

static uint64_t get_salt(void)
{
	uint64_t have = atomic_load(&salt), made = 0;

	if (have)
		return have;
	if (getrandom(&made, sizeof(made), GRND_NONBLOCK) != sizeof(made) || !made)
		made = 0x9e3779b97f4a7c15ull;
	return atomic_compare_exchange_strong(&salt, &have, made) ? made : have;
}

/* The bytes that one peer cannot change at will. */
static uint64_t key_of(const struct sockaddr_storage *peer)
{
	const struct sockaddr_in *v4 = (const void *)peer;
	const struct sockaddr_in6 *v6 = (const void *)peer;
	uint64_t key = 0;

	if (peer->ss_family == AF_INET)
		return v4->sin_addr.s_addr;
	if (peer->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		memcpy(&key, &v6->sin6_addr.s6_addr[12], 4);
	else if (peer->ss_family == AF_INET6)
		memcpy(&key, &v6->sin6_addr, sizeof(key));
	return key;
}

/* The finalizer of splitmix64: every bit of the key moves every bit of the place. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static _Atomic uint32_t *place(const struct sockaddr_storage *peer, unsigned row)
{
	uint64_t h = mix(key_of(peer) + get_salt());

	return &counters[row][(h >> (32 * row)) % PLACES];
}

bool crowd_enter(const struct sockaddr_storage *peer, unsigned limit)
{
	uint32_t a = atomic_fetch_add(place(peer, 0), 1), b = atomic_fetch_add(place(peer, 1), 1);

	if (!limit || a < limit || b < limit)
		return true;
	crowd_leave(peer);
	return false;
}

void crowd_leave(const struct sockaddr_storage *peer)
{
	for (unsigned row = 0; row < ROWS; row++)
		atomic_fetch_sub(place(peer, row), 1);
}
