/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection with several flows. */
#ifndef FALCON_SELFTESTS_CORE_FLOWS_H
#define FALCON_SELFTESTS_CORE_FLOWS_H

#include "core_env.h"

enum { RTO = 1000000, SLACK = 2000, FRACTION = FALCON_RES_fcwnd_fraction_WIDTH };

static inline void open_flows(uint32_t flows, uint32_t fcwnd)
{
	struct fcore_params p = env_params(false);

	p.flows = flows;
	p.fcwnd = fcwnd;
	env_open(&p);
}

/* A result that gives |flow| a window of |fcwnd| packets, and a pacing gap if that is 0. */
static inline void result(uint32_t flow, uint32_t fcwnd, uint32_t gap)
{
	struct falcon_rue_result r = { 0 };

	falcon_res_put(&r, connection_id, falcon_rue_id(ENV_CID, flow));
	falcon_res_put(&r, fcwnd, fcwnd);
	falcon_res_put(&r, inter_packet_gap, gap);
	falcon_res_put(&r, ncwnd, 500);
	fcore_rue_result(env.c, &r, env.now);
}

static inline struct fcore_flow_stats flow_stats(uint32_t flow)
{
	struct fcore_flow_stats s = { 0 };

	fcore_conn_flow(env.c, flow, &s);
	return s;
}

/* Submit |n| pushes and run; counts the packets that took each flow. */
static inline void send_on(uint32_t n, uint32_t count[FALCON_MAX_FLOWS])
{
	memset(count, 0, FALCON_MAX_FLOWS * sizeof(*count));
	for (uint32_t i = 0; i < n; i++)
		env_push(i);
	env_run();
	for (uint32_t i = 0; i < env.nsent; i++)
		count[env.sent[i].flow]++;
}

/* Packets of |flow| among those that the latest run sent. */
static inline uint32_t sent_on(uint32_t flow)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < env.nsent; i++)
		n += env.sent[i].flow == flow;
	return n;
}

#endif /* FALCON_SELFTESTS_CORE_FLOWS_H */
