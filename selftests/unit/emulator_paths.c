// SPDX-License-Identifier: BSD-2-Clause
/* How falcon-wire chooses paths and ports, and what it does inside frames. */
#include "emulator_env.h"

enum { PATHS = 4, FLOWS = 4000 };

static const uint8_t udp6[] = {
	2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd,			/* Ethernet */
	0x60, 0x20, 0, 0, 0, 8, 17, 64,						/* IPv6, ECT(0) */
	0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
	0xc0, 0, 3, 0xe8, 0, 8, 0, 0,						/* UDP */
};

static struct frame_info look6(uint32_t label)
{
	struct frame_info info;
	uint8_t data[sizeof(udp6)];

	memcpy(data, udp6, sizeof(data));
	data[15] = (uint8_t)(0x20 | label >> 16);
	data[16] = (uint8_t)(label >> 8);
	data[17] = (uint8_t)label;
	frame_look(data, sizeof(data), &info);
	return info;
}

static struct frame_info look4(uint16_t sport)
{
	struct frame_info info;
	uint8_t data[ENV_MIN];

	env_packet(data, sizeof(data), sport, 0);
	frame_look(data, sizeof(data), &info);
	return info;
}

/* Flows that differ in nothing but |vary| fill the paths evenly, within a fifth. */
static void assert_spread(struct frame_info (*vary)(uint32_t))
{
	uint32_t count[PATHS] = { 0 };

	for (uint32_t i = 0; i < FLOWS; i++) {
		struct frame_info info = vary(i);

		assert_true(info.flow);
		count[info.hash % PATHS]++;
	}
	for (uint32_t i = 0; i < PATHS; i++)
		assert_true(count[i] > FLOWS / PATHS * 4 / 5 && count[i] < FLOWS / PATHS * 6 / 5);
}

static struct frame_info by_label(uint32_t i)
{
	return look6(i);
}

static struct frame_info by_label_path(uint32_t i)
{
	return look6(i << 4 | 3);	/* one flow index, many paths */
}

static struct frame_info by_port(uint32_t i)
{
	return look4((uint16_t)(0xc000 + i));
}

static void flows_spread_evenly(void **state)
{
	(void)state;
	assert_spread(by_label);
	assert_spread(by_label_path);
	assert_spread(by_port);
}

/* The values themselves: a path chosen once is the same in every version. */
static void hash_is_stable(void **state)
{
	(void)state;
	assert_true(look4(0xc000).hash == look4(0xc000).hash);
	assert_int_equal(look4(0xc000).hash % 16, 11);
	assert_int_equal(look4(0xc001).hash % 16, 1);
	assert_int_equal(look6(0x12345).hash % 16, 2);
	assert_int_equal(look6(0x12346).hash % 16, 9);
}

/* Marks, lengths, IDs and payload do not move a flow. */
static void hash_ignores_what_is_not_the_flow(void **state)
{
	struct frame_info a = look4(5000), b;
	uint8_t data[ENV_MIN + 50];

	(void)state;
	env_packet(data, sizeof(data), 5000, 77);
	data[15] |= 3;
	data[17] = 80;
	data[19] = 99;
	frame_look(data, sizeof(data), &b);
	assert_true(a.hash == b.hash);
	a = look6(5);
	memcpy(data, udp6, sizeof(udp6));
	data[17] = 5;
	data[15] |= 0x10;
	frame_look(data, sizeof(udp6), &b);
	assert_true(a.hash == b.hash);
}

static void index_is_the_low_bits(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(look6(0xabcd0 | i).index, i);
		assert_int_equal(look4((uint16_t)(0xc120 | i)).index, i);
	}
}

static void index_chooses_modulo_paths(void **state)
{
	struct wire_env *e = env_open(2, PATHS, 1, "");

	(void)state;
	e->w->by_index = true;
	for (uint32_t i = 0; i < 16; i++) {
		env_send(e, 0, ENV_MIN, (uint16_t)(0xc000 | i), i);
		assert_int_equal(e->out[i].path, i % PATHS);
	}
	env_close(e);
}

/* A path that is down takes its flows with it, and no others. */
static void down_takes_its_flows_only(void **state)
{
	struct wire_env *e = env_open(2, PATHS, 1, "");
	struct wire_settings set = e->w->link[1][2].set;
	uint32_t lost = 0;

	(void)state;
	set.down = true;
	wire_configure(e->w, 1, 2, &set);
	for (uint16_t port = 1; port <= 200; port++) {
		bool its = look4(port).hash % PATHS == 2;
		uint32_t before = e->outs;

		env_send(e, 0, ENV_MIN, port, port);
		assert_int_equal(e->outs - before, !its);
		lost += its;
	}
	assert_true(lost > 20);
	assert_int_equal(e->w->link[1][2].stats.down, lost);
	env_close(e);
}

/* What has no flow goes where there is a way. */
static void discovery_finds_a_way(void **state)
{
	struct wire_env *e = env_open(2, 2, 1, "down=1");
	struct wire_settings set = e->w->link[1][1].set;
	uint32_t frame = env_frame(e, ENV_MIN);

	(void)state;
	set.down = false;
	wire_configure(e->w, 1, 1, &set);
	env_packet(pool_data(&e->pool, frame), ENV_MIN, 1, 0);
	memset(pool_data(&e->pool, frame), 0xff, 6);
	wire_input(e->w, 0, 0, frame, 0);
	assert_int_equal(e->outs, 1);
	assert_int_equal(e->out[0].path, 1);
	env_close(e);
}

