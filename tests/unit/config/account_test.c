/* SPDX-License-Identifier: BSD-2-Clause */
/* Accounts: what is refused, secrets as bytes, files that hold them, and that nothing prints one.
 */
#include "config/config.h"
#include "config/schema.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOOD "name = \"a\"; secret = \"twelve-bytes\"; "

static struct config *parse(const char *text)
{
	struct config_error err;
	struct config *c = NULL;
	int r = config_parse_text(text, "test.conf", &c, &err);

	ck_assert_msg(r == 0, "%s", err.text);
	return c;
}

static void check(const char *text, const char *word)
{
	struct config_error err = { .text = "" };
	struct config *c = parse(text);
	int r = config_check(c, &err);

	config_free(c);
	ck_assert_int_eq(r, word ? -EINVAL : 0);
	if (!word)
		return;
	ck_assert_msg(strstr(err.text, word), "\"%s\" is not in: %s", word, err.text);
	ck_assert_ptr_null(strstr(err.text, "twelve-bytes"));
}

START_TEST(good)
{
	check("accounts = ( { " GOOD " } );", NULL);
	check("accounts = ( { " GOOD "secret2 = \"another-twelve\"; mutual_name = \"t\";"
	      " mutual_secret = \"0x00112233445566778899aabb\"; require_mutual = true;"
	      " algorithms = [ \"sha256\", \"md5\" ]; } );",
	      NULL);
	check("accounts = ( { " GOOD " } );"
	      "targets = ( { name = \"iqn.2026-01.org.example:a\"; access = ( { account = \"a\"; } "
	      "); } );"
	      "daemon = { discovery_access = ( { account = \"a\"; }, { network = \"192.0.2.0/24\"; "
	      "} ); };",
	      NULL);
	/* the same secret for two is unwise, not wrong */
	check("accounts = ( { " GOOD " }, { name = \"b\"; secret = \"twelve-bytes\"; } );", NULL);
}
END_TEST

START_TEST(bad)
{
	static const struct {
		const char *settings, *word;
	} rows[] = {
		{ "name = \"a\";", "has no secret" },
		{ "name = \"\"; secret = \"twelve-bytes\";", "empty name" },
		{ "name = \"a\"; secret = \"eleven-byte\";", "12 to 255" },
		{ "name = \"a\"; secret = \"0x0011223344556677889900\";", "12 to 255" },
		{ "name = \"a\"; secret = \"0xnot-hexadecimal\";", "hexadecimal" },
		{ "name = \"a\"; secret = \"0b*not*base64*\";", "hexadecimal" },
		{ GOOD "secret2 = \"short\";", "secret2 must" },
		{ GOOD "mutual_name = \"t\";", "belong together" },
		{ GOOD "mutual_secret = \"thirteen-byte\";", "belong together" },
		{ GOOD "require_mutual = true;", "require_mutual needs" },
		{ GOOD "mutual_name = \"t\"; mutual_secret = \"twelve-bytes\";", "must not share" },
		{ GOOD "mutual_name = \"t\"; secret2 = \"twelve-others\";"
		       " mutual_secret = \"twelve-others\";",
		  "must not share" },
		/* the same bytes in another notation */
		{ GOOD "mutual_name = \"t\"; mutual_secret = \"0x7477656c76652d6279746573\";",
		  "must not share" },
		{ GOOD " }, { name = \"b\"; secret = \"twelve-others\"; mutual_name = \"t\";"
		       " mutual_secret = \"twelve-bytes\";",
		  "must not share" },
		{ GOOD " }, { " GOOD, "already" },
	};
	char text[600];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "accounts = ( { %s } );", rows[i].settings);
		check(text, rows[i].word);
	}
	check("daemon = { discovery_access = ( { account = \"nobody\"; } ); };", "does not exist");
	check("daemon = { discovery_access = ( { any = true; account = \"nobody\"; } ); };",
	      "remove one");
	check("targets = ( { name = \"iqn.2026-01.org.example:a\";"
	      " access = ( { account = \"nobody\"; } ); } );",
	      "does not exist");
}
END_TEST

START_TEST(bytes)
{
	uint8_t b[CONFIG_SECRET_MAX];
	char text[2 * 256 + 3] = "0x";
	size_t n;

	ck_assert_int_eq(config_secret_bytes("twelve-bytes", b, &n), 0);
	ck_assert_uint_eq(n, 12);
	ck_assert_mem_eq(b, "twelve-bytes", 12);
	ck_assert_int_eq(config_secret_bytes("0X000102030405060708090A0B", b, &n), 0);
	ck_assert_uint_eq(n, 12);
	ck_assert_uint_eq(b[11], 11);
	ck_assert_int_eq(config_secret_bytes("0bAAECAwQFBgcICQoL", b, &n), 0);
	ck_assert_uint_eq(n, 12);
	ck_assert_uint_eq(b[11], 11);
	for (unsigned i = 0; i < 255; i++)
		strcat(text, "5a");
	ck_assert_int_eq(config_secret_bytes(text, b, &n), 0);
	ck_assert_uint_eq(n, 255);
	strcat(text, "5a");
	ck_assert_int_eq(config_secret_bytes(text, b, &n), -ERANGE);
	memset(text, 'x', 256);
	text[256] = '\0';
	ck_assert_int_eq(config_secret_bytes(text, b, &n), -ERANGE);
}
END_TEST

