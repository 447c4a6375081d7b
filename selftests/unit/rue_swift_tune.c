// SPDX-License-Identifier: BSD-2-Clause
/* What Swift computes beyond the reference, if asked: timeouts of loss recovery, the share of resources. */
#include "rue_env.h"

/* The reference knows none of it: the result's tail is empty. */
static void nothing_unless_asked(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	for (v.type = kRueEventTypeAck; v.type <= kRueEventTypeRetx; v.type++) {
		rue_env_run(&v);
		assert_int_equal(rue_env_get(&v, rack_rto), 0);
		assert_int_equal(rue_env_get(&v, tlp_timeout), 0);
		assert_int_equal(rue_env_get(&v, alpha_scale), 0);
		assert_int_equal(rue_env_get(&v, ar_percent), 0);
	}
	rue_env_fini(&v);
}

static void timeouts_follow_the_round_trip(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.params.rack_timeout_scalar = 1.25;
	v.params.tlp_timeout_scalar = 2.5;
	rue_env_params(&v);
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, rtt_state), 220);
	assert_int_equal(rue_env_get(&v, rack_rto), 275);
	assert_int_equal(rue_env_get(&v, tlp_timeout), 550);
	assert_int_equal(rue_env_get(&v, alpha_scale), 0);
	/* A retransmission goes by what is known. */
	v.type = kRueEventTypeRetx;
	v.rtt = 1001;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, rack_rto), 1251);
	assert_int_equal(rue_env_get(&v, tlp_timeout), 2502);
	v.rtt = 0xffffff;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, rack_rto), 0xffffff);
	assert_int_equal(rue_env_get(&v, tlp_timeout), 0xffffff);
	rue_env_fini(&v);
}

/* Of an ACK, or NACK, that leaves the windows as they are: at the targets. */
static uint32_t scale_of(struct rue_env *v, uint32_t fcwnd, uint32_t ncwnd)
{
	v->fcwnd = fcwnd * 1024;
	v->ncwnd = ncwnd;
	v->params.max_fabric_congestion_window = v->params.min_fabric_congestion_window = fcwnd;
	v->params.max_nic_congestion_window = v->params.min_nic_congestion_window = ncwnd;
	rue_env_params(v);
	rue_env_run(v);
	return (uint32_t)rue_env_get(v, alpha_scale);
}

static void share_goes_by_windows_delay_and_level(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.params.alpha_window = 16;
	v.params.max_flow_scaling = 0;
	v.params.fabric_base_delay = 200;
	v.params.topo_scaling_per_hop = 1;
	v.params.target_rx_buffer_level = 15;
	assert_int_equal(scale_of(&v, 16, 16), 256);
	assert_int_equal(scale_of(&v, 100, 200), 256);
	assert_int_equal(scale_of(&v, 8, 16), 128);
	assert_int_equal(scale_of(&v, 16, 4), 64);
	assert_int_equal(scale_of(&v, 8, 8), 64);
	v.level = 15;
	assert_int_equal(scale_of(&v, 16, 16), 256);
	v.level = 31;
	assert_int_equal(scale_of(&v, 16, 16), 128);
	v.level = 0;
	v.params.fabric_base_delay = 100;	/* half of what it was */
	assert_int_equal(scale_of(&v, 16, 16), 128);
	v.level = 31;
	assert_int_equal(scale_of(&v, 8, 8), 16);
	/* Never nothing. */
	assert_int_equal(scale_of(&v, 1, 1), 1);
	/* A retransmission tells of neither. */
	v.type = kRueEventTypeRetx;
	assert_int_equal(scale_of(&v, 8, 16), 128);
	rue_env_fini(&v);
}

/* As many of a window ask, however large it is: a window of one always, and none never. */
static void acks_follow_the_window(void **state)
{
	static const struct {
		double acks;
		uint32_t fcwnd, percent;
	} rows[] = {
		{4, 4, 100}, {4, 2, 100}, {4, 8, 50}, {4, 40, 10}, {4, 256, 2}, {0.5, 1, 50}, {1, 256, 1},
	};
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		v.params.acks_per_window = rows[i].acks;
		scale_of(&v, rows[i].fcwnd, 16);
		assert_int_equal(rue_env_get(&v, ar_percent), rows[i].percent);
	}
	rue_env_fini(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_unless_asked),
		cmocka_unit_test(timeouts_follow_the_round_trip),
		cmocka_unit_test(share_goes_by_windows_delay_and_level),
		cmocka_unit_test(acks_follow_the_window),
	};

	return unit_run(tests);
}
