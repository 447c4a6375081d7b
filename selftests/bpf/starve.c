// SPDX-License-Identifier: BSD-2-Clause
/*
 * AF_XDP starved on purpose, with real frames over a veth pair: whatever the program claims must
 * come out of the socket, what there is no room for is answered by a resource NACK, and a sender
 * that tries again gets everything across, exactly once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/libbpf.h>
#include <cmocka.h>
#include <linux/if_packet.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "env.h"
#include "falcon/receive/window.h"

enum {
	DEADLINE_MS = 60000,
	BURST = 100,		/* packets, less than the data window */
	TOTAL = 10000,		/* packets of the long run; in an emulated machine a tenth */
};

static struct env env;
static int raw_fd;		/* packet socket on "fa" */
static uint32_t free_frame[ENV_FRAMES], nfree;
static uint64_t next_iv = 1000000;

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void send_psn(uint32_t psn)
{
	uint8_t falcon[128], frame[PACKET_MAX];
	struct packet_shape s;
	struct falcon_hdr h;
	size_t len;

	env_shape(&env, 0, __atomic_add_fetch(&next_iv, 1000, __ATOMIC_RELAXED), &s);
	env_push(&env, 0, psn, &h);
	len = packet_build(&s, falcon, packet_reliable(&h, 0, falcon), frame);
	/* A full transmit queue is loss, as on any link. */
	(void)!send(raw_fd, frame, len, 0);
}

/* Give the kernel |n| empty frames, and with them |credits| credits. */
static void grant(uint32_t n, int64_t credits)
{
	uint32_t at;

	if (n > nfree)
		n = nfree;
	if (n && xsk_ring_prod__reserve(&env.fill, n, &at) == n) {
		for (uint32_t i = 0; i < n; i++)
			*xsk_ring_prod__fill_addr(&env.fill, at + i) =
				(uint64_t)free_frame[--nfree] * ENV_FRAME_SIZE;
		xsk_ring_prod__submit(&env.fill, n);
	}
	__atomic_add_fetch(&env.credits[ENV_XSK].credits, credits, __ATOMIC_SEQ_CST);
}

static uint32_t psn_of(const uint8_t *frame)
{
	struct falcon_meta m;
	uint32_t psn;

	memcpy(&m, frame - sizeof(m), sizeof(m));
	assert_int_equal(m.magic, FALCON_META_MAGIC);
	assert_int_equal(m.verdict, FALCON_V_rx_data);
	memcpy(&psn, frame + m.falcon_off + offsetof(struct falcon_base_hdr, psn), sizeof(psn));
	return be32toh(psn);
}

/* Take one frame out of the receive ring; false if there is none. */
static bool take(uint32_t *psn)
{
	const struct xdp_desc *d;
	uint32_t at;

	if (!xsk_ring_cons__peek(&env.rx, 1, &at))
		return false;
	d = xsk_ring_cons__rx_desc(&env.rx, at);
	*psn = psn_of(env.area + d->addr);
	free_frame[nfree++] = (uint32_t)(d->addr / ENV_FRAME_SIZE);
	xsk_ring_cons__release(&env.rx, 1);
	return true;
}

/* Wait until the program has counted |n| verdicts since |before|. */
static void wait_verdicts(const struct falcon_counters *before, uint64_t n)
{
	uint64_t deadline = now_ms() + DEADLINE_MS, sum;
	struct falcon_counters c;

	do {
		env_counters(&env, &c);
		sum = 0;
		for (int v = FALCON_V_pass_not_falcon + 1; v < FALCON_VERDICT_COUNT; v++)
			sum += ((uint64_t *)&c)[v] - ((const uint64_t *)before)[v];
		if (sum < n)
			usleep(1000);
	} while (sum < n && now_ms() < deadline);
	assert_int_equal(sum, n);
}

