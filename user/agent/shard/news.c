// SPDX-License-Identifier: BSD-2-Clause
#include "agent/shard/news.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/shard/conn.h"
#include "agent/shard/shard.h"

void news_init(struct news *n)
{
	*n = (struct news){ .fd = -1 };
	TAILQ_INIT(&n->conns);
	STAILQ_INIT(&n->dials);
	STAILQ_INIT(&n->notes);
}

int news_open(struct news *n)
{
	news_init(n);
	n->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return n->fd < 0 ? -errno : 0;
}

void news_close(struct news *n)
{
	struct dial_wanted *d;
	struct note_wanted *w;

	while ((d = STAILQ_FIRST(&n->dials))) {
		STAILQ_REMOVE_HEAD(&n->dials, entry);
		free(d);
	}
	while ((w = STAILQ_FIRST(&n->notes))) {
		STAILQ_REMOVE_HEAD(&n->notes, entry);
		free(w);
	}
	close(n->fd);
}

static void wake_control(struct news *n)
{
	static const uint64_t one = 1;

	if (!n->told)
		(void)!write(n->fd, &one, sizeof(one));
	n->told = true;
}

void news_of_conn(struct agent_conn *c, enum conn_news what, const char *why)
{
	struct news *n = &c->shard->news;

	if (why)
		snprintf(c->noted.why, sizeof(c->noted.why), "%s", why);
	if (!c->noted.what)
		TAILQ_INSERT_TAIL(&n->conns, c, noted.link);
	c->noted.what |= what;
	wake_control(n);
}

void news_path(struct agent_conn *c, uint32_t len)
{
	c->noted.path_len = len;
	news_of_conn(c, CONN_NEWS_PATH, NULL);
}

void news_forget(struct agent_conn *c)
{
	bool hung_up = c->noted.what & CONN_NEWS_HUNG_UP;

	if (c->noted.what && !hung_up)
		TAILQ_REMOVE(&c->shard->news.conns, c, noted.link);
	c->noted.what = hung_up ? CONN_NEWS_HUNG_UP : 0;
	c->noted.heard = c->noted.rekey = false;
}

void news_clients(struct shard *s)
{
	s->news.clients = true;
	wake_control(&s->news);
}

void news_verbs(struct shard *s)
{
	s->news.verbs = true;
	wake_control(&s->news);
}

void news_drops(struct shard *s)
{
	s->news.drops = true;
	wake_control(&s->news);
}

void news_dial(struct shard *s, uint32_t cid, struct dial_wanted *w)
{
	w->cid = cid;
	STAILQ_INSERT_TAIL(&s->news.dials, w, entry);
	wake_control(&s->news);
}

struct dial_wanted *news_withdraw(struct shard *s, uint32_t cid)
{
	struct dial_wanted *w;

	STAILQ_FOREACH(w, &s->news.dials, entry) {
		if (w->cid != cid)
			continue;
		STAILQ_REMOVE(&s->news.dials, w, dial_wanted, entry);
		return w;
	}
	return NULL;
}

int news_note(struct shard *s, uint8_t proto, const struct ulp_note *note)
{
	struct note_wanted *w = s->news.nnotes < NEWS_NOTES_MAX ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return -ENOBUFS;
	w->proto = proto;
	w->note = *note;
	STAILQ_INSERT_TAIL(&s->news.notes, w, entry);
	s->news.nnotes++;
	wake_control(&s->news);
	return 0;
}
