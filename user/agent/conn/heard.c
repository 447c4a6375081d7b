// SPDX-License-Identifier: BSD-2-Clause
#include "agent/conn/heard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/conn/cid.h"
#include "agent/conn/conn.h"
#include "agent/conn/dial.h"
#include "agent/conn/drops.h"
#include "agent/conn/notes.h"
#include "agent/conn/path.h"
#include "agent/conn/rekey.h"
#include "agent/shard/news.h"
#include "agent/shard/shard.h"

enum { CONNS_AT_ONCE = 32 };	/* connections that control takes news of in one call */

/* ---- by the shard ---- */

/* Within a call control's part is done at once, so that the caller hears of errors. */
static int dial(void *shard, const struct ulp_dial *d, char *err, size_t errlen)
{
	struct shard *s = shard;
	struct dial_wanted *w;
	int cid;

	if (call_within())
		return agent_dial(s, d, err, errlen);
	w = calloc(1, sizeof(*w));
	cid = w ? agent_cid_take(s->agent, err, errlen) : -ENOMEM;
	if (cid < 0) {
		if (!w)
			snprintf(err, errlen, "out of memory");
		free(w);
		return cid;
	}
	w->dial = *d;
	snprintf(w->peer, sizeof(w->peer), "%s", d->peer ? d->peer : "");
	w->dial.peer = w->peer;
	news_dial(s, (uint32_t)cid, w);
	return cid;
}

/* A connection that is wanted, but was not begun yet, need not be. */
static bool withdraw(struct shard *s, uint32_t cid)
{
	struct dial_wanted *w = news_withdraw(s, cid);

	if (w)
		agent_cid_release(s->agent, cid);
	free(w);
	return w;
}

static void hangup(void *shard, uint32_t cid, const char *why)
{
	struct shard *s = shard;
	struct agent_conn *c = cid < s->agent->plane.maps.nconns ? s->conns[cid] : NULL;

	if (!withdraw(s, cid) && c && !c->leaving)
		news_of_conn(c, CONN_NEWS_HUNG_UP, why);
}

static int note(void *shard, uint8_t proto, const struct ulp_note *note, char *err, size_t errlen)
{
	struct shard *s = shard;
	int rc;

	if (call_within())
		return agent_send_note(s->agent, proto, note, err, errlen);
	rc = news_note(s, proto, note);
	if (rc < 0)
		snprintf(err, errlen, "too many messages wait to be sent");
	return rc;
}

const struct ulp_host shard_ulp_host = {
	.dial = dial,
	.hangup = hangup,
	.note = note,
};

/* ---- by control ---- */

/* What was taken of a shard's news. */
struct taken {
	struct shard *shard;
	struct {
		struct agent_conn *conn;	/* goes only when control lets it */
		uint32_t what, path_len;
		char why[NEWS_WHY_MAX];
	} conns[CONNS_AT_ONCE];
	unsigned int nconns;
	struct notes_wanted notes;
	bool clients, verbs, drops, more;
};

static void dial_all(struct shard *s)
{
	struct dial_wanted *w;

	while ((w = STAILQ_FIRST(&s->news.dials))) {
		STAILQ_REMOVE_HEAD(&s->news.dials, entry);
		agent_dial_reserved(s, w->cid, &w->dial);
		free(w);
	}
}

static void take(void *arg)
{
	struct taken *t = arg;
	struct news *n = &t->shard->news;
	struct agent_conn *c;

	while (t->nconns < CONNS_AT_ONCE && (c = TAILQ_FIRST(&n->conns))) {
		TAILQ_REMOVE(&n->conns, c, noted.link);
		t->conns[t->nconns].conn = c;
		t->conns[t->nconns].what = c->noted.what;
		t->conns[t->nconns].path_len = c->noted.path_len;
		memcpy(t->conns[t->nconns++].why, c->noted.why, sizeof(c->noted.why));
		c->noted.what = 0;
	}
	dial_all(t->shard);
	STAILQ_CONCAT(&t->notes, &n->notes);
	n->nnotes = 0;
	t->clients = n->clients;
	t->verbs = n->verbs;
	t->drops = n->drops;
	n->clients = n->verbs = n->drops = false;
	t->more = n->told = !TAILQ_EMPTY(&n->conns);
}

static void serve_conn(struct agent_conn *c, uint32_t what, uint32_t path_len, const char *why)
{
	if (c->leaving)
		return;
	if (what & CONN_NEWS_HEARD && c->state == AGENT_CONN_RECEIVING)
		cm_heard(c->agent->cm, c->cfg.local_cid);
	if (what & CONN_NEWS_PATH && c->core)
		agent_path_found(c, path_len);
	if (what & CONN_NEWS_REKEY)
		rekey_worn(c);
	if (what & CONN_NEWS_HUNG_UP)
		agent_conn_drop(c, why);
	else if (what & CONN_NEWS_FAILED)
		agent_conn_fail(c, why);
}

static void serve_notes(struct agent *a, struct notes_wanted *notes)
{
	struct note_wanted *w;
	char err[128];

	/* What cannot be sent now is asked for again by those who wait for an answer. */
	while ((w = STAILQ_FIRST(notes))) {
		STAILQ_REMOVE_HEAD(notes, entry);
		agent_send_note(a, w->proto, &w->note, err, sizeof(err));
		free(w);
	}
}

struct heard_left heard_serve(struct shard *s)
{
	struct heard_left left = {};
	uint64_t n;

	(void)!read(s->news.fd, &n, sizeof(n));
	for (bool more = true; more;) {
		struct taken t = { .shard = s };

		STAILQ_INIT(&t.notes);
		call_run(&s->call, take, &t);
		for (unsigned int i = 0; i < t.nconns; i++)
			serve_conn(t.conns[i].conn, t.conns[i].what, t.conns[i].path_len, t.conns[i].why);
		serve_notes(s->agent, &t.notes);
		if (t.drops)
			agent_recover_drops(s->agent);
		left.clients |= t.clients;
		left.verbs |= t.verbs;
		more = t.more;
	}
	return left;
}
