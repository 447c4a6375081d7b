/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of an upload at the server: the data is forced to the disk and the file gets its name, in a thread
 * of its own. That takes as long as the disk does, and the server has other transfers to look after.
 */
#ifndef FALCON_TOOLS_CP_COMMIT_H
#define FALCON_TOOLS_CP_COMMIT_H

#include <pthread.h>
#include <stdbool.h>

#include "file.h"

enum cp_commit_stage {
	CP_COMMIT_SYNCING,	/* the file has no name yet */
	CP_COMMIT_PLACING,	/* it gets it, or has it */
	CP_COMMIT_CANCELLED,	/* it will not get it */
};

struct cp_commit {
	pthread_t thread;
	struct cp_sink *sink;		/* the thread's until cp_commit_end() */
	uint8_t digest[CP_DIGEST];
	int wake;			/* an eventfd: written to when it is over */
	int rc;				/* its outcome; valid once |over| */
	enum cp_commit_stage stage;	/* atomic */
	bool over;			/* atomic */
};

/*
 * Begin cp_sink_commit() of |sink|, which belongs to |c| until cp_commit_end(). 0, or a negative errno of
 * pthread_create(): nothing has begun.
 */
int cp_commit_begin(struct cp_commit *c, struct cp_sink *sink, const uint8_t digest[CP_DIGEST], int wake);
bool cp_commit_over(const struct cp_commit *c);
/* The file is not wanted any more. True: it will not get its name; false: it is too late for that. */
bool cp_commit_cancel(struct cp_commit *c);
/* Wait until it is over. The outcome: as of cp_sink_commit(), or -ECANCELED. */
int cp_commit_end(struct cp_commit *c);

#endif /* FALCON_TOOLS_CP_COMMIT_H */
