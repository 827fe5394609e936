/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/initiator/chap.h"

#include <nettle/base64.h>
#include <nettle/md5.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <nettle/sha3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t digest(int algorithm, const uint8_t *bytes, size_t n, uint8_t out[static 32])
{
	struct sha3_256_ctx sha3;
	struct sha256_ctx sha256;
	struct sha1_ctx sha1;
	struct md5_ctx md5;

	switch (algorithm) {
	case 5:
		md5_init(&md5);
		md5_update(&md5, n, bytes);
		md5_digest(&md5, 16, out);
		return 16;
	case 6:
		sha1_init(&sha1);
		sha1_update(&sha1, n, bytes);
		sha1_digest(&sha1, 20, out);
		return 20;
	case 7:
		sha256_init(&sha256);
		sha256_update(&sha256, n, bytes);
		sha256_digest(&sha256, 32, out);
		return 32;
	default:
		sha3_256_init(&sha3);
		sha3_256_update(&sha3, n, bytes);
		sha3_256_digest(&sha3, 32, out);
		return 32;
	}
}

const char *ini_chap_base64(const uint8_t *bytes, size_t n)
{
	static char text[2048];

	memcpy(text, "0b", 2);
	base64_encode_raw(text + 2, n, bytes);
	text[2 + BASE64_ENCODE_RAW_LENGTH(n)] = '\0';
	return text;
}

const char *ini_chap_response(int algorithm, const char *identifier, const char *challenge,
			      const char *secret, bool in_base64)
{
	static char text[80];
	uint8_t bytes[2048], out[32];
	size_t n = 0, length;

	bytes[n++] = (uint8_t)strtoul(identifier, NULL, 0);
	memcpy(bytes + n, secret, strlen(secret));
	n += strlen(secret);
	for (const char *p = challenge + 2; p[0] && p[1]; p += 2) {
		char byte[3] = { p[0], p[1] };

		bytes[n++] = (uint8_t)strtoul(byte, NULL, 16);
	}
	length = digest(algorithm, bytes, n, out);
	if (in_base64)
		return ini_chap_base64(out, length);
	memcpy(text, "0x", 3);
	for (size_t i = 0; i < length; i++)
		snprintf(text + 2 + 2 * i, 3, "%02x", out[i]);
	return text;
}
