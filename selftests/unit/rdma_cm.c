// SPDX-License-Identifier: BSD-2-Clause
/* RDMA connection management between two hosts: states, losses, and messages that make no sense. */
#include "rdma_cm_pair.h"

/* Where 10.0.0.0/24 is, and nothing else. */
static int route(void *arg, const struct fverbs_cm_addr *dst, struct fverbs_cm_addr *src)
{
	struct side *s = arg;

	if (memcmp(dst->addr, "\x0a\0\0", 3))
		return -ENETUNREACH;
	memcpy(src->addr, address(s == &a ? A : B, 0).addr, 4);
	return 0;
}

/* An application that does not say where from leaves it to the host's routes. */
static void no_source(void **state)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_RESOLVE_ADDR, .src = address("0.0.0.0", 0),
				   .dst = address(B, 7471) };

	(void)state;
	q.id = make_id(&a, 200, false);
	assert_int_equal(ask(&a, &q), -ENETUNREACH);
	a.r.host.source = route;
	q.dst = address("192.0.2.1", 7471);
	assert_int_equal(ask(&a, &q), -ENETUNREACH);
	expect_none(&a);
	q.dst = address(B, 7471);
	assert_int_equal(ask(&a, &q), 0);
	expect(&a, RDMA_CM_EVENT_ADDR_RESOLVED, 200, 0);
	assert_int_equal(ask_id(&a, FVERBS_CM_QUERY, q.id), 0);
	assert_memory_equal(a.answer.src.addr, address(A, 0).addr, 4);
	assert_int_not_equal(a.answer.src.port, 0);
	/* One that has a port already, at any address. */
	q.id = make_id(&a, 201, false);
	assert_int_equal(bind_to(&a, q.id, "0.0.0.0", 4711), 0);
	assert_int_equal(ask(&a, &q), 0);
	expect(&a, RDMA_CM_EVENT_ADDR_RESOLVED, 201, 0);
	assert_int_equal(ask_id(&a, FVERBS_CM_QUERY, q.id), 0);
	assert_memory_equal(a.answer.src.addr, address(A, 0).addr, 4);
	assert_int_equal(a.answer.src.port, htons(4711));
	a.r.host.source = NULL;
}

static void connected(void **state)
{
	uint32_t x, y;

	(void)state;
	join(&x, &y);
	assert_int_equal(ask_id(&b, FVERBS_CM_QUERY, y), 0);
	assert_int_equal(b.answer.remote_qpn, 11);
	assert_int_equal(b.answer.guid, 77);
	assert_int_equal(b.answer.timeout, 21);
	assert_int_equal(ntohs(b.answer.src.port), 7471);
	assert_int_equal(b.answer.responder_resources, 3);
	assert_int_equal(ask_id(&a, FVERBS_CM_DISCONNECT, x), 0);
	settle(5000);
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 200, 0);
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 5, 0);
	assert_int_equal(ask_id(&b, FVERBS_CM_DISCONNECT, y), 0);
	settle(100 * SECOND);
	expect_none(&a);
	expect_none(&b);
	assert_int_equal(ask_id(&b, FVERBS_CM_DESTROY_ID, y), 0);
	assert_int_equal(b.answer.reported, 2);
	assert_int_equal(ask_id(&b, FVERBS_CM_QUERY, y), -EINVAL);
}