/* Count the resource NACKs that have come back to "fa", waiting for |want| of them. */
static unsigned int count_nacks(unsigned int want)
{
	uint64_t deadline = now_ms() + DEADLINE_MS;
	struct packet_reply r;
	uint8_t frame[PACKET_MAX];
	unsigned int n = 0;

	while (n < want && now_ms() < deadline) {
		ssize_t len = recv(raw_fd, frame, sizeof(frame), MSG_DONTWAIT);

		if (len < 0) {
			usleep(1000);
			continue;
		}
		if (packet_parse_reply(frame, (size_t)len, &r) || r.ack.type != FALCON_NACK)
			continue;
		assert_int_equal(r.ack.nack_code, FALCON_NACK_RESOURCE);
		assert_true(r.udp_csum_ok);
		n++;
	}
	return n;
}

static void assert_no_socket_drops(uint64_t want)
{
	struct xdp_statistics st;
	socklen_t len = sizeof(st);

	assert_int_equal(getsockopt(xsk_socket__fd(env.xsk), SOL_XDP, XDP_STATISTICS, &st, &len),
			 0);
	assert_int_equal(st.rx_dropped + st.rx_ring_full, want);
}

/* Fresh connections and credits; the fill ring keeps what it has. */
static void fresh(void)
{
	env_reset(&env);
	env.credits[ENV_XSK].credits = 0;
	while (recv(raw_fd, &(char[1]){}, 1, MSG_DONTWAIT) >= 0)
		;
}

static void no_credit__every_packet_is_nacked(void **state)
{
	struct falcon_counters before, after;

	(void)state;
	fresh();
	env_counters(&env, &before);
	for (uint32_t i = 0; i < BURST; i++)
		send_psn(ENV_PSN + i);
	wait_verdicts(&before, BURST);
	env_counters(&env, &after);
	assert_int_equal(after.resource_nacked - before.resource_nacked, BURST);
	assert_int_equal(after.xdp_tx - before.xdp_tx, BURST);
	assert_int_equal(env.conns[0].rx.accepted, 0);
	assert_int_equal(env.credits[ENV_XSK].credits, 0);
	assert_int_equal(env.credits[ENV_XSK].refused, BURST);
	assert_int_equal(count_nacks(BURST), BURST);
}

/* Eight at a time: what is refused is sent again until all is across. */
static void few_credits__all_arrive_once(void **state)
{
	unsigned int got[BURST] = {}, have = 0, rounds = 0;
	struct falcon_counters before;
	uint32_t psn;

	(void)state;
	fresh();
	while (have < BURST && rounds++ < BURST) {
		unsigned int sent = 0, taken = 0;

		grant(8, 8);
		env_counters(&env, &before);
		for (uint32_t i = 0; i < BURST; i++)
			if (!got[i]) {
				send_psn(ENV_PSN + i);
				sent++;
			}
		wait_verdicts(&before, sent);
		while (take(&psn)) {
			got[psn - ENV_PSN]++;
			taken++;
		}
		assert_int_equal(taken, sent < 8 ? sent : 8);
		have += taken;
		assert_int_equal(env.conns[0].rx.accepted, have);
	}
	for (unsigned int i = 0; i < BURST; i++)
		assert_int_equal(got[i], 1);
	assert_no_socket_drops(0);
}

static uint32_t window_base;	/* of the long run's sender; atomic */
static bool stop;		/* atomic */

/* Sends PSNs of the window round and round, as a transmitter without an answer would. */
static void *sender(void *arg)
{
	(void)arg;
	for (uint32_t n = 0; !falcon_load(&stop); n++)
		send_psn(falcon_load(&window_base) + n % FALCON_DATA_WINDOW);
	return NULL;
}

/* Acknowledge |psn| as the agent does, and let the sender's window follow. */
static void acknowledge(uint32_t psn)
{
	struct falcon_rx_acked *a = &env.conns[0].rx_acked;

	falcon_ring_set(a->data_ack, FALCON_DATA_WORDS, psn);
	falcon_store(&a->data_base,
		     falcon_ring_first_clear(a->data_ack, FALCON_DATA_WORDS, a->data_base));
	falcon_store(&window_base, a->data_base);
}

