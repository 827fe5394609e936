/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CDBs and their data, straight into the SCSI layer: two nexuses, two thin LUs on stores whose I/O
 * can be held back, task management and lost nexuses in between. The input's first byte says how
 * the stores are (see SETUP_...); then come records, each a control byte and what its kind says:
 *
 *   COMMAND  opcode, service action (or FFh and the number of a row of the command table), flags,
 *            EDTL (2 bytes), CDB from its second byte (15), length of the data (2), data, completed
 *            with zeros. CDB bits that the row does not know are cleared unless LITERAL is set
 *   TMF      function (0: the nexus is lost), number of a task
 *   STORE    the upper half of the control byte says what happens to the stores, the port, the LU
 *   TURN     time for the reactor
 *
 * At the end everything is let go: then each task that nobody has stopped must have ended, every
 * buffer be back and the LUs gone.
 *
 * Threads: one. Ownership: none.
 */
#include "daemon/base/cursor.h"
#include "scsi/opcodes.h"
#include "tests/fuzz/cdb_world.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int fuzz_end(void);

#define RECORDS_MAX 256
#define EDTL_MAX    (160u << 10)

/* The control byte. */
#define KIND    0x03u
#define NEXUS   0x04u
#define LUN     0x08u
#define LITERAL 0x40u
#define HELD    0x80u /* data is not delivered, and buffers not given back, until told */
enum kind { KIND_COMMAND, KIND_TMF, KIND_STORE, KIND_TURN };

/* The flags of a command. */
#define READS   0x01u
#define WRITES  0x02u
#define NEAR    0x04u /* upper bytes of LBA and length are zero */
#define NOWHERE 0x08u /* a LUN that is not there */
#define BLOCKS  0x10u /* EDTL counts blocks */
#define TOKEN   0x20u /* byte 16 of the data begins the ROD token that was told last */

#define BY_NUMBER 0xff /* in place of an opcode */

static const uint8_t attributes[4] = { ATTR_SIMPLE, ATTR_ORDERED, ATTR_HEAD_OF_QUEUE, ATTR_ACA };

static uint8_t token[512];
static bool reached[256]; /* rows whose plan has been made */

/* --- Tasks -------------------------------------------------------------------------------------
 */
static void finish(struct entry *e)
{
	if (e->f && e->f->ended && !e->f->over && !e->f->aborted)
		fake_task_finish(e->f);
}

/* Frees what has gone. */
static void reap(void)
{
	for (unsigned i = 0; i < TASKS; i++) {
		struct entry *e = &f.entries[i];

		if (!e->f || !e->f->over)
			continue;
		fake_task_free(e->f);
		free(e->data);
		*e = (struct entry){ 0 };
	}
}

static struct entry *free_entry(void)
{
	reap();
	for (unsigned i = 0; i < TASKS; i++)
		if (!f.entries[i].f)
			return &f.entries[i];
	return NULL;
}

/* RECEIVE ROD TOKEN INFORMATION ends with the token. */
static void keep_token(const struct fake_task *t)
{
	if (t->cdb[0] == 0x84 && t->in_length >= sizeof(token))
		memcpy(token, t->in + t->in_length - sizeof(token), sizeof(token));
}

/* What a status must come with. */
static void check_end(struct fake_task *t)
{
	keep_token(t);
	if (t->status == SCSI_CHECK_CONDITION && !t->sense.key && !t->sense.asc_ascq)
		abort();
	if (t->in_length && t->status != SCSI_GOOD)
		abort();
	if (t->in_length > (t->t.read ? t->t.edtl : 0))
		abort();
	if (t->status == SCSI_CHECK_CONDITION && t->sense.key == SENSE_HARDWARE_ERROR &&
	    t->sense.asc_ascq == ASC_INTERNAL_FAILURE)
		abort(); /* a plan that nobody carries out */
	if (t->n_ended > 1)
		abort();
}

/* Only small numbers: each field of length and LBA keeps its last bytes. */
static void bring_near(uint8_t *cdb, unsigned length)
{
	static const struct {
		uint8_t length, from, n;
	} far[] = { { 6, 1, 2 },  { 10, 2, 2 }, { 10, 7, 1 }, { 12, 2, 2 },
		    { 12, 6, 2 }, { 16, 2, 6 }, { 16, 10, 2 } };

	for (unsigned i = 0; i < sizeof(far) / sizeof(far[0]); i++)
		if (far[i].length == length)
			memset(cdb + far[i].from, 0, far[i].n);
}

/* The row that is meant; NULL: none has this opcode and service action. */
static const struct scsi_op *find_row(uint8_t opcode, uint8_t action)
{
	unsigned rows;
	const struct scsi_op *table = scsi_op_table(&rows);

	if (opcode == BY_NUMBER)
		return &table[action % rows];
	for (unsigned i = 0; i < rows; i++)
		if (table[i].opcode == opcode &&
		    (!table[i].has_action || table[i].action == action))
			return &table[i];
	return NULL;
}

