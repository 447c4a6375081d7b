// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames that lie in several buffers, as drivers have them on links of a large MTU: what is not Falcon, or
 * not for this host, is left to the kernel; of Falcon, only what is in one buffer is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/bpf.h>
#include <string.h>

#include "env.h"

enum { LARGE = 9014, PAYLOAD = 6000 };

static struct env env;

/* A frame, and what is around the Falcon packet in it. */
struct frame {
	struct packet_shape shape;
	uint8_t bytes[LARGE];
	size_t len;
};

/* Push Data for connection |cid|, with |payload| bytes. */
static void build(struct frame *f, uint32_t cid, size_t payload)
{
	uint8_t falcon[LARGE];
	struct falcon_hdr h;

	env_push(&env, cid, ENV_PSN, &h);
	h.request_len = (uint16_t)payload;
	f->len = packet_build(&f->shape, falcon, packet_reliable(&h, payload, falcon), f->bytes);
}

static void prepare(struct frame *f, uint32_t cid, size_t payload)
{
	memset(f, 0, sizeof(*f));
	env_reset(&env);
	env_shape(&env, cid, 5000000, &f->shape);
	build(f, cid, payload);
}

/* All that is not accepted leaves connections and credits as they were. */
static void expect(const struct frame *f, enum falcon_verdict want, int action)
{
	int32_t credits = env.credits[ENV_XSK].credits;
	struct falcon_counters n0, n1;
	struct falcon_conn before[ENV_CONNS];
	int v;

	memcpy(before, env.conns, sizeof(before));
	env_counters(&env, &n0);
	assert_int_equal(env_run_frags(&env, f->bytes, f->len), action);
	env_counters(&env, &n1);
	v = env_verdict(&n0, &n1);
	if (v != (int)want)
		fail_msg("verdict %s, want %s", env_verdict_name(v), env_verdict_name(want));
	if (want == FALCON_V_rx_data)
		return;
	assert_memory_equal(env.conns, before, sizeof(before));
	assert_int_equal(env.credits[ENV_XSK].credits, credits);
}

/* |cid| 0 is IPv4, 1 is IPv6. */
#define BOTH(what)                                                                                 \
	static void what##4(void **state)                                                          \
	{                                                                                          \
		struct frame f;                                                                    \
                                                                                                   \
		(void)state;                                                                       \
		what(&f, 0);                                                                       \
	}                                                                                          \
	static void what##6(void **state)                                                          \
	{                                                                                          \
		struct frame f;                                                                    \
                                                                                                   \
		(void)state;                                                                       \
		what(&f, 1);                                                                       \
	}

static void one_buffer(struct frame *f, uint32_t cid)
{
	prepare(f, cid, 100);
	expect(f, FALCON_V_rx_data, XDP_REDIRECT);
}

static void several_buffers(struct frame *f, uint32_t cid)
{
	prepare(f, cid, PAYLOAD);
	expect(f, FALCON_V_drop_too_big, XDP_DROP);
}

/* The packet is in the first buffer; a socket would get all of them. */
static void padding(struct frame *f, uint32_t cid)
{
	prepare(f, cid, 100);
	f->len = LARGE;
	expect(f, FALCON_V_drop_too_big, XDP_DROP);
}

static void encrypted(struct frame *f, uint32_t cid)
{
	prepare(f, cid, PAYLOAD);
	f->shape.encap = FALCON_PSP_AES_GCM_128;
	build(f, cid, PAYLOAD);
	expect(f, FALCON_V_drop_too_big, XDP_DROP);
}

static void another_station(struct frame *f, uint32_t cid)
{
	prepare(f, cid, PAYLOAD);
	f->bytes[5] ^= 0x40;
	expect(f, FALCON_V_pass_other, XDP_PASS);
}

static void ipsec_of_others(struct frame *f, uint32_t cid)
{
	prepare(f, cid, PAYLOAD);
	f->shape.encap = FALCON_ESP_AES_GCM_128;
	f->shape.spi = 4711;
	build(f, cid, PAYLOAD);
	expect(f, FALCON_V_pass_spi, XDP_PASS);
}

static void ipsec_of_ours(struct frame *f, uint32_t cid)
{
	prepare(f, cid, PAYLOAD);
	f->shape.encap = FALCON_ESP_AES_GCM_128;
	f->shape.spi = 4711;
	env_sadb(&env, 4711, cid);
	build(f, cid, PAYLOAD);
	expect(f, FALCON_V_drop_too_big, XDP_DROP);
}

/* TCP, with the same lengths. */
static void not_falcon(struct frame *f, uint32_t cid)
{
	prepare(f, cid, PAYLOAD);
	f->bytes[packet_l3_off(&f->shape) + (f->shape.ipv6 ? 6 : 9)] = 6;
	expect(f, FALCON_V_pass_not_falcon, XDP_PASS);
}

BOTH(one_buffer)
BOTH(several_buffers)
BOTH(padding)
BOTH(encrypted)
BOTH(another_station)
BOTH(ipsec_of_others)
BOTH(ipsec_of_ours)
BOTH(not_falcon)

#define TESTS(what) cmocka_unit_test(what##4), cmocka_unit_test(what##6)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TESTS(one_buffer), TESTS(several_buffers), TESTS(padding), TESTS(encrypted),
		TESTS(another_station), TESTS(ipsec_of_others), TESTS(ipsec_of_ours), TESTS(not_falcon),
	};

	return env_main(&env, "verdict_frags", tests, ARRAY_SIZE(tests), NULL);
}
