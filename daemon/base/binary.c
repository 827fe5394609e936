/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/binary.h"

#include "daemon/base/text.h"

#include <errno.h>
#include <string.h>

bool binary_is(const char *text)
{
	return text[0] == '0' && text[1] && strchr("xXbB", text[1]);
}

static int parse_hex(const char *p, uint8_t *bytes, size_t size, size_t *ret_length)
{
	size_t digits = strlen(p), used = 0;
	unsigned value = 0;

	if ((digits + 1) / 2 > size)
		return -EMSGSIZE;
	for (; *p; p++, digits--) {
		int d = text_hex_digit(*p);

		if (d < 0)
			return -EINVAL;
		value = value << 4 | (unsigned)d;
		if (digits % 2 == 0)
			continue;
		bytes[used++] = (uint8_t)value;
		value = 0;
	}
	*ret_length = used;
	return 0;
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* RFC 4648 4; the padding may be left out, but not be wrong. */
static int parse_base64(const char *p, uint8_t *bytes, size_t size, size_t *ret_length)
{
	size_t digits = strcspn(p, "="), padding = strlen(p + digits), used = 0;
	unsigned value = 0, bits = 0;

	if (digits % 4 == 1 || strspn(p + digits, "=") != padding)
		return -EINVAL;
	if (padding && (padding > 2 || (digits + padding) % 4))
		return -EINVAL;
	if (digits / 4 * 3 + digits % 4 * 3 / 4 > size)
		return -EMSGSIZE;
	for (size_t i = 0; i < digits; i++) {
		int d = base64_digit(p[i]);

		if (d < 0)
			return -EINVAL;
		value = value << 6 | (unsigned)d;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		bytes[used++] = (uint8_t)(value >> bits);
		value &= (1u << bits) - 1;
	}
	if (value)
		return -EINVAL; /* bits of a byte that is not there */
	*ret_length = used;
	return 0;
}

int binary_parse(const char *text, uint8_t *bytes, size_t size, size_t *ret_length)
{
	if (!binary_is(text) || !text[2])
		return -EINVAL;
	if (text[1] == 'x' || text[1] == 'X')
		return parse_hex(text + 2, bytes, size, ret_length);
	return parse_base64(text + 2, bytes, size, ret_length);
}

void binary_format(const uint8_t *bytes, size_t n, char *text)
{
	static const char digits[] = "0123456789abcdef";

	*text++ = '0';
	*text++ = 'x';
	for (size_t i = 0; i < n; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 15];
	}
	*text = '\0';
}
