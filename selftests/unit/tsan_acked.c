// SPDX-License-Identifier: BSD-2-Clause
/*
 * Acknowledging under fire: several threads acknowledge packets of one connection, each its own, as XDP and
 * the agent may, while others compose ACKs and note what they have told. Built with ThreadSanitizer, which
 * watches the memory accesses; the test watches the promises:
 *
 *   - an ACK says nothing untrue;
 *   - the base gets past every packet that is acknowledged, whoever is last;
 *   - an ACK tells at least what it counts as told, so that nothing is taken for told which is not.
 */
#include <pthread.h>
#include <sched.h>

#include "falcon/receive/ack.h"
#include "unit.h"

enum {
	TOTAL = 200000,		/* packets, a multiple of ACKERS */
	ACKERS = 3,
	TELLERS = 2,
	FLOW = 3,
};

static const uint32_t first = 0U - TOTAL / 2;

static struct falcon_conn conn;
static uint8_t acknowledged[TOTAL + FALCON_DATA_WINDOW];	/* about to be, at least; by PSN - first */
static bool stop;
static uint32_t lies, short_of, acks;

/* Every ACKERS'th PSN, within the window of the others. */
static void *acker(void *arg)
{
	for (uint32_t i = (uint32_t)(uintptr_t)arg; i < TOTAL; i += ACKERS) {
		while (first + i - falcon_load(&conn.rx_acked.data_base) >= FALCON_DATA_WINDOW)
			sched_yield();
		falcon_store(&acknowledged[i], 1);
		falcon_rx_acknowledge(&conn, false, first + i);
		falcon_ack_owe(&conn, FLOW, i + 1);
	}
	return NULL;
}

/* Packets that |a| tells of. Counts what is not so in |lies|. */
static uint32_t told_by(const struct falcon_ack *a)
{
	uint32_t below = a->rdbpsn - first, n = below;

	if (below && !falcon_load(&acknowledged[below - 1]))
		falcon_fetch_add(&lies, 1U);
	for (uint32_t i = 0; i < FALCON_DATA_WINDOW; i++) {
		if (!(a->data_ack[i / 32] >> (i % 32) & 1))
			continue;
		n++;
		if (!falcon_load(&acknowledged[below + i]))
			falcon_fetch_add(&lies, 1U);
	}
	return n;
}

static void tell(void)
{
	struct falcon_ack a;
	uint32_t acked = falcon_ack_compose(&conn, FLOW, &a);

	/*
	 * Of a base long passed the ring knows no more: then more than a window was acknowledged meanwhile,
	 * which is still to be told.
	 */
	if (told_by(&a) < acked &&
	    falcon_load(&conn.rx_acked.data_base) - a.rdbpsn <= FALCON_DATA_WINDOW)
		falcon_fetch_add(&short_of, 1U);
	falcon_ack_told(&conn, FLOW, acked);
	falcon_fetch_add(&acks, 1U);
}

static void *teller(void *arg)
{
	while (!falcon_load(&stop)) {
		if (falcon_ack_untold(&conn, FLOW))
			tell();
		else
			sched_yield();
	}
	return arg;
}

static void acked__by_several(void **state)
{
	pthread_t threads[ACKERS + TELLERS];

	(void)state;
	falcon_ring_init(conn.rx_acked.data_ack, FALCON_DATA_WORDS, first);
	conn.rx_acked.data_base = first;
	for (uintptr_t i = 0; i < ACKERS + TELLERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i < ACKERS ? acker : teller,
						(void *)i),
				 0);
	for (size_t i = 0; i < ACKERS; i++)
		pthread_join(threads[i], NULL);
	falcon_store(&stop, true);
	for (size_t i = ACKERS; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(conn.rx_acked.data_base, first + TOTAL);
	tell();
	assert_int_equal(falcon_ack_untold(&conn, FLOW), 0);
	assert_int_equal(conn.rx.flow[FLOW].acked, TOTAL);
	assert_int_equal(lies, 0);
	assert_int_equal(short_of, 0);
	assert_true(acks > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acked__by_several),
	};

	return unit_run(tests);
}
