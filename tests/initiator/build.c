/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers as an initiator sends them, and text. */
#include "daemon/base/bytes.h"
#include "tests/initiator/initiator.h"

#include <string.h>

/* CmdSN is consumed by everything that is not immediate (RFC 7143 4.2.2.1). */
static void number(struct ini *i, uint8_t *bhs, uint8_t opcode, bool immediate)
{
	struct bhs *h = (void *)bhs;

	memset(bhs, 0, ISCSI_BHS_SIZE);
	h->opcode = (uint8_t)(opcode | (immediate ? ISCSI_IMMEDIATE : 0));
	h->flags = ISCSI_FINAL;
	put_be32(h->itt, i->itt++);
	put_be32(h->cmdsn, immediate ? i->cmdsn : i->cmdsn++);
	put_be32(h->exp_statsn, ini_ack(i));
}

static void put_lun(uint8_t to[static 8], uint64_t lun)
{
	put_be16(to, (uint16_t)(lun < 256 ? lun : 0x4000 | lun));
}

void ini_nop(struct ini *i, struct bhs_nop *ret, bool immediate)
{
	number(i, (uint8_t *)ret, ISCSI_OP_NOP_OUT, immediate);
	put_be32(ret->ttt, ISCSI_TAG_RESERVED);
}

void ini_text(struct ini *i, struct bhs_text *ret, bool immediate)
{
	number(i, (uint8_t *)ret, ISCSI_OP_TEXT_REQUEST, immediate);
	put_be32(ret->ttt, ISCSI_TAG_RESERVED);
}

void ini_logout(struct ini *i, struct bhs_logout_request *ret, uint8_t reason)
{
	number(i, (uint8_t *)ret, ISCSI_OP_LOGOUT_REQUEST, true);
	ret->reason = (uint8_t)(ISCSI_FINAL | reason);
	put_be16(ret->cid, i->cid);
}

void ini_tmf(struct ini *i, struct bhs_tmf_request *ret, uint8_t function, uint64_t lun)
{
	number(i, (uint8_t *)ret, ISCSI_OP_TMF_REQUEST, true);
	ret->function = (uint8_t)(ISCSI_FINAL | function);
	put_lun(ret->lun, lun);
	put_be32(ret->referenced_tag, ISCSI_TAG_RESERVED);
}

void ini_login_header(struct ini *i, struct bhs_login_request *ret, int csg, int nsg, bool transit)
{
	memset(ret, 0, sizeof(*ret));
	ret->opcode = ISCSI_OP_LOGIN_REQUEST | ISCSI_IMMEDIATE;
	ret->flags = (uint8_t)((transit ? ISCSI_FINAL : 0) | (csg << 2) | (transit ? nsg : 0));
	memcpy(ret->isid, i->isid, sizeof(ret->isid));
	put_be16(ret->tsih, i->tsih);
	put_be32(ret->itt, i->itt);
	put_be16(ret->cid, i->cid);
	put_be32(ret->cmdsn, i->cmdsn);
	put_be32(ret->exp_statsn, ini_ack(i));
}

/* NOLINTNEXTLINE(readability-function-size): the fields of one header */
void ini_command(struct ini *i, struct bhs_scsi_command *ret, uint64_t lun, uint8_t flags,
		 uint32_t edtl, const uint8_t *cdb, size_t cdb_length)
{
	number(i, (uint8_t *)ret, ISCSI_OP_SCSI_COMMAND, false);
	ret->flags = (uint8_t)(ISCSI_FINAL | flags | 1 /* SIMPLE */);
	put_lun(ret->lun, lun);
	put_be32(ret->edtl, edtl);
	memcpy(ret->cdb, cdb, cdb_length < 16 ? cdb_length : 16);
}

uint32_t ini_pairs(const char *lines, uint8_t *buf, uint32_t size)
{
	uint32_t n = 0;

	for (; *lines && n + 1 < size; lines++)
		buf[n++] = *lines == '\n' ? 0 : (uint8_t)*lines;
	if (n && buf[n - 1])
		buf[n++] = 0;
	return n;
}

const char *ini_value(const struct ini_pdu *p, const char *key)
{
	const char *text = (const char *)p->data, *end = text + p->length;
	size_t n = strlen(key);

	while (text < end) {
		if (!strncmp(text, key, n) && text[n] == '=')
			return text + n + 1;
		text += strlen(text) + 1;
	}
	return NULL;
}
