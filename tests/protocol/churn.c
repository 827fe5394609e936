/* SPDX-License-Identifier: BSD-2-Clause */
/* Targets and portals that come and go with initiators logged in. */
#include "tests/protocol/protocol.h"

#include <jansson.h>
#include <sys/socket.h>

#define ROUNDS   200
#define T_PASSER BASE "passer"

static size_t count(const char *method, const char *list)
{
	json_t *result = admin(&server, method, "");
	size_t n = json_array_size(json_object_get(result, list));

	json_decref(result);
	return n;
}

static void leave(struct ini *i)
{
	struct bhs_logout_request h;

	ini_logout(i, &h, LOGOUT_CLOSE_SESSION);
	ck_assert(!ini_send(i, (uint8_t *)&h, NULL, 0));
	expect(i, ISCSI_OP_LOGOUT_RESPONSE);
	expect_close(i);
}

static struct ini *come(uint16_t port, const char *portal)
{
	struct ini *i;

	change(&server, "target.create", "\"name\":\"" T_PASSER "\"");
	change(&server, "access.add", "\"target\":\"" T_PASSER "\",\"any\":true");
	change(&server, "lun.map", "\"target\":\"" T_PASSER "\",\"name\":\"flat\",\"lun\":0");
	change(&server, "portal.create", portal);
	i = connect_to(port);
	ck_assert_int_eq(try_login(i, &(struct ini_login){ .target = T_PASSER }), 0);
	ready(i, 0);
	return i;
}

/* Made, used and deleted: after the logout, or under the session, which is asked to log out; the
 * last one does not hear that. */
START_TEST(comes_and_goes)
{
	COVERS("fault-D06");
	size_t targets = count("target.list", "targets"), portals = count("portal.list", "portals");
	uint16_t port = free_port(AF_INET);
	char portal[64];

	snprintf(portal, sizeof(portal), "\"address\":\"127.0.0.1\",\"port\":%u", port);
	for (unsigned n = 0; n <= ROUNDS; n++) {
		struct ini *i = come(port, portal);
		int64_t begin = clock_ms();

		if (n % 2)
			leave(i);
		change(&server, "portal.delete", portal);
		change(&server, "target.delete", "\"name\":\"" T_PASSER "\"");
		ck_assert_int_lt((int)(clock_ms() - begin), patience(1000));
		if (n == ROUNDS) {
			expect_close(i);
			ini_close(i);
		} else if (n % 2 == 0) {
			ck_assert_uint_eq(bhs_of(expect(i, ISCSI_OP_ASYNC), bhs_async)->event,
					  ASYNC_LOGOUT_REQUEST);
			leave(i);
		}
	}
	ck_assert_uint_eq(count("target.list", "targets"), targets);
	ck_assert_uint_eq(count("portal.list", "portals"), portals);
	await_sessions(&server, T_PASSER, 0);
}
END_TEST

void churn_suite(TCase *c)
{
	add(c, comes_and_goes);
}