static void rejected(void **state)
{
	uint32_t x, y;

	(void)state;
	listen_at(&b, B, 7471, false);
	x = dial(&a, A, B, 7471, false);
	settle(2000);
	y = expect(&b, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	assert_int_equal(with_param(&b, FVERBS_CM_REJECT, y, 0, "no"), 0);
	settle(3000);
	assert_int_equal(expect(&a, RDMA_CM_EVENT_REJECTED, 200, RCM_REJ_CONSUMER), x);
	assert_memory_equal(a.event.param.private_data, "no", 2);
	/* Nobody listens there. */
	dial(&a, A, B, 7472, false);
	settle(4000);
	expect(&a, RDMA_CM_EVENT_REJECTED, 200, RCM_REJ_INVALID_SERVICE);
}

static void backlog(void **state)
{
	uint32_t id = make_id(&b, 100, false);
	struct fverbs_cm_req q = { .what = FVERBS_CM_LISTEN, .id = id, .value = 2 };

	(void)state;
	assert_int_equal(bind_to(&b, id, B, 80), 0);
	assert_int_equal(ask(&b, &q), 0);
	for (int i = 0; i < 3; i++)
		dial(&a, A, B, 80, false);
	settle(2000);
	expect(&a, RDMA_CM_EVENT_REJECTED, 200, RCM_REJ_NO_RESOURCES);
	/* With the listener go the requests that nobody has fetched. */
	assert_int_equal(ask_id(&b, FVERBS_CM_DESTROY_ID, id), 0);
	expect_none(&b);
	settle(3000);
	expect(&a, RDMA_CM_EVENT_REJECTED, 200, RCM_REJ_CONSUMER);
	expect(&a, RDMA_CM_EVENT_REJECTED, 200, RCM_REJ_CONSUMER);
}

static void unreachable(void **state)
{
	uint64_t now = 2000;

	(void)state;
	dial(&a, A, B, 7471, false);
	for (int i = 0; i < 30; i++) {
		a.r.now = now += SECOND;
		rdma_cm_run(&a.r);
		a.head = a.tail;
	}
	expect(&a, RDMA_CM_EVENT_UNREACHABLE, 200, -ETIMEDOUT);
	expect_none(&a);
	assert_int_equal(a.tail, RCM_TRIES);
	assert_int_equal(rdma_cm_deadline(&a.r), UINT64_MAX);
}

/* Each message is lost once. */
static void losses(void **state)
{
	uint32_t x, y;
	uint64_t now = SECOND;

	(void)state;
	listen_at(&b, B, 7471, false);
	x = dial(&a, A, B, 7471, false);
	rdma_cm_run(&a.r);
	a.head = a.tail;
	settle(now += 3 * SECOND);
	y = expect(&b, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	/* The request comes again, and is known. */
	settle(now += 3 * SECOND);
	expect_none(&b);
	assert_int_equal(with_param(&b, FVERBS_CM_ACCEPT, y, 22, ""), 0);
	rdma_cm_run(&b.r);
	b.head = b.tail;
	settle(now += 3 * SECOND);
	expect(&a, RDMA_CM_EVENT_CONNECT_RESPONSE, 200, 0);
	assert_int_equal(ask_id(&a, FVERBS_CM_ACCEPT, x), 0);
	rdma_cm_run(&a.r);
	a.head = a.tail;
	settle(now += 3 * SECOND);
	expect(&b, RDMA_CM_EVENT_ESTABLISHED, 5, 0);
	expect_none(&a);
	assert_int_equal(ask_id(&b, FVERBS_CM_DISCONNECT, y), 0);
	rdma_cm_run(&b.r);
	b.head = b.tail;
	settle(now += 3 * SECOND);
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 200, 0);
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 5, 0);
	settle(now += 100 * SECOND);
	expect_none(&a);
	expect_none(&b);
}

/* An application dies at each stage: the other end hears of it. */
static void deaths(void **state)
{
	uint32_t x, y;

	(void)state;
	join(&x, &y);
	rdma_cm_ctx_gone(&a.ctx);
	settle(5000);
	expect(&b, RDMA_CM_EVENT_DISCONNECTED, 5, 0);
	assert_int_equal(a.charged[RDMA_CHARGE_CM_IDS], 0);
}

static void datagrams(void **state)
{
	uint32_t x, y;

	(void)state;
	listen_at(&b, B, 7174, true);
	x = dial(&a, A, B, 7174, true);
	settle(2000);
	y = expect(&b, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	assert_true(b.event.datagram);
	assert_memory_equal(b.event.param.private_data, "hello", 5);
	assert_int_equal(with_param(&b, FVERBS_CM_ACCEPT, y, 33, "q"), 0);
	settle(3000);
	assert_int_equal(expect(&a, RDMA_CM_EVENT_ESTABLISHED, 200, 0), x);
	assert_int_equal(a.event.param.qp_num, 33);
	assert_int_equal(a.event.param.qkey, 0x1234567);
	expect_none(&b);
	dial(&a, A, B, 1, true);
	settle(4000);
	expect(&a, RDMA_CM_EVENT_UNREACHABLE, 200, RCM_SIDR_UNSUPPORTED);
	/* Port spaces are apart. */
	dial(&a, A, B, 7174, false);
	settle(5000);
	expect(&a, RDMA_CM_EVENT_REJECTED, 200, RCM_REJ_INVALID_SERVICE);
}

static void ports(void **state)
{
	struct fverbs_cm_req reuse = { .what = FVERBS_CM_REUSE, .value = 1 };
	uint32_t x = make_id(&a, 1, false), y = make_id(&a, 2, false), z = make_id(&a, 3, true);

	(void)state;
	assert_int_equal(bind_to(&a, x, A, 5000), 0);
	assert_int_equal(bind_to(&a, y, A, 5000), -EADDRINUSE);
	assert_int_equal(bind_to(&a, y, "0.0.0.0", 5000), -EADDRINUSE);
	assert_int_equal(bind_to(&a, y, "10.9.9.9", 1), -EADDRNOTAVAIL);
	assert_int_equal(bind_to(&a, z, A, 5000), 0);
	reuse.id = x;
	assert_int_equal(ask(&a, &reuse), 0);
	reuse.id = y;
	assert_int_equal(ask(&a, &reuse), 0);
	assert_int_equal(bind_to(&a, y, A, 5000), 0);
	for (int i = 0; i < 100; i++) {
		uint32_t id = make_id(&a, 4, false);

		assert_int_equal(bind_to(&a, id, "0.0.0.0", 0), 0);
		assert_int_equal(ask_id(&a, FVERBS_CM_QUERY, id), 0);
		assert_true(ntohs(a.answer.src.port) >= RCM_PORT_FIRST);
		assert_int_equal(a.answer.guid, 0);
	}
}

/* Every port that is chosen is found at once, with all others taken as well. */
static void all_ports(void **state)
{
	uint32_t id, n = RCM_PORT_LAST - RCM_PORT_FIRST + 1;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		id = make_id(&a, i, false);
		assert_int_equal(bind_to(&a, id, A, 0), 0);
	}
	id = make_id(&a, n, false);
	assert_int_equal(bind_to(&a, id, A, 0), -EADDRNOTAVAIL);
	assert_int_equal(bind_to(&a, id, A, 5000), 0);
	assert_int_equal(ask_id(&a, FVERBS_CM_CLOSE_CHANNEL, a.channel), 0);
	assert_int_equal(a.charged[RDMA_CHARGE_CM_IDS], 0);
}

