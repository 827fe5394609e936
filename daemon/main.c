/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserd: options, the order of the start, signals, the order of the end. The only file that
 * names the transports.
 */
#include "backing/offload.h"
#include "config/schema.h"
#include "daemon/admin/admin.h"
#include "daemon/alua.h"
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/boot.h"
#include "daemon/daemon.h"
#include "daemon/helper.h"
#include "daemon/interfaces.h"
#include "daemon/isns/isns.h"
#include "daemon/keep.h"
#include "daemon/service.h"
#include "daemon/space.h"
#include "daemon/state.h"
#include "daemon/stop.h"
#include "transport/tcp/tcp.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define CONFIG_PATH     "/etc/hawser/hawser.conf"
#define OFFLOAD_THREADS 64

static const struct datamover_ops *const transports[] = { &tcp_datamover, NULL };

struct options {
	const char *config;
	bool check;
};

static void usage(FILE *to)
{
	fputs("usage: hawserd [-c file] [--check]\n"
	      "       hawserd --version | --help\n"
	      "\n"
	      "  -c, --config FILE  configuration, " CONFIG_PATH "\n"
	      "      --check        read and check it, say what is wrong, and end\n"
	      "      --version      print the version\n"
	      "      --help         print this\n"
	      "\n"
	      "Stays in the foreground and logs to standard error. SIGHUP reloads the\n"
	      "configuration, SIGTERM stops. See hawserd(8) and hawser.conf(5).\n",
	      to);
}

/* -1: go on; else the exit status. */
static int read_options(int argc, char **argv, struct options *o)
{
	enum { OPT_CHECK = 256, OPT_VERSION, OPT_HELP };
	static const struct option longopts[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ "help", no_argument, NULL, OPT_HELP },
		{ 0 },
	};
	int c;

	*o = (struct options){ .config = CONFIG_PATH };
	while ((c = getopt_long(argc, argv, "c:", longopts, NULL)) != -1) { // NOLINT: one thread
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case OPT_CHECK:
			o->check = true;
			break;
		case OPT_VERSION:
			puts("hawserd " HAWSER_VERSION);
			return 0;
		case OPT_HELP:
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "hawserd: unexpected argument \"%s\"\n", argv[optind]);
	usage(stderr);
	return 2;
}

static void print_error(const struct config_error *e)
{
	if (e->line)
		fprintf(stderr, "%s:%u: %s\n", e->file, e->line, e->text);
	else
		fprintf(stderr, "%s: %s\n", e->file, e->text);
}

static int check_only(const char *path)
{
	struct config_error err;
	struct config *c;

	if (boot_read_file(path, &c, &err)) {
		print_error(&err);
		return 1;
	}
	printf("%s: good: %u portals, %u lus, %u targets\n", path, c->n_portals, c->n_lus,
	       c->n_targets);
	config_free(c);
	return 0;
}

struct signals {
	struct reactor_fd fd;
	struct daemon *daemon;
};

static void signalled(struct reactor_fd *rfd, uint32_t events)
{
	struct signals *s = list_entry(rfd, struct signals, fd);
	struct signalfd_siginfo info;

	(void)events;
	while (read(rfd->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGHUP)
			stop_begin(s->daemon, info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
		else if (boot_reload(s->daemon, NULL, NULL))
			log_error(LOG_DAEMON, "no memory to reload the configuration");
	}
}

/* Before any thread: all inherit the mask. */
static int block_signals(struct signals *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL); // NOLINT(concurrency-mt-unsafe): one thread yet
	sigdelset(&set, SIGPIPE);
	s->fd.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	s->fd.ready = signalled;
	return s->fd.fd < 0 ? -errno : 0;
}

static void fail(struct daemon *d)
{
	d->exit_status = 1;
	stop_begin(d, "the start has failed");
}

static void serving(struct apply_request *r)
{
	struct daemon *d = r->daemon;
	char why[256];

	if (d->stop) /* told to stop meanwhile: it never serves */
		return;
	if (r->result != APPLY_DONE) {
		log_error(LOG_DAEMON, "cannot start: %s", r->why);
		fail(d);
		return;
	}
	d->started_ms = reactor_now_ms(d->control);
	service_close_rest(d->service);
	if (helper_drop_privileges(&d->settings, d->state, why, sizeof(why))) {
		log_error(LOG_DAEMON, "cannot start: %s", why);
		fail(d);
		return;
	}
	log_info(LOG_DAEMON, "hawserd %s serves %u targets and %u lus with %u I/O threads",
		 HAWSER_VERSION, d->node.config->n_targets, d->node.config->n_lus, d->n_io);
	service_status(d->service, "%u targets, %u lus, %u portals", d->node.config->n_targets,
		       d->node.config->n_lus, d->node.config->n_portals);
	service_ready(d->service);
	service_watch(d->service, d);
}

