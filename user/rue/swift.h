/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * * Swift and Protective Load Balancing (Falcon 10.3 to 10.5), with the arithmetic of the reference
 * implementation, so that every bit of a result is the same. README.md has the rules.
 *
 * Of a connection's state all but six bytes travel in the event. Those six lie in the engine, at
 * the index in the lower 21 bits of the event's base_delay_target; its upper three bits choose one
 * of eight profiles, that is, sets of parameters. So the connection's owner writes index and
 * profile there once, and the delay target itself is a parameter.
 */
#ifndef FALCON_RUE_SWIFT_H
#define FALCON_RUE_SWIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rue/rue.h"

/*
 * * Parameters (10.5), described one by one in params.c. FU is the Falcon time unit, 131.072 ns; TW
 * the timing wheel's, 512 ns. Smoothing alphas weigh the old value.
 */
struct swift_params {
	double max_fabric_congestion_window;		/* packets */
	double min_fabric_congestion_window;		/* packets */
	double fabric_additive_increment_factor;	/* packets */
	double fabric_multiplicative_decrease_factor;
	double max_fabric_multiplicative_decrease;
	double max_nic_congestion_window;		/* requests */
	double min_nic_congestion_window;		/* requests */
	double nic_additive_increment_factor;		/* requests */
	double nic_multiplicative_decrease_factor;
	double max_nic_multiplicative_decrease;
	double rtt_smoothing_alpha;
	double delay_smoothing_alpha;
	double min_flow_scaling_window;			/* packets */
	double max_flow_scaling_window;			/* packets */
	double retransmit_timeout_scalar;
	double ipg_time_scalar;				/* TW per FU */
	double plb_target_rtt_multiplier;
	double plb_congestion_threshold;
	double rack_timeout_scalar;			/* smoothed round trips; 0: none */
	double tlp_timeout_scalar;			/* smoothed round trips; 0: none */
	double alpha_window;				/* packets, requests; 0: none */
	double acks_per_window;				/* ACK requests; 0: none */
	uint32_t fabric_base_delay;			/* FU */
	uint32_t target_rx_buffer_level;
	uint32_t topo_scaling_per_hop;			/* FU */
	uint32_t max_flow_scaling;			/* FU */
	uint32_t min_retransmit_timeout;		/* FU */
	uint32_t retransmit_limit;
	uint32_t ipg_bits;
	uint32_t plb_attempt_threshold;			/* round trips */
	bool max_decrease_on_eack_nack_drop;
	bool calc_rtt_smooth;
	bool randomize_path;
};

/* What of a connection the engine keeps; starts as zeros. */
struct swift_state {
	uint32_t plb;			/* SWIFT_PLB_*: this round trip, and those before */
	uint16_t ncwnd_fraction;	/* 1/1024 requests, 0 to 1024 inclusive */
	uint16_t unused;
};

/* Fields of swift_state.plb: F(name, first bit, width). */
#define SWIFT_PLB_FIELDS(F)                                                                        \
	F(congested, 0, 10)	/* of |acked|, how many met congestion */                          \
	F(acked, 10, 10)	/* packets acknowledged in this round trip */                      \
	F(attempts, 20, 4)	/* congested round trips in sequence */
#define SWIFT_PLB_ENUM(name, lo, width)                                                            \
	SWIFT_PLB_##name = lo, SWIFT_PLB_##name##_MAX = (1 << width) - 1,
enum swift_plb_bits { SWIFT_PLB_FIELDS(SWIFT_PLB_ENUM) };
#undef SWIFT_PLB_ENUM

#define swift_plb_get(word, name) (((word) >> SWIFT_PLB_##name) & SWIFT_PLB_##name##_MAX)

enum {
	SWIFT_PROFILES = FALCON_RUE_PROFILES,
	SWIFT_INDEX_BITS = FALCON_RUE_INDEX_BITS,	/* of base_delay_target; the profile is above */
	SWIFT_STATE_BYTES = sizeof(struct swift_state),
};

struct swift;

/*
 * An engine with default parameters and zero state of |connections| (at most 2^21; an index in an
 * event is taken modulo the next power of two). |stride| bytes are set aside for each connection,
 * a power of two from SWIFT_STATE_BYTES to 4096; Swift uses the first ones, the rest is for what is
 * built on it. Returns NULL if an argument is out of range or memory is out.
 */
struct swift *swift_create(uint32_t connections, uint32_t stride);
void swift_destroy(struct swift *s);

/*
 * Let |profile| (0 to 7) have the parameters |p|. A profile never set is an alias of profile 0.
 * Returns 0, or -EINVAL with the reason in |err| if they are out of range or contradict each other;
 * nothing changes then.
 */
int swift_set_profile(struct swift *s, unsigned int profile, const struct swift_params *p,
		      char *err, size_t size);

/* Bytes of the state of all connections. */
size_t swift_state_bytes(const struct swift *s);
/*
 * Keep the state in |memory| of swift_state_bytes() from now on, or if that is NULL in the engine's own.
 * |adopt|: go on from what is there; else what is known now moves over.
 */
void swift_state_move(struct swift *s, void *memory, bool adopt);

/* The state that events with |base_delay_target| use. Valid as long as the engine. */
struct swift_state *swift_state(struct swift *s, uint32_t base_delay_target);

#endif /* FALCON_RUE_SWIFT_H */
