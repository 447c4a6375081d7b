// SPDX-License-Identifier: BSD-2-Clause
#include "commit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

/* From CP_COMMIT_SYNCING to |next|. False: the other side was first. */
static bool pass(struct cp_commit *c, enum cp_commit_stage next)
{
	enum cp_commit_stage expected = CP_COMMIT_SYNCING;

	return __atomic_compare_exchange_n(&c->stage, &expected, next, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void *commit(void *arg)
{
	struct cp_commit *c = arg;
	int rc = cp_sink_sync(c->sink, c->digest);

	if (!rc)
		rc = pass(c, CP_COMMIT_PLACING) ? cp_sink_place(c->sink) : -ECANCELED;
	c->rc = rc;
	__atomic_store_n(&c->over, true, __ATOMIC_RELEASE);
	eventfd_write(c->wake, 1);
	return NULL;
}

int cp_commit_begin(struct cp_commit *c, struct cp_sink *sink, const uint8_t digest[CP_DIGEST], int wake)
{
	sigset_t all, before;
	int rc;

	*c = (struct cp_commit){ .sink = sink, .wake = wake };
	memcpy(c->digest, digest, CP_DIGEST);
	/* Signals are for the server's loop, which they wake. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&c->thread, NULL, commit, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

bool cp_commit_over(const struct cp_commit *c)
{
	return __atomic_load_n(&c->over, __ATOMIC_ACQUIRE);
}

bool cp_commit_cancel(struct cp_commit *c)
{
	return pass(c, CP_COMMIT_CANCELLED);
}

int cp_commit_end(struct cp_commit *c)
{
	pthread_join(c->thread, NULL);
	return c->rc;
}
