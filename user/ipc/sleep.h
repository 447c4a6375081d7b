/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Going to sleep without missing what comes. A word of shared memory says that its sleeper is about to
 * sleep; whoever has something for it, a waker, then sends a signal (by an eventfd, a socket, a futex).
 *
 *	sleeper					waker
 *	sleep_announce(&word)			publish: a ring's tail, a bit
 *	look for work once more			if (sleep_claim(&word))
 *	none: sleep until the signal			send the signal
 *	sleep_over(&word)
 *
 * Why nothing is missed: each side stores first and then looks at what the other stores, with a full
 * barrier in between. All full barriers happen in one order. The side whose barrier comes later looks after
 * it, and so sees what the other has stored before the earlier one: the sleeper finds the work, or the waker
 * finds the word set, or both. Release and acquire would not do: a CPU may then look while its own store
 * still waits in its store buffer, on x86 as on arm64, and both sides may find nothing.
 *
 * The waker exchanges the word for 0 before it signals: one signal a sleep, however much is published. If
 * both find something, the signal ends the next sleep at once, which costs a turn and nothing else. Neither
 * side relies on the word for anything else, so that what a hostile one writes costs itself its signals.
 *
 * Not every announcement is such a word, and not every signal is claimed: a count of sleepers, a completion
 * queue that is armed, a switch in the kernel. They use the barriers, by the name of the side they are on.
 *
 * XDP wakes the agent by the same rule (bpf/falcon_notify.h): there an atomic read-modify-write publishes,
 * which is a full barrier. falcon/rue_queue.h has a way of its own, and says why it holds.
 */
#ifndef FALCON_IPC_SLEEP_H
#define FALCON_IPC_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "falcon/types.h"

/* The sleeper's barrier: between its announcement, whatever that is, and its last look for work. */
static inline void sleep_announced(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The waker's barrier: between what it publishes and its look at the announcement. */
static inline void sleep_published(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The sleeper says that it is about to sleep. It has to look for work once more now. */
static inline void sleep_announce(uint32_t *word)
{
	falcon_store(word, 1U);
	sleep_announced();
}

/* The sleeper does not sleep, or no more. */
static inline void sleep_over(uint32_t *word)
{
	falcon_store(word, 0U);
}

/*
 * sleep_claim() for a waker that has published by a sequentially consistent read-modify-write: that is the
 * barrier, as the load here is sequentially consistent, too.
 */
static inline bool sleep_claim_after_rmw(uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST) && __atomic_exchange_n(word, 0U, __ATOMIC_ACQ_REL);
}

/* A waker has published. True: the sleeper is about to sleep, and the signal is this caller's to send. */
static inline bool sleep_claim(uint32_t *word)
{
	sleep_published();
	return sleep_claim_after_rmw(word);
}

/* Several sleepers that one signal wakes: each counts itself, and then looks for work once more. */
static inline void sleep_enter(uint32_t *count)
{
	__atomic_add_fetch(count, 1U, __ATOMIC_ACQ_REL);
	sleep_announced();
}

static inline void sleep_leave(uint32_t *count)
{
	__atomic_sub_fetch(count, 1U, __ATOMIC_ACQ_REL);
}

/* A waker has published. True: there are sleepers to be woken. */
static inline bool sleep_any(const uint32_t *count)
{
	sleep_published();
	return falcon_load(count) != 0;
}

#endif /* FALCON_IPC_SLEEP_H */
