// SPDX-License-Identifier: BSD-2-Clause
/*
 * Notes: what upper layers say to each other without a connection. They go over the session of their
 * two addresses; what waits for a session that cannot be made is dropped with the attempt.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/priv.h"

bool cm_session_unused(const struct cm *cm, const struct cm_session *s)
{
	if (!LIST_EMPTY(&s->conns) || !STAILQ_EMPTY(&s->notes) || cm_guests_have(cm, s))
		return false;
	/* One that is open serves a stranger, who is to end it, or notes. */
	return s->phase == CM_IDLE ||
	       (s->noted && cm->now >= s->noted + CM_NOTE_LINGER_MS * 1000000ULL);
}

static void send_note(struct cm *cm, struct cm_session *s, uint8_t proto, const void *data,
		      uint16_t len)
{
	struct cm_msg m = {.type = CM_MSG_NOTE, .proto = proto, .note_len = len};

	memcpy(m.note, data, len);
	s->noted = cm->now;
	cm_session_send(s, &m);
}

void cm_run_notes(struct cm *cm, struct cm_session *s)
{
	struct cm_queued_note *n;

	/* They are for whoever is at the address. */
	if (!cm_has_address(cm, &s->who))
		return cm_drop_notes(s);
	while (s->out_len < CM_OUT_PAUSE && (n = STAILQ_FIRST(&s->notes))) {
		STAILQ_REMOVE_HEAD(&s->notes, entry);
		s->nnotes--;
		send_note(cm, s, n->proto, n->data, n->len);
		free(n);
	}
}

void cm_drop_notes(struct cm_session *s)
{
	struct cm_queued_note *n;

	while ((n = STAILQ_FIRST(&s->notes))) {
		STAILQ_REMOVE_HEAD(&s->notes, entry);
		free(n);
	}
	s->nnotes = 0;
}

void cm_on_note(struct cm *cm, struct cm_session *s, const struct cm_msg *m)
{
	struct cm_note note = {.family = s->family, .proto = m->proto, .len = m->note_len};

	s->noted = cm->now;
	if (!cm->ops->note || !cm_has_address(cm, &s->who))
		return;
	note.local_addr = s->local;
	note.peer_addr = s->peer;
	memcpy(note.data, m->note, m->note_len);
	cm->ops->note(cm->arg, &note, &s->who);
}

static int queue(struct cm_session *s, const struct cm_note *note, char *err, size_t errlen)
{
	struct cm_queued_note *n = NULL;

	if (s->nnotes < CM_NOTES_MAX)
		n = malloc(sizeof(*n) + note->len);
	if (!n) {
		snprintf(err, errlen, "too many messages wait for the peer's agent");
		return -ENOBUFS;
	}
	n->proto = note->proto;
	n->len = note->len;
	memcpy(n->data, note->data, note->len);
	STAILQ_INSERT_TAIL(&s->notes, n, entry);
	s->nnotes++;
	return 0;
}

int cm_send_note(struct cm *cm, const struct cm_note *note, char *err, size_t errlen)
{
	struct cm_session *s = cm_session_find(cm, note->family, &note->local_addr, &note->peer_addr);
	int ret = cm->chan ? cm_need_channels(cm, err, errlen) : 0;

	if (ret)
		return ret;
	if (!s) {
		s = cm_session_new(cm, note->family, &note->local_addr, &note->peer_addr, &ret);
		if (!s) {
			snprintf(err, errlen, "cannot listen for the peer's agent: %s",
				 strerror(-ret));
			return ret;
		}
		/* The other end has no reason to try by itself. */
		s->deferred = true;
	}
	s->noted = cm->now;
	ret = queue(s, note, err, errlen);
	cm_session_wake(cm, s);
	return ret;
}
