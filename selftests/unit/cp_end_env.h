/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of a falcon-cp transfer's end have in common: a stub of libfalcon, a server with an
 * upload, and a disk whose fsync() takes until it is let go.
 */
#ifndef FALCON_SELFTESTS_CP_END_ENV_H
#define FALCON_SELFTESTS_CP_END_ENV_H

#include "unit.h"

#include <pthread.h>

#include "../../tools/cp/client.h"
#include "../../tools/cp/server.h"

enum {
	CONN = 7,
	CLIENT = 40,		/* its service */
	SENT_MAX = 16,
	TIMEOUT = 30,		/* seconds */
	ARENA = MAILBOX_BYTES + CP_SESSIONS * CP_SESSION_BYTES,
};

struct cp_end_env {
	uint8_t *arena;
	uint64_t now;			/* ns */
	struct cp_msg sent[SENT_MAX];
	struct falcon_cqe done[SENT_MAX];	/* completions of the same */
	unsigned int nsent, completed;
	/* Client only: what the server says. */
	struct falcon_msg in[SENT_MAX];
	unsigned int nin, read;
	const enum cp_type *answers;	/* to END; ends with 0 */
	unsigned int pings;		/* that come, one a second, the last of them as DONE */
	uint64_t ping_at;		/* ns, when the next comes */
	bool mute;			/* READY does not come */
};

extern struct cp_end_env env;

/* The disk: while it is |busy|, fsync() waits. */
struct cp_end_disk {
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool busy;
	int error;			/* errno that fsync() ends with; 0: none */
	bool done_when_said;		/* it is done with the next warning on standard error */
};

extern struct cp_end_disk disk;

/* A server with an upload of an empty file, all of which was said but END. */
struct upload {
	char dir[64];
	struct cp_config cfg;
	struct cp_server s;
	uint64_t session;
};

/* fsync() waits no longer. */
void disk_is_done(void);
/* |*state| is a struct upload; the disk is busy. */
int cp_end_set_up(void **state);
int cp_end_tear_down(void **state);
/* The client opens; READY was delivered. */
void start(struct upload *u);
/* |type|, of this session, comes in. */
void client_says(struct upload *u, enum cp_type type);
/* Completes all that the server sent. */
void complete(struct upload *u, bool delivered);
/* Let the disk be done with what it has, and the server find that out. */
void settle(struct upload *u);
/* Time passes, in which nobody says anything. */
void pass(struct upload *u, uint64_t ms);
bool file_is_there(const struct upload *u);
/* Sessions that are not free. */
unsigned int places_taken(const struct upload *u);

#endif /* FALCON_SELFTESTS_CP_END_ENV_H */
