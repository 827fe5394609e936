/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemons under test: their configuration, start and end. */
#include "tests/protocol/protocol.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct server server, strict;

int64_t clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int patience(int ms)
{
	return getenv("HAWSER_TEST_SLOW") ? 10 * ms : 2 * ms;
}

uint16_t free_port(int family)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *a = family == AF_INET ? (void *)&v4 : (void *)&v6;
	socklen_t n = family == AF_INET ? sizeof(v4) : sizeof(v6);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint16_t port = 0;

	if (fd >= 0 && !bind(fd, a, n) && !getsockname(fd, a, &n))
		port = ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port);
	if (fd >= 0)
		close(fd);
	return port;
}

/* What the two configurations share: portals and the daemon's own settings. */
static int put_head(const struct server *s, char *to, size_t size, const char *settings)
{
	const char *engine = getenv("HAWSER_TEST_ENGINE");
	int n = snprintf(to, size,
			 "daemon = { socket = \"%s/admin.sock\"; state_dir = \"%s/state\";"
			 " buffer_memory = \"16MiB\"; engine = \"%s\"; %s };\n"
			 "portals = ( { address = \"127.0.0.1\"; port = %u; group = 1; },\n"
			 "  { address = \"127.0.0.1\"; port = %u; group = 2; }",
			 s->dir, s->dir, engine ? engine : "auto", settings, s->port, s->port2);

	if (s->port6)
		n += snprintf(to + n, size - (size_t)n,
			      ",\n  { address = \"::1\"; port = %u; group = 1; }", s->port6);
	n += snprintf(to + n, size - (size_t)n, " );\n");
	return n;
}

/* For both: what may be proved. */
static const char accounts[] =
    "accounts = ( { name = \"user\"; secret = \"" CHAP_SECRET "\"; secret2 = \"" CHAP_SECRET2
    "\";\n    mutual_name = \"our name\"; mutual_secret = \"" CHAP_OURS "\"; },\n"
    "  { name = \"0xabc\"; secret = \"" CHAP_SECRET "\"; },\n"
    "  { name = \"u\"; secret = \"" CHAP_SECRET "\"; },\n"
    "  { name = \"" LONG_ACCOUNT "\"; secret = \"" CHAP_SECRET "\"; },\n"
    "  { name = \"strong\"; secret = \"0x00ff102030405060708090a0b0c0d0e0\";"
    " algorithms = [ \"sha256\", \"sha3-256\" ]; },\n"
    "  { name = \"both\"; secret = \"" CHAP_SECRET "\"; mutual_name = \"our name\";"
    " mutual_secret = \"" CHAP_OURS "\"; require_mutual = true; } );\n";

#define ANY      "access = ( { any = true; } );"
#define MAIN_LUS "luns = ( { lun = 0; lu = \"ram\"; } );"

static const char lus[] =
    "lus = ( { name = \"ram\"; type = \"ram\"; size = \"64MiB\"; },\n"
    "  { name = \"four\"; type = \"ram\"; size = \"16MiB\"; block_size = 4096; },\n"
    "  { name = \"null\"; type = \"null\"; size = \"1TiB\"; },\n"
    "  { name = \"huge\"; type = \"null\"; size = \"3TiB\"; },\n"
    "  { name = \"removable\"; type = \"ram\"; size = \"4MiB\"; removable = true; },\n"
    "  { name = \"fixed\"; type = \"ram\"; size = \"4MiB\"; read_only = true; },\n"
    "  { name = \"flat\"; type = \"ram\"; size = \"4MiB\"; },\n"
    "  { name = \"witness\"; type = \"ram\"; size = \"4MiB\"; },\n"
    "  { name = \"pr\"; type = \"ram\"; size = \"4MiB\"; },\n"
    "  { name = \"reset0\"; type = \"ram\"; size = \"4MiB\"; },\n"
    "  { name = \"reset1\"; type = \"ram\"; size = \"4MiB\"; fault = \"delay ms=400 from=1M\"; "
    "},\n"
    "  { name = \"stuck\"; type = \"ram\"; size = \"4MiB\"; fault = \"clear\"; },\n";

