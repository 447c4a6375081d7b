/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a shard has to tell control: connections that fail, are hung up or have found something out, and what
 * its upper layers want of others. The shard writes it down and goes on; control takes it, in a call.
 */
#ifndef FALCON_AGENT_SHARD_NEWS_H
#define FALCON_AGENT_SHARD_NEWS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ulp/ulp.h"

struct agent;
struct agent_conn;
struct shard;

enum news_const {
	NEWS_NOTES_MAX = 256,		/* notes that wait for control */
	NEWS_WHY_MAX = 160,		/* bytes of a reason, with the final 0 */
	NEWS_PEER_MAX = 256,		/* bytes of a peer's name, with the final 0 */
};

/* What there is to say of a connection. */
enum conn_news {
	CONN_NEWS_HEARD = 0x1,		/* its peer has sent a packet: it is ready */
	CONN_NEWS_PATH = 0x2,		/* the search of its path has ended */
	CONN_NEWS_REKEY = 0x4,		/* its key has carried enough */
	CONN_NEWS_FAILED = 0x8,		/* it is to be set up anew */
	CONN_NEWS_HUNG_UP = 0x10,	/* its upper layer is done with it */
};

/* In struct agent_conn: the shard's. */
struct conn_noted {
	uint32_t what;			/* enum conn_news; 0: not in news.conns */
	uint32_t path_len;		/* CONN_NEWS_PATH: bytes of payload that the path carries */
	bool heard, rekey;		/* said once: of this incarnation, of this key */
	char why[NEWS_WHY_MAX];		/* CONN_NEWS_FAILED, CONN_NEWS_HUNG_UP */
	TAILQ_ENTRY(agent_conn) link;
};

/* A connection that an upper layer wants, in the middle of a turn. Its CID is reserved. */
struct dial_wanted {
	STAILQ_ENTRY(dial_wanted) entry;
	uint32_t cid;
	struct ulp_dial dial;		/* |peer| is the one below */
	char peer[NEWS_PEER_MAX];
};

struct note_wanted {
	STAILQ_ENTRY(note_wanted) entry;
	uint8_t proto;
	struct ulp_note note;
};

/* The shard's, and control's in calls. */
struct news {
	TAILQ_HEAD(, agent_conn) conns;	/* by |noted.link| */
	STAILQ_HEAD(, dial_wanted) dials;
	STAILQ_HEAD(notes_wanted, note_wanted) notes;
	unsigned int nnotes;
	bool clients;			/* an application broke the rules of its shared memory */
	bool drops;			/* a socket has dropped frames */
	bool verbs;			/* a verbs application is to be detached, or freed (rdma/stall.c) */
	bool told;			/* control has not looked since it was last woken */
	int fd;				/* an eventfd that wakes it */
};

/* 0, or a negative errno. */
int news_open(struct news *n);
/* The shard's thread has ended. */
void news_close(struct news *n);
/* Empty, without a descriptor: for tests. */
void news_init(struct news *n);

/* What follows is by the shard, but for news_forget(), and wakes control (conn/heard.h). */

/* |what| is true of |c|, for |why|, NULL unless it is FAILED or HUNG_UP. */
void news_of_conn(struct agent_conn *c, enum conn_news what, const char *why);
void news_path(struct agent_conn *c, uint32_t len);
/* What was not told yet of |c| is not so any more: it has another incarnation. In a call. */
void news_forget(struct agent_conn *c);
/* The connection |w| is wanted, under |cid|, which is reserved. |w| is the news' from then on. */
void news_dial(struct shard *s, uint32_t cid, struct dial_wanted *w);
/* The connection |cid| is not wanted after all: it is the caller's again. NULL: control knows of it. */
struct dial_wanted *news_withdraw(struct shard *s, uint32_t cid);
/* 0, or -ENOBUFS. */
int news_note(struct shard *s, uint8_t proto, const struct ulp_note *note);
void news_clients(struct shard *s);
void news_verbs(struct shard *s);
void news_drops(struct shard *s);

#endif /* FALCON_AGENT_SHARD_NEWS_H */
