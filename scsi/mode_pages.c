/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of mode pages and what of them can be changed.
 *
 * Threads: pure but for mode_reset. Ownership: none.
 */
#include "scsi/mode.h"

#include "scsi/provision.h"

#include <string.h>

#define THRESHOLDS_AT 16 /* of page 1Ch/02h */

/* clang-format off */
const struct mode_page mode_pages[] = {
	/* Read-write error recovery, SBC-3 6.5.8: AWRE, ARRE; LBPERE of a thin unit. */
	{ .code = 0x01, .length = 12,
	  .bytes = { 0x01, 0x0a, 0xc0, 0, 0, 0, 0, MODE_LBPERE },
	  .changeable = { { 7, MODE_LBPERE, MODE_SLOT_RECOVERY_7 } } },
	/* Disconnect-reconnect, SPC-4 8.4.7: nothing in it means anything to iSCSI. */
	{ .code = 0x02, .length = 16, .bytes = { 0x02, 0x0e } },
	/* Verify error recovery, SBC-3 6.5.9. */
	{ .code = 0x07, .length = 12, .bytes = { 0x07, 0x0a } },
	/* Caching, SBC-3 6.5.6: WCE where the store has a volatile cache. Prefetch is the page
	 * cache's affair: no limits. */
	{ .code = 0x08, .length = 20,
	  .bytes = { 0x08, 0x12, MODE_WCE, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff },
	  .changeable = { { 2, MODE_WCE, MODE_SLOT_CACHING_2 } } },
	/* Control, SPC-4 8.4.6: TST=001b, a task set for each nexus; GLTSD; queue algorithm
	 * modifier 1, unrestricted reordering; no limit of the busy timeout. */
	{ .code = 0x0a, .length = 12,
	  .bytes = { 0x0a, 0x0a, 0x22, 0x10, 0, 0, 0, 0, 0xff, 0xff },
	  .changeable = { { 2, MODE_D_SENSE, MODE_SLOT_CONTROL_2 },
			  { 4, MODE_SWP, MODE_SLOT_CONTROL_4 } } },
	/* Control extension, SPC-4 8.4.8: TCMOS, SCSIP; the clock is the machine's, until SET
	 * TIMESTAMP. */
	{ .code = 0x0a, .subpage = 0x01, .length = 32, .bytes = { 0x4a, 0x01, 0x00, 0x1c, 0x06 } },
	/* Power condition, SPC-4 8.4.14: no timers. */
	{ .code = 0x1a, .length = 40, .bytes = { 0x1a, 0x26 } },
	/* Informational exceptions control, SPC-4 8.4.11: DEXCPT, there are none to report. */
	{ .code = 0x1c, .length = 12, .bytes = { 0x1c, 0x0a, 0x08 } },
	/* Logical block provisioning, SBC-3 6.5.7: SITUA=0, every nexus is told. The thresholds are
	 * the administrator's. */
	{ .code = 0x1c, .subpage = 0x02, .length = THRESHOLDS_AT + PROVISION_DESCRIPTORS,
	  .bytes = { 0x5c, 0x02, 0, THRESHOLDS_AT + PROVISION_DESCRIPTORS - 4 } },
};
/* clang-format on */

const unsigned mode_n_pages = sizeof(mode_pages) / sizeof(mode_pages[0]);

static bool is_provisioning(const struct mode_page *page)
{
	return page->code == 0x1c && page->subpage == 0x02;
}

bool mode_page_offered(const struct mode_page *page, const struct lu_geometry *geo)
{
	return geo->thin || !is_provisioning(page);
}

const struct mode_page *mode_page_find(uint8_t code, uint8_t subpage)
{
	for (unsigned i = 0; i < mode_n_pages; i++)
		if (mode_pages[i].code == code && mode_pages[i].subpage == subpage)
			return &mode_pages[i];
	return NULL;
}

uint8_t mode_mask(const struct mode_page *page, unsigned index, const struct lu_geometry *geo)
{
	/* A store that writes through by itself has no cache to switch on. */
	if (page->changeable[index].slot == MODE_SLOT_CACHING_2 && !geo->write_cache)
		return 0;
	if (page->changeable[index].slot == MODE_SLOT_RECOVERY_7 && !geo->thin)
		return 0;
	return page->changeable[index].mask;
}

void mode_page_build(const struct mode_page *page, const struct lu_geometry *geo, enum mode_pc pc,
		     const uint8_t *flips, uint8_t *out)
{
	const unsigned header = page->subpage ? 4 : 2;

	memcpy(out, page->bytes, page->length);
	if (mode_mask(page, 0, geo))
		out[0] |= MODE_PS; /* what can be changed can be saved */
	if (page->code == 0x08 && !geo->write_cache)
		out[2] &= (uint8_t)~MODE_WCE;
	if (page->code == 0x01 && !geo->thin)
		out[7] &= (uint8_t)~MODE_LBPERE;
	if (is_provisioning(page))
		provision_descriptors(geo, out + THRESHOLDS_AT);
	if (pc == MODE_PC_CHANGEABLE)
		memset(out + header, 0, page->length - header);
	if (pc == MODE_PC_DEFAULT)
		return;
	for (unsigned i = 0; i < 2; i++) {
		uint8_t mask = mode_mask(page, i, geo);
		uint8_t slot = page->changeable[i].slot;

		if (mask)
			out[page->changeable[i].byte] ^=
			    pc == MODE_PC_CHANGEABLE ? mask : flips[slot] & mask;
	}
}

void mode_current(const struct scsi_lu *lu, uint8_t flips[static MODE_SLOTS])
{
	for (unsigned i = 0; i < MODE_SLOTS; i++)
		flips[i] = mode_slot_get(lu, (enum mode_slot)i);
}

void mode_saved(struct scsi_lu *lu, uint8_t flips[static MODE_SLOTS])
{
	pthread_mutex_lock(&lu->lock);
	memcpy(flips, lu->kept.mode, MODE_SLOTS);
	pthread_mutex_unlock(&lu->lock);
}

void mode_reset(struct scsi_lu *lu)
{
	pthread_mutex_lock(&lu->lock);
	for (unsigned i = 0; i < MODE_SLOTS; i++)
		__atomic_store_n(&lu->mode_current[i], lu->kept.mode[i], __ATOMIC_RELAXED);
	lu->mode_generation++;
	pthread_mutex_unlock(&lu->lock);
}