static const char targets[] =
    "targets = ( { name = \"" T_MAIN "\"; alias = \"" T_MAIN_ALIAS "\"; " ANY "\n"
    "    luns = ( { lun = 0; lu = \"ram\"; }, { lun = 1; lu = \"four\"; },\n"
    "      { lun = 2; lu = \"null\"; }, { lun = 3; lu = \"file\"; }, { lun = 4; lu = \"fixed\"; "
    "},\n"
    "      { lun = 5; lu = \"removable\"; }, { lun = 6; lu = \"fault\"; },\n"
    "      { lun = 7; lu = \"huge\"; }, { lun = 300; lu = \"flat\"; } ); },\n"
    "  { name = \"" T_MCS "\"; max_connections = 8; error_recovery_level = 1;\n"
    "    default_time2wait = 0;\n"
    "    default_time2retain = 2; " ANY " luns = ( { lun = 0; lu = \"ram\"; },\n"
    "      { lun = 2; lu = \"null\"; }, { lun = 6; lu = \"fault\"; } ); },\n"
    "  { name = \"" T_WITNESS "\"; " ANY " luns = ( { lun = 0; lu = \"witness\"; } ); },\n"
    "  { name = \"" T_CLOSED "\"; " MAIN_LUS " },\n"
    "  { name = \"" T_OFFLINE "\"; online = false; " ANY MAIN_LUS " },\n"
    "  { name = \"" T_FRIENDS "\"; " MAIN_LUS " access = ( { initiator = \"" BASE
    "friend*\"; } ); },\n"
    "  { name = \"" T_SMALL "\"; max_recv_data_segment_length = 4096; max_burst_length = 8192;\n"
    "    first_burst_length = 4096; max_outstanding_r2t = 2; " ANY MAIN_LUS " },\n"
    "  { name = \"" T_LIMITED "\"; max_sessions = 2; " ANY MAIN_LUS " },\n"
    "  { name = \"" T_SOLICITED "\"; initial_r2t = true; immediate_data = false; " ANY MAIN_LUS
    " },\n"
    "  { name = \"" T_NO_DIGEST
    "\"; header_digest = \"none\"; data_digest = \"none\"; " ANY MAIN_LUS " },\n"
    "  { name = \"" T_DIGEST
    "\"; header_digest = \"crc32c\"; data_digest = \"crc32c\"; " ANY MAIN_LUS " },\n"
    "  { name = \"" T_LEVEL_1 "\"; error_recovery_level = 1; " ANY " luns = (\n"
    "      { lun = 0; lu = \"ram\"; }, { lun = 3; lu = \"file\"; } ); },\n"
    "  { name = \"" T_GROUP2 "\"; groups = [ 2 ]; " ANY MAIN_LUS " },\n"
    "  { name = \"" T_NO_ZERO "\"; " ANY " luns = ( { lun = 1; lu = \"flat\"; } ); },\n"
    "  { name = \"" T_CHAP "\"; " MAIN_LUS " access = ( { account = \"user\"; },"
    " { account = \"0xabc\"; }, { account = \"strong\"; }, { account = \"u\"; },"
    " { account = \"" LONG_ACCOUNT "\"; } ); },\n"
    "  { name = \"" T_CHAP_BOUND "\"; " MAIN_LUS " access = ( { initiator = \"" FRIEND
    "\"; account = \"user\"; } ); },\n"
    "  { name = \"" T_CHAP_MUST "\"; " MAIN_LUS " access = ( { account = \"both\"; } ); },\n"
    "  { name = \"" T_PR "\"; " ANY " luns = ( { lun = 0; lu = \"pr\"; } ); },\n"
    "  { name = \"" T_RESET "\"; error_recovery_level = 1; access = ( { initiator = \"" READER
    "\"; read_only = true; }, { any = true; } );"
    " luns = ( { lun = 0; lu = \"reset0\"; }, { lun = 1; lu = \"reset1\"; },"
    " { lun = 2; lu = \"stuck\"; } ); }\n);\n";

const char *config_main(const struct server *s)
{
	static char text[16384];
	int n =
	    /* The witness only reads between tests, which may take their time: it is asked, but not
	     * given up. */
	    put_head(s, text, sizeof(text),
		     "reactors = 2; max_unauthenticated_per_address = 0; nop_timeout_s = 3600;");

	snprintf(
	    text + n, sizeof(text) - (size_t)n,
	    "%s%s"
	    "  { name = \"file\"; type = \"file\"; path = \"%s/file.img\"; size = \"64MiB\";"
	    " create = true; },\n"
	    "  { name = \"fault\"; type = \"ram\"; size = \"16MiB\"; fault = \""
	    "delay ms=%d from=1M length=1M; delay ms=%d from=2M length=1M;"
	    " error from=4M length=1M kind=read; error from=6M length=1M kind=write\"; } );\n%s",
	    accounts, lus, s->dir, SLOW_MS, STALL_MS, targets);
	return text;
}

