/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Vital product data. The LU's identity (pages 80h and 83h) must never differ between portals,
 * transports and restarts: hosts recognise a disk by it.
 *
 * Threads: pure functions. Ownership: none.
 */
#include "scsi/vpd.h"

#include "daemon/base/bytes.h"
#include "scsi/alua.h"
#include "scsi/provision.h"

#include <string.h>

static size_t build_supported(const struct scsi_request *rq, uint8_t *out);

/* Peripheral qualifier 001b: a disk that cannot be reached now, not by this port
 * (SPC-4 5.15.2.4.5).
 */
uint8_t vpd_peripheral(const struct scsi_request *rq)
{
	uint8_t state = rq->nexus->access_state;

	if (!rq->lu)
		return VPD_NO_LU;
	return state == ALUA_UNAVAILABLE || state == ALUA_OFFLINE ? 0x20 : 0x00;
}

/* Unit serial number, SPC-4 7.8.15. */
static size_t build_serial(const struct scsi_request *rq, uint8_t *out)
{
	size_t n = strnlen(rq->lu->id.serial, sizeof(rq->lu->id.serial));

	memcpy(out, rq->lu->id.serial, n);
	return n;
}

/* A SCSI name string designator: UTF-8, NUL terminated and padded to 4 bytes (SPC-4 7.8.5.10). */
static size_t put_name(uint8_t *out, uint8_t association, const char *name, size_t length)
{
	size_t padded = (length + 4) & ~(size_t)3;

	out[0] = 0x53; /* protocol identifier iSCSI, code set UTF-8 */
	out[1] = (uint8_t)(0x80 | association | 0x08);
	out[2] = 0;
	out[3] = (uint8_t)padded;
	memset(out + 4, 0, padded);
	memcpy(out + 4, name, length);
	return 4 + padded;
}

/* T10 vendor identification with a tail whose first eight characters differ between LUs, even if
 * ids were handed out in sequence: some hosts compare no more than these. */
static size_t put_t10(uint8_t *out, const struct lu_identity *id)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = 4, vendor = strnlen(id->vendor, 8);

	memcpy(out, (const uint8_t[]){ 0x02, 0x01, 0x00, 8 + 32 }, 4);
	memset(out + n, ' ', 8);
	memcpy(out + n, id->vendor, vendor);
	n += 8;
	for (unsigned i = 0; i < 16; i++) {
		uint8_t byte = id->naa[15 - i];

		out[n++] = (uint8_t)hex[byte >> 4];
		out[n++] = (uint8_t)hex[byte & 15];
	}
	return n;
}

/* The port's name is "iqn...,t,0x0001"; the device's is the part before ",t,". */
size_t vpd_put_device_name(const struct it_nexus *nexus, uint8_t *out)
{
	size_t port = strnlen(nexus->target_port, 251), device;
	const char *tag = strstr(nexus->target_port, ",t,");

	device = tag ? (size_t)(tag - nexus->target_port) : port;
	return put_name(out, 0x20, nexus->target_port, device < port ? device : port);
}

/* Device identification, SPC-4 7.8.5. The LU's NAA designator comes first: it is what hosts
 * take. */
static size_t build_identification(const struct scsi_request *rq, uint8_t *out)
{
	const struct it_nexus *nexus = rq->nexus;
	const struct alua_group *group = alua_group_of(nexus);
	size_t n = 0;

	memcpy(out, (const uint8_t[]){ 0x01, 0x03, 0x00, 16 }, 4);
	memcpy(out + 4, rq->lu->id.naa, 16);
	n += 20;
	n += put_t10(out + n, &rq->lu->id);

	/* Of the target port: relative identifier and target port group. */
	memcpy(out + n, (const uint8_t[]){ 0x51, 0x94, 0x00, 4, 0, 0 }, 6);
	put_be16(out + n + 6, nexus->relative_port);
	n += 8;
	if (group) {
		memcpy(out + n, (const uint8_t[]){ 0x51, 0x95, 0x00, 4, 0, 0 }, 6);
		put_be16(out + n + 6, group->id);
		n += 8;
	}

	n += put_name(out + n, 0x10, nexus->target_port, strnlen(nexus->target_port, 251));
	return n + vpd_put_device_name(nexus, out + n);
}

/* Extended INQUIRY data, SPC-4 7.8.7. */
static size_t build_extended(const struct scsi_request *rq, uint8_t *out)
{
	memset(out, 0, 60);
	out[1] = 0x17;                               /* GROUP_SUP, HEADSUP, ORDSUP, SIMPSUP */
	out[2] = rq->geo->write_cache ? 0x01 : 0x00; /* V_SUP */
	out[3] = 0x01;                               /* LUICLR */
	return 60;
}

/* Mode page policy, SPC-4 7.8.9: all pages are shared by all nexuses. */
static size_t build_policy(const struct scsi_request *rq, uint8_t *out)
{
	(void)rq;
	memcpy(out, (const uint8_t[]){ 0x3f, 0xff, 0x00, 0x00 }, 4);
	return 4;
}

#define VPD_PORT_MAX (12 + 4 + 252)

/* One port of SCSI ports, SPC-4 7.8.13. */
static size_t put_port(uint8_t *out, uint16_t relative, const char *name)
{
	size_t length = put_name(out + 12, 0x10, name, strnlen(name, 251));

	memset(out, 0, 12);
	put_be16(out + 2, relative);
	put_be16(out + 10, (uint16_t)length);
	return 12 + length;
}

