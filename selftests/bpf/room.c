// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames that leave XDP no room: none in front for the metadata, none behind for an answer that is
 * longer than what it answers. headroom.bpf.c makes them and calls falcon_rx.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "env.h"
#include "falcon/receive/window.h"

enum {
	FRAME = 256,	/* what headroom.bpf.c moves */
	BACK = 208,	/* leaves less than metadata and the kernel's own needs take */
	FLOW = 5,
	BUFFER = 3520,	/* the largest input of BPF_PROG_TEST_RUN: no byte of tailroom */
};

static struct env env;
static struct bpf_object *obj;
static int bss_fd;

static int load(void)
{
	char path[512];
	uint32_t zero = 0;

	env_object_path("selftests/bpf/headroom.bpf.o", path, sizeof(path));
	obj = bpf_object__open_file(path, NULL);
	if (!obj || bpf_object__load(obj))
		return -1;
	if (bpf_map_update_elem(bpf_object__find_map_fd_by_name(obj, "headroom_next"), &zero,
				&env.prog_fd, BPF_ANY))
		return -1;
	env.prog_fd = bpf_program__fd(bpf_object__find_program_by_name(obj, "headroom"));
	bss_fd = bpf_object__find_map_fd_by_name(obj, ".bss");
	return bss_fd < 0 ? -1 : 0;
}

static void set_shift(int shift)
{
	uint32_t zero = 0;

	assert_int_equal(bpf_map_update_elem(bss_fd, &zero, &shift, BPF_ANY), 0);
}

/* A frame of |payload| bytes of payload for CID 0 at |out|. Returns its length. */
static size_t make(struct falcon_hdr *h, size_t payload, uint8_t *out)
{
	uint8_t falcon[512];
	struct packet_shape s;

	env_shape(&env, 0, 5000000, &s);
	s.flow = FLOW;
	h->request_len = (uint16_t)payload;
	return packet_build(&s, falcon, packet_reliable(h, payload, falcon), out);
}

static int verdict_of(const uint8_t *frame, size_t len, struct env_result *r)
{
	struct falcon_counters before, after;

	env_counters(&env, &before);
	assert_int_equal(env_run(&env, frame, len, 0, r), 0);
	assert_int_not_equal(r->action, XDP_ABORTED);
	env_counters(&env, &after);
	return env_verdict(&before, &after);
}

/* The frame in front of |BACK| bytes that are cut off again when it has moved. */
static void run_without_headroom(int want, int64_t credits)
{
	static uint8_t frame[FRAME];
	struct env_result r;
	struct falcon_hdr h;
	struct falcon_conn before;

	env_reset(&env);
	env_push(&env, 0, ENV_PSN, &h);
	make(&h, FRAME - 14 - 20 - 8 - FALCON_PSP_HDR_LEN - sizeof(struct falcon_push_hdr), frame);
	before = env.conns[0];
	assert_int_equal(verdict_of(frame, sizeof(frame), &r), want);
	assert_int_equal(env.credits[ENV_XSK].credits, credits);
	if (want == FALCON_V_drop_metadata)
		assert_memory_equal(&env.conns[0], &before, sizeof(before));
	assert_int_equal(r.action, want == FALCON_V_drop_metadata ? XDP_DROP : XDP_REDIRECT);
}

/* Refused before anything is claimed, and the credit given back. */
static void drop_metadata__no_room_in_front(void **state)
{
	(void)state;
	set_shift(-BACK);
	run_without_headroom(FALCON_V_drop_metadata, 64);
	/* The control: the same frame with room. */
	set_shift(0);
	run_without_headroom(FALCON_V_rx_data, 63);
}

/* An EACK is longer than empty pull data: the agent has to send it. */
static void run_at_the_end(int want)
{
	static uint8_t buffer[BUFFER];
	uint8_t frame[512];
	struct env_result r;
	struct falcon_hdr h;
	size_t len;

	env_reset(&env);
	env_push(&env, 0, ENV_PSN, &h);
	h.type = FALCON_PULL_DATA;
	falcon_ring_set(env.conns[0].rx.data_rx, FALCON_DATA_WORDS, ENV_PSN);
	falcon_ring_set(env.conns[0].rx.data_rx, FALCON_DATA_WORDS, ENV_PSN + 2);
	env.conns[0].rx.own = FALCON_OWN_REQ;
	len = make(&h, 0, frame);
	if (want == FALCON_V_drop_no_room) {
		set_shift((int)(sizeof(buffer) - len));
		memcpy(buffer + sizeof(buffer) - len, frame, len);
		assert_int_equal(verdict_of(buffer, sizeof(buffer), &r), want);
		assert_int_equal(r.action, XDP_DROP);
		assert_int_equal(env.conns[0].rx.answers_owed, 1U << FLOW);
		assert_int_equal(env_dirty(&env), 1);
		/* What the EACK would have told is still to be told. */
		assert_int_equal(env.conns[0].rx.own, FALCON_OWN_REQ);
	} else {
		set_shift(0);
		assert_int_equal(verdict_of(frame, len, &r), want);
		assert_int_equal(r.action, XDP_TX);
		assert_int_equal(env.conns[0].rx.own, 0);
	}
}

static void drop_no_room__no_room_behind(void **state)
{
	(void)state;
	run_at_the_end(FALCON_V_drop_no_room);
	run_at_the_end(FALCON_V_dup_acked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drop_metadata__no_room_in_front),
		cmocka_unit_test(drop_no_room__no_room_behind),
	};
	int rc = env_main(&env, "room", tests, ARRAY_SIZE(tests), load);

	bpf_object__close(obj);
	return rc;
}
