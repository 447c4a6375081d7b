/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How control and a shard's thread work on what both know, without locks.
 *
 * Control calls: the shard's thread runs a function between two turns, while control waits for it. So what
 * is changed only in calls may be read by both at any time, and within a call everything may be read and
 * changed. The shard never waits: what it has to say to control it keeps (shard.h, "news").
 *
 * A call must be short, since no packet moves meanwhile, and must not touch applications' memory: the loop
 * may go on in another thread then (stall.h), and the call would never end.
 */
#ifndef FALCON_AGENT_SHARD_CALL_H
#define FALCON_AGENT_SHARD_CALL_H

#include <stdbool.h>
#include <stdint.h>

struct call_slot {
	void (*fn)(void *arg);		/* control's, but while |state| is CALL_ASKED */
	void *arg;
	uint32_t state;			/* enum call_state, atomic: a futex */
	uint32_t drain_asked;		/* drains that control has asked for, atomic */
	uint32_t drained;		/* of these the latest that is over, atomic: a futex */
	bool served;			/* a thread turns; changed by control, while none does */
	uint32_t sleeping;		/* that thread is about to wait for |fd|, atomic */
	int fd;				/* an eventfd that ends its sleep */
};

enum call_state { CALL_NONE, CALL_ASKED };

/* 0, or a negative errno. Zeros are a slot that nobody serves: calls are made by the caller itself. */
int call_open(struct call_slot *c);
void call_close(struct call_slot *c);

/*
 * Have |fn|(|arg|) run by the thread that serves |c|; returns when it has. From within a call, or if no
 * thread serves, it is simply called.
 */
void call_run(struct call_slot *c, void (*fn)(void *arg), void *arg);
/*
 * The same by the thread that serves |all[0]|, while those that serve the |n| - 1 others do nothing: what
 * belongs to any of them may be read and changed. All are served, or none is.
 */
void call_run_all(struct call_slot *const *all, unsigned int n, void (*fn)(void *arg), void *arg);
/* Whether the caller is within a call. */
bool call_within(void);
/* Wait until the thread that serves |c| has answered call_drained(). Not within a call. */
void call_drain(struct call_slot *c);

/* By any thread: end the sleep of the one that serves, which has got something beside calls to look at. */
void call_nudge(struct call_slot *c);

/* By the thread that serves, once a turn: whether a call waits; and make it. */
bool call_waits(struct call_slot *c);
void call_serve(struct call_slot *c);
/* By that thread: the number of a drain that is wanted and not over, or 0; and that it is over. */
uint32_t call_drain_wanted(struct call_slot *c);
void call_drained(struct call_slot *c, uint32_t number);
/* By that thread, around a wait for |fd|. False: there is something to do, do not wait. */
bool call_sleep_begin(struct call_slot *c);
void call_sleep_end(struct call_slot *c);

#endif /* FALCON_AGENT_SHARD_CALL_H */