/* The ports of the device: this one and its neighbours, as far as there is room. */
static size_t build_ports(const struct scsi_request *rq, uint8_t *out)
{
	struct it_nexus *nexus = rq->nexus;
	const struct nexus_neighbours *near = nexus->neighbours;
	char name[SCSI_PORT_NAME];
	uint16_t relative;
	size_t n = 0;

	if (!near || !near->target_port)
		return put_port(out, nexus->relative_port, nexus->target_port);
	for (unsigned i = 0; n + VPD_PORT_MAX <= VPD_MAX - 4; i++) {
		if (!near->target_port(nexus, i, &relative, name))
			break;
		n += put_port(out + n, relative, name);
	}
	return n;
}

/* Block limits, SBC-3 6.6.4; out is byte 4 of the page. WSNZ=0. */
static size_t build_limits(const struct scsi_request *rq, uint8_t *out)
{
	const struct lu_geometry *geo = rq->geo;
	uint32_t granularity = 1u << geo->physical_exponent;
	uint32_t optimal = (1u << 20) / geo->block_size;

	/* Pages of the store's cache are 4 KiB, whatever the LU's blocks. */
	if (granularity * geo->block_size < 4096)
		granularity = 4096 / geo->block_size;
	memset(out, 0, 60);
	out[0] = 0x01; /* WSNZ */
	out[1] = (uint8_t)geo->max_compare_write;
	put_be16(out + 2, (uint16_t)granularity);
	put_be32(out + 4, geo->max_blocks);
	put_be32(out + 8, optimal < geo->max_blocks ? optimal : geo->max_blocks);
	if (geo->thin && geo->unmap_granularity) {
		put_be32(out + 16, geo->max_unmap_blocks < UINT32_MAX
				       ? (uint32_t)geo->max_unmap_blocks
				       : UINT32_MAX);
		put_be32(out + 20, geo->max_unmap_descriptors);
		put_be32(out + 24, geo->unmap_granularity);
		put_be32(out + 28, 0x80000000u | geo->unmap_alignment); /* UGAVALID */
	}
	put_be64(out + 32, geo->max_write_same);
	if (geo->max_atomic) { /* SBC-4 6.6.4; no boundaries */
		put_be32(out + 40, geo->max_atomic);
		put_be32(out + 44, 1u << geo->physical_exponent);
		put_be32(out + 48, 1u << geo->physical_exponent);
	}
	return 60;
}

/* Block device characteristics, SBC-3 6.6.2. */
static size_t build_characteristics(const struct scsi_request *rq, uint8_t *out)
{
	memset(out, 0, 60);
	put_be16(out, rq->geo->rotational ? 7200 : 0x0001);
	/* WABEREQ 01b: blocks read after BLOCK ERASE without being written first. */
	out[3] = rq->geo->thin && rq->geo->unmap_granularity ? 0x40 : 0;
	out[4] = 0x03; /* FUAB; VBULS: VERIFY compares unmapped blocks with what a read gives */
	return 60;
}

/* Logical block provisioning, SBC-3 6.6.5. No anchors. */
static size_t build_provisioning(const struct scsi_request *rq, uint8_t *out)
{
	const struct lu_geometry *geo = rq->geo;

	memset(out, 0, 4);
	out[0] = provision_exponent(geo);
	out[1] = (uint8_t)((geo->unmap_granularity ? 0xe0 : 0) |  /* LBPU, LBPWS, LBPWS10 */
			   (geo->zeroes_after_unmap ? 0x04 : 0)); /* LBPRZ 001b */
	out[2] = 0x02;                                            /* thin */
	return 4;
}

static bool is_thin(const struct scsi_request *rq)
{
	return rq->geo->thin;
}

static const struct vpd_row {
	uint8_t code;
	bool without_lu;                                /* answered where no LU is mapped */
	bool (*offered)(const struct scsi_request *rq); /* NULL: always */
	/* Writes what follows the header of 4 bytes; returns its length. */
	size_t (*build)(const struct scsi_request *rq, uint8_t *out);
} vpd_rows[] = {
	/* clang-format off */
	{ 0x00, true,  NULL,    build_supported },
	{ 0x80, false, NULL,    build_serial },
	{ 0x83, false, NULL,    build_identification },
	{ 0x86, false, NULL,    build_extended },
	{ 0x87, false, NULL,    build_policy },
	{ 0x88, false, NULL,    build_ports },
	{ 0x8f, false, NULL,    vpd_third_party_copy },
	{ 0xb0, false, NULL,    build_limits },
	{ 0xb1, false, NULL,    build_characteristics },
	{ 0xb2, false, is_thin, build_provisioning },
	/* clang-format on */
};

#define VPD_ROWS (sizeof(vpd_rows) / sizeof(vpd_rows[0]))

static bool offered(const struct vpd_row *row, const struct scsi_request *rq)
{
	if (!rq->lu)
		return row->without_lu;
	return !row->offered || row->offered(rq);
}

/* Supported VPD pages, SPC-4 7.8.14: ascending, each of them works. */
static size_t build_supported(const struct scsi_request *rq, uint8_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < VPD_ROWS; i++)
		if (offered(&vpd_rows[i], rq))
			out[n++] = vpd_rows[i].code;
	return n;
}

size_t vpd_page(const struct scsi_request *rq, uint8_t page, uint8_t *out)
{
	for (size_t i = 0; i < VPD_ROWS; i++) {
		size_t n;

		if (vpd_rows[i].code != page || !offered(&vpd_rows[i], rq))
			continue;
		n = vpd_rows[i].build(rq, out + 4);
		out[0] = vpd_peripheral(rq);
		out[1] = page;
		put_be16(out + 2, (uint16_t)n);
		return 4 + n;
	}
	return 0;
}
