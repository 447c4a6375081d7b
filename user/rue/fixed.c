// SPDX-License-Identifier: BSD-2-Clause
#include "rue/rue.h"

#define PASS_ON(r, e, to, from) falcon_res_put(r, to, falcon_ev_get(e, from))

static void fixed_process(void *engine, const struct falcon_rue_event *e, uint32_t now,
			  struct falcon_rue_result *r)
{
	(void)engine;
	(void)now;
	PASS_ON(r, e, connection_id, connection_id);
	PASS_ON(r, e, cc_metadata, cc_metadata);
	PASS_ON(r, e, fcwnd_fraction, fcwnd_fraction);
	PASS_ON(r, e, fcwnd, fcwnd_integer);
	PASS_ON(r, e, inter_packet_gap, inter_packet_gap);
	PASS_ON(r, e, ncwnd, ncwnd);
	PASS_ON(r, e, retransmit_timeout, retransmit_timeout);
	PASS_ON(r, e, fabric_window_time_marker, fabric_window_time_marker);
	PASS_ON(r, e, nic_window_time_marker, nic_window_time_marker);
	PASS_ON(r, e, ncwnd_direction, ncwnd_direction);
	PASS_ON(r, e, base_delay_target, base_delay_target);
	PASS_ON(r, e, delay_state, delay_state);
	PASS_ON(r, e, rtt_state, rtt_state);
	PASS_ON(r, e, cc_opaque, cc_opaque);
	PASS_ON(r, e, event_queue_select, event_queue_select);
	PASS_ON(r, e, delay_select, delay_select);
}

const struct rue_algorithm rue_fixed = {
	.abi = FALCON_RUE_ABI,
	.size = sizeof(rue_fixed),
	.name = "fixed",
	.process = fixed_process,
};
