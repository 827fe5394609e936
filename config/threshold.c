/* SPDX-License-Identifier: BSD-2-Clause */
/* Thresholds of space: a size, or a part of the whole. */
#include "config/config.h"
#include "daemon/base/text.h"

#include <errno.h>
#include <string.h>

int config_parse_threshold(const char *text, struct config_threshold *ret)
{
	size_t n = strlen(text);
	char number[8];
	uint64_t v;

	if (n && text[n - 1] == '%') {
		if (n > sizeof(number))
			return -EINVAL;
		memcpy(number, text, n - 1);
		number[n - 1] = '\0';
		if (text_parse_u64(number, 100, &v) || !v)
			return -EINVAL;
		*ret = (struct config_threshold){ .value = v, .percent = true };
		return 0;
	}
	if (text_parse_size(text, &v) || !v)
		return -EINVAL;
	*ret = (struct config_threshold){ .value = v };
	return 0;
}

uint64_t config_threshold_bytes(const char *text, uint64_t whole)
{
	struct config_threshold t;

	if (!text || config_parse_threshold(text, &t))
		return 0;
	/* Not through a product that may be too large. */
	return t.percent ? whole / 100 * t.value + whole % 100 * t.value / 100 : t.value;
}