/* SPC-4 4.2.5.1. */
static uint16_t length_of_group(uint8_t opcode)
{
	static const uint8_t lengths[8] = { 6, 10, 10, 32, 16, 12, 6, 6 };

	return lengths[opcode >> 5];
}

/* head: opcode, service action, flags, EDTL, CDB. Returns its length. */
static uint16_t make_cdb(uint8_t cdb[32], const struct scsi_op *op, const uint8_t *head,
			 uint8_t control)
{
	memset(cdb, 0, 32);
	memcpy(cdb + 1, head + 5, 15);
	cdb[0] = head[0];
	if (!op)
		return length_of_group(head[0]);
	if (head[2] & NEAR)
		bring_near(cdb, op->cdb_length);
	for (unsigned i = 1; i < 16 && !(control & LITERAL); i++)
		cdb[i] &= op->usage[i];
	cdb[0] = op->opcode;
	if (op->has_action)
		cdb[1] = (uint8_t)((cdb[1] & ~0x1f) | op->action);
	return op->cdb_length;
}

static void prepare(struct entry *e, const uint8_t *head, uint8_t control)
{
	struct fake_task *t;
	unsigned lun = control & LUN ? 1 : 0;
	uint8_t flags = head[2], cdb[32];
	uint32_t edtl = get_be16(head + 3) * (flags & BLOCKS ? f.lu[lun]->geo.block_size : 1u);
	uint16_t length = make_cdb(cdb, find_row(head[0], head[1]), head, control);

	t = fake_task_new(&f.nexus[control & NEXUS ? 1 : 0], flags & NOWHERE ? 77 : lun, cdb,
			  length);
	t->t.attribute = attributes[control >> 4 & 3];
	t->t.read = flags & READS;
	t->t.write = flags & WRITES;
	t->t.edtl = edtl > EDTL_MAX ? EDTL_MAX : edtl;
	t->on_end = check_end;
	t->hold_data = control & HELD;
	t->hold_finish = true;
	e->f = t;
}

/* Was it carried out as far as its plan? */
static void note_reached(const struct fake_task *t)
{
	unsigned rows;

	if (!t->over && t->t.op && t->t.plan.kind != PLAN_UNSET)
		reached[t->t.op - scsi_op_table(&rows)] = true;
}

static void command(struct reader *r, uint8_t control)
{
	const uint8_t *head = reader_take(r, 20), *data;
	uint32_t edtl, length = reader_be16(r);
	struct entry *e = free_entry();

	if (!head || !e)
		return;
	length = length > r->left ? (uint32_t)r->left : length;
	data = reader_take(r, length);
	prepare(e, head, control);
	edtl = e->f->t.edtl;
	e->data = calloc(1, edtl + 1);
	if (!e->data)
		abort();
	if (data)
		memcpy(e->data, data, length < edtl ? length : edtl);
	if (head[2] & TOKEN && edtl >= 16 + sizeof(token))
		memcpy(e->data + 16, token, sizeof(token));
	e->f->out = e->data;
	scsi_submit(&e->f->t);
	note_reached(e->f);
	if (!(control & HELD))
		finish(e);
}

static bool wants_data(const struct entry *e)
{
	return e->f && !e->f->ended && !e->f->over && !e->f->aborted && e->f->asked &&
	       e->f->t.state == TASK_COLLECTING;
}

static void deliver(struct entry *e)
{
	if (wants_data(e))
		fake_task_deliver(e->f);
}

/* --- Task management ---------------------------------------------------------------------------
 */
static void tmf_done(struct scsi_tmf *tmf)
{
	f.tmf_busy[tmf - f.tmf] = false;
}

static void lose_nexus(unsigned i)
{
	nexus_destroy(&f.nexus[i]);
	make_nexus(i);
}

static void function(struct reader *r, uint8_t control)
{
	static const uint8_t functions[] = {
		0,
		TMF_ABORT_TASK,
		TMF_ABORT_TASK_SET,
		TMF_CLEAR_ACA,
		TMF_CLEAR_TASK_SET,
		TMF_LU_RESET,
		TMF_TARGET_WARM_RESET,
		TMF_TARGET_COLD_RESET,
		TMF_I_T_NEXUS_RESET,
		TMF_QUERY_TASK,
		TMF_QUERY_TASK_SET,
		TMF_QUERY_ASYNC_EVENT,
	};
	uint8_t which = functions[reader_u8(r) % sizeof(functions)];
	struct entry *e = &f.entries[reader_u8(r) % TASKS];
	struct it_nexus *n = &f.nexus[control & NEXUS ? 1 : 0];
	unsigned i = 0;

	if (!which) {
		lose_nexus(control & NEXUS ? 1 : 0);
		return;
	}
	while (i < FUNCTIONS && f.tmf_busy[i])
		i++;
	if (i == FUNCTIONS)
		return;
	f.tmf_busy[i] = true;
	f.tmf[i] = (struct scsi_tmf){
		.function = which, .nexus = n, .lun = control & LUN ? 1 : 0, .done = tmf_done
	};
	if (e->f && !e->f->over && !e->f->ended && !e->f->aborted && e->f->t.nexus == n)
		f.tmf[i].task = &e->f->t;
	scsi_tmf(&f.tmf[i]);
}