/* What fails again and again, and is not fetched, does not pile up. */
static void unfetched_events(void **state)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_RESOLVE_ADDR, .src = address("10.9.9.9", 0),
				   .dst = address(B, 1) };

	(void)state;
	q.id = make_id(&a, 9, false);
	for (int i = 0; i < RCM_EVENTS_MAX; i++)
		assert_int_equal(ask(&a, &q), 0);
	assert_int_equal(ask(&a, &q), -ENOBUFS);
	expect(&a, RDMA_CM_EVENT_ADDR_ERROR, 9, -ENODEV);
	assert_int_equal(ask(&a, &q), 0);
	assert_int_equal(ask(&a, &q), -ENOBUFS);
	assert_int_equal(ask_id(&a, FVERBS_CM_DESTROY_ID, q.id), 0);
	assert_int_equal(ask_id(&a, FVERBS_CM_GET_EVENT, a.channel), -EAGAIN);
}

/* A channel keeps a descriptor of the agent's. */
static void charges_channels(void **state)
{
	(void)state;
	assert_int_equal(b.charged[RDMA_CHARGE_CHANNELS], 1);
	b.max[RDMA_CHARGE_CHANNELS] = 2;
	assert_int_equal(ask_id(&b, FVERBS_CM_OPEN_CHANNEL, 0), 0);
	assert_int_equal(ask_id(&b, FVERBS_CM_OPEN_CHANNEL, 0), -EDQUOT);
	assert_int_equal(ask_id(&b, FVERBS_CM_CLOSE_CHANNEL, b.channel), 0);
	assert_int_equal(ask_id(&b, FVERBS_CM_OPEN_CHANNEL, 0), 0);
}

/* Ids are their user's, and so are requests that peers make. */
static void charges(void **state)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_CREATE_ID, .channel = a.channel, .ps = RDMA_PS_TCP };
	uint32_t id;

	(void)state;
	a.max[RDMA_CHARGE_CM_IDS] = 2;
	id = make_id(&a, 1, false);
	make_id(&a, 2, false);
	assert_int_equal(ask(&a, &q), -EDQUOT);
	assert_int_equal(ask_id(&a, FVERBS_CM_DESTROY_ID, id), 0);
	make_id(&a, 3, false);
	a.max[RDMA_CHARGE_CM_IDS] = 100;
	b.max[RDMA_CHARGE_CM_IDS] = 2;
	listen_at(&b, B, 7471, false);
	for (int i = 0; i < 2; i++)
		dial(&a, A, B, 7471, false);
	settle(2000);
	expect(&b, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	expect(&a, RDMA_CM_EVENT_REJECTED, 200, RCM_REJ_NO_RESOURCES);
	assert_int_equal(b.charged[RDMA_CHARGE_CM_IDS], 2);
	assert_int_equal(ask_id(&b, FVERBS_CM_CLOSE_CHANNEL, b.channel), 0);
	assert_int_equal(b.charged[RDMA_CHARGE_CM_IDS], 0);
}

