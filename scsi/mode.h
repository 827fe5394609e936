/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mode pages: what can be changed and what it means for the rest of the layer.
 *
 * lu->mode_current and lu->kept.mode (the saved values) hold, per slot, the bits that differ from
 * the default, so that zeroed memory means defaults.
 *
 * Threads: values are changed under lu->lock by the action of MODE SELECT and by mode_reset; they
 * are single bytes and may be read by any reactor without it. Ownership: the LU's.
 */
#ifndef HAWSER_SCSI_MODE_H
#define HAWSER_SCSI_MODE_H

#include "scsi/lu.h"

/* Bytes of mode_current that are used; each is one byte of one page. */
enum mode_slot {
	MODE_SLOT_CACHING_2,  /* WCE */
	MODE_SLOT_CONTROL_2,  /* D_SENSE */
	MODE_SLOT_CONTROL_4,  /* SWP */
	MODE_SLOT_RECOVERY_7, /* LBPERE */
	MODE_SLOTS
};
_Static_assert(MODE_SLOTS <= KEPT_MODE, "kept over a restart");

enum mode_bits {
	MODE_WCE = 0x04,
	MODE_D_SENSE = 0x04,
	MODE_SWP = 0x08,
	MODE_LBPERE = 0x80,
};

#define MODE_PAGE_MAX    40u   /* bytes of the longest page, header included */
#define MODE_PS          0x80u /* byte 0: the page can be saved */
#define MODE_PAGE_ALL    0x3fu /* PAGE CODE: all pages */
#define MODE_SUBPAGE_ALL 0xffu

/* Block descriptors (SBC-3 6.5.2): short, and long with 64 bits of LBA. */
#define MODE_DESCRIPTOR_SHORT 8
#define MODE_DESCRIPTOR_LONG  16

enum mode_pc { MODE_PC_CURRENT, MODE_PC_CHANGEABLE, MODE_PC_DEFAULT, MODE_PC_SAVED };

static inline uint8_t mode_slot_get(const struct scsi_lu *lu, enum mode_slot slot)
{
	return __atomic_load_n(&lu->mode_current[slot], __ATOMIC_RELAXED);
}

/* Sense data in descriptor format (D_SENSE=1). lu may be NULL. */
static inline bool mode_descriptor_sense(const struct scsi_lu *lu)
{
	return lu && (mode_slot_get(lu, MODE_SLOT_CONTROL_2) & MODE_D_SENSE);
}

/* SWP=1: every command that changes the medium is refused. */
static inline bool mode_write_protected(const struct scsi_lu *lu)
{
	return mode_slot_get(lu, MODE_SLOT_CONTROL_4) & MODE_SWP;
}

/* The store has a volatile cache and WCE has been cleared: every write is durable before GOOD.
 * lu may be NULL. */
static inline bool mode_write_through(const struct scsi_lu *lu)
{
	return lu && (mode_slot_get(lu, MODE_SLOT_CACHING_2) & MODE_WCE);
}

/* All slots at once. The saved ones take lu->lock. */
void mode_current(const struct scsi_lu *lu, uint8_t flips[static MODE_SLOTS]);
void mode_saved(struct scsi_lu *lu, uint8_t flips[static MODE_SLOTS]);

/* LBPERE=1, the default of a thin LU: its thresholds are told of. */
static inline bool mode_reports_thresholds(const struct scsi_lu *lu)
{
	return !(mode_slot_get(lu, MODE_SLOT_RECOVERY_7) & MODE_LBPERE);
}

/* Back to the saved values (SAM-5 6.3.3, logical unit reset). Takes lu->lock. */
void mode_reset(struct scsi_lu *lu);

/* A page of the table. */
struct mode_page {
	uint8_t code, subpage;
	uint8_t length; /* bytes in all, header included */
	struct {
		uint8_t byte, mask, slot;
	} changeable[2];              /* mask 0: unused */
	uint8_t bytes[MODE_PAGE_MAX]; /* the defaults, header included */
};

extern const struct mode_page mode_pages[]; /* ascending */
extern const unsigned mode_n_pages;

/* Is it there on this LU? */
bool mode_page_offered(const struct mode_page *page, const struct lu_geometry *geo);
const struct mode_page *mode_page_find(uint8_t code, uint8_t subpage); /* NULL: none */
/* Which bits of a changeable byte may be changed on this LU. */
uint8_t mode_mask(const struct mode_page *page, unsigned index, const struct lu_geometry *geo);
/* Writes page->length bytes. flips: MODE_SLOTS bytes as in lu->mode_current. */
void mode_page_build(const struct mode_page *page, const struct lu_geometry *geo, enum mode_pc pc,
		     const uint8_t *flips, uint8_t *out);

#endif
