/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies one LUN to another through libiscsi, many commands at a time:
 *
 *   hawser-test-iscsi-dd [-q QUEUE] [-b BLOCKS] SOURCE-URL DESTINATION-URL
 *
 * Each slot reads BLOCKS blocks with READ(16) and writes them with WRITE(16) to the same place;
 * QUEUE slots are busy at a time. Both LUNs must have one block size; the destination may be
 * larger. Ends with 0 after SYNCHRONIZE CACHE(16), or with 1 and what went wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lun {
	struct iscsi_context *iscsi;
	struct iscsi_url *url;
	uint64_t blocks;
	uint32_t block_size;
};

struct copy {
	struct lun from, to;
	uint64_t next, end;
	uint32_t blocks; /* per command */
	unsigned busy, queue;
};

struct slot {
	struct copy *copy;
	struct scsi_task *read;
	uint64_t lba;
	uint32_t blocks;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "hawser-test-iscsi-dd: %s: %s\n", what, why);
	exit(1);
}

static void start(struct slot *s);

static void write_done(struct iscsi_context *iscsi, int status, void *command_data, void *private)
{
	struct slot *s = private;

	if (status != SCSI_STATUS_GOOD)
		die("WRITE(16)", iscsi_get_error(iscsi));
	scsi_free_scsi_task(command_data);
	scsi_free_scsi_task(s->read);
	start(s);
}

static void read_done(struct iscsi_context *iscsi, int status, void *command_data, void *private)
{
	struct slot *s = private;
	struct lun *to = &s->copy->to;
	uint32_t length = s->blocks * to->block_size;

	if (status != SCSI_STATUS_GOOD)
		die("READ(16)", iscsi_get_error(iscsi));
	s->read = command_data;
	if (s->read->datain.size != (int)length)
		die("READ(16)", "not all data came");
	if (!iscsi_write16_task(to->iscsi, to->url->lun, s->lba, s->read->datain.data, length,
				(int)to->block_size, 0, 0, 0, 0, 0, write_done, s))
		die("WRITE(16)", iscsi_get_error(to->iscsi));
}

/* Gives a free slot its next range; without one the slot ends. */
static void start(struct slot *s)
{
	struct copy *c = s->copy;
	struct lun *from = &c->from;
	uint64_t left = c->end - c->next;

	if (!left) {
		c->busy--;
		return;
	}
	s->lba = c->next;
	s->blocks = left < c->blocks ? (uint32_t)left : c->blocks;
	c->next += s->blocks;
	if (!iscsi_read16_task(from->iscsi, from->url->lun, s->lba, s->blocks * from->block_size,
			       (int)from->block_size, 0, 0, 0, 0, 0, read_done, s))
		die("READ(16)", iscsi_get_error(from->iscsi));
}

static void login(struct lun *l, const char *url, const char *initiator)
{
	struct scsi_readcapacity16 *rc;
	struct scsi_task *task;

	l->iscsi = iscsi_create_context(initiator);
	if (!l->iscsi)
		die(initiator, "no memory");
	l->url = iscsi_parse_full_url(l->iscsi, url);
	if (!l->url)
		die(url, iscsi_get_error(l->iscsi));
	iscsi_set_session_type(l->iscsi, ISCSI_SESSION_NORMAL);
	iscsi_set_header_digest(l->iscsi, ISCSI_HEADER_DIGEST_NONE_CRC32C);
	if (iscsi_full_connect_sync(l->iscsi, l->url->portal, l->url->lun))
		die(url, iscsi_get_error(l->iscsi));
	task = iscsi_readcapacity16_sync(l->iscsi, l->url->lun);
	if (!task || task->status != SCSI_STATUS_GOOD)
		die(url, iscsi_get_error(l->iscsi));
	rc = scsi_datain_unmarshall(task);
	if (!rc)
		die(url, "READ CAPACITY(16) data cannot be read");
	l->blocks = rc->returned_lba + 1;
	l->block_size = rc->block_length;
	scsi_free_scsi_task(task);
}

static void logout(struct lun *l)
{
	iscsi_logout_sync(l->iscsi);
	iscsi_destroy_url(l->url);
	iscsi_destroy_context(l->iscsi);
}

static void serve(struct copy *c)
{
	struct iscsi_context *of[] = { c->from.iscsi, c->to.iscsi };
	struct pollfd fds[2];

	for (int i = 0; i < 2; i++) {
		fds[i].fd = iscsi_get_fd(of[i]);
		fds[i].events = (short)iscsi_which_events(of[i]);
		fds[i].revents = 0;
	}
	if (poll(fds, 2, 30000) <= 0)
		die("poll", "nothing came for 30 s");
	for (int i = 0; i < 2; i++)
		if (iscsi_service(of[i], fds[i].revents))
			die("session", iscsi_get_error(of[i]));
}

static void run(struct copy *c)
{
	struct slot *slots = calloc(c->queue, sizeof(*slots));
	struct scsi_task *task;

	if (!slots)
		die("slots", "no memory");
	c->end = c->from.blocks;
	c->busy = c->queue;
	for (unsigned i = 0; i < c->queue; i++) {
		slots[i].copy = c;
		start(&slots[i]);
	}
	while (c->busy)
		serve(c);
	free(slots);
	task = iscsi_synchronizecache16_sync(c->to.iscsi, c->to.url->lun, 0, 0, 0, 0);
	if (!task || task->status != SCSI_STATUS_GOOD)
		die("SYNCHRONIZE CACHE(16)", iscsi_get_error(c->to.iscsi));
	scsi_free_scsi_task(task);
}

int main(int argc, char **argv)
{
	struct copy c = { .queue = 16, .blocks = 256 };
	int option;

	while ((option = getopt(argc, argv, "q:b:")) != -1) {
		unsigned long n = optarg ? strtoul(optarg, NULL, 10) : 0;

		if (n < 1 || n > 65535 || option == '?')
			die("usage", "[-q QUEUE] [-b BLOCKS] SOURCE-URL DESTINATION-URL");
		if (option == 'q')
			c.queue = (unsigned)n;
		else
			c.blocks = (uint32_t)n;
	}
	if (argc - optind != 2)
		die("usage", "[-q QUEUE] [-b BLOCKS] SOURCE-URL DESTINATION-URL");
	login(&c.from, argv[optind], "iqn.2026-01.org.example:dd-from");
	login(&c.to, argv[optind + 1], "iqn.2026-01.org.example:dd-to");
	if (c.from.block_size != c.to.block_size || c.from.blocks > c.to.blocks)
		die("destination", "too small, or of another block size");
	run(&c);
	printf("%" PRIu64 " blocks of %" PRIu32 " bytes\n", c.from.blocks, c.from.block_size);
	logout(&c.from);
	logout(&c.to);
	return 0;
}
