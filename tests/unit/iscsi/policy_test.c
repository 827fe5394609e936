/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, finding a target, and who is admitted. */
#include "transport/iscsi/policy.c"

#include "transport/iscsi/name.c"

#include "tests/unit/unit.h"

#include <arpa/inet.h>

/* clang-format off */
static const struct { const char *name, *normal; } names[] = {
	{ "iqn.2001-04.com.example:storage.disk2.sys1.xyz", "iqn.2001-04.com.example:storage.disk2.sys1.xyz" },
	{ "iqn.2001-04.com.example", "iqn.2001-04.com.example" },
	{ "IQN.2001-04.COM.Example:Disk", "iqn.2001-04.com.example:disk" },
	{ "iqn.1998-12.org:x", "iqn.1998-12.org:x" },
	{ "iqn.2008-11.org.linux-kvm:my_guest", "iqn.2008-11.org.linux-kvm:my_guest" },
	{ "iqn.2001-04.com.example:\xc3\xa4", "iqn.2001-04.com.example:\xc3\xa4" },
	{ "eui.02004567A425678D", "eui.02004567a425678d" },
	{ "naa.52004567BA64678D", "naa.52004567ba64678d" },
	{ "naa.62004567BA64678D0123456789ABCDEF", "naa.62004567ba64678d0123456789abcdef" },
	{ "", NULL }, { "iqn.", NULL }, { "foo", NULL }, { "foo.2001-04.com.example", NULL },
	{ "iqn.BAD name", NULL }, { "iqn.2001-04.com.example:a b", NULL },
	{ "iqn.2001-13.com.example", NULL }, { "iqn.2001-00.com.example", NULL },
	{ "iqn.201-04.com.example", NULL }, { "iqn.2001-4.com.example", NULL },
	{ "iqn.2001-04com.example", NULL }, { "iqn.2001-04.", NULL }, { "iqn.2001-04..com", NULL },
	{ "iqn.2001-04.com.", NULL }, { "iqn.2001-04.:x", NULL }, { "iqn.2001-04.-a.com", NULL },
	{ "iqn.2001-04.com.example:a/b", NULL }, { "iqn.2001-04.com.example:a\tb", NULL },
	{ "iqn.2001-04.com.example:\xff", NULL }, { "iqn.2001-04.com.example:\xc0\x80", NULL },
	{ "iqn.2001-04.com.example:\xc3", NULL }, { "iqn.2001-04.com.example:\xe2\x80\x82x", NULL },
	{ "iqn.2001-04.com.example:\xed\xa0\x80", NULL },
	{ "eui.02004567A425678", NULL }, { "eui.02004567A425678D0", NULL }, { "eui.02004567A425678G", NULL },
	{ "naa.52004567BA64678", NULL }, { "naa.52004567BA64678D0", NULL }, { "naa.5200:567BA64678D", NULL },
};
/* clang-format on */

START_TEST(name_formats)
{
	char lower[ISCSI_NAME_MAX + 1] = "untouched";
	int r = iscsi_name_check(names[_i].name, lower);

	if (names[_i].normal) {
		ck_assert_msg(!r, "%s", names[_i].name);
		ck_assert_str_eq(lower, names[_i].normal);
	} else {
		ck_assert_msg(r == -EINVAL, "%s", names[_i].name);
		ck_assert_str_eq(lower, "untouched");
	}
}
END_TEST

START_TEST(name_length)
{
	char name[ISCSI_NAME_MAX + 2], lower[ISCSI_NAME_MAX + 1];

	memset(name, 'x', sizeof(name));
	memcpy(name, "iqn.2001-04.com.example:", 24);
	name[ISCSI_NAME_MAX] = '\0';
	ck_assert_int_eq(iscsi_name_check(name, lower), 0);
	ck_assert_str_eq(lower, name);
	name[ISCSI_NAME_MAX] = 'x';
	name[ISCSI_NAME_MAX + 1] = '\0';
	ck_assert_int_eq(iscsi_name_check(name, lower), -EINVAL);
}
END_TEST

START_TEST(find)
{
	struct iscsi_policy *p = policy_alloc(3);

	strcpy(p->targets[0].name, "iqn.2001-04.com.example:a");
	strcpy(p->targets[1].name, "iqn.2001-04.com.example:b");
	strcpy(p->targets[2].name, "iqn.2001-04.com.example:c");
	for (unsigned i = 0; i < 3; i++)
		ck_assert_ptr_eq(policy_find(p, p->targets[i].name), &p->targets[i]);
	ck_assert_ptr_null(policy_find(p, "iqn.2001-04.com.example:"));
	ck_assert_ptr_null(policy_find(p, "iqn.2001-04.com.example:bb"));
	ck_assert_ptr_null(policy_find(p, "IQN.2001-04.com.example:b"));
	policy_ref(p);
	policy_unref(p);
	ck_assert_ptr_nonnull(policy_find(p, "iqn.2001-04.com.example:b"));
	policy_unref(p);
	policy_unref(NULL);
}
END_TEST

static struct sockaddr_storage peer(const char *address)
{
	struct sockaddr_storage s = { 0 };
	struct sockaddr_in *v4 = (void *)&s;
	struct sockaddr_in6 *v6 = (void *)&s;

	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1)
		s.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1)
		s.ss_family = AF_INET6;
	return s;
}