struct start {
	struct daemon daemon;
	struct signals signals;
	struct config *config; /* until boot_apply has it */
};

static void threads_ready(struct daemon *d, int result)
{
	struct start *s = list_entry(d, struct start, daemon);
	struct config *c = s->config;

	if (d->stop)
		return;
	if (result) {
		fail(d);
		return;
	}
	s->config = NULL;
	boot_apply(d, c, serving);
}

static int fail_early(const char *what, int r)
{
	log_error(LOG_DAEMON, "cannot start: %s: %s", what, text_errno(-r));
	return r;
}

/* Everything that may block, before the reactors run. */
static int prepare(struct start *s)
{
	struct daemon *d = &s->daemon;
	char why[512];
	int r;

	service_raise_limits();
	r = service_create(&d->service);
	if (r)
		return fail_early("service manager", r);
	r = block_signals(&s->signals);
	if (r)
		return fail_early("signals", r);
	if (d->settings.user) {
		r = helper_start(&d->settings, &d->helper);
		if (r)
			return fail_early("privileged helper", r);
	}
	r = state_open(d->settings.state_dir, NULL, &d->state, why, sizeof(why));
	if (r) {
		log_error(LOG_DAEMON, "cannot start: %s", why);
		return r;
	}
	r = reactor_create(0, "hawserd", &d->control);
	if (!r)
		r = offload_start(OFFLOAD_THREADS);
	if (!r)
		r = state_start(d->state);
	if (!r)
		r = isns_start(d->control, &d->isns);
	if (!r && interfaces_start(d, &d->interfaces))
		log_warn(LOG_DAEMON,
			 "the addresses of the machine cannot be watched; of portals at "
			 "wildcard addresses only the one is told that is come to");
	return r ? fail_early("control reactor", r) : 0;
}

static int run(struct start *s)
{
	struct daemon *d = &s->daemon;
	int r = prepare(s);

	if (r)
		return r;
	s->signals.daemon = d;
	r = reactor_fd_add(d->control, &s->signals.fd, EPOLLIN);
	if (r)
		return fail_early("signals", r);
	r = admin_start(d, service_take_admin_socket(d->service));
	if (r)
		return r;
	r = io_threads_start(d, threads_ready);
	if (r)
		return fail_early("I/O threads", r);
	keep_start(d);
	alua_start(d);
	keep_unit_start(d);
	d->space = space_start(d);
	reactor_run(d->control);
	return d->exit_status ? -EIO : 0;
}

/* Takes what is half made, too. */
static void tear_down(struct start *s)
{
	struct daemon *d = &s->daemon;

	admin_stop(d->admin);
	io_threads_stop(d);
	/* A job that still hangs uses what would be freed: the kernel cleans up. */
	if (!offload_stop(1000)) {
		log_error(LOG_DAEMON, "a store's call still hangs; leaving it to the kernel");
		_exit(1);
	}
	space_stop(d->space);
	interfaces_stop(d->interfaces);
	isns_stop(d->isns);
	state_close(d->state);
	helper_stop(d->helper);
	service_destroy(d->service);
	config_free(d->node.config);
	config_free(s->config);
	free(d->stop);
	if (s->signals.fd.fd >= 0) {
		if (d->control)
			reactor_fd_del(d->control, &s->signals.fd);
		close(s->signals.fd.fd);
	}
	reactor_destroy(d->control);
}

int main(int argc, char **argv)
{
	struct start s = { .signals.fd.fd = -1 };
	struct config_error err;
	enum log_level level = LOG_LEVEL_INFO;
	struct options o;
	int r;

	r = read_options(argc, argv, &o);
	if (r >= 0)
		return r;
	if (o.check)
		return check_only(o.config);
	if (boot_read_file(o.config, &s.config, &err)) {
		print_error(&err);
		return 1;
	}
	log_level_parse(s.config->daemon.log_level, &level);
	log_open(service_stderr_is_journal() ? LOG_TO_JOURNAL_STREAM : LOG_TO_STDERR, level);
	s.daemon.transports = transports;
	s.daemon.config_path = o.config;
	node_init(&s.daemon.node, &s.daemon);
	apply_init(&s.daemon.apply);
	if (config_object_copy(&config_daemon_scope, &s.daemon.settings, &s.config->daemon))
		return 1;
	r = run(&s);
	tear_down(&s);
	config_object_clear(&config_daemon_scope, &s.daemon.settings);
	if (!r)
		log_info(LOG_DAEMON, "hawserd has stopped");
	return r ? 1 : 0;
}
