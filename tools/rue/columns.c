// SPDX-License-Identifier: BSD-2-Clause
/* The columns of a vector file, and the bits of event, result and state that they stand for. */
#include "rue.h"

#define BITS(n) ((1ULL << (n)) - 1)

/* falcon_bits_put() needs zeroed bits; a row is filled once. */
static uint64_t get_event(const struct rue_vector *v, const struct vector_column *c)
{
	return falcon_bits_get(v->event.w, c->lo, c->width);
}

static void put_event(struct rue_vector *v, const struct vector_column *c, uint64_t value)
{
	falcon_bits_put(v->event.w, c->lo, c->width, value);
}

static uint64_t get_result(const struct rue_vector *v, const struct vector_column *c)
{
	return falcon_bits_get(v->result.w, c->lo, c->width);
}

static void put_result(struct rue_vector *v, const struct vector_column *c, uint64_t value)
{
	falcon_bits_put(v->result.w, c->lo, c->width, value);
}

static uint64_t get_now(const struct rue_vector *v, const struct vector_column *c)
{
	(void)c;
	return v->now;
}

static void put_now(struct rue_vector *v, const struct vector_column *c, uint64_t value)
{
	(void)c;
	v->now = (uint32_t)value;
}

static uint64_t get_plb(const struct rue_vector *v, const struct vector_column *c)
{
	return (c->output ? v->after.plb : v->before.plb) >> c->lo & BITS(c->width);
}

static void put_plb(struct rue_vector *v, const struct vector_column *c, uint64_t value)
{
	uint32_t *word = c->output ? &v->after.plb : &v->before.plb;

	*word |= (uint32_t)value << c->lo;
}

static uint64_t get_fraction(const struct rue_vector *v, const struct vector_column *c)
{
	return c->output ? v->after.ncwnd_fraction : v->before.ncwnd_fraction;
}

static void put_fraction(struct rue_vector *v, const struct vector_column *c, uint64_t value)
{
	if (c->output)
		v->after.ncwnd_fraction = (uint16_t)value;
	else
		v->before.ncwnd_fraction = (uint16_t)value;
}

#define COLUMN(text, first, n, is_output, what)                                                    \
	{ .name = (text), .max = BITS(n), .output = (is_output), .get = get_##what,                \
	  .put = put_##what, .lo = (first), .width = (n) }
#define IN(text, first, n) COLUMN("in_" text, first, n, false, event)
#define OUT(text, first, n) COLUMN("out_" text, first, n, true, result)
#define EV(field) IN(#field, FALCON_EV_##field, FALCON_EV_##field##_WIDTH)
#define EV_AS(text, field) IN(text, FALCON_EV_##field, FALCON_EV_##field##_WIDTH)
#define RES(field) OUT(#field, FALCON_RES_##field, FALCON_RES_##field##_WIDTH)
#define RES_AS(text, field) OUT(text, FALCON_RES_##field, FALCON_RES_##field##_WIDTH)
#define PLB_IN(name, lo, width) COLUMN("st_in_plb_" #name, lo, width, false, plb),
#define PLB_OUT(name, lo, width) COLUMN("st_out_plb_" #name, lo, width, true, plb),

/* A window is one number here, and a fraction with an integer above it in event and result. */
_Static_assert(FALCON_EV_fcwnd_integer == FALCON_EV_fcwnd_fraction + 10, "one field");
_Static_assert(FALCON_RES_fcwnd == FALCON_RES_fcwnd_fraction + 10, "one field");

#define METADATA FALCON_RUE_METADATA_BITS

static const struct vector_column columns[] = {
	COLUMN("in_now", 0, 24, false, now),
	EV(connection_id), EV(event_type), EV(t1), EV(t2), EV(t3), EV(t4), EV(retransmit_count),
	EV(retransmit_reason), EV(nack_code), EV(forward_hops), EV(rx_buffer_level),
	IN("eack_own", FALCON_EV_cc_metadata + METADATA, 2),
	IN("cc_metadata", FALCON_EV_cc_metadata, METADATA),
	IN("fcwnd", FALCON_EV_fcwnd_fraction, 21),
	EV_AS("ipg", inter_packet_gap),
	EV(ncwnd), EV(retransmit_timeout), EV(num_packets_acked), EV(eack_drop), EV(eack),
	IN("reserved_0", FALCON_EV_eack + 1, 8),
	EV(event_queue_select), EV(delay_select), EV(fabric_window_time_marker),
	EV(nic_window_time_marker),
	EV_AS("nic_window_direction", ncwnd_direction),
	EV_AS("base_delay", base_delay_target),
	EV(delay_state), EV(rtt_state), EV(cc_opaque), EV(ecn_accumulated),
	EV_AS("gen_bit", gen),
	SWIFT_PLB_FIELDS(PLB_IN)
	COLUMN("st_in_ncwnd_fraction", 0, 16, false, fraction),
	RES(connection_id), RES(randomize_path),
	OUT("eack_own", FALCON_RES_cc_metadata + METADATA, 2),
	OUT("cc_metadata", FALCON_RES_cc_metadata, METADATA),
	OUT("fcwnd", FALCON_RES_fcwnd_fraction, 21),
	RES_AS("ipg", inter_packet_gap),
	RES(ncwnd), RES(retransmit_timeout), RES(event_queue_select), RES(delay_select),
	RES(fabric_window_time_marker), RES(nic_window_time_marker),
	RES_AS("nic_window_direction", ncwnd_direction),
	RES_AS("base_delay", base_delay_target),
	RES(delay_state), RES(rtt_state), RES(cc_opaque),
	SWIFT_PLB_FIELDS(PLB_OUT)
	COLUMN("st_out_ncwnd_fraction", 0, 16, true, fraction),
};

const struct vector_column *vector_columns(size_t *n)
{
	*n = sizeof(columns) / sizeof(columns[0]);
	return columns;
}
