/* SPDX-License-Identifier: BSD-2-Clause */
#include "backing/why.h"

#include <stdarg.h>
#include <stdio.h>

int why(char **ret, int rc, const char *format, ...)
{
	va_list args;
	char *text = NULL;

	if (!ret || *ret)
		return rc;
	va_start(args, format);
	if (vasprintf(&text, format, args) >= 0)
		*ret = text;
	va_end(args);
	return rc;
}
