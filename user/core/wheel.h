/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hashed hierarchical timing wheel. Nine levels of 64 slots cover every 64-bit deadline at a
 * resolution of 1.024 us, so no timer is too far away and none is ever clamped.
 *
 * A timer sits at the level of the highest 6-bit digit in which its tick differs from the wheel's.
 * All slots in use at a level are therefore ahead of the wheel's digit there, the lowest level in
 * use holds the earliest timers, and one bit scan finds the next slot however far ahead it is.
 */
#ifndef FALCON_CORE_WHEEL_H
#define FALCON_CORE_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fc_wheel_const {
	FC_WHEEL_LEVELS = 9,
	FC_WHEEL_BITS = 6,
	FC_WHEEL_SLOTS = 1 << FC_WHEEL_BITS,
	FC_WHEEL_TICK_SHIFT = 10,	/* a tick is 1024 ns */
};

/* One timer, embedded in what it belongs to. All zero: not armed. */
struct fc_timer {
	struct fc_timer *next;	/* in its slot */
	struct fc_timer **link;	/* what points to this timer; NULL: not armed */
	uint64_t tick;		/* fires when the wheel reaches it */
	uint16_t where;		/* level * FC_WHEEL_SLOTS + slot */
	uint8_t kind;		/* the owner's */
};

struct fc_wheel {
	uint64_t tick;			/* everything up to here has fired */
	uint64_t used[FC_WHEEL_LEVELS];	/* bit n: slot n is not empty */
	struct fc_timer *slot[FC_WHEEL_LEVELS][FC_WHEEL_SLOTS];
};

/* What to do with a timer that has fired; it is no longer armed and may be armed again. */
typedef void (*fc_timer_fn)(void *arg, struct fc_timer *t, uint64_t now);

static inline bool fc_timer_armed(const struct fc_timer *t)
{
	return t->link != NULL;
}

/* The first tick that is not before |deadline|, ns: a timer never fires early. */
static inline uint64_t fc_wheel_tick_of(uint64_t deadline)
{
	uint64_t tick = (deadline >> FC_WHEEL_TICK_SHIFT) +
			((deadline & ((1U << FC_WHEEL_TICK_SHIFT) - 1)) != 0);

	/* Rounding the very last tick up would leave the wheel. */
	return tick - (tick >> (FC_WHEEL_LEVELS * FC_WHEEL_BITS));
}

/* Let |t| fire at |deadline|, ns, or at the next tick if that has passed. Moves an armed timer. */
void fc_timer_arm(struct fc_wheel *w, struct fc_timer *t, uint64_t deadline);

/* As fc_timer_arm(), but leaves a timer alone that is armed for the same time or earlier. */
void fc_timer_arm_earlier(struct fc_wheel *w, struct fc_timer *t, uint64_t deadline);

/* Disarm |t|; nothing happens if it is not armed. */
void fc_timer_cancel(struct fc_wheel *w, struct fc_timer *t);

/* Fire all timers that are due at |now|, ns, in the order of their ticks. */
void fc_wheel_advance(struct fc_wheel *w, uint64_t now, fc_timer_fn fn, void *arg);

/*
 * A time, ns, at or before which fc_wheel_advance() must be called again: never after the earliest
 * deadline, and before it only when a slot of a higher level has to be spread. UINT64_MAX: empty.
 */
uint64_t fc_wheel_next(const struct fc_wheel *w);

#endif /* FALCON_CORE_WHEEL_H */