START_TEST(not_printed)
{
	struct config *c = parse("accounts = ( { " GOOD "secret2 = \"another-twelve\";"
				 " mutual_name = \"t\"; mutual_secret = \"yet-another-twelve\";"
				 " algorithms = ( \"sha1\", \"md5\" ); } );");
	char *text = config_dump(c), *state;
	struct config_account back;
	struct config_error err;

	ck_assert_ptr_null(strstr(text, "twelve"));
	ck_assert_ptr_nonnull(strstr(text, "# secret: not shown; it stands in test.conf line 1"));
	ck_assert_ptr_nonnull(strstr(text, "algorithms = [ \"sha1\", \"md5\" ];"));
	free(text);
	/* but the state must have it */
	state = config_dump_object(&config_account_scope, &c->accounts[0]);
	ck_assert_int_eq(config_parse_object(state, "state", &config_account_scope, &back, &err),
			 0);
	ck_assert(config_object_equal(&config_account_scope, &back, &c->accounts[0]));
	ck_assert_str_eq(back.algorithms, "sha1 md5");
	config_object_clear(&config_account_scope, &back);
	free(state);
	config_free(c);
}
END_TEST

START_TEST(algorithms)
{
	const struct config_setting *s = config_setting_find(&config_account_scope, "algorithms");
	struct config_account a = { 0 };
	char why[200];

	ck_assert_int_eq(config_assign(s, &a,
				       &(struct config_value){ .kind = VALUE_TEXT,
							       .s = " sha256,md5  sha3-256," },
				       why, sizeof(why)),
			 0);
	ck_assert_str_eq(a.algorithms, "sha256 md5 sha3-256");
	ck_assert_int_eq(config_assign(s, &a,
				       &(struct config_value){ .kind = VALUE_TEXT, .s = "sha512" },
				       why, sizeof(why)),
			 -EINVAL);
	ck_assert_str_eq(a.algorithms, "sha256 md5 sha3-256");
	ck_assert_int_eq(config_assign(s, &a,
				       &(struct config_value){ .kind = VALUE_TEXT, .s = "," }, why,
				       sizeof(why)),
			 0);
	ck_assert_ptr_null(a.algorithms);
}
END_TEST

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "we");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	ck_assert_int_eq(chmod(path, mode), 0);
}

START_TEST(files)
{
	static const struct {
		const char *content;
		mode_t mode;
		const char *word; /* NULL: taken */
	} rows[] = {
		{ "twelve-bytes\n", 0600, NULL },
		{ "twelve-bytes", 0640, NULL },
		{ "twelve-bytes\r\n", 0400, NULL },
		{ "twelve-bytes\n", 0644, "open to everybody" },
		{ "twelve-bytes\n", 0602, "open to" },
		{ "two\nlines\n", 0600, "more than one line" },
		{ "twelve\tbytes\n", 0600, "control character" },
	};
	char dir[] = "/tmp/hawser-account-XXXXXX", path[64], conf[64], text[300];
	struct config_error err;
	struct config *c;
	int r;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/secret", dir);
	snprintf(conf, sizeof(conf), "%s/conf", dir);
	snprintf(text, sizeof(text), "accounts = ( { name = \"a\"; secret_file = \"%s\"; } );",
		 path);
	write_file(conf, text, 0644);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_file(path, rows[i].content, rows[i].mode);
		r = config_parse_file(conf, &c, &err);
		ck_assert_int_eq(r, rows[i].word ? -EINVAL : 0);
		if (r) {
			ck_assert_msg(strstr(err.text, rows[i].word), "%s", err.text);
			continue;
		}
		ck_assert_str_eq(c->accounts[0].secret, "twelve-bytes");
		config_free(c);
	}
	/* a secret in the configuration itself */
	write_file(conf, "accounts = ( { " GOOD " } );", 0644);
	ck_assert_int_eq(config_parse_file(conf, &c, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "open to everybody"));
	chmod(conf, 0640);
	ck_assert_int_eq(config_parse_file(conf, &c, &err), 0);
	config_free(c);
	unlink(path);
	unlink(conf);
	rmdir(dir);
}
END_TEST

SUITE_COVERS("C-022 C-023 C-025 C-026 C-030 C-044 C-046");

UNIT_MAIN("config/account", good, bad, bytes, not_printed, algorithms, files)