static void fragments_stay_together(void **state)
{
	struct frame_info first, second;
	uint8_t data[ENV_MIN];

	(void)state;
	env_packet(data, sizeof(data), 5000, 0);
	data[20] = 0x20;	/* more fragments */
	frame_look(data, sizeof(data), &first);
	data[20] = 0;
	data[21] = 100;		/* an offset, and payload where the ports were */
	data[34] = 77;
	frame_look(data, sizeof(data), &second);
	assert_true(first.hash == second.hash);
}

static void vlan_tags_are_looked_behind(void **state)
{
	uint8_t data[ENV_MIN + 4];
	struct frame_info info;

	(void)state;
	env_packet(data, ENV_MIN, 5000, 0);
	memmove(data + 16, data + 12, ENV_MIN - 12);
	memcpy(data + 12, "\x81\0\0\x07", 4);
	frame_look(data, sizeof(data), &info);
	assert_int_equal(info.l3, 18);
	assert_true(info.flow && info.hash == look4(5000).hash);
	assert_true(frame_mark_ce(data, sizeof(data), info.l3));
	assert_int_equal(data[19] & 3, 3);
}

/* No length of frame is read beyond, which the sanitizers watch. */
static void short_frames_are_no_flows(void **state)
{
	uint8_t packet[ENV_MIN];
	struct frame_info info;

	(void)state;
	env_packet(packet, sizeof(packet), 5000, 0);
	for (size_t len = 0; len < sizeof(udp6); len++) {
		uint8_t *copy = malloc(len + 1);

		memcpy(copy, udp6, len);
		frame_look(copy, len, &info);
		assert_int_equal(info.flow, len >= 54);
		assert_int_equal(frame_mark_ce(copy, len, ETH_HLEN), len >= 34);
		if (len <= ENV_MIN)
			memcpy(copy, packet, len);
		frame_look(copy, len, &info);
		free(copy);
	}
}

static uint32_t ip_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	return (sum & 0xffff) + (sum >> 16);
}

static void marking_keeps_the_checksum_right(void **state)
{
	uint8_t data[ENV_MIN];

	(void)state;
	for (uint32_t id = 0; id < 65536; id++) {
		uint32_t sum;

		env_packet(data, sizeof(data), 5000, 0);
		data[15] = (uint8_t)(1 + id % 2);
		data[18] = (uint8_t)(id >> 8);
		data[19] = (uint8_t)id;
		sum = ~ip_sum(data + 14) & 0xffff;
		data[24] = (uint8_t)(sum >> 8);
		data[25] = (uint8_t)sum;
		assert_true(frame_mark_ce(data, sizeof(data), ETH_HLEN));
		assert_int_equal(ip_sum(data + 14), 0xffff);
		assert_false(frame_mark_ce(data, sizeof(data), ETH_HLEN));
	}
}

static void burst_is_as_long_as_asked(void **state)
{
	struct rng rng;

	(void)state;
	rng_seed(&rng, 1, 0);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t bits = 1 + i % 40, first = UINT32_MAX, last = 0;
		uint8_t data[30] = { 0 };

		frame_corrupt(data, sizeof(data), 14, bits, &rng);
		for (uint32_t b = 0; b < sizeof(data) * 8; b++) {
			if (!(data[b / 8] & 0x80 >> b % 8))
				continue;
			if (first == UINT32_MAX)
				first = b;
			last = b;
		}
		assert_int_equal(last - first + 1, bits);
		assert_true(first >= 14 * 8);
	}
}

/* Like a switch: to all until it knows better, never back. */
static void switch_learns(void **state)
{
	struct wire_env *e = env_open(3, 1, 1, "");
	uint32_t frame;

	(void)state;
	env_send(e, 0, ENV_MIN, 1, 0);		/* to ...02, unknown */
	assert_int_equal(e->outs, 2);
	frame = env_frame(e, ENV_MIN);
	env_packet(pool_data(&e->pool, frame), ENV_MIN, 1, 1);
	memcpy(pool_data(&e->pool, frame), "\x02\0\0\0\0\x01\x02\0\0\0\0\x02", 12);
	wire_input(e->w, 2, 0, frame, 0);	/* its answer */
	assert_int_equal(e->outs, 3);
	assert_int_equal(e->out[2].to, 0);
	env_send(e, 0, ENV_MIN, 1, 2);
	assert_int_equal(e->outs, 4);
	assert_int_equal(e->out[3].to, 2);
	env_send(e, 2, ENV_MIN, 1, 3);		/* to itself */
	assert_int_equal(e->outs, 4);
	assert_int_equal(e->w->unknown, 1);
	env_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_spread_evenly),
		cmocka_unit_test(hash_is_stable),
		cmocka_unit_test(hash_ignores_what_is_not_the_flow),
		cmocka_unit_test(index_is_the_low_bits),
		cmocka_unit_test(index_chooses_modulo_paths),
		cmocka_unit_test(down_takes_its_flows_only),
		cmocka_unit_test(discovery_finds_a_way),
		cmocka_unit_test(fragments_stay_together),
		cmocka_unit_test(vlan_tags_are_looked_behind),
		cmocka_unit_test(short_frames_are_no_flows),
		cmocka_unit_test(marking_keeps_the_checksum_right),
		cmocka_unit_test(burst_is_as_long_as_asked),
		cmocka_unit_test(switch_learns),
	};

	return unit_run(tests);
}
