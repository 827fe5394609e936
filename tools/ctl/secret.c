/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Secrets for requests: out of a file, from the terminal without an echo, or made of random bytes.
 * Never from the command line, which every process can read.
 */
#include "daemon/base/text.h"
#include "tools/ctl/ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <termios.h>
#include <unistd.h>

#define SECRET_MAX 1024
#define GENERATE_MIN                                                                               \
	16 /* 6 bits each: 96 bits, the least that RFC 7143 9.2.1 calls random enough */
#define GENERATE_MAX 64

static json_t *refuse(const char *name, const char *why)
{
	fprintf(stderr, "hawserctl: %s: %s\n", name, why);
	return NULL;
}

/* One line without its end. */
static json_t *line_of(const char *name, FILE *f)
{
	char text[SECRET_MAX + 3];
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	json_t *j;

	text[n] = '\0';
	n = strcspn(text, "\r\n");
	if (text[n + strspn(text + n, "\r\n")] || n > SECRET_MAX)
		return refuse(name, "must be one line that holds nothing but the secret");
	text[n] = '\0';
	if (!n)
		return refuse(name, "is empty");
	j = json_string(text);
	explicit_bzero(text, sizeof(text));
	return j ? j : refuse(name, "is no UTF-8 text; write such a secret as 0x and hexadecimal");
}

json_t *ctl_secret_file(const char *path)
{
	FILE *f = strcmp(path, "-") != 0 ? fopen(path, "re") : stdin;
	json_t *j;

	if (!f)
		return refuse(path, text_errno(errno));
	if (f != stdin)
		setvbuf(f, NULL, _IONBF, 0);
	j = line_of(path, f);
	if (f != stdin)
		fclose(f);
	return j;
}

/* One line from the terminal, not shown. */
static bool ask(const char *prompt, char *text, int size)
{
	struct termios shown, hidden;
	bool good;

	if (tcgetattr(STDIN_FILENO, &shown))
		return false;
	hidden = shown;
	hidden.c_lflag &= ~(tcflag_t)ECHO;
	fprintf(stderr, "%s: ", prompt);
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden))
		return false;
	good = fgets(text, size, stdin);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
	fputc('\n', stderr);
	text[good ? strcspn(text, "\r\n") : 0] = '\0';
	return good;
}

json_t *ctl_secret_prompt(const char *name)
{
	char once[SECRET_MAX + 2], twice[SECRET_MAX + 2];
	json_t *j = NULL;

	if (!isatty(STDIN_FILENO))
		return refuse(name, "is missing: name a file with --secret-file (\"-\" is the "
				    "standard input) or have one made with --generate 22");
	if (!ask("Secret", once, sizeof(once)) || !ask("Once more", twice, sizeof(twice)))
		refuse(name, "cannot be read from the terminal");
	else if (strcmp(once, twice) != 0)
		refuse(name, "the two are not the same");
	else
		j = json_string(once);
	explicit_bzero(once, sizeof(once));
	explicit_bzero(twice, sizeof(twice));
	return j;
}

json_t *ctl_secret_generate(const char *length)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint8_t bytes[GENERATE_MAX];
	char text[GENERATE_MAX + 1];
	uint64_t n;

	if (text_parse_u64(length, GENERATE_MAX, &n) || n < GENERATE_MIN)
		return refuse("generate", "must be a number of characters from 16 to 64");
	if (getrandom(bytes, n, 0) != (ssize_t)n)
		return refuse("generate", "no random numbers");
	for (uint64_t i = 0; i < n; i++)
		text[i] = digits[bytes[i] % 64];
	/* The daemon would read what begins so as hexadecimal or base64. */
	if (text[0] == '0')
		text[0] = 'O';
	text[n] = '\0';
	printf("%s\n", text);
	explicit_bzero(bytes, sizeof(bytes));
	return json_string(text);
}