/* Sender and receiver at once, the receiver always short of frames; the window wraps. */
static void short_of_frames__claims_equal_frames(void **state)
{
	uint64_t deadline = now_ms() + DEADLINE_MS;
	static uint8_t got[TOTAL + 2 * FALCON_DATA_WINDOW];
	const unsigned int total = getenv("VM") ? TOTAL / 10 : TOTAL;
	const uint32_t first = 0U - total / 2;
	unsigned int have = 0;
	pthread_t thread;
	uint32_t psn;

	(void)state;
	fresh();
	conn_windows(&env.conns[0], first);
	window_base = first;
	assert_int_equal(pthread_create(&thread, NULL, sender, NULL), 0);
	grant(3, 3);
	while (have < total && now_ms() < deadline) {
		if (!take(&psn)) {
			sched_yield();
			continue;
		}
		assert_in_range(psn - first, 0, sizeof(got) - 1);
		assert_int_equal(got[psn - first]++, 0);
		acknowledge(psn);
		have++;
		grant(1, 1);
	}
	falcon_store(&stop, true);
	pthread_join(thread, NULL);
	while (take(&psn)) {
		assert_int_equal(got[psn - first]++, 0);
		have++;
	}
	assert_true(have >= total);
	assert_int_equal(env.conns[0].rx.accepted, have);
	assert_true(env.credits[ENV_XSK].refused > 0);
	assert_no_socket_drops(0);
}

/* The control: credits that no frame stands behind lose claims, and this test would see it. */
static void control__credit_without_frames_loses_claims(void **state)
{
	struct falcon_counters before;
	unsigned int taken = 0;
	uint32_t psn;

	(void)state;
	fresh();
	grant(0, BURST);
	env_counters(&env, &before);
	for (uint32_t i = 0; i < BURST; i++)
		send_psn(ENV_PSN + i);
	wait_verdicts(&before, BURST);
	while (take(&psn))
		taken++;
	assert_int_equal(env.conns[0].rx.accepted, BURST);
	assert_true(taken < BURST);
	assert_no_socket_drops(BURST - taken);
}

static struct bpf_object *peer;

/* falcon_rx on "fb"; on "fa" a program that passes, which makes veth take XDP_TX frames. */
static int attach(void)
{
	const struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htobe16(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex("fa"),
	};
	struct bpf_program *p = bpf_object__find_program_by_name(env.obj, "falcon_rx");
	char path[512];
	int one = 1, buffer = 4 << 20;

	env_object_path("selftests/bpf/pass.bpf.o", path, sizeof(path));
	peer = bpf_object__open_file(path, NULL);
	if (!peer || bpf_object__load(peer) || !bpf_program__attach_xdp(p, env.ifindex) ||
	    !bpf_program__attach_xdp(bpf_object__find_program_by_name(peer, "pass_and_count"),
				     sll.sll_ifindex))
		return -1;
	raw_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htobe16(ETH_P_ALL));
	setsockopt(raw_fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	/* Room for all answers of a burst, a page each. */
	setsockopt(raw_fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer));
	for (uint32_t i = 0; i < ENV_FRAMES; i++)
		free_frame[nfree++] = i;
	return bind(raw_fd, (const struct sockaddr *)&sll, sizeof(sll));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_credit__every_packet_is_nacked),
		cmocka_unit_test(few_credits__all_arrive_once),
		cmocka_unit_test(short_of_frames__claims_equal_frames),
		cmocka_unit_test(control__credit_without_frames_loses_claims),
	};
	int rc = env_main(&env, "starve", tests, ARRAY_SIZE(tests), attach);

	bpf_object__close(peer);
	return rc;
}