/* clang-format off */
static const struct {
	const char *pattern, *network;
	uint8_t prefix;
	const char *initiator, *from;
	bool admitted;
} admissions[] = {
	{ "", NULL, 0, "iqn.2001-04.com.example:a", "192.0.2.1", true },
	{ "iqn.2001-04.com.example:a", NULL, 0, "iqn.2001-04.com.example:a", "192.0.2.1", true },
	{ "iqn.2001-04.com.example:a", NULL, 0, "iqn.2001-04.com.example:b", "192.0.2.1", false },
	{ "iqn.2001-04.com.example:a", NULL, 0, "iqn.2001-04.com.example:ab", "192.0.2.1", false },
	{ "iqn.2001-04.com.example:*", NULL, 0, "iqn.2001-04.com.example:b", "192.0.2.1", true },
	{ "iqn.2001-04.com.example:?", NULL, 0, "iqn.2001-04.com.example:bb", "192.0.2.1", false },
	{ "", "192.0.2.0", 24, "iqn.2001-04.com.example:a", "192.0.2.255", true },
	{ "", "192.0.2.0", 24, "iqn.2001-04.com.example:a", "192.0.3.0", false },
	{ "", "192.0.2.0", 25, "iqn.2001-04.com.example:a", "192.0.2.127", true },
	{ "", "192.0.2.0", 25, "iqn.2001-04.com.example:a", "192.0.2.128", false },
	{ "", "192.0.2.7", 32, "iqn.2001-04.com.example:a", "192.0.2.7", true },
	{ "", "192.0.2.7", 32, "iqn.2001-04.com.example:a", "192.0.2.6", false },
	{ "", "0.0.0.0", 0, "iqn.2001-04.com.example:a", "203.0.113.9", true },
	{ "", "0.0.0.0", 0, "iqn.2001-04.com.example:a", "2001:db8::1", false },
	{ "", "192.0.2.0", 24, "iqn.2001-04.com.example:a", "::ffff:192.0.2.9", true },
	{ "", "2001:db8::", 32, "iqn.2001-04.com.example:a", "2001:db8:1::1", true },
	{ "", "2001:db8::", 32, "iqn.2001-04.com.example:a", "2001:db9::1", false },
	{ "", "2001:db8::1", 128, "iqn.2001-04.com.example:a", "2001:db8::1", true },
	{ "iqn.2001-04.com.example:a", "192.0.2.0", 24, "iqn.2001-04.com.example:a", "198.51.100.1", false },
	{ "iqn.2001-04.com.example:a", "192.0.2.0", 24, "iqn.2001-04.com.example:b", "192.0.2.1", false },
};
/* clang-format on */

START_TEST(admit)
{
	struct iscsi_policy *p = policy_alloc(1);
	struct iscsi_target *t = &p->targets[0];
	struct sockaddr_storage from = peer(admissions[_i].from);
	struct iscsi_rule *r;

	ck_assert_ptr_null(policy_admit(t, admissions[_i].initiator, &from)); /* no rule at all */
	t->n_rules = 1;
	t->rules = r = calloc(1, sizeof(*r));
	strcpy(r->initiator, admissions[_i].pattern);
	if (admissions[_i].network) {
		struct sockaddr_storage net = peer(admissions[_i].network);

		r->has_network = true;
		r->prefix = admissions[_i].prefix;
		r->family = (uint8_t)net.ss_family;
		peer_bytes(&net, r->network);
	}
	ck_assert_ptr_eq(policy_admit(t, admissions[_i].initiator, &from),
			 admissions[_i].admitted ? r : NULL);
	policy_unref(p);
}
END_TEST

/* The first rule that fits counts, and it may show LUNs of its own. */
START_TEST(first_rule_and_its_map)
{
	struct iscsi_policy *p = policy_alloc(1);
	struct iscsi_target *t = &p->targets[0];
	struct sockaddr_storage from = peer("192.0.2.1");
	const struct iscsi_rule *r;

	t->map = lun_map_create(NULL, 0);
	t->n_rules = 2;
	t->rules = calloc(2, sizeof(*t->rules));
	strcpy(t->rules[0].initiator, "iqn.2001-04.com.example:a");
	t->rules[0].map = lun_map_create(NULL, 0);
	t->rules[0].account = strdup("somebody");
	r = policy_admit(t, "iqn.2001-04.com.example:a", &from);
	ck_assert_ptr_eq(r, &t->rules[0]);
	ck_assert_ptr_eq(policy_map(t, r), t->rules[0].map);
	r = policy_admit(t, "iqn.2001-04.com.example:b", &from);
	ck_assert_ptr_eq(r, &t->rules[1]);
	ck_assert_ptr_eq(policy_map(t, r), t->map);
	policy_unref(p);
}
END_TEST

SUITE_COVERS("N-002 N-003 N-004 N-005 N-006 N-007 fault-A06");

int main(void)
{
	Suite *s = suite_create("policy");
	TCase *t = tcase_create("policy");
	SRunner *r = srunner_create(s);

	tcase_add_loop_test(t, name_formats, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_test(t, name_length);
	tcase_add_test(t, find);
	tcase_add_loop_test(t, admit, 0, sizeof(admissions) / sizeof(admissions[0]));
	tcase_add_test(t, first_rule_and_its_map);
	suite_add_tcase(s, t);
	return unit_end(r);
}
