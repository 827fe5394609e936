/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Secrets of hawser.conf: those in files of their own are read, and files that everybody can read
 * are refused, because what stands there is no secret.
 */
#include "config/check_internal.h"
#include "daemon/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX 1024 /* a secret of 255 bytes in hexadecimal, and its end of line */

struct place {
	const char *name;
	char **secret;
	const char *file;
};

static int judge(const struct config_account *a, const char *file, const struct stat *st,
		 struct config_error *err)
{
	if (!(st->st_mode & (S_IROTH | S_IWOTH)))
		return 0;
	return refuse(err, &a->origin,
		      "account %s: %s holds its secret and is open to everybody (mode "
		      "%04o); \"chmod o-rw\" it, or keep the secret in a file of its own "
		      "and say secret_file",
		      a->name, file, (unsigned)(st->st_mode & 07777));
}

static int take(const struct config_account *a, const struct place *p, char *text,
		struct config_error *err)
{
	size_t length = strcspn(text, "\r\n");

	if (text[length + strspn(text + length, "\r\n")])
		return refuse(err, &a->origin,
			      "account %s: %s has more than one line; it must hold nothing "
			      "but the secret",
			      a->name, p->file);
	text[length] = '\0';
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return refuse(err, &a->origin,
				      "account %s: %s holds a control character; write "
				      "such a secret in hexadecimal, 0x...",
				      a->name, p->file);
	*p->secret = strdup(text);
	return *p->secret ? 0 : refuse(err, &a->origin, "no memory for the secrets");
}

static int read_open(const struct config_account *a, const struct place *p, int fd,
		     struct config_error *err)
{
	char text[FILE_MAX + 1];
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return refuse(err, &a->origin,
			      "account %s: %s is not a regular file of at most %d bytes", a->name,
			      p->file, FILE_MAX);
	r = judge(a, p->file, &st, err);
	if (r)
		return r;
	n = read(fd, text, FILE_MAX);
	text[n > 0 ? n : 0] = '\0';
	if (n >= 0 && strlen(text) == (size_t)n)
		r = take(a, p, text, err);
	else
		r = refuse(err, &a->origin, "account %s: %s cannot be read", a->name, p->file);
	explicit_bzero(text, sizeof(text));
	return r;
}

static int read_file(const struct config_account *a, const struct place *p,
		     struct config_error *err)
{
	int fd, r;

	if (*p->secret)
		return refuse(err, &a->origin,
			      "account %s: %s and %s_file are both there; remove one", a->name,
			      p->name, p->name);
	fd = p->file[0] == '/' ? open(p->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		return refuse(err, &a->origin, "account %s: %s_file \"%s\" cannot be opened: %s",
			      a->name, p->name, p->file,
			      p->file[0] == '/' ? text_errno(errno) : "the path must begin with /");
	r = read_open(a, p, fd, err);
	close(fd);
	return r;
}

/* Secrets in the configuration itself. */
static int judge_origin(const struct config_account *a, struct config_error *err)
{
	struct stat st;

	if (!a->origin.file || stat(a->origin.file, &st))
		return 0; /* text without a file */
	return judge(a, a->origin.file, &st, err);
}

int config_load_secrets(struct config *c, struct config_error *err)
{
	int r = 0;

	for (unsigned i = 0; i < c->n_accounts && !r; i++) {
		struct config_account *a = &c->accounts[i];
		const struct place places[] = {
			{ "secret", &a->secret, a->secret_file },
			{ "secret2", &a->secret2, a->secret2_file },
			{ "mutual_secret", &a->mutual_secret, a->mutual_secret_file },
		};

		if (a->secret || a->secret2 || a->mutual_secret)
			r = judge_origin(a, err);
		for (unsigned k = 0; k < 3 && !r; k++)
			if (places[k].file)
				r = read_file(a, &places[k], err);
	}
	return r;
}
