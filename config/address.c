/* SPDX-License-Identifier: BSD-2-Clause */
#include "config/address.h"
#include "daemon/base/text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Letters, digits and hyphens between dots (RFC 1123 2.1); something that is all digits and dots is
 * an IPv4 address gone wrong. */
static bool name_good(const char *name)
{
	bool letter = false;
	char before = '.';

	for (const char *p = name; *p; before = *p++) {
		bool alnum = isalnum((unsigned char)*p);

		if (!alnum && *p != '-' && *p != '.')
			return false;
		if (!alnum && before == '.')
			return false;
		if (*p == '.' && before == '-')
			return false;
		letter |= alnum && !isdigit((unsigned char)*p);
	}
	return letter && before != '-' && before != '.';
}

/* The host of n bytes and what stands behind it, ":port" or nothing. False: ill-formed. */
static bool split(const char *text, const char **ret_host, size_t *ret_n, const char **ret_rest)
{
	const char *end;

	if (*text == '[') {
		end = strchr(text, ']');
		if (!end)
			return false;
		*ret_host = text + 1;
		*ret_n = (size_t)(end - text) - 1;
		*ret_rest = end + 1;
		return true;
	}
	end = strchr(text, ':');
	if (!end || strchr(end + 1, ':')) /* none, or an IPv6 address that stands alone */
		end = text + strlen(text);
	*ret_host = text;
	*ret_n = (size_t)(end - text);
	*ret_rest = end;
	return true;
}

static int parse_host(struct config_address *a, bool bracketed)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET6, a->host, bytes) == 1) {
		a->kind = ADDRESS_V6;
		return inet_ntop(AF_INET6, bytes, a->host, sizeof(a->host)) ? 0 : -EINVAL;
	}
	if (bracketed)
		return -EINVAL;
	a->kind = inet_pton(AF_INET, a->host, bytes) == 1 ? ADDRESS_V4 : ADDRESS_NAME;
	return a->kind == ADDRESS_V4 || name_good(a->host) ? 0 : -EINVAL;
}

int config_parse_address(const char *text, struct config_address *ret)
{
	const char *host, *rest;
	uint64_t port;
	size_t n;

	memset(ret, 0, sizeof(*ret));
	if (!split(text, &host, &n, &rest) || !n || n >= sizeof(ret->host))
		return -EINVAL;
	memcpy(ret->host, host, n);
	if (*rest) {
		if (*rest != ':' || text_parse_u64(rest + 1, 65535, &port) || !port)
			return -EINVAL;
		ret->port = (uint16_t)port;
	}
	return parse_host(ret, *text == '[');
}

bool config_next_address(const char **list, char word[static CONFIG_ADDRESS_MAX])
{
	const char *p = *list + strspn(*list, " ,");
	size_t n = strcspn(p, " ,");

	snprintf(word, CONFIG_ADDRESS_MAX, "%.*s", (int)(n < INT_MAX ? n : INT_MAX), p);
	*list = p + n;
	return n;
}

bool config_address_is_wildcard(const struct config_address *a)
{
	return (a->kind == ADDRESS_V4 && !strcmp(a->host, "0.0.0.0")) ||
	       (a->kind == ADDRESS_V6 && !strcmp(a->host, "::"));
}

void config_format_address(const struct config_address *a, char buf[static CONFIG_ADDRESS_MAX])
{
	bool v6 = a->kind == ADDRESS_V6;
	char port[8] = "";

	if (a->port)
		snprintf(port, sizeof(port), ":%u", a->port);
	snprintf(buf, CONFIG_ADDRESS_MAX, "%s%s%s%s", v6 ? "[" : "", a->host, v6 ? "]" : "", port);
}
