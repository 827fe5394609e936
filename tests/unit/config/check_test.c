/* SPDX-License-Identifier: BSD-2-Clause */
/* What a table cannot say: contradictions are refused, each naming object, fact and remedy. */
#include "config/config.h"
#include "config/schema.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define IQN    "iqn.2026-01.org.example:a"
#define DISK   "lus = ( { name = \"a\"; type = \"ram\"; size = \"1MiB\"; } );\n"
#define PORTAL "portals = ( { address = \"127.0.0.1\"; } );\n"

static int check(const char *text, struct config_error *err)
{
	struct config *c = NULL;
	int r = config_parse_text(text, "test.conf", &c, err);

	ck_assert_msg(r == 0, "%s", err->text);
	r = config_check(c, err);
	config_free(c);
	return r;
}

static void good(const char *text)
{
	struct config_error err;
	int r = check(text, &err);

	ck_assert_msg(r == 0, "%s", err.text);
}

static void bad(const char *text, const char *word)
{
	struct config_error err;

	ck_assert_int_eq(check(text, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, word), "\"%s\" is not in: %s", word, err.text);
}

static void bad_target(const char *settings, const char *word)
{
	char text[1000];

	snprintf(text, sizeof(text), DISK PORTAL "targets = ( { name = \"" IQN "\"; %s } );",
		 settings);
	bad(text, word);
}

START_TEST(whole_is_good)
{
	good(DISK PORTAL "targets = ( { name = \"" IQN "\"; luns = ( { lun = 0; lu = \"a\"; } );"
			 "access = ( { any = true; } ); groups = [ 1 ]; } );");
	good("");
	good("targets = ( { name = \"eui.0123456789abcdef\"; },"
	     "{ name = \"naa.0123456789abcdef0123456789abcdef\"; } );");
	good(
	    "portals = ( { port = 0; }, { port = 0; }, { address = \"::\"; }, { port = 3260; } );");
}
END_TEST

START_TEST(daemon_settings)
{
	bad("daemon = { nop_interval_s = 30; nop_timeout_s = 20; };", "nop_timeout_s");
	bad("daemon = { user = \"hawser\"; };", "store_paths");
	bad("daemon = { socket = \"admin.sock\"; };", "socket");
	bad("daemon = { isns_servers = \"192.0.2.1, isns.example\"; };", "\"isns.example\"");
	bad("daemon = { isns_servers = \"0.0.0.0\"; };", "numeric");
	good("daemon = { isns_servers = \"192.0.2.1:3206 [2001:db8::1]\"; };");
}
END_TEST

START_TEST(portals)
{
	COVERS("N-016");
	/* An address belongs to one group. */
	bad("portals = ( { group = 1; }, { group = 2; } );", "is the same");
	bad("portals = ( { address = \"localhost\"; } );", "numeric");
	bad("portals = ( { address = \"[::1]\"; } );", "brackets");
	bad("portals = ( { }, { } );", "is the same");
	bad("portals = ( { address = \"::1\"; }, { address = \"0:0::1\"; } );", "is the same");
	bad("portals = ( { }, { address = \"127.0.0.1\"; } );",
	    "covered by the wildcard portal 0.0.0.0 (test.conf:1)");
	bad("portals = ( { address = \"127.0.0.1\"; }, { } );", "would cover portal 127.0.0.1");
	bad("portals = ( { address = \"0::0\"; }, { address = \"::1\"; } );", "use --replace");
	good("portals = ( { }, { address = \"::\"; } );");
	good("portals = ( { }, { address = \"127.0.0.1\"; port = 3261; } );");
	good("portals = ( { address = \"127.0.0.1\"; }, { address = \"127.0.0.2\"; } );");
}
END_TEST

START_TEST(advertised_addresses)
{
	bad("portals = ( { advertise = \"\"; } );", "is empty");
	bad("portals = ( { advertise = \"0.0.0.0\"; } );", "could go to");
	bad("portals = ( { advertise = \"192.0.2.7, [::]:3260\"; } );", "\"[::]:3260\"");
	bad("portals = ( { advertise = \"192.0.2.7 here\"; } );", "alone");
	bad("portals = ( { advertise = \"192.0.2.7:x\"; } );", "could go to");
	good("portals = ( { advertise = \"none\"; }, { address = \"::\"; advertise = \"here\"; } "
	     ");");
	good("portals = ( { advertise = \"192.0.2.7, a.example:860 [2001:db8::7]:3261\"; } );");
}
END_TEST

START_TEST(logical_units)
{
	COVERS("fault-E18");
	bad("lus = ( { name = \".a\"; type = \"ram\"; size = 512; } );", "begins with");
	bad("lus = ( { name = \"a/b\"; type = \"ram\"; size = 512; } );", "begins with");
	bad("lus = ( { name = \"a\"; type = \"ram\"; size = 512; },"
	    "{ name = \"a\"; type = \"ram\"; size = 512; } );",
	    "test.conf:1");
	bad("lus = ( { name = \"a\"; } );", "path");
	bad("lus = ( { name = \"a\"; path = \"x\"; } );", "path");
	bad("lus = ( { name = \"a\"; type = \"ram\"; } );", "size");
	bad("lus = ( { name = \"a\"; type = \"ram\"; size = 512; path = \"/x\"; } );", "no path");
	bad("lus = ( { name = \"a\"; type = \"ram\"; size = 513; } );", "multiple");
	bad("lus = ( { name = \"a\"; path = \"/x\"; create = true; } );", "size");
	bad("lus = ( { name = \"a\"; type = \"block\"; path = \"/x\"; size = 512;"
	    "create = true; } );",
	    "create");
	bad("lus = ( { name = \"a\"; path = \"/x\"; }, { name = \"b\"; path = \"/x\"; } );",
	    "share one store");
	bad("lus = ( { name = \"a\"; path = \"/x\"; block_size = 1024; } );", "512 or 4096");
	bad("lus = ( { name = \"a\"; path = \"/x\"; physical_block_size = 6144; } );",
	    "power of two");
	bad("lus = ( { name = \"a\"; path = \"/x\"; block_size = 4096;"
	    "physical_block_size = 512; } );",
	    "not less");
	bad("lus = ( { name = \"a\"; path = \"/x\"; naa = \"5000\"; } );", "naa");
	bad("lus = ( { name = \"a\"; path = \"/x\"; serial = \"\"; } );", "serial");
	bad("lus = ( { name = \"a\"; path = \"/x\"; naa = \"60000000000000000000000000000001\"; },"
	    "{ name = \"b\"; path = \"/y\"; naa = \"60000000000000000000000000000001\"; } );",
	    "same naa");
}
END_TEST

