/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls in which an application can hold the loop up for as long as it likes: those that touch its
 * memory, for its pages may be another program's to supply (userfaultfd, a file on FUSE, NFS). The
 * kernel knows no way to give such a call up. So another thread looks whether the loop's comes back
 * from such calls in time, and if not, has a third one go on with the loop. The one that is held up ends
 * when its call does.
 *
 * What stands on the stack between the loop and such a call is lost then, so nothing may be kept there
 * that would be missed: the loop is entered anew, after stalled() has been told.
 */
#ifndef FALCON_AGENT_SHARD_STALL_H
#define FALCON_AGENT_SHARD_STALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stall;

/*
 * A call, in memory that stays until it is over. At most one of those that name the same struct is
 * made at a time.
 */
struct stall_call {
	uint64_t number;		/* stall.c's */
	ssize_t result;			/* of a call that was late, once stall_over() */
	bool over;			/* atomic: written by the thread that was held up */
};

struct stall_ops {
	void (*loop)(void *arg);
	/* |call| holds up the thread that turned the loop; called by the one that goes on. */
	void (*stalled)(void *arg, struct stall_call *call);
};

/* NULL if memory or descriptors are short. */
struct stall *stall_open(void);
void stall_close(struct stall *s);
/* A descriptor that is readable when a call that was late may be over. */
int stall_fd(const struct stall *s);
/* Read it empty. */
void stall_read(struct stall *s);

/*
 * Have |ops->loop| run until it returns. 0, or a negative errno: no thread could be started. Threads
 * that are held up yet end with the process, or when their calls do.
 */
int stall_run(struct stall *s, const struct stall_ops *ops, void *arg);
/* Calls are made from now on that may be late (|on|), or no more: without, nobody looks. */
void stall_watch(struct stall *s, bool on);

/*
 * By the loop's thread, around what may be late, with its result. stall_end() does not return if the
 * loop has gone on without it: the thread ends. |s| NULL: nobody watches.
 */
void stall_begin(struct stall *s, struct stall_call *call);
void stall_end(struct stall *s, struct stall_call *call, ssize_t result);

/* A call of which stalled() was told is over. */
static inline bool stall_over(const struct stall_call *call)
{
	return __atomic_load_n(&call->over, __ATOMIC_ACQUIRE);
}

#endif /* FALCON_AGENT_SHARD_STALL_H */
