// SPDX-License-Identifier: BSD-2-Clause
#include "agent/shard/call.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The calling thread is in a call: what it calls on the way is part of it. */
static _Thread_local bool within;

static void wait_while(uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void change(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/*
 * Each side stores its own word and then loads the other's, sequentially consistent: so at least one of
 * the two sees what the other has stored.
 */
static void ask(struct call_slot *c, uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
	call_nudge(c);
}

void call_nudge(struct call_slot *c)
{
	static const uint64_t one = 1;

	if (__atomic_load_n(&c->sleeping, __ATOMIC_SEQ_CST))
		(void)!write(c->fd, &one, sizeof(one));
}

int call_open(struct call_slot *c)
{
	*c = (struct call_slot){ .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	return c->fd < 0 ? -errno : 0;
}

void call_close(struct call_slot *c)
{
	close(c->fd);
}

static void make(void (*fn)(void *arg), void *arg)
{
	bool before = within;

	within = true;
	fn(arg);
	within = before;
}

static void begin(struct call_slot *c, void (*fn)(void *arg), void *arg)
{
	c->fn = fn;
	c->arg = arg;
	ask(c, &c->state, CALL_ASKED);
}

static void await(struct call_slot *c)
{
	wait_while(&c->state, CALL_ASKED);
}

void call_run(struct call_slot *c, void (*fn)(void *arg), void *arg)
{
	if (within || !c->served)
		return make(fn, arg);
	begin(c, fn, arg);
	await(c);
}

/* What keeps all but one of those who serve, while that one makes the call. */
struct gathering {
	uint32_t waiting;		/* how many of them do, atomic: a futex */
	uint32_t over;			/* atomic: a futex */
};

static void wait_for_end(void *arg)
{
	struct gathering *g = arg;

	change(&g->waiting, g->waiting + 1);
	wait_while(&g->over, 0);
}

void call_run_all(struct call_slot *const *all, unsigned int n, void (*fn)(void *arg), void *arg)
{
	struct gathering g = {};

	if (within || n == 0 || !all[0]->served)
		return make(fn, arg);
	/* One after another: the count is then each one's to change. */
	for (unsigned int i = 1; i < n; i++) {
		begin(all[i], wait_for_end, &g);
		wait_while(&g.waiting, i - 1);
	}
	call_run(all[0], fn, arg);
	change(&g.over, 1);
	for (unsigned int i = 1; i < n; i++)
		await(all[i]);
}

bool call_within(void)
{
	return within;
}

bool call_waits(struct call_slot *c)
{
	return __atomic_load_n(&c->state, __ATOMIC_SEQ_CST) == CALL_ASKED;
}

void call_serve(struct call_slot *c)
{
	make(c->fn, c->arg);
	change(&c->state, CALL_NONE);
}

void call_drain(struct call_slot *c)
{
	uint32_t before = c->drain_asked;

	ask(c, &c->drain_asked, before + 1);
	wait_while(&c->drained, before);
}

uint32_t call_drain_wanted(struct call_slot *c)
{
	uint32_t asked = __atomic_load_n(&c->drain_asked, __ATOMIC_SEQ_CST);

	return asked == c->drained ? 0 : asked;
}

void call_drained(struct call_slot *c, uint32_t number)
{
	change(&c->drained, number);
}

bool call_sleep_begin(struct call_slot *c)
{
	__atomic_store_n(&c->sleeping, 1, __ATOMIC_SEQ_CST);
	if (!call_waits(c) && !call_drain_wanted(c))
		return true;
	call_sleep_end(c);
	return false;
}

void call_sleep_end(struct call_slot *c)
{
	__atomic_store_n(&c->sleeping, 0, __ATOMIC_RELAXED);
}
