/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iSCSI names: the three formats of RFC 7143 4.2.7 and what RFC 3722 allows in them.
 */
#include "transport/iscsi/policy.h"

#include <errno.h>
#include <string.h>

/* Code points that RFC 3722 forbids beyond ASCII: controls, spaces, private use, and so on. */
static const struct {
	uint32_t first, last;
} forbidden[] = {
	{ 0x0080, 0x00a0 },    { 0x00ad, 0x00ad }, { 0x0340, 0x0341 }, { 0x06dd, 0x06dd },
	{ 0x070f, 0x070f },    { 0x1680, 0x1680 }, { 0x180e, 0x180e }, { 0x2000, 0x200f },
	{ 0x2028, 0x202f },    { 0x205f, 0x206f }, { 0x3000, 0x3002 }, { 0xd800, 0xf8ff },
	{ 0xfeff, 0xfeff },    { 0xff01, 0xff5e }, { 0xfff9, 0xffff }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0x10ffff },
};

/* Reads one sequence of UTF-8 of more than one byte; 0: none that is well-formed and allowed. */
static unsigned utf8_length(const uint8_t *p)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t c = p[0] & (0x7fu >> n);

	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0; /* also the NUL at the end */
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < smallest[n])
		return 0;
	for (unsigned i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		if (c >= forbidden[i].first && c <= forbidden[i].last)
			return 0;
	return n;
}

/*
 * Lower case, as the mapping of RFC 3722 wants it. Of ASCII it allows letters, digits, '-', '.'
 * and ':' only; the underscore is let through because initiator names made from the names of
 * hosts and virtual machines (Windows, QEMU) have it.
 */
static int normalise(const char *name, char *to)
{
	const uint8_t *p = (const uint8_t *)name;

	while (*p) {
		unsigned n = 1;

		if (*p >= 0x80) {
			n = utf8_length(p);
			if (!n)
				return -EINVAL;
			memcpy(to, p, n);
		} else if (*p >= 'A' && *p <= 'Z') {
			*to = (char)(*p - 'A' + 'a');
		} else if ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-' ||
			   *p == '.' || *p == ':' || *p == '_') {
			*to = (char)*p;
		} else {
			return -EINVAL;
		}
		p += n;
		to += n;
	}
	*to = '\0';
	return 0;
}

static bool all_of(const char *p, size_t n, const char *set)
{
	return strspn(p, set) >= n;
}

/* "yyyy-mm.reversed.domain[:anything]" (4.2.7.4). */
static int check_iqn(const char *p)
{
	static const char digits[] = "0123456789";
	unsigned month;
	size_t label;

	if (!all_of(p, 4, digits) || p[4] != '-' || !all_of(p + 5, 2, digits) || p[7] != '.')
		return -EINVAL;
	month = (unsigned)(p[5] - '0') * 10 + (unsigned)(p[6] - '0');
	if (month < 1 || month > 12)
		return -EINVAL;
	p += 7;
	do {
		p++;
		label = strcspn(p, ".:");
		if (!label || p[0] == '-' || p[label - 1] == '-')
			return -EINVAL;
		p += label;
	} while (*p == '.');
	return 0;
}

int iscsi_name_check(const char *name, char ret_lower[static ISCSI_NAME_MAX + 1])
{
	static const char hex[] = "0123456789abcdef";
	char lower[ISCSI_NAME_MAX + 1] = "";
	size_t n = strlen(name);
	int r;

	if (n < 5 || n > ISCSI_NAME_MAX || normalise(name, lower))
		return -EINVAL;
	if (!memcmp(lower, "iqn.", 4))
		r = check_iqn(lower + 4);
	else if (!memcmp(lower, "eui.", 4))
		r = n == 4 + 16 && all_of(lower + 4, 16, hex) ? 0 : -EINVAL;
	else if (!memcmp(lower, "naa.", 4))
		r = (n == 4 + 16 || n == 4 + 32) && all_of(lower + 4, n - 4, hex) ? 0 : -EINVAL;
	else
		r = -EINVAL;
	if (r)
		return r;
	memcpy(ret_lower, lower, n + 1);
	return 0;
}
