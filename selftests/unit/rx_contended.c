// SPDX-License-Identifier: BSD-2-Clause
/*
 * The receive windows while another CPU always comes first: every compare-and-swap of window.h is
 * preceded by somebody else's change of the same word. What BPF_PROG_TEST_RUN cannot bring about.
 */
#include "unit.h"

#include "falcon/types.h"

static int rivals;	/* how often somebody comes first */
static void rival(void *word);

/* The 64-bit words are the rings'; to others nobody comes first. */
#define contended_cas(p, old, new)                                                                 \
	({                                                                                         \
		if (sizeof(*(p)) == 8 && rivals > 0) {                                             \
			rivals--;                                                                  \
			rival((void *)(p));                                                        \
		}                                                                                  \
		__sync_val_compare_and_swap((p), (old), (new));                                    \
	})
#undef falcon_cas
#define falcon_cas(p, old, new) contended_cas(p, old, new)
#include "falcon/receive/rx.h"

enum { BASE = 640 };	/* PSN of a group's first bit */

static struct falcon_conn conn;
static uint32_t rival_psn;	/* what the rival claims next, downwards */

/* Another CPU claims a PSN of the same word. */
static void rival(void *word)
{
	__u64 *w = word;

	*w |= 1U << (rival_psn-- & 31);
}

static void fresh(int n)
{
	memset(&conn, 0, sizeof(conn));
	conn.rx_acked.data_base = conn.rx_acked.req_base = BASE;
	falcon_ring_init(conn.rx.data_rx, FALCON_DATA_WORDS, BASE);
	falcon_ring_init(conn.rx.req_rx, FALCON_REQ_WORDS, BASE);
	falcon_ring_init(conn.rx_acked.data_ack, FALCON_DATA_WORDS, BASE);
	falcon_ring_init(conn.rx_acked.req_ack, FALCON_REQ_WORDS, BASE);
	rivals = n;
	rival_psn = BASE + 31;
}

static enum falcon_verdict receive(uint8_t type, uint32_t psn)
{
	const struct falcon_hdr h = { .type = type, .psn = psn,
				      .resync_type = FALCON_PUSH_DATA };

	return falcon_rx_window(&conn, &h);
}

/* A few lost races are made up for; the rivals' claims stay. */
static void claim__after_lost_races(void **state)
{
	(void)state;
	for (int n = 0; n < FALCON_CAS_TRIES; n++) {
		fresh(n);
		assert_int_equal(receive(FALCON_PUSH_DATA, BASE), FALCON_V_rx_data);
		assert_true(falcon_ring_test(conn.rx.data_rx, FALCON_DATA_WORDS, BASE));
		for (int i = 0; i < n; i++)
			assert_true(falcon_ring_test(conn.rx.data_rx, FALCON_DATA_WORDS,
						     BASE + 31 - (uint32_t)i));
		assert_int_equal(conn.rx.accepted, 1);
	}
}

/* Who loses them all has claimed nothing: the packet is dropped and comes again. */
static void claim__busy_leaves_no_trace(void **state)
{
	(void)state;
	for (int req = 0; req < 2; req++) {
		uint8_t type = req ? FALCON_PULL_REQUEST : FALCON_PUSH_DATA;

		fresh(FALCON_CAS_TRIES);
		assert_int_equal(receive(type, BASE), FALCON_V_drop_busy);
		assert_int_equal(rivals, 0);
		assert_int_equal(conn.rx.accepted, 0);
		assert_int_equal(conn.rx.own, 0);
		assert_false(falcon_ring_test(req ? conn.rx.req_rx : conn.rx.data_rx,
					      req ? FALCON_REQ_WORDS : FALCON_DATA_WORDS, BASE));
		assert_int_equal(receive(type, BASE), req ? FALCON_V_rx_request
							  : FALCON_V_rx_data);
	}
	fresh(FALCON_CAS_TRIES);
	assert_int_equal(receive(FALCON_RESYNC, BASE), FALCON_V_drop_busy);
	assert_false(falcon_verdict_delivers(FALCON_V_drop_busy));
	assert_false(falcon_verdict_answers(FALCON_V_drop_busy));
}

/* The rival is another copy of the same packet: it is a duplicate after all, not claimed twice. */
static void claim__rival_claims_the_same(void **state)
{
	(void)state;
	fresh(1);
	rival_psn = BASE;
	assert_int_equal(receive(FALCON_PUSH_DATA, BASE), FALCON_V_dup_acked);
	assert_int_equal(conn.rx.accepted, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claim__after_lost_races),
		cmocka_unit_test(claim__busy_leaves_no_trace),
		cmocka_unit_test(claim__rival_claims_the_same),
	};

	return unit_run(tests);
}
