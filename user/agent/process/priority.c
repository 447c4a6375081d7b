// SPDX-License-Identifier: BSD-2-Clause
#include "agent/process/priority.h"

#include <sched.h>
#include <sys/resource.h>

#include "base/sched_attr.h"

enum priority_const {
	NICE_HIGH = -20,
	RR_PRIORITY = 1,		/* above all that is not real-time, below the rest of that */
};
static const int64_t BUDGET_NS = PRIORITY_BURST_NS / 2;

/* |nice|: of PRIORITY_NORMAL. */
static int set(enum priority_level level, int nice)
{
	struct sched_attributes attr = {
		.policy = level == PRIORITY_REALTIME ? SCHED_RR : SCHED_OTHER,
		.flags = SCHED_ATTR_RESET_ON_FORK,
		.nice = level == PRIORITY_HIGH ? NICE_HIGH : nice,
		.priority = level == PRIORITY_REALTIME ? RR_PRIORITY : 0,
		.runtime = level == PRIORITY_REALTIME ? 0 : SCHED_ATTR_SLICE_MIN,
	};

	return sched_set_attributes(&attr);
}

const char *priority_name(enum priority_level level)
{
	static const char *const names[PRIORITY_LEVELS] = { "normal", "high", "realtime" };

	return names[level];
}

bool priority_allow(enum priority_level level)
{
	/* A nice value of n is 20 - n here (getrlimit(2)). */
	const struct rlimit nice = { 20 - NICE_HIGH, 20 - NICE_HIGH }, rr = { RR_PRIORITY, RR_PRIORITY };

	return (level < PRIORITY_HIGH || setrlimit(RLIMIT_NICE, &nice) == 0) &&
	       (level < PRIORITY_REALTIME || setrlimit(RLIMIT_RTPRIO, &rr) == 0);
}

int priority_take(struct priority *p, enum priority_level level, uint64_t now)
{
	enum priority_level granted = level;
	int nice = getpriority(PRIO_PROCESS, 0), refused = 0, rc;

	for (; granted > PRIORITY_NORMAL; granted--) {
		rc = set(granted, nice);
		if (rc == 0)
			break;
		refused = refused ? refused : rc;
	}
	/* What the operator has started the agent with otherwise, such as SCHED_BATCH, stays. */
	if (granted == PRIORITY_NORMAL && sched_getscheduler(0) == SCHED_OTHER)
		set(granted, nice);
	*p = (struct priority){
		.nice = nice, .raised = granted == PRIORITY_REALTIME, .at = now, .budget_ns = BUDGET_NS,
	};
	__atomic_store_n(&p->granted, granted, __ATOMIC_RELAXED);
	return refused;
}

void priority_lower(struct priority *p)
{
	if (set(PRIORITY_HIGH, p->nice) < 0)
		set(PRIORITY_NORMAL, p->nice);
	p->raised = false;
}

void priority_raise(struct priority *p)
{
	p->raised = set(PRIORITY_REALTIME, p->nice) == 0;
}

bool priority_account(struct priority *p, uint64_t now, bool ran)
{
	int64_t passed = (int64_t)(now - p->at);

	p->at = now;
	/* Time gives back half of what it takes. */
	p->budget_ns += ran && p->raised ? passed / 2 - passed : passed / 2;
	if (p->budget_ns > BUDGET_NS)
		p->budget_ns = BUDGET_NS;
	if (p->budget_ns > 0 || !p->raised)
		return false;
	priority_lower(p);
	return true;
}
