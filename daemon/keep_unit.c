/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an LU keeps besides its reservations (scsi/kept.h): one file of the state for each.
 */
#include "daemon/base/log.h"
#include "daemon/base/text.h"
#include "daemon/daemon.h"
#include "daemon/keep.h"
#include "scsi/lu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void returned(struct reactor_msg *msg)
{
	kept_done(list_entry(msg, struct kept_op, msg));
}

static void answer(void *request, int result)
{
	struct kept_op *op = request;

	op->result = result;
	op->msg.run = returned;
	reactor_send(op->reactor, &op->msg);
}

#define MEDIA_WORD 32 /* bytes */

static const struct {
	enum lu_not_ready state;
	const char *word;
} media_words[] = {
	{ LU_FORMATTING, "formatting" },
	{ LU_SANITIZING, "sanitizing" },
	{ LU_FORMAT_FAILED, "format_failed" },
	{ LU_SANITIZE_FAILED, "sanitize_failed" },
};
#define MEDIA_WORDS (sizeof(media_words) / sizeof(media_words[0]))

/* Returns buf; NULL: there is no such state. */
static char *media_word(uint8_t state, char buf[static MEDIA_WORD])
{
	for (unsigned i = 0; i < MEDIA_WORDS; i++)
		if (media_words[i].state == state) {
			snprintf(buf, MEDIA_WORD, "%s", media_words[i].word);
			return buf;
		}
	return NULL;
}

static uint8_t media_state_of(const char *word)
{
	for (unsigned i = 0; i < MEDIA_WORDS; i++)
		if (!strcmp(media_words[i].word, word))
			return (uint8_t)media_words[i].state;
	return LU_READY;
}

/* u->pattern: room for it. */
static void put_media(struct state_unit *u, const struct kept_media *m, char *path,
		      char word[static MEDIA_WORD])
{
	if (m->state) {
		u->media = media_word(m->state, word);
		u->media_path = path;
	}
	u->unrestricted = m->unrestricted;
	u->passes = m->passes;
	u->invert = m->invert;
	text_hex(u->pattern, m->pattern, m->pattern_length);
	if (!m->pattern_length)
		u->pattern = NULL;
}

#define INFORMATION_HEX (2 * KEPT_INFORMATION + 1)

/* Returns buf; NULL: there is none. */
static char *put_information(const struct kept_information *i, char buf[static INFORMATION_HEX])
{
	text_hex(buf, i->bytes, i->length);
	return i->length ? buf : NULL;
}

static void take_information(struct kept_information *i, const char *hex, size_t most)
{
	i->length = (uint16_t)(hex ? text_unhex(i->bytes, most, hex) : 0);
}

/* NULL: it has none, or has been replaced. */
static char *path_of(const struct daemon *d, const struct scsi_lu *lu)
{
	const struct node_lu *l = node_find_lu(&d->node, lu->id.name);

	return l && l->lu == lu ? l->config.path : NULL;
}

/* Nothing is kept of an LU that is as it was made. */
static int fill(struct daemon *d, struct state_change *ch, const void *request)
{
	const struct kept_op *op = request;
	static const struct lu_kept nothing;
	char naa[KEEP_KEY], word[MEDIA_WORD], pattern[2 * KEPT_PATTERN + 1];
	char peripheral[INFORMATION_HEX], text[INFORMATION_HEX];
	struct state_unit u = { .naa = naa, .pattern = pattern };

	keep_key(op->lu, naa);
	if (!memcmp(&op->want, &nothing, sizeof(nothing)))
		return state_change_delete(ch, STATE_UNIT, naa);
	for (unsigned i = 0; i < KEPT_MODE; i++)
		u.mode[i] = op->want.mode[i];
	put_media(&u, &op->want.media, path_of(d, op->lu), word);
	u.peripheral_information = put_information(&op->want.peripheral, peripheral);
	u.text_information = put_information(&op->want.text, text);
	return state_change_put(ch, STATE_UNIT, &u);
}

static void on_control(struct reactor_msg *msg)
{
	struct kept_op *op = list_entry(msg, struct kept_op, msg);

	keep_begin(op->priv, &(struct keep_request){
				 .kind = STATE_UNIT,
				 .lu = op->lu,
				 .what = "a change",
				 .request = op,
				 .fill = fill,
				 .answer = answer,
			     });
}

static void keep(struct kept_op *op, void *arg)
{
	struct daemon *d = arg;

	op->priv = d;
	op->msg.run = on_control;
	reactor_send(d->control, &op->msg);
}

void keep_unit_start(struct daemon *d)
{
	scsi_set_keeper(keep, d);
}

/* Only on the very store: what has another path now is another medium, and memory is a new one. */
static void take_media(struct kept_media *m, const struct state_unit *u)
{
	m->state = media_state_of(u->media);
	m->unrestricted = u->unrestricted;
	m->passes = (uint8_t)u->passes;
	m->invert = u->invert;
	m->pattern_length =
	    (uint16_t)text_unhex(m->pattern, sizeof(m->pattern), u->pattern ? u->pattern : "");
}

void keep_unit_restore(struct daemon *d, struct scsi_lu *lu, const char *path)
{
	const struct state_unit *u;
	struct lu_kept kept;
	char naa[KEEP_KEY];

	keep_key(lu, naa);
	u = state_find(d->state, STATE_UNIT, naa);
	if (!u)
		return;
	memset(&kept, 0, sizeof(kept));
	for (unsigned i = 0; i < KEPT_MODE; i++)
		kept.mode[i] = (uint8_t)u->mode[i];
	take_information(&kept.peripheral, u->peripheral_information, KEPT_PERIPHERAL);
	take_information(&kept.text, u->text_information, KEPT_INFORMATION);
	if (u->media && path && u->media_path && !strcmp(path, u->media_path))
		take_media(&kept.media, u);
	lu_kept_restore(lu, &kept);
}
