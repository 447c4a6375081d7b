// SPDX-License-Identifier: BSD-2-Clause
#include "agent/service.h"

#include <systemd/sd-daemon.h>

#include "agent/agent.h"
#include "base/spin.h"

enum { SIGNS_IN_TIME = 3 };	/* signs of life in the time that is granted for one */

void service_open(struct agent *a)
{
	uint64_t usec = 0;

	a->service.interval = sd_watchdog_enabled(0, &usec) > 0 ? usec * 1000 / SIGNS_IN_TIME : 0;
	a->service.next = a->now + a->service.interval;
}

void service_ready(void)
{
	sd_notify(0, "READY=1");
}

void service_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(spin_clock() / 1000));
}

void service_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

uint64_t service_deadline(const struct agent *a)
{
	return a->service.interval ? a->service.next : UINT64_MAX;
}

/* In a call. */
static void nothing(void *arg)
{
	(void)arg;
}

void service_run(struct agent *a)
{
	for (unsigned int i = 0; i < a->plane.nshards; i++)
		call_run(&a->plane.shards[i].call, nothing, NULL);
	sd_notify(0, "WATCHDOG=1");
	a->service.next = a->now + a->service.interval;
}
