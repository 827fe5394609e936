/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawser-protocol-test [NAME]...: all tests, or those of the cases and tests named (a part of
 * "/case/test" is enough). One line for each on stdout, in the form that tests/run counts.
 * hawser-protocol-test --list: the names of the cases.
 *
 *   HAWSERD, HAWSER_BUILD_DIR  the program under test
 *   HAWSER_TEST_ENGINE         its engine of I/O
 *   HAWSER_TEST_SLOW           set: time limits are longer (valgrind)
 *   HAWSER_TEST_KEEP           set: the folder with log and configuration stays
 *   HAWSER_FUZZ_PDUS, HAWSER_FUZZ_SEED  how long fuzz.c goes on, and where it begins
 *   CK_FORK=no                 all in one process, for a debugger
 */
#include "tests/protocol/protocol.h"

#include <signal.h>

static const char *const *chosen; /* ends with NULL; NULL: everything */
static const char *case_name;

/* clang-format off */
static const struct {
	const char *name;
	suite_fn *fill_in;
} cases[] = {
	{ "login", login_suite },
	{ "login_refused", login_refused_suite },
	{ "login_text", login_text_suite },
	{ "keys", keys_suite },
	{ "text", text_suite },
	{ "discovery", discovery_suite },
	{ "nop", nop_suite },
	{ "command", command_suite },
	{ "data_out", data_out_suite },
	{ "data_wrong", data_wrong_suite },
	{ "data_in", data_in_suite },
	{ "residual", residual_suite },
	{ "tmf", tmf_suite },
	{ "tmf_wait", tmf_wait_suite },
	{ "fast_abort", fast_abort_suite },
	{ "tmf_sam5", tmf_sam5_suite },
	{ "abort", abort_suite },
	{ "stuck", stuck_suite },
	{ "logout", logout_suite },
	{ "reject", reject_suite },
	{ "cmdsn", cmdsn_suite },
	{ "session", session_suite },
	{ "show", show_suite },
	{ "mcs_login", mcs_login_suite },
	{ "mcs_io", mcs_io_suite },
	{ "mcs_loss", mcs_loss_suite },
	{ "digest", digest_suite },
	{ "lun", lun_suite },
	{ "scsi", scsi_suite },
	{ "atomic", atomic_suite },
	{ "odx", odx_suite },
	{ "chap", chap_suite },
	{ "reserve", reserve_suite },
	{ "kept", kept_suite },
	{ "alua", alua_suite },
	{ "space", space_suite },
	{ "hot", hot_suite },
	{ "chap_values", chap_values_suite },
	{ "time", time_suite },
	{ "churn", churn_suite },
	{ "stats", stats_suite },
	{ "unh_numbers", unh_numbers_suite },
	{ "unh_data", unh_data_suite },
	{ "unh_data_in", unh_data_in_suite },
	{ "unh_tasks", unh_tasks_suite },
	{ "unh_reassign", unh_reassign_suite },
	{ "unh_recovery", unh_recovery_suite },
	{ "unh_ping", unh_ping_suite },
	{ "unh_digest", unh_digest_suite },
	{ "unh_text", unh_text_suite },
	{ "unh_login", unh_login_suite },
	{ "unh_keys", unh_keys_suite },
	{ "unh_chap", unh_chap_suite },
	{ "replay", replay_suite },
	{ "snack", snack_suite },
	{ "snack_status", snack_status_suite },
	{ "snack_mcs", snack_mcs_suite },
	{ "lost", lost_suite },
	{ "fuzz", fuzz_suite },
};
/* clang-format on */

static bool is_chosen(const char *test)
{
	char name[128];

	if (!chosen)
		return true;
	snprintf(name, sizeof(name), "/%s/%s", case_name, test);
	for (unsigned i = 0; chosen[i]; i++)
		if (strstr(name, chosen[i]))
			return true;
	return false;
}

void add_rows(TCase *c, const TTest *test, int rows)
{
	if (is_chosen(test->name))
		tcase_add_loop_test(c, test, 0, rows);
}

static SRunner *runner_create(void)
{
	Suite *suite = suite_create("protocol");
	SRunner *runner = srunner_create(suite);

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		TCase *c = tcase_create(cases[i].name);

		case_name = cases[i].name;
		tcase_set_timeout(c, patience(60));
		tcase_add_checked_fixture(c, NULL, witness_check);
		cases[i].fill_in(c);
		suite_add_tcase(suite, c);
	}
	if (!getenv("CK_TAP_LOG_FILE_NAME"))
		srunner_set_tap(runner, "-");
	return runner;
}

static int list(void)
{
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		puts(cases[i].name);
	return EXIT_SUCCESS;
}

static int end(struct server *s, const char *name)
{
	int status = server_stop(s);

	if (status)
		printf("the %s daemon has ended with status 0x%x\n", name, (unsigned)status);
	return status;
}

int main(int argc, char *argv[])
{
	SRunner *runner;
	int failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && !strcmp(argv[1], "--list"))
		return list();
	if (argc > 1)
		chosen = (const char *const *)argv + 1;
	if (server_start(&server, config_main) || server_start(&strict, config_strict) ||
	    !witness_start())
		return EXIT_FAILURE;
	runner = runner_create();
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	witness_stop();
	failed += end(&server, "usual") != 0;
	failed += end(&strict, "strict") != 0;
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