/* Events move with their id, and wait for sockets without room. */
static void channels(void **state)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_MIGRATE };
	uint32_t first = b.channel, id = listen_at(&b, B, 7471, false);

	(void)state;
	b.full = true;
	dial(&a, A, B, 7471, false);
	settle(2000);
	assert_int_equal(b.bytes, 0);
	assert_true(rdma_cm_deadline(&b.r) < SECOND);
	assert_int_equal(ask_id(&b, FVERBS_CM_OPEN_CHANNEL, 0), 0);
	q.id = id;
	q.channel = b.channel = b.answer.id;
	assert_int_equal(ask(&b, &q), 0);
	b.full = false;
	settle(SECOND);
	assert_true(b.bytes >= 1);
	assert_int_equal(ask_id(&b, FVERBS_CM_GET_EVENT, first), -EAGAIN);
	expect(&b, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	assert_int_equal(ask_id(&b, FVERBS_CM_CLOSE_CHANNEL, b.channel), 0);
	assert_int_equal(b.closed, 1);
	assert_int_equal(ask_id(&b, FVERBS_CM_GET_EVENT, b.channel), -EINVAL);
}

static void bytes(void **state)
{
	static const uint8_t want[] = {
		1, RCM_REQ, 0x01, 0x06, 0, 1, 0, 2, 0, 0, 0, 3, 0, 4, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7,
		2, 8, 9, 10, 11, 3, 12, 2, 'h', 'i',
	};
	struct rcm_msg m = { .type = RCM_REQ, .ps = RDMA_PS_TCP, .src_id = 0x10002, .dst_id = 3,
			     .src_port = 4, .dst_port = 5, .qp_type = 2, .reason = 12,
			     .param = { .qp_num = 6, .qkey = 7, .responder_resources = 8,
					.initiator_depth = 9, .retry_count = 10, .rnr_retry_count = 11,
					.flow_control = 1, .srq = 1, .private_data_len = 2,
					.private_data = "hi" } }, back;
	uint8_t out[ULP_NOTE_MAX];

	(void)state;
	assert_int_equal(rcm_pack(&m, out), sizeof(want));
	assert_memory_equal(out, want, sizeof(want));
	assert_true(rcm_unpack(out, sizeof(want), &back));
	assert_memory_equal(&m, &back, sizeof(m));
	for (size_t len = 0; len < sizeof(want); len++)
		assert_false(rcm_unpack(out, len, &back));
	assert_false(rcm_unpack(out, sizeof(want) + 1, &back));
	out[0] = 2;
	assert_false(rcm_unpack(out, sizeof(want), &back));
}

/* Notes of random bytes, most of them well-formed, for ids that exist and others. */
static void nonsense(void **state)
{
	uint64_t seed = 3;
	uint32_t x, y;

	(void)state;
	join(&x, &y);
	dial(&a, A, B, 7471, false);
	for (int i = 0; i < 20000; i++) {
		struct ulp_note n = { .family = AF_INET };
		uint32_t dst = htonl(unit_random(&seed) % 2 ? y : (uint32_t)unit_random(&seed) % 4);

		for (size_t j = 0; j < 64; j++)
			n.data[j] = (uint8_t)unit_random(&seed);
		inet_pton(AF_INET, B, n.local.b);
		inet_pton(AF_INET, A, n.remote.b);
		n.data[0] = 1;
		n.data[1] %= 10;
		memcpy(n.data + 8, &dst, 4);
		n.data[16] = 0;
		n.data[29] &= 3;
		n.data[31] %= 32;
		n.len = (uint16_t)(RCM_HEADER + n.data[31]);
		rdma_cm_note(&b.r, &n);
		if (i % 64 == 0)
			settle(5000);
		b.head = b.tail;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_source, setup, teardown),
		cmocka_unit_test_setup_teardown(connected, setup, teardown),
		cmocka_unit_test_setup_teardown(rejected, setup, teardown),
		cmocka_unit_test_setup_teardown(backlog, setup, teardown),
		cmocka_unit_test_setup_teardown(unreachable, setup, teardown),
		cmocka_unit_test_setup_teardown(losses, setup, teardown),
		cmocka_unit_test_setup_teardown(deaths, setup, teardown),
		cmocka_unit_test_setup_teardown(datagrams, setup, teardown),
		cmocka_unit_test_setup_teardown(ports, setup, teardown),
		cmocka_unit_test_setup_teardown(all_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(unfetched_events, setup, teardown),
		cmocka_unit_test_setup_teardown(charges, setup, teardown),
		cmocka_unit_test_setup_teardown(charges_channels, setup, teardown),
		cmocka_unit_test_setup_teardown(channels, setup, teardown),
		cmocka_unit_test_setup_teardown(bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense, setup, teardown),
	};

	return unit_run(tests);
}
