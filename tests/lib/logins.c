/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many logins, one after the other or all at once, and how long they took:
 *
 *   hawser-test-logins PORT TARGET SESSIONS NAMES [once|storm] [hold COMMAND...]
 *
 * once: each login is a round of its own and logs out; storm: all requests are on their way before
 * the first answer is read, and the sessions stay until COMMAND has ended. Prints "failed N",
 * "longest MS" (of a login) and "all MS".
 */
#include "daemon/base/bytes.h"
#include "tests/initiator/initiator.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct job {
	uint16_t port;
	const char *target;
	unsigned sessions, names;
	struct ini *ini;
	unsigned failed;
	double longest;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void log_out(struct ini *i)
{
	struct bhs_logout_request h;
	struct ini_pdu p;

	ini_logout(i, &h, 0);
	if (!ini_send(i, (uint8_t *)&h, NULL, 0) && ini_receive(i, &p, INI_WAIT_MS) == 1)
		ini_pdu_free(&p);
	ini_close(i);
}

static void one_after_the_other(struct job *j)
{
	for (unsigned n = 0; n < j->sessions; n++) {
		struct ini *i = &j->ini[n];
		char name[64];
		struct ini_login l = { .target = j->target, .initiator = name };
		double begin = now_ms(), took;

		snprintf(name, sizeof(name), "iqn.2026-01.org.example:i%u", n % j->names);
		if (ini_open(i, "127.0.0.1", j->port) || ini_login(i, &l, NULL)) {
			j->failed++;
			continue;
		}
		took = now_ms() - begin;
		j->longest = took > j->longest ? took : j->longest;
		log_out(i);
	}
}

static int send_login(struct ini *i, const struct job *j, unsigned n)
{
	struct bhs_login_request h;
	uint8_t text[1024];
	char lines[512];

	if (ini_open(i, "127.0.0.1", j->port))
		return -1;
	snprintf(lines, sizeof(lines),
		 "InitiatorName=iqn.2026-01.org.example:i%u\nTargetName=%s\nSessionType=Normal",
		 n % j->names, j->target);
	ini_login_header(i, &h, STAGE_OPERATIONAL, STAGE_FULL_FEATURE, true);
	return ini_send(i, (uint8_t *)&h, text, ini_pairs(lines, text, sizeof(text)));
}

static int take_answer(struct ini *i)
{
	const struct bhs_login_response *r;
	struct ini_pdu p;
	int status;

	if (ini_receive(i, &p, INI_WAIT_MS) != 1)
		return -1;
	r = (const void *)p.bhs;
	status = r->status_class << 8 | r->status_detail;
	i->full_feature = !status;
	i->itt++;
	ini_pdu_free(&p);
	return status;
}

static void all_at_once(struct job *j, char **command)
{
	double begin = now_ms();
	char line[4096] = "";

	for (unsigned n = 0; n < j->sessions; n++)
		j->failed += send_login(&j->ini[n], j, n) != 0;
	for (unsigned n = 0; n < j->sessions; n++)
		j->failed += take_answer(&j->ini[n]) != 0;
	j->longest = now_ms() - begin;
	for (; *command; command++) {
		strncat(line, *command, sizeof(line) - strlen(line) - 2);
		strcat(line, " ");
	}
	fflush(stdout);
	if (line[0] && system(line)) // NOLINT: the test's own
		j->failed++;
	for (unsigned n = 0; n < j->sessions; n++)
		if (j->ini[n].full_feature)
			log_out(&j->ini[n]);
}

int main(int argc, char **argv)
{
	struct job j = { 0 };
	struct rlimit files;
	double begin;

	if (argc < 6) {
		fprintf(stderr, "usage: %s PORT TARGET SESSIONS NAMES once|storm [COMMAND...]\n",
			argv[0]);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	j.port = (uint16_t)strtoul(argv[1], NULL, 10);
	j.target = argv[2];
	j.sessions = (unsigned)strtoul(argv[3], NULL, 10);
	j.names = (unsigned)strtoul(argv[4], NULL, 10);
	j.ini = calloc(j.sessions ? j.sessions : 1, sizeof(*j.ini));
	if (!j.ini || !j.names)
		return 2;
	begin = now_ms();
	if (!strcmp(argv[5], "once"))
		one_after_the_other(&j);
	else
		all_at_once(&j, argv + 6);
	printf("failed %u\nlongest %.0f\nall %.0f\n", j.failed, j.longest, now_ms() - begin);
	free(j.ini);
	return j.failed ? 1 : 0;
}
