// SPDX-License-Identifier: BSD-2-Clause
/*
 * A rate update engine on its own thread, with ThreadSanitizer: every event gets its result, in
 * order, while the owner traces, looks at state, starts engines and forgets flows; and nobody sleeps
 * over an event or a result.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rue/params.h"
#include "rue/worker.h"
#include "unit.h"

enum { TOTAL = 50000, FLOWS = 64, ENTRIES = 128, PATIENCE_MS = 60000 };

static void wait_for_result(struct rue_worker *w)
{
	struct pollfd fd = { .fd = rue_worker_fd(w), .events = POLLIN };
	uint64_t n;

	rue_worker_flush(w);
	if (!rue_worker_idle(w))
		return;
	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	assert_int_equal(read(fd.fd, &n, sizeof(n)), sizeof(n));
}

static void put(struct rue_worker *w, uint32_t n)
{
	struct falcon_rue_event e = { { 0 } };

	falcon_ev_put(&e, connection_id, n & 0xffffff);
	falcon_ev_put(&e, base_delay_target, n % FLOWS);
	falcon_ev_put(&e, event_queue_select, n % 2);
	falcon_ev_put(&e, fcwnd_integer, 8);
	falcon_ev_put(&e, ncwnd, 8);
	falcon_ev_put(&e, t4, 100);
	falcon_ev_put(&e, num_packets_acked, 1);
	assert_true(rue_worker_put(w, &e));
}

/* What the agent does at times, from its own thread. */
static void interfere(struct rue_host *h, struct rue_trace *t, uint32_t n)
{
	char err[256];

	switch (n % 4) {
	case 0: rue_host_trace(h, t, 100, -1); break;
	case 1: rue_host_trace(h, NULL, 0, -1); break;
	case 2: rue_host_reset(h, n % FLOWS); break;
	default: rue_host_swift_state(h, n % FLOWS); break;
	}
	if (n == 1000)
		assert_int_equal(rue_host_engine(h, "fixed", NULL, err, sizeof(err)), 1);
}

static void worker__answers_everything_in_order(void **state)
{
	struct rue_trace *t = calloc(1, rue_trace_bytes(100));
	struct rue_config profile = { .name = "default" };
	uint32_t sent = 0, back = 0;
	char err[256] = "";
	struct rue_worker *w;
	struct rue_host *h;

	(void)state;
	swift_params_default(&profile.params);
	h = rue_host_create(FLOWS, &profile, 1, true);
	assert_int_equal(rue_host_engine(h, "swift", NULL, err, sizeof(err)), 0);
	w = rue_worker_start(h, ENTRIES, err, sizeof(err));
	if (!w)
		fail_msg("%s", err);
	while (back < TOTAL) {
		struct falcon_rue_result r;

		while (sent < TOTAL && sent - back < ENTRIES && rue_worker_used(w) < ENTRIES)
			put(w, sent++);
		if (sent % 16 == 0)
			interfere(h, t, sent / 16);
		rue_worker_flush(w);
		if (rue_worker_get(w, &r))
			assert_int_equal(falcon_res_get(&r, connection_id), back++ & 0xffffff);
		else
			wait_for_result(w);
	}
	rue_worker_stop(w);
	rue_host_destroy(h);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worker__answers_everything_in_order),
	};

	return unit_run(tests);
}
