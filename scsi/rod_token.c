/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a token. Who reads them learns which LU it is of and how much it stands for; its
 * last bytes are random, and nobody can make one up.
 */
#include "daemon/base/bytes.h"
#include "scsi/lu.h"
#include "scsi/nexus.h"
#include "scsi/rod.h"
#include "scsi/vpd.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* SPC-4 5.16.6.5.2, with the device type specific data of SBC-3 4.28.4.2. */
struct rod_layout {
	uint8_t type[4], reserved[2], length[2];
	uint8_t id[8];
	uint8_t creator[32]; /* the LU, as a CSCD descriptor */
	uint8_t bytes[16];
	uint8_t type_specific[32];
	uint8_t block_size[4], protection, exponent, provisioning[2], reserved2[24];
	uint8_t target[352]; /* a designator, and what is left of the room */
	uint8_t secret[32];
};
_Static_assert(sizeof(struct rod_layout) == ROD_TOKEN_SIZE, "a token is 512 bytes");
_Static_assert(offsetof(struct rod_layout, block_size) == ROD_MANAGEMENT_SIZE, "the secret part");

/* An identification descriptor, SPC-4 6.4.5.3, with the NAA designator of page 83h. */
static void put_creator(uint8_t out[static 32], const struct scsi_lu *lu)
{
	out[0] = 0xe4;
	memcpy(out + 4, (const uint8_t[]){ 0x01, 0x03, 0x00, 16 }, 4);
	memcpy(out + 8, lu->id.naa, sizeof(lu->id.naa));
	put_be24(out + 29, lu->geo.block_size);
}

int rod_build(struct rod *r, const struct rod_params *p)
{
	struct rod_layout *out = (void *)r->token;
	const struct lu_geometry *geo = &r->lu->geo;

	memset(out, 0, sizeof(*out));
	put_be32(out->type, p->type);
	put_be16(out->length, ROD_TOKEN_SIZE - 8);
	put_be64(out->id, r->id);
	put_creator(out->creator, r->lu);
	put_be64(out->bytes + 8, r->bytes);
	put_be32(out->block_size, r->block_size);
	out->exponent = geo->physical_exponent;
	out->provisioning[0] = (uint8_t)((geo->thin ? 0x80 : 0) |               /* LBPME */
					 (geo->zeroes_after_unmap ? 0x40 : 0)); /* LBPRZ */
	(void)vpd_put_device_name(p->itl->nexus, out->target);
	if (getrandom(out->secret, sizeof(out->secret), 0) != sizeof(out->secret))
		return -EIO;
	return 0;
}
