/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses that other machines are told or asked: "192.0.2.7", "[2001:db8::7]:3261",
 * "storage.example.org".
 *
 * Threads: pure functions. Ownership: none.
 */
#ifndef HAWSER_CONFIG_ADDRESS_H
#define HAWSER_CONFIG_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_address_kind { ADDRESS_V4 = 1, ADDRESS_V6, ADDRESS_NAME };

#define CONFIG_HOST_MAX    255
#define CONFIG_ADDRESS_MAX (CONFIG_HOST_MAX + 9) /* with brackets, port and NUL */

struct config_address {
	enum config_address_kind kind;
	char host[CONFIG_HOST_MAX + 1]; /* numeric ones in their usual form, without brackets */
	uint16_t port;                  /* 0: none was given */
};

/* An IPv6 address may stand alone without brackets; with a port it has them. 0 or -EINVAL. */
int config_parse_address(const char *text, struct config_address *ret);
/* The next of a list parted by blanks or commas, at most CONFIG_ADDRESS_MAX - 1 bytes of it; false
 * at the end. */
bool config_next_address(const char **list, char word[static CONFIG_ADDRESS_MAX]);
/* "0.0.0.0", "::": of no use to anybody else. */
bool config_address_is_wildcard(const struct config_address *a);
/* As the text keys of iSCSI want it (RFC 7143 13.8): brackets for IPv6, and the port. */
void config_format_address(const struct config_address *a, char buf[static CONFIG_ADDRESS_MAX]);

#endif
