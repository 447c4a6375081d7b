// SPDX-License-Identifier: BSD-2-Clause
/* The queue of packets that stay in the host: order, contents, bounds. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <agent/shard/loopq.h>

static int setup(void **state)
{
	*state = loopq_create(3);
	return !*state;
}

static int teardown(void **state)
{
	loopq_destroy(*state);
	return 0;
}

static struct fcore_packet packet(uint8_t n)
{
	static const uint8_t ulp[] = "ulp", payload[] = "payload";
	struct fcore_packet p = {
		.hdr = { n, 2, 3, 4 }, .hdr_len = 4, .ulp_hdr = ulp, .ulp_hdr_len = 3,
		.payload = payload, .payload_len = 7, .type = 5, .flow = 1,
	};

	return p;
}

/* One copy: header, the upper layer's header, payload, without gaps. */
static void contents(void **state)
{
	struct fcore_packet p = packet(9);
	struct loopq_frame *f = loopq_frame_of(*state, &p);

	assert_non_null(f);
	assert_true(loopq_empty(*state));
	assert_null(loopq_take(*state));
	loopq_send(f);
	assert_false(loopq_empty(*state));
	assert_ptr_equal(loopq_take(*state), f);
	assert_int_equal(f->len, 14);
	assert_memory_equal(f->data, "\x09\x02\x03\x04ulppayload", 14);
	assert_int_equal(f->type, 5);
	assert_int_equal(f->flow, 1);
	assert_null(f->handle.xsk);
	loopq_put(f);
}

static void order(void **state)
{
	for (uint8_t i = 0; i < 5; i++) {
		struct fcore_packet p = packet(i);

		loopq_send(loopq_frame_of(*state, &p));
	}
	for (uint8_t i = 0; i < 5; i++) {
		struct loopq_frame *f = loopq_take(*state);

		assert_int_equal(f->data[0], i);
		loopq_put(f);
	}
	assert_true(loopq_empty(*state));
}

static struct loopq_frame *held[LOOPQ_FRAMES];

static void hold_all(struct loopq *q)
{
	struct fcore_packet p = packet(0);

	for (unsigned int i = 0; i < LOOPQ_FRAMES; i++) {
		held[i] = loopq_frame_of(q, &p);
		assert_non_null(held[i]);
		assert_int_equal(held[i]->shard, 3);
	}
}

/* Frames that the receiver holds are missing to the sender, until they come back. */
static void bounded(void **state)
{
	struct fcore_packet p = packet(0);

	for (int round = 0; round < 3; round++) {
		hold_all(*state);
		for (unsigned int i = 0; i < LOOPQ_FRAMES; i++)
			loopq_send(held[i]);
		assert_null(loopq_frame_of(*state, &p));
		for (unsigned int i = 0; i < LOOPQ_FRAMES; i++)
			assert_ptr_equal(loopq_take(*state), held[i]);
		assert_null(loopq_frame_of(*state, &p));
		/* In any order. */
		for (unsigned int i = 0; i < LOOPQ_FRAMES; i++)
			loopq_put(held[(i * 7 + 3) % LOOPQ_FRAMES]);
	}
}

/* Held by another shard, they come back another way. */
static void returned(void **state)
{
	struct fcore_packet p = packet(0);

	for (int round = 0; round < 3; round++) {
		hold_all(*state);
		/* Nobody waits for it. */
		assert_false(loopq_return(held[0]));
		assert_false(loopq_refillable(*state));
		assert_ptr_equal(loopq_frame_of(*state, &p), held[0]);
		assert_null(loopq_frame_of(*state, &p));
		assert_false(loopq_refillable(*state));
		for (unsigned int i = 0; i < LOOPQ_FRAMES; i++)
			assert_true(loopq_return(held[i]));
		assert_true(loopq_refillable(*state));
		loopq_put(loopq_frame_of(*state, &p));
		assert_false(loopq_refillable(*state));
	}
}

static void too_long(void **state)
{
	static const uint8_t big[XSK_MAX_FRAME];
	struct fcore_packet p = packet(0);
	struct loopq_frame *f;

	p.payload = big;
	p.payload_len = XSK_MAX_FRAME - 6;
	assert_null(loopq_frame_of(*state, &p));
	p.payload_len = XSK_MAX_FRAME - 7;
	f = loopq_frame_of(*state, &p);
	assert_non_null(f);
	assert_int_equal(f->len, XSK_MAX_FRAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(contents, setup, teardown),
		cmocka_unit_test_setup_teardown(order, setup, teardown),
		cmocka_unit_test_setup_teardown(bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(returned, setup, teardown),
		cmocka_unit_test_setup_teardown(too_long, setup, teardown),
	};

	return unit_run(tests);
}
