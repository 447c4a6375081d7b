// SPDX-License-Identifier: BSD-2-Clause
/*
 * Clocks of hosts. Events happen in virtual time; what a host knows of it is its own clock, which began
 * somewhere and goes at a rate of its own. Everything that a core is told, and all that is in packets, is
 * by the clock of its host.
 */
#include "sim.h"

uint64_t host_clock(const struct host *h, uint64_t at)
{
	uint64_t t = at - h->sim->start;

	return h->cfg->clock + t + t * h->cfg->clock_fast / SIM_PPM - t * h->cfg->clock_slow / SIM_PPM;
}

uint64_t host_now(const struct host *h)
{
	return host_clock(h, h->sim->now);
}

uint64_t host_since(const struct host *h, uint64_t then)
{
	return host_now(h) - host_clock(h, then);
}

uint64_t host_when(const struct host *h, uint64_t shows)
{
	uint64_t rate = SIM_PPM + h->cfg->clock_fast - h->cfg->clock_slow, at;

	if (shows == FCORE_NEVER)
		return FCORE_NEVER;
	if (shows <= h->cfg->clock)
		return h->sim->start;
	at = h->sim->start + (uint64_t)((unsigned __int128)(shows - h->cfg->clock) * SIM_PPM / rate);
	/* The divisions have rounded. */
	while (host_clock(h, at) < shows)
		at++;
	while (at > h->sim->start && host_clock(h, at - 1) >= shows)
		at--;
	return at;
}
