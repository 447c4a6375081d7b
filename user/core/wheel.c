/* SPDX-License-Identifier: BSD-2-Clause */
/* The timing wheel; wheel.h says how it is laid out. */
#include "core/wheel.h"

static uint32_t digit(uint64_t tick, uint32_t level)
{
	return (tick >> (level * FC_WHEEL_BITS)) & (FC_WHEEL_SLOTS - 1);
}

/* |t->tick| is ahead of the wheel. */
static void insert(struct fc_wheel *w, struct fc_timer *t)
{
	uint32_t level = (63 - (uint32_t)__builtin_clzll(t->tick ^ w->tick)) / FC_WHEEL_BITS;
	uint32_t n = digit(t->tick, level);
	struct fc_timer **head = &w->slot[level][n];

	t->where = (uint16_t)(level * FC_WHEEL_SLOTS + n);
	t->next = *head;
	if (t->next)
		t->next->link = &t->next;
	t->link = head;
	*head = t;
	w->used[level] |= 1ULL << n;
}

static void unlink_timer(struct fc_wheel *w, struct fc_timer *t)
{
	uint32_t level = t->where / FC_WHEEL_SLOTS, n = t->where % FC_WHEEL_SLOTS;

	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	t->link = NULL;
	if (!w->slot[level][n])
		w->used[level] &= ~(1ULL << n);
}

void fc_timer_arm(struct fc_wheel *w, struct fc_timer *t, uint64_t deadline)
{
	uint64_t tick = fc_wheel_tick_of(deadline);

	if (t->link)
		unlink_timer(w, t);
	t->tick = tick > w->tick ? tick : w->tick + 1;
	insert(w, t);
}

void fc_timer_arm_earlier(struct fc_wheel *w, struct fc_timer *t, uint64_t deadline)
{
	if (!t->link || fc_wheel_tick_of(deadline) < t->tick)
		fc_timer_arm(w, t, deadline);
}

void fc_timer_cancel(struct fc_wheel *w, struct fc_timer *t)
{
	if (t->link)
		unlink_timer(w, t);
}

/* The next slot in use: its level, and in |*tick| its first tick. FC_WHEEL_LEVELS if none. */
static uint32_t next_slot(const struct fc_wheel *w, uint64_t *tick)
{
	for (uint32_t level = 0; level < FC_WHEEL_LEVELS; level++) {
		uint32_t shift = level * FC_WHEEL_BITS;

		if (w->used[level]) {
			uint64_t above = w->tick >> shift >> FC_WHEEL_BITS << FC_WHEEL_BITS;

			*tick = (above | (uint32_t)__builtin_ctzll(w->used[level])) << shift;
			return level;
		}
	}
	return FC_WHEEL_LEVELS;
}

/* The wheel stands at the first tick of this slot: fire what is due, spread the rest below. */
static void open_slot(struct fc_wheel *w, uint32_t level, uint64_t now, fc_timer_fn fn, void *arg)
{
	struct fc_timer **head = &w->slot[level][digit(w->tick, level)];

	while (*head) {
		struct fc_timer *t = *head;

		unlink_timer(w, t);
		if (t->tick <= w->tick)
			fn(arg, t, now);
		else
			insert(w, t);
	}
}

void fc_wheel_advance(struct fc_wheel *w, uint64_t now, fc_timer_fn fn, void *arg)
{
	uint64_t target = now >> FC_WHEEL_TICK_SHIFT, tick;

	for (;;) {
		uint32_t level = next_slot(w, &tick);

		if (level == FC_WHEEL_LEVELS || tick > target)
			break;
		w->tick = tick;
		open_slot(w, level, now, fn, arg);
	}
	if (target > w->tick)
		w->tick = target;
}

uint64_t fc_wheel_next(const struct fc_wheel *w)
{
	uint64_t tick;

	if (next_slot(w, &tick) == FC_WHEEL_LEVELS)
		return UINT64_MAX;
	return tick << FC_WHEEL_TICK_SHIFT;
}
