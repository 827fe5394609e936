/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/unit/fake_port.h"

#include "scsi/iov.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic unsigned n_ended;

static struct fake_task *fake_of(struct scsi_task *t)
{
	return container_of(t, struct fake_task, t);
}

static void ended(struct fake_task *f)
{
	f->ended = true;
	f->n_ended++;
	f->order = atomic_fetch_add(&n_ended, 1) + 1;
	f->status = f->t.status;
	f->data_length = f->t.data_length;
	if (f->t.status == SCSI_CHECK_CONDITION)
		f->sense = f->t.sense;
	if (f->on_end)
		f->on_end(f);
	if (!f->hold_finish && !f->over && !f->aborted)
		fake_task_finish(f);
}

static void data_in(struct scsi_task *t)
{
	struct fake_task *f = fake_of(t);

	assert(t->buf.length >= t->data_in_length && t->data_in_length);
	f->in = malloc(t->data_in_length);
	assert(f->in);
	f->in_length = t->data_in_length;
	iov_copy_out(t->buf.iov, t->buf.n, 0, f->in, f->in_length);
	ended(f);
}

static void data_out(struct scsi_task *t)
{
	struct fake_task *f = fake_of(t);

	assert(t->data_out_length && t->buf.length == t->data_out_length);
	assert(!f->asked);
	f->asked = true;
	f->asked_length = t->data_out_length;
	if (!f->hold_data)
		fake_task_deliver(f);
}

static void done(struct scsi_task *t)
{
	ended(fake_of(t));
}

static void detached_done(struct scsi_task *t)
{
	struct fake_task *f = fake_of(t);

	assert(f->detached && !f->over);
	f->over = true;
}

static bool release(struct scsi_task *t)
{
	return !fake_of(t)->keep;
}

static void stop(struct scsi_task *t)
{
	fake_task_abort(fake_of(t));
}

static const struct scsi_port_ops fake_port_ops = {
	.data_in = data_in,
	.data_out = data_out,
	.done = done,
	.detached_done = detached_done,
	.release = release,
	.abort = stop,
};

struct fake_task *fake_task_new(struct it_nexus *n, uint64_t lun, const uint8_t *cdb,
				uint16_t length)
{
	struct fake_task *f = malloc(sizeof(*f));

	assert(f && length <= sizeof(f->cdb));
	memset(f, 0xa5, sizeof(*f)); /* nothing is promised about what the port leaves alone */
	memset(&f->cdb, 0, sizeof(*f) - offsetof(struct fake_task, cdb));
	memcpy(f->cdb, cdb, length);
	f->t.port = &fake_port_ops;
	f->t.nexus = n;
	f->t.lun = lun;
	f->t.cdb = f->cdb;
	f->t.cdb_length = length;
	f->t.attribute = ATTR_SIMPLE;
	f->t.read = f->t.write = false;
	f->t.edtl = 0;
	return f;
}

void fake_task_in(struct fake_task *f, uint32_t edtl)
{
	f->t.read = true;
	f->t.edtl = edtl;
}

void fake_task_out(struct fake_task *f, const uint8_t *data, uint32_t edtl)
{
	f->t.write = true;
	f->t.edtl = edtl;
	f->out = data;
}

void fake_task_deliver(struct fake_task *f)
{
	iov_copy_in(f->t.buf.iov, f->t.buf.n, 0, f->out, f->t.data_out_length);
	scsi_data_received(&f->t);
}

void fake_task_finish(struct fake_task *f)
{
	assert(f->ended && !f->over);
	scsi_finish(&f->t);
	memset(&f->t, 0xa5, sizeof(f->t)); /* it may be freed now: nobody looks at it again */
	f->over = true;
}

void fake_task_abort(struct fake_task *f)
{
	f->aborted = true;
	if (scsi_abort(&f->t)) {
		memset(&f->t, 0xa5, sizeof(f->t));
		f->over = true;
	} else {
		f->detached = true;
	}
}

void fake_task_free(struct fake_task *f)
{
	assert(f->over);
	free(f->in);
	free(f);
}