/* --- The stores, the port, the LU ---------------------------------------------------------------
 */
enum deed {
	HOLD,
	LET,
	UNHOLD,
	FAIL_ONE,
	FAIL_READS,
	FAIL_WRITES,
	FAIL_FULL,
	FAIL_NOT,
	DELIVER,
	FINISH,
	RESIZE,
	EXPECT_UA,
	NO_EXTENTS,
};

static void shrink_or_grow(struct fake_store *s, struct scsi_lu *lu)
{
	if (s->n_held || lu->n_detached)
		return;
	__atomic_store_n(&s->b.info.size,
			 s->b.info.size == STORE_SIZE ? STORE_SIZE / 2 : STORE_SIZE,
			 __ATOMIC_RELAXED);
	lu_resized(lu);
}

static void happen(uint8_t control)
{
	unsigned lun = control & LUN ? 1 : 0;
	struct fake_store *s = f.store[lun];

	switch ((enum deed)(control >> 4)) {
	case HOLD:
		s->hold = true;
		break;
	case UNHOLD:
		s->hold = false;
		fake_store_let(s);
		break;
	case LET:
		fake_store_let(s);
		break;
	case FAIL_ONE:
		if (s->n_held)
			fake_store_let_one(s, -EIO);
		break;
	case FAIL_READS:
		s->error = -EIO;
		s->error_kind = BACKING_READ;
		s->error_from = s->b.info.size / 4;
		break;
	case FAIL_WRITES:
	case FAIL_FULL:
		s->error = control >> 4 == FAIL_FULL ? -ENOSPC : -EIO;
		s->error_kind = BACKING_WRITE;
		s->error_from = 0;
		break;
	case FAIL_NOT:
		s->error = 0;
		break;
	case DELIVER:
		for (unsigned i = 0; i < TASKS; i++)
			deliver(&f.entries[i]);
		break;
	case FINISH:
		for (unsigned i = 0; i < TASKS; i++)
			finish(&f.entries[i]);
		break;
	case RESIZE:
		shrink_or_grow(s, f.lu[lun]);
		break;
	case EXPECT_UA:
		take_attentions(&f.nexus[control & NEXUS ? 1 : 0]);
		break;
	case NO_EXTENTS:
		s->no_extents = !s->no_extents;
		break;
	}
}

/* --- The end -----------------------------------------------------------------------------------
 */
static bool idle(void)
{
	bool any = false;

	for (unsigned i = 0; i < FUNCTIONS; i++)
		any |= f.tmf_busy[i];
	for (unsigned i = 0; i < TASKS; i++) {
		deliver(&f.entries[i]);
		finish(&f.entries[i]);
	}
	reap();
	for (unsigned i = 0; i < TASKS; i++)
		any |= f.entries[i].f != NULL;
	return !any;
}

/* Nothing holds anything back any more. Waits of the SCSI layer itself are half a second at most,
 * but for those that end with the I/O that is let go here. */
static void drain(void)
{
	for (unsigned i = 0; i < LUS; i++) {
		f.store[i]->hold = false;
		fake_store_let(f.store[i]);
	}
	for (unsigned i = 0; i < 20000 && !idle(); i++)
		reactor_turn(f.reactor, i < 10000 ? 0 : 1);
	if (!idle())
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_on(data, size);

	f.setup = reader_u8(&r);
	memset(token, 0, sizeof(token));
	world_start();
	for (unsigned n = 0; n < RECORDS_MAX && r.left; n++) {
		uint8_t control = reader_u8(&r);

		switch ((enum kind)(control & KIND)) {
		case KIND_COMMAND:
			command(&r, control);
			break;
		case KIND_TMF:
			function(&r, control);
			break;
		case KIND_STORE:
			happen(control);
			break;
		case KIND_TURN:
			turn(1 + (control >> 4));
			break;
		}
	}
	drain();
	world_stop();
	return 0;
}

/* After all inputs: was each command carried out as far as its plan? */
int fuzz_end(void)
{
	const struct scsi_op *table;
	unsigned rows, missing = 0;

	table = scsi_op_table(&rows);
	for (unsigned i = 0; i < rows; i++) {
		if (!reached[i])
			printf("no input has reached %s\n", table[i].name);
		missing += !reached[i];
	}
	return missing ? 1 : 0;
}
