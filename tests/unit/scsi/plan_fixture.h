/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An LU, a nexus and a request as plans see them, without reactor, store or transport: 1 GiB, 512
 * bytes in 4 KiB, thin, with a write cache; two target port groups, of port 7 and of port 8.
 *
 * Threads: one. Ownership: static; plan_setup makes it new.
 */
#ifndef HAWSER_TESTS_PLAN_FIXTURE_H
#define HAWSER_TESTS_PLAN_FIXTURE_H

#include "daemon/base/bytes.h"
#include "scsi/alua.h"
#include "scsi/opcodes.h"

#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define BLOCKS 0x200000u /* 1 GiB */

static struct scsi_lu fx_lu;
static struct itl fx_itl, *fx_itls[1];
static struct it_nexus fx_nexus;
static struct scsi_request fx_rq;
static struct alua_group fx_groups[2];
static struct alua_port fx_ports[2];
static struct alua_table fx_alua;
static const struct scsi_op *fx_op;
static uint8_t fx_cdb[16];
static uint8_t fx_answer[SCSI_SMALL_MAX];

/* Both active, set by the administrator and by initiators. */
static void plan_setup_alua(void)
{
	fx_groups[0] = (struct alua_group){ .id = 1 };
	fx_groups[1] = (struct alua_group){ .id = 2 };
	fx_ports[0] = (struct alua_port){ .relative = 7, .group = 0 };
	fx_ports[1] = (struct alua_port){ .relative = 8, .group = 1 };
	fx_alua = (struct alua_table){ .tpgs = ALUA_IMPLICIT | ALUA_EXPLICIT,
				       .n_groups = 2,
				       .n_ports = 2,
				       .groups = fx_groups,
				       .ports = fx_ports };
	fx_nexus.alua = &fx_alua;
}

static void plan_setup(void)
{
	static const struct lu_geometry geo = {
		.blocks = BLOCKS,
		.block_size = 512,
		.max_blocks = 32768,
		.physical_exponent = 3,
		.unmap_granularity = 8,
		.max_unmap_blocks = 0x100000,
		.max_unmap_descriptors = 256,
		.max_write_same = 0x80000,
		.max_compare_write = 128,
		.max_atomic = 32768,
		.thin = true,
		.zeroes_after_unmap = true,
		.write_cache = true,
	};
	static const struct lu_identity id = {
		.naa = { 0x61, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c,
			 0x0d, 0x0e, 0x0f, 0x10 },
		.serial = "0123456789abcdef0123456789abcdef",
		.vendor = "HAWSER",
		.product = "VIRTUAL-DISK",
		.revision = "0100",
		.name = "disk",
	};

	memset(&fx_lu, 0, sizeof(fx_lu));
	memset(&fx_itl, 0, sizeof(fx_itl));
	memset(&fx_nexus, 0, sizeof(fx_nexus));
	fx_lu.geo = geo;
	fx_lu.id = id;
	pthread_mutex_init(&fx_lu.lock, NULL);
	list_init(&fx_lu.itls);
	list_init(&fx_lu.ranges);
	list_init(&fx_lu.kept_ops);
	fx_lu.refs = 1;
	list_init(&fx_lu.rods);
	fx_itl.lu = &fx_lu;
	fx_itl.nexus = &fx_nexus;
	list_add_tail(&fx_lu.itls, &fx_itl.lu_node);
	snprintf(fx_nexus.target_port, sizeof(fx_nexus.target_port),
		 "iqn.2026-01.org.example:disk,t,0x0001");
	fx_nexus.relative_port = 7;
	plan_setup_alua();
	fx_itls[0] = &fx_itl;
	fx_nexus.itls = fx_itls;
	fx_nexus.n_itls = 1;
	fx_rq = (struct scsi_request){ .cdb = fx_cdb,
				       .cdb_length = 16,
				       .geo = &fx_lu.geo,
				       .lu = &fx_lu,
				       .itl = &fx_itl,
				       .nexus = &fx_nexus,
				       .answer = fx_answer };
}

/* No LU is mapped under the number asked for. */
static inline void plan_without_lu(void)
{
	fx_rq.geo = NULL;
	fx_rq.lu = NULL;
	fx_rq.itl = NULL;
}

/* Look-up, checks and plan of one CDB. */
static inline struct scsi_plan plan_bytes(const uint8_t *cdb, size_t n)
{
	struct scsi_sense sense;

	memset(fx_cdb, 0, sizeof(fx_cdb));
	memcpy(fx_cdb, cdb, n);
	memset(fx_answer, 0xa5, 4096); /* what a plan leaves is seen */
	fx_op = scsi_op_find(&fx_rq, &sense);
	return fx_op ? fx_op->plan(&fx_rq) : plan_fail(sense);
}

#define PLAN(...)                                                                                  \
	plan_bytes((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static inline void ck_sense(struct scsi_plan p, uint8_t key, uint16_t asc_ascq)
{
	ck_assert_msg(p.kind == PLAN_FAIL && p.status == SCSI_CHECK_CONDITION,
		      "opcode %02x: plan %d, not CHECK CONDITION", fx_cdb[0], p.kind);
	ck_assert_msg(p.sense.key == key && p.sense.asc_ascq == asc_ascq,
		      "opcode %02x: %x/%04x instead of %x/%04x", fx_cdb[0], p.sense.key,
		      p.sense.asc_ascq, key, asc_ascq);
}

/* 5/24/00 with a pointer into the CDB; bit < 0: no bit pointer. */
static inline void ck_field(struct scsi_plan p, unsigned byte, int bit)
{
	ck_sense(p, SENSE_ILLEGAL_REQUEST, 0x2400);
	ck_assert(p.sense.field_valid && p.sense.field_in_cdb);
	ck_assert_uint_eq(p.sense.field, byte);
	ck_assert_int_eq(p.sense.bit_valid ? p.sense.bit : -1, bit);
}

static inline void ck_good(struct scsi_plan p)
{
	ck_assert_msg(p.kind == PLAN_ANSWER && !p.data_length, "opcode %02x: plan %d, %u bytes",
		      fx_cdb[0], p.kind, p.data_length);
}

static inline void ck_answer(struct scsi_plan p, const uint8_t *want, size_t n)
{
	ck_assert_int_eq(p.kind, PLAN_ANSWER);
	ck_assert_uint_eq(p.data_length, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(fx_answer[i] == want[i], "byte %zu: %02x instead of %02x", i,
			      fx_answer[i], want[i]);
}

#endif
