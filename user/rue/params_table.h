/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * * The table behind params.h: defaults and ranges of the reference; upper bounds that it leaves
 * open are what the formats of 10.6.2 or the arithmetic can hold. For params.c alone.
 */
#ifndef FALCON_RUE_PARAMS_TABLE_H
#define FALCON_RUE_PARAMS_TABLE_H

#include "rue/params.h"

#define ENTRY(t, field, spec_name, u, lo, hi, dflt, text)                                          \
	.name = #field, .spec = (spec_name), .unit = (u), .help = (text), .type = SWIFT_##t,       \
	.offset = offsetof(struct swift_params, field), .min = (lo), .max = (hi), .def = (dflt)
#define OPEN .above_min = true, .below_max = true
#define ABOVE .above_min = true
#define BELOW .below_max = true

#define WINDOW_MIN (1 / 1024.0)
#define FCWND_MAX (2047 + 1023 / 1024.0)
#define NCWND_MAX 2047
#define TIME_MAX 0xffffff

static const struct swift_param table[] = {
	{ENTRY(UINT, fabric_base_delay, "base_delay_target", "FU", 1, TIME_MAX, 191,
	       "target delay before flow and topology scaling (25 us)")},
	{ENTRY(REAL, max_fabric_congestion_window, "max_fcwnd", "packets", WINDOW_MIN, FCWND_MAX,
	       256, "largest fabric window")},
	{ENTRY(REAL, min_fabric_congestion_window, "min_fcwnd", "packets", WINDOW_MIN, FCWND_MAX,
	       0.01, "smallest fabric window")},
	{ENTRY(REAL, fabric_additive_increment_factor, "fabric_additive_increment", "packets", 0,
	       FCWND_MAX, 1, "growth of the fabric window in a round trip below the target"),
	 ABOVE},
	{ENTRY(REAL, fabric_multiplicative_decrease_factor, NULL, "", 0, 1, 0.8,
	       "share of the excess delay by which the fabric window is cut"),
	 OPEN},
	{ENTRY(REAL, max_fabric_multiplicative_decrease,
	       "max_fabric_multiplicative_decrease_factor", "", 0, 1, 0.5,
	       "largest single cut of the fabric window"),
	 OPEN},
	{ENTRY(BOOL, max_decrease_on_eack_nack_drop, NULL, "", 0, 1, 0,
	       "largest cut at an EACK with losses or a NACK for the window, whatever the delay")},
	{ENTRY(REAL, max_nic_congestion_window, "max_ncwnd", "requests", WINDOW_MIN, NCWND_MAX, 256,
	       "largest NIC window")},
	{ENTRY(REAL, min_nic_congestion_window, "min_ncwnd", "requests", WINDOW_MIN, NCWND_MAX, 1,
	       "smallest NIC window")},
	{ENTRY(REAL, nic_additive_increment_factor, "nic_additive_increment", "requests", 1,
	       NCWND_MAX, 1, "growth of the NIC window in a round trip below the target level")},
	{ENTRY(REAL, nic_multiplicative_decrease_factor, NULL, "", 0, 1, 0.8,
	       "share of the excess buffer level by which the NIC window is cut"),
	 OPEN},
	{ENTRY(REAL, max_nic_multiplicative_decrease, "max_nic_multiplicative_decrease_factor", "",
	       0, 1, 0.5, "largest single cut of the NIC window"),
	 OPEN},
	{ENTRY(UINT, target_rx_buffer_level, NULL, "level", 0, 31, 15,
	       "fill of the receiver's buffers from which the NIC window is cut")},
	{ENTRY(REAL, rtt_smoothing_alpha, NULL, "", 0, 1, 0.75,
	       "weight of the old value in the smoothed round-trip time"),
	 BELOW},
	{ENTRY(REAL, delay_smoothing_alpha, NULL, "", 0, 1, 0,
	       "weight of the old value in the smoothed delay; 0: no smoothing"),
	 BELOW},
	{ENTRY(UINT, topo_scaling_per_hop, "topology_scaling_per_hop", "FU", 1, 4095, 8,
	       "target delay added for each forward hop (1 us)")},
	{ENTRY(REAL, min_flow_scaling_window, NULL, "packets", 0, FCWND_MAX, 0.1,
	       "fabric window at which flow scaling adds the most"),
	 ABOVE},
	{ENTRY(REAL, max_flow_scaling_window, NULL, "packets", 0, FCWND_MAX, 256,
	       "with the smallest one, sets how fast flow scaling falls off"),
	 ABOVE},
	{ENTRY(UINT, max_flow_scaling, NULL, "FU", 0, TIME_MAX, 763,
	       "most that flow scaling adds to the target delay (100 us)")},
	{ENTRY(UINT, min_retransmit_timeout, "min_retransmission_timeout", "FU", 1, TIME_MAX, 1907,
	       "smallest retransmission timeout (250 us)")},
	{ENTRY(REAL, retransmit_timeout_scalar, NULL, "", 1, 1000000, 2,
	       "retransmission timeout in smoothed round-trip times")},
	{ENTRY(UINT, retransmit_limit, NULL, "", 1, 255, 3,
	       "retransmissions in sequence after which the fabric window goes to its minimum")},
	{ENTRY(BOOL, calc_rtt_smooth, NULL, "", 0, 1, 0,
	       "gap and time markers use the smoothed round-trip time")},
	{ENTRY(REAL, ipg_time_scalar, NULL, "TW/FU", 0, 1000000, 0.256,
	       "timing-wheel units (512 ns) in a Falcon time unit"),
	 ABOVE},
	{ENTRY(UINT, ipg_bits, NULL, "bits", 1, 20, 16, "the inter-packet gap saturates at these")},
	{ENTRY(BOOL, randomize_path, NULL, "", 0, 1, 0,
	       "Protective Load Balancing: change the path while congestion lasts")},
	{ENTRY(REAL, plb_target_rtt_multiplier, "plb_target_delay_multiplier", "", 0, 1000000, 1.01,
	       "delay, in targets, over which an acknowledged packet counts as congested"),
	 ABOVE},
	{ENTRY(REAL, plb_congestion_threshold, NULL, "", 0, 1, 0.5,
	       "share of congested packets from which a round trip is congested")},
	{ENTRY(UINT, plb_attempt_threshold, NULL, "", 0, 15, 5,
	       "congested round trips in sequence after which the path is changed")},
	{ENTRY(REAL, rack_timeout_scalar, NULL, "", 0, 1000, 0,
	       "RACK's timeout in smoothed round-trip times; 0: the sender computes it")},
	{ENTRY(REAL, tlp_timeout_scalar, NULL, "", 0, 1000, 0,
	       "time to a tail loss probe in smoothed round-trip times; 0: the sender computes it")},
	{ENTRY(REAL, alpha_window, NULL, "packets", 0, FCWND_MAX,
	       0, "windows that make a connection's share of resources whole; 0: it always is")},
	{ENTRY(REAL, acks_per_window, NULL, "", 0, FCWND_MAX, 0,
	       "packets of each congestion window that ask for an ACK; 0: as the sender is configured")},
};

#endif /* FALCON_RUE_PARAMS_TABLE_H */
