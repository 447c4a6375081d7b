/* SPDX-License-Identifier: BSD-2-Clause */
/* falcon-cp's server: its sessions. */
#ifndef FALCON_TOOLS_CP_SERVER_H
#define FALCON_TOOLS_CP_SERVER_H

#include "commit.h"
#include "cp.h"

enum cp_server_const {
	CP_SESSIONS = 16,
	CP_SESSION_BYTES = CP_SLOTS * CP_SLOT_SIZE,
	/* Messages that one may cause: a chunk that closes a gap frees all slots. */
	CP_REPLIES_MAX = CP_SLOTS + 1,
};

/* A chunk in a slot that waits for its turn. */
struct cp_chunk {
	bool held;
	uint64_t offset;
	uint32_t len;
};

enum cp_session_kind {
	CP_SESSION_FREE = 0,
	CP_SESSION_SINK,	/* upload: the client is the source */
	CP_SESSION_SOURCE,	/* download */
	CP_SESSION_COMMITTING,	/* upload, all of which has come: a thread has the file */
	CP_SESSION_CANCELLED,	/* the same, but its client has been told, or has gone */
	CP_SESSION_OVER,	/* its last message, DONE or ABORT, is on its way */
};

/* A transfer under way. */
struct cp_session {
	enum cp_session_kind kind;
	uint32_t generation;	/* tells the sessions apart that had this place */
	uint64_t id;		/* random, not 0 */
	uint32_t conn;
	uint16_t service;	/* the client's */
	uint64_t base;		/* bytes into the arena: its slots */
	uint64_t active;	/* ns: last message */
	uint64_t pinged;	/* ns: last PING of ours, or last message */
	bool ended;		/* source: END was sent */
	union {
		struct cp_sink sink;
		struct cp_source source;
	};
	struct cp_commit commit;	/* while COMMITTING or CANCELLED; the thread has |sink| */
	struct cp_chunk chunks[CP_SLOTS];
};

struct cp_server {
	const struct cp_config *cfg;
	struct falcon *f;
	char why[256];		/* it is not attached */
	struct mailbox mb;
	int dir;
	int wake;		/* an eventfd: a commit is over */
	uint64_t now;		/* ns */
	struct cp_session sessions[CP_SESSIONS];
};

/* Serve message |m| of its client, which came on a connection and from a service. */
void cp_session_message(struct cp_server *s, const struct falcon_msg *m);
/*
 * A message to a session's client was delivered, or could not be since the client is gone. |owner|
 * is that of mailbox_send().
 */
void cp_session_completed(struct cp_server *s, uint32_t owner, bool delivered);
/*
 * Ping sessions that are silent, end those that have been for longer than the timeout, and say what became of
 * files that were committed.
 */
void cp_session_expire(struct cp_server *s);
/* Whether a commit is under way, which will write to |s->wake|. */
bool cp_session_commits(const struct cp_server *s);
/*
 * End all sessions, saying |why| to their clients if they can be told. Files that are still on their way to
 * the disk do not get their names; their sessions are over when the disk is done with them.
 */
void cp_session_end_all(struct cp_server *s, const char *why);
/* Wait for those, with a line on standard error for each. */
void cp_session_wait(struct cp_server *s);

#endif /* FALCON_TOOLS_CP_SERVER_H */