START_TEST(targets)
{
	bad("targets = ( { name = \"disk\"; } );", "not an iSCSI name");
	bad("targets = ( { name = \"iqn.26-01.org.example\"; } );", "not an iSCSI name");
	bad("targets = ( { name = \"iqn.2026-01.\"; } );", "not an iSCSI name");
	bad("targets = ( { name = \"eui.0123\"; } );", "not an iSCSI name");
	bad("targets = ( { name = \"" IQN "\"; }, { name = \"IQN.2026-01.ORG.EXAMPLE:A\"; } );",
	    "not an iSCSI name");
	bad("targets = ( { name = \"" IQN "\"; }, { name = \"iqn.2026-01.ORG.example:A\"; } );",
	    "of that name already");
	bad_target("luns = ( { lun = 0; lu = \"b\"; } );", "does not exist");
	bad_target("luns = ( { lun = 0; lu = \"a\"; }, { lun = 0; lu = \"a\"; } );", "twice");
	bad_target("first_burst_length = 65536; max_burst_length = 4096;", "13.14");
	bad_target("groups = [ 2 ];", "no portal has group 2");
}
END_TEST

START_TEST(redirections)
{
	bad_target("redirect = \"192.0.2.7:\";", "not an address");
	bad_target("redirect = \"192.0.2.7:3260,1\";", "not an address");
	bad_target("redirect = \"\";", "not an address");
	bad_target("redirect = \"[::]:3260\";", "leads nowhere");
	bad_target("redirect = \"0.0.0.0\";", "leads nowhere");
	bad_target("redirect = \"192.0.2.7\"; removed = true;", "take one away");
	bad_target("redirect_permanent = true;", "need a redirect");
	bad_target("redirect_groups = [ 1 ];", "need a redirect");
	good("targets = ( { name = \"" IQN "\"; redirect = \"[2001:db8::7]:3260\";"
	     "redirect_groups = [ 7 ]; } );");
}
END_TEST

/* "Allow any" must be written out; a rule without conditions is a mistake, not an open door. */
START_TEST(access_rules)
{
	bad_target("access = ( { } );", "admits nobody");
	bad_target("access = ( { any = true; network = \"10.0.0.0/8\"; } );", "any = true");
	bad_target("access = ( { network = \"10.0.0.0/33\"; } );", "network");
	bad_target("access = ( { network = \"example.org\"; } );", "network");
	bad_target("access = ( { any = true; luns = ( { lun = 0; lu = \"b\"; } ); } );",
		   "does not exist");
}
END_TEST

START_TEST(networks)
{
	uint8_t b[16];
	unsigned prefix;
	int family;

	ck_assert_int_eq(config_parse_network("192.0.2.77/24", &family, &prefix, b), 0);
	ck_assert(family == AF_INET && prefix == 24);
	ck_assert_mem_eq(b, "\xc0\x00\x02\x00", 4);
	ck_assert_int_eq(config_parse_network("2001:db8:ffff::1/33", &family, &prefix, b), 0);
	ck_assert(family == AF_INET6 && prefix == 33);
	ck_assert_mem_eq(b, "\x20\x01\x0d\xb8\x80\0\0\0\0\0\0\0\0\0\0\0", 16);
	ck_assert_int_eq(config_parse_network("192.0.2.1", &family, &prefix, b), 0);
	ck_assert_uint_eq(prefix, 32);
	/* fault-C08: however it is written, it is one address. */
	for (unsigned i = 0; i < 4; i++) {
		static const char *const same[] = { "2001:db8::5", "[2001:db8::5]",
						    "2001:DB8:0::5/128", "[2001:db8:0:0::5]/128" };

		ck_assert_int_eq(config_parse_network(same[i], &family, &prefix, b), 0);
		ck_assert(family == AF_INET6 && prefix == 128);
		ck_assert_mem_eq(b, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\5", 16);
	}
	ck_assert_int_eq(config_parse_network("[2001:db8::5", &family, &prefix, b), -EINVAL);
	ck_assert_int_eq(config_parse_network("[192.0.2.1]", &family, &prefix, b), -EINVAL);
	ck_assert_int_eq(config_parse_network("[]", &family, &prefix, b), -EINVAL);
	ck_assert_int_eq(config_parse_network("192.0.2.1/", &family, &prefix, b), -EINVAL);
	ck_assert_int_eq(config_parse_network("192.0.2.1/8x", &family, &prefix, b), -EINVAL);
	ck_assert_int_eq(config_parse_network("", &family, &prefix, b), -EINVAL);
}
END_TEST

UNIT_MAIN("config/check", whole_is_good, daemon_settings, portals, advertised_addresses,
	  logical_units, targets, redirections, access_rules, networks)