const char *config_strict(const struct server *s)
{
	static char text[8192];
	char settings[512];
	int n;

	snprintf(settings, sizeof(settings),
		 "reactors = 1; window = %d; login_timeout_s = %d; nop_interval_s = %d;"
		 " nop_timeout_s = %d; max_unauthenticated = %d; max_sessions = 12;"
		 " max_sessions_per_initiator = %d;"
		 " shutdown_timeout_s = 4; discovery_access = ( { initiator = \"" BASE
		 "*\"; account = \"user\"; }, { initiator = \"iqn.2004-*\"; } );",
		 STRICT_WINDOW, LOGIN_LIMIT_S, NOP_INTERVAL_S, NOP_LIMIT_S, STRICT_UNKNOWN,
		 STRICT_OWN);
	n = put_head(s, text, sizeof(text), settings);
	snprintf(text + n, sizeof(text) - (size_t)n,
		 "%slus = ( { name = \"ram\"; type = \"ram\"; size = \"16MiB\"; },\n"
		 "  { name = \"fault\"; type = \"ram\"; size = \"16MiB\";"
		 " fault = \"delay ms=%d from=1M length=1M; delay ms=%d from=2M length=1M\"; } );\n"
		 "targets = ( { name = \"" T_MAIN "\"; " ANY
		 " luns = ( { lun = 0; lu = \"ram\"; }, { lun = 6; lu = \"fault\"; } ); },\n"
		 "  { name = \"" T_CHAP "\"; " MAIN_LUS
		 " access = ( { account = \"user\"; } ); } );\n",
		 accounts, SLOW_MS, STALL_MS);
	return text;
}

static int write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	fchmod(fileno(f), 0600); /* there are secrets in it */
	fputs(text, f);
	return fclose(f) ? -errno : 0;
}

static const char *program(void)
{
	static char path[4096];
	const char *given = getenv("HAWSERD"), *build = getenv("HAWSER_BUILD_DIR");

	if (given)
		return given;
	snprintf(path, sizeof(path), "%s/daemon/hawserd", build ? build : "build/release");
	return path;
}

/* It listens before it serves, so its log decides. */
static bool serves(const char *log)
{
	FILE *f = fopen(log, "re");
	char line[512];
	bool yes = false;

	while (f && !yes && fgets(line, sizeof(line), f))
		yes = strstr(line, " serves ");
	if (f)
		fclose(f);
	return yes;
}

static int launch(struct server *s)
{
	char config[128], log[128];
	int64_t end = clock_ms() + patience(10000);
	int status, fd;

	snprintf(config, sizeof(config), "%s/hawser.conf", s->dir);
	snprintf(log, sizeof(log), "%s/log", s->dir);
	s->pid = fork();
	if (!s->pid) {
		fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		dup2(fd, 1);
		dup2(fd, 2);
		execl(program(), "hawserd", "-c", config, (char *)NULL);
		_exit(127);
	}
	while (!serves(log)) {
		if (waitpid(s->pid, &status, WNOHANG) == s->pid || clock_ms() > end)
			return -ECHILD;
		usleep(20000);
	}
	return 0;
}

static void show_log(const struct server *s)
{
	char command[192];

	snprintf(command, sizeof(command), "tail -n 60 %s/log", s->dir);
	if (system(command))
		printf("no log in %s\n", s->dir);
}

bool log_has(const char *text)
{
	char path[128], line[2048];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/log", server.dir);
	f = fopen(path, "re");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, text) != NULL;
	fclose(f);
	return found;
}

int server_start(struct server *s, const char *config(const struct server *s))
{
	const char *tmp = getenv("TMPDIR");
	char path[128];

	snprintf(s->dir, sizeof(s->dir), "%.40s/hawser-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(s->dir))
		return -errno;
	snprintf(path, sizeof(path), "%s/state", s->dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/hawser.conf", s->dir);
	/* A port may be taken between its choice and our use of it. */
	for (int tries = 0; tries < 5; tries++) {
		s->port = free_port(AF_INET);
		s->port2 = free_port(AF_INET);
		s->port6 = free_port(AF_INET6);
		if (write_file(path, config(s)))
			return -EIO;
		if (!launch(s))
			return 0;
	}
	printf("%s does not serve port %u\n", program(), s->port);
	show_log(s);
	return -ECHILD;
}

int server_kill_and_restart(struct server *s)
{
	char log[128];

	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	snprintf(log, sizeof(log), "%s/log", s->dir);
	unlink(log); /* its first line of service is another's */
	return launch(s);
}

int server_stop(struct server *s)
{
	int64_t end = clock_ms() + patience(20000);
	char command[128];
	int status = -1;

	kill(s->pid, SIGTERM);
	while (waitpid(s->pid, &status, WNOHANG) != s->pid) {
		if (clock_ms() > end) {
			kill(s->pid, SIGKILL);
			waitpid(s->pid, &status, 0);
			break;
		}
		usleep(20000);
	}
	if (status)
		show_log(s);
	snprintf(command, sizeof(command), "rm -rf %s", s->dir);
	if (!getenv("HAWSER_TEST_KEEP") && system(command))
		printf("cannot remove %s\n", s->dir);
	return status;
}
