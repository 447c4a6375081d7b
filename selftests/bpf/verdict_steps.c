// SPDX-License-Identifier: BSD-2-Clause
/* What verdicts are tested with in every encapsulation alike: see verdict.h. */
#include "verdict.h"

#include <string.h>

VERDICT_STEP(replayed)
{
	c->rx.remote_time = p->shape.iv + e->config->replay_margin;
}

VERDICT_STEP(reflected)
{
	uint8_t addr[16];

	UNUSED;
	memcpy(addr, p->shape.saddr, sizeof(addr));
	memcpy(p->shape.saddr, p->shape.daddr, sizeof(addr));
	memcpy(p->shape.daddr, addr, sizeof(addr));
}

VERDICT_STEP(expired_generation)
{
	UNUSED;
	e->config->cur_spi_gen = c->id.cur_spi_gen + 1;
}

VERDICT_STEP(pcid_differs)
{
	e->config->pcid_match = 1;
	p->shape.cookie ^= 1;
	if (!p->shape.vc)
		c->id.pcid = 1;
}

VERDICT_STEP(downgraded_to_clear)
{
	UNUSED;
	p->shape.encap = FALCON_PSP_CLEAR;
}

VERDICT_STEP(not_alive)
{
	UNUSED;
	c->id.flags &= ~(uint32_t)FALCON_CONN_ALIVE;
}

VERDICT_STEP(no_credit)
{
	UNUSED;
	e->credits[ENV_XSK].credits = 0;
}

VERDICT_STEP(offload_off)
{
	UNUSED;
	c->id.flags |= FALCON_CONN_STEER;
}

VERDICT_STEP(tunnel_missing)
{
	UNUSED;
	c->id.flags |= FALCON_CONN_TUNNEL;
}

VERDICT_STEP(tunnel4)
{
	tunnel_missing(e, c, p);
	p->shape.inner_len = FALCON_INNER_IPV4_LEN;
}

VERDICT_STEP(tunnel6)
{
	tunnel_missing(e, c, p);
	p->shape.inner_len = FALCON_INNER_IPV6_LEN;
}

VERDICT_VERIFY(at_no_cost)
{
	UNUSED;
	(void)before, (void)r;
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
}
