// SPDX-License-Identifier: BSD-2-Clause
/* Links of datagrams, and the bytes of offers. */
#include "rdma_link_env.h"

static const uint64_t SECOND = 1000000000;

static int setup(void **state)
{
	(void)state;
	env_open();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	env_close();
	return 0;
}

/* That of an address handle for datagrams to layer |member| of |to|. */
static struct rdma_link *handle_for(struct env_host *h, const struct env_host *to, unsigned int gid,
				    uint32_t member, bool ordered)
{
	struct fverbs_ah_attr ah;
	struct rdma_link *link;
	char err[128];

	env_path(to, gid, &ah);
	link = rdma_link_datagram(&h->ctx, 0, &ah, member, ordered, err, sizeof(err));
	assert_non_null(link);
	return link;
}

static struct rdma_link *handle_of(struct env_host *h, const struct env_host *to, unsigned int gid,
				   bool ordered)
{
	return handle_for(h, to, gid, 0, ordered);
}

static struct rdma_link *handle(struct env_host *h, const struct env_host *to, unsigned int gid)
{
	return handle_of(h, to, gid, true);
}

static void shared(void **state)
{
	struct rdma_link *one = handle(&env_a, &env_b, 0), *two = handle(&env_a, &env_b, 0);
	struct rdma_link *v6 = handle(&env_a, &env_b, 1), *back;
	uint8_t local[16], remote[16];

	(void)state;
	assert_ptr_equal(one, two);
	assert_ptr_not_equal(one, v6);
	assert_null(rdma_link_qp(one));
	env_settle(1000);
	assert_non_null(rdma_link_core(one));
	assert_int_equal(env_live(&env_b), 2);
	back = handle(&env_b, &env_a, 0);
	assert_non_null(rdma_link_core(back));
	assert_int_equal(env_b.dials, 0);
	rdma_link_gids(v6, local, remote);
	assert_memory_equal(local, env_a.r.devices[0].gids[1].raw, 16);
	assert_memory_equal(remote, env_b.r.devices[0].gids[1].raw, 16);
	rdma_link_gids(one, local, remote);
	assert_memory_equal(remote, env_b.r.devices[0].gids[0].raw, 16);
}

static void crossing(void **state)
{
	struct rdma_link *a = handle(&env_a, &env_b, 0), *b = handle(&env_b, &env_a, 0);

	(void)state;
	env_flush(&env_a);
	env_flush(&env_b);
	env_settle(1000);
	assert_non_null(rdma_link_core(a));
	assert_non_null(rdma_link_core(b));
	assert_int_equal(env_live(&env_a), 1);
	assert_int_equal(env_live(&env_b), 1);
}

/* RDMA 6.2: two connections with a peer, whoever dials; each end finds both. */
static void both_orders(void **state)
{
	struct rdma_link *strong = handle_of(&env_a, &env_b, 0, true), *b_strong;
	struct rdma_link *loose = handle_of(&env_a, &env_b, 0, false), *b_loose;

	(void)state;
	assert_ptr_not_equal(strong, loose);
	b_loose = handle_of(&env_b, &env_a, 0, false);
	env_flush(&env_b);
	env_settle(1000);
	b_strong = handle_of(&env_b, &env_a, 0, true);
	assert_ptr_not_equal(b_strong, b_loose);
	assert_int_equal(env_live(&env_a), 2);
	assert_int_equal(env_live(&env_b), 2);
	assert_true(env_a.conns[rdma_link_core(strong)->cid].ends.ordered);
	assert_false(env_a.conns[rdma_link_core(loose)->cid].ends.ordered);
	assert_true(env_b.conns[rdma_link_core(b_strong)->cid].ends.ordered);
	assert_false(env_b.conns[rdma_link_core(b_loose)->cid].ends.ordered);
	/* Each goes by itself. */
	rdma_link_put_datagram(loose, &env_a.ctx);
	rdma_link_put_datagram(b_loose, &env_b.ctx);
	env_settle(SECOND);
	env_settle(60 * SECOND);
	env_settle(61 * SECOND);
	assert_int_equal(env_live(&env_a), 1);
	assert_non_null(rdma_link_core(strong));
}

/* The offer and the connection that it is for have to say the same, and both offers. */
static void orders_differ(void **state)
{
	const struct link_offer loose = { LINK_DATAGRAM, 0, 0, 0, 0, 1400 };
	struct ulp_request req = { .peer = "", .cid = 3, .ends.family = AF_INET };
	struct ulp_conn up = { .core = &env_cores[1], .cid = 1, .max_len = 1400 };
	struct link_offer strong = loose;
	struct rdma_link *a;
	struct ulp_data reply;
	char err[128];

	(void)state;
	strong.modes = RDMA_LINK_ORDERED;
	for (int ordered = 0; ordered < 2; ordered++) {
		req.ends.ordered = ordered;
		link_offer_pack(ordered ? &loose : &strong, &req.data);
		assert_int_equal(rdma_links_accept(&env_a.r, &req, &reply, err, sizeof(err)), -EPROTO);
		assert_string_equal(err, "offer and connection differ in their order");
	}
	a = handle(&env_a, &env_b, 0);
	env_flush(&env_a);
	link_offer_pack(&loose, &up.data);
	assert_int_equal(rdma_links_conn_up(&env_a.r, &up), 0);
	assert_null(rdma_link_core(a));
	assert_true(env_a.conns[1].hung);
	assert_string_equal(env_a.out->msgs[1].text,
			    "datagrams are strongly ordered here, yours weakly ordered");
}

static void kept_a_while(void **state)
{
	struct rdma_link *a = handle(&env_a, &env_b, 0), *again;

	(void)state;
	env_settle(1000);
	rdma_link_put_datagram(a, &env_a.ctx);
	env_settle(20 * SECOND);
	assert_int_equal(env_live(&env_a), 1);
	again = handle(&env_a, &env_b, 0);
	assert_non_null(rdma_link_core(again));
	env_settle(40 * SECOND);
	assert_int_equal(env_live(&env_a), 1);
	rdma_link_put_datagram(again, &env_a.ctx);
	env_settle(41 * SECOND);
	env_settle(80 * SECOND);
	assert_int_equal(env_live(&env_a), 0);
	assert_int_equal(env_live(&env_b), 0);
	assert_int_equal(rdma_links_deadline(&env_a.r), UINT64_MAX);
}

static uint64_t charged[2], most;	/* to the users 0 and 1; that each may be */

static int charge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount, char *err, size_t errlen)
{
	(void)arg;
	assert_int_equal(what, RDMA_CHARGE_LINKS);
	snprintf(err, errlen, "no more for user %u", uid);
	if (charged[uid] + amount > most)
		return -EDQUOT;
	charged[uid] += amount;
	return 0;
}

static void uncharge(void *arg, uint32_t uid, enum rdma_charge what, uint64_t amount)
{
	(void)arg, (void)what;
	assert_true(charged[uid] >= amount);
	charged[uid] -= amount;
}

static struct rdma_link *try_handle(struct rdma_ctx *ctx, const struct env_host *to, unsigned int gid)
{
	struct fverbs_ah_attr ah;
	char err[128] = "";
	struct rdma_link *link;

	env_path(to, gid, &ah);
	link = rdma_link_datagram(ctx, 0, &ah, 0, true, err, sizeof(err));
	if (!link) {
		assert_int_equal(errno, EDQUOT);
		assert_string_equal(err, "no more for user 0");
	}
	return link;
}

/* Links are charged to those who use them, also while they are kept for the last one. */
static void charges(void **state)
{
	struct rdma_ctx other = env_a.ctx;
	struct rdma_link *v4, *v6;

	(void)state;
	other.owner.uid = 1;
	env_a.r.host.charge = charge;
	env_a.r.host.uncharge = uncharge;
	charged[0] = charged[1] = 0;
	most = 1;
	v4 = try_handle(&env_a.ctx, &env_b, 0);
	assert_ptr_equal(try_handle(&env_a.ctx, &env_b, 0), v4);
	assert_int_equal(charged[0], 1);
	assert_null(try_handle(&env_a.ctx, &env_b, 1));
	env_settle(1000);
	assert_int_equal(env_live(&env_a), 1);
	/* Left alone it is still one of his; until it is another's, or goes. */
	rdma_link_put_datagram(v4, &env_a.ctx);
	rdma_link_put_datagram(v4, &env_a.ctx);
	assert_null(try_handle(&env_a.ctx, &env_b, 1));
	assert_ptr_equal(try_handle(&other, &env_b, 0), v4);
	assert_int_equal(charged[0], 0);
	v6 = try_handle(&env_a.ctx, &env_b, 1);
	assert_non_null(v6);
	rdma_link_put_datagram(v6, &env_a.ctx);
	rdma_link_put_datagram(v4, &other);
	assert_int_equal(charged[0] + charged[1], 2);
	env_settle(2000);
	env_settle(32 * SECOND);
	assert_int_equal(charged[0] + charged[1], 0);
	/* Both ends of one to itself are here. */
	assert_null(try_handle(&env_a.ctx, &env_a, 0));
	most = 2;
	assert_non_null(try_handle(&env_a.ctx, &env_a, 0));
}

/* What a peer has dialled is not charged to who has left it. */
static void dialled_by_the_peer(void **state)
{
	struct rdma_link *b = handle(&env_b, &env_a, 0), *a;

	(void)state;
	env_settle(1000);
	env_a.r.host.charge = charge;
	env_a.r.host.uncharge = uncharge;
	most = 1;
	charged[0] = charged[1] = 0;
	a = handle(&env_a, &env_b, 0);
	assert_int_equal(charged[0], 1);
	rdma_link_put_datagram(a, &env_a.ctx);
	assert_int_equal(charged[0], 0);
	rdma_link_put_datagram(b, &env_b.ctx);
}

/* The end that was dialled has handles, too: when the other leaves it dials itself. */
static void taken_over(void **state)
{
	struct rdma_link *a = handle(&env_a, &env_b, 0), *b;

	(void)state;
	env_settle(1000);
	b = handle(&env_b, &env_a, 0);
	rdma_link_put_datagram(a, &env_a.ctx);
	env_settle(1000);
	env_settle(60 * SECOND);
	env_settle(62 * SECOND);
	assert_int_equal(env_b.dials, 1);
	assert_non_null(rdma_link_core(b));
	rdma_link_put_datagram(b, &env_b.ctx);
}

static void made_anew(void **state)
{
	struct rdma_link *a = handle(&env_a, &env_b, 0);

	(void)state;
	env_settle(1000);
	env_lose(&env_a, rdma_link_core(a)->cid, "lost");
	env_lose(&env_b, 1, "lost");
	assert_null(rdma_link_core(a));
	env_settle(SECOND);
	assert_non_null(rdma_link_core(a));
}

struct waiter {
	struct rdma_link_wait w;
	int up, failed;
};

static bool done(struct rdma_link_wait *w, bool up)
{
	struct waiter *x = (struct waiter *)w;

	if (up)
		x->up++;
	else
		x->failed++;
	return true;
}

static void waiting(void **state)
{
	struct waiter w[3] = { { .w.done = done }, { .w.done = done }, { .w.done = done } };
	struct rdma_link *a = handle(&env_a, &env_b, 0);

	(void)state;
	rdma_link_wait(a, &w[0].w);
	rdma_link_wait(a, &w[1].w);
	rdma_link_unwait(&w[1].w);
	env_settle(1000);
	assert_int_equal(w[0].up, 1);
	assert_int_equal(w[1].up + w[1].failed, 0);
	env_b.deaf = "go away";
	env_lose(&env_b, 1, "lost");
	env_lose(&env_a, rdma_link_core(a)->cid, "lost");
	rdma_link_wait(a, &w[2].w);
	env_settle(2000);
	assert_int_equal(w[2].failed, 0);
	env_settle(4 * SECOND);
	assert_int_equal(w[2].failed, 1);
	assert_int_equal(w[2].up, 0);
	/* It is tried further on. */
	env_b.deaf = NULL;
	env_settle(20 * SECOND);
	assert_non_null(rdma_link_core(a));
}

static bool full(struct rdma_link_wait *w, bool up)
{
	return up ? false : done(w, up);
}

/* Of a link that is up and takes nothing, and of one that takes something now and then. */
static void waiting_for_room(void **state)
{
	struct waiter w[4] = { { .w.done = full }, { .w.done = full }, { .w.done = full },
			       { .w.done = full } };
	struct rdma_link *a = handle(&env_a, &env_b, 0);

	(void)state;
	for (int i = 0; i < 4; i++) {
		w[i].w.held = i;
		rdma_link_wait(a, &w[i].w);
	}
	assert_int_equal(rdma_link_places(a), LINK_HELD_MAX - 3);
	env_settle(SECOND);
	assert_true(rdma_link_has_waits(a));
	rdma_link_unwait(&w[1].w);
	assert_int_equal(rdma_link_places(a), LINK_HELD_MAX - 2);
	for (int i = 0; i < 2; i++)
		w[2 * i].w.done = done;
	rdma_link_room(a);
	env_settle(3 * SECOND);
	assert_int_equal(w[0].up + w[2].up, 2);
	assert_int_equal(w[3].up + w[3].failed, 0);
	env_settle(7 * SECOND);
	assert_int_equal(w[3].failed, 1);
	assert_int_equal(rdma_link_places(a), LINK_HELD_MAX);
	assert_false(rdma_link_has_waits(a));
	rdma_link_put_datagram(a, &env_a.ctx);
	env_settle(8 * SECOND);
	assert_int_equal(env_live(&env_a), 1);
}

/* Datagrams to the own address arrive on the other end's connection, of the same link. */
static void to_oneself(void **state)
{
	static struct env_queue own;
	struct rdma_link *a;

	(void)state;
	memset(&own, 0, sizeof(own));
	env_a.peer = &env_a;
	env_a.out = &own;
	a = handle(&env_a, &env_a, 0);
	while (env_flush(&env_a) || env_deliver(&env_a))
		;
	assert_int_equal(rdma_link_core(a)->cid, 1);
	assert_ptr_equal(rdma_link_of(&env_a.r, &env_cores[2]), a);
}

static void bytes(void **state)
{
	const struct link_offer o = { LINK_RC, RDMA_LINK_UNORDERED | RDMA_LINK_CIE, LINK_REASONS, 0x123456,
				      0xabcdef, 0x1000 };
	static const uint8_t want[LINK_OFFER_LEN] = { 3, 1, 6, 1, 0, 0x12, 0x34, 0x56, 0, 0xab,
						      0xcd, 0xef, 0, 0, 0x10, 0 };
	struct link_offer back;
	struct ulp_data d;
	char err[128];

	(void)state;
	link_offer_pack(&o, &d);
	assert_int_equal(d.len, LINK_OFFER_LEN);
	assert_memory_equal(d.bytes, want, sizeof(want));
	assert_int_equal(link_offer_unpack(&d, &back, err, sizeof(err)), 0);
	assert_int_equal(back.kind, o.kind);
	assert_int_equal(back.modes, o.modes);
	assert_int_equal(back.extensions, o.extensions);
	assert_int_equal(back.src_qpn, o.src_qpn);
	assert_int_equal(back.dst_qpn, o.dst_qpn);
	assert_int_equal(back.max_len, o.max_len);
}

/* Each pair of layers has its own, found from both ends. */
static void between_layers(void **state)
{
	struct rdma_link *first = handle_for(&env_a, &env_b, 0, 0, true);
	struct rdma_link *second = handle_for(&env_a, &env_b, 0, 1, true), *back;

	(void)state;
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(handle_for(&env_a, &env_b, 0, 1, true), second);
	env_settle(1000);
	assert_non_null(rdma_link_core(first));
	assert_non_null(rdma_link_core(second));
	assert_int_equal(env_live(&env_b), 2);
	/* What layer 1 there sends to layer 0 here. */
	env_b.r.member = 1;
	back = handle_for(&env_b, &env_a, 0, 0, true);
	assert_non_null(rdma_link_core(back));
	assert_int_equal(back->qpn, 1);
	assert_int_equal(env_b.dials, 0);
	rdma_link_put_datagram(back, &env_b.ctx);
	env_b.r.member = 0;
}

static void malformed(void **state)
{
	static const struct {
		unsigned int at;
		uint8_t value;
		const char *why;
	} cases[] = {
		{ 0, 1, "version 3" },	       { 1, 0, "no such kind" },
		{ 1, 3, "no such kind" },      { 1, LINK_DATAGRAM, "out of range" },
		{ 2, 3, "no such mode" },      { 2, 16, "no such mode" },
		{ 4, 1, "out of range" },      { 8, 1, "out of range" },
		{ 7, 0, "out of range" },      { 11, 0, "out of range" },
		{ 14, 0, "too small" },
	};
	const struct link_offer o = { LINK_RC, RDMA_LINK_ORDERED, 0, 7, 9, 0x1000 };
	struct ulp_request req = { .peer = "", .cid = 3 };
	struct ulp_data reply;
	struct link_offer back;
	char err[128];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		link_offer_pack(&o, &req.data);
		req.data.bytes[cases[i].at] = cases[i].value;
		assert_int_equal(link_offer_unpack(&req.data, &back, err, sizeof(err)), -EPROTO);
		assert_non_null(strstr(err, cases[i].why));
		assert_int_equal(rdma_links_accept(&env_a.r, &req, &reply, err, sizeof(err)),
				 -EPROTO);
	}
	for (uint8_t modes = 0; modes < 16; modes++) {
		link_offer_pack(&(struct link_offer){ LINK_DATAGRAM, modes, 0, 0, 0, 0x1000 }, &req.data);
		assert_int_equal(link_offer_unpack(&req.data, &back, err, sizeof(err)),
				 modes & ~RDMA_LINK_ORDERED ? -EPROTO : 0);
	}
	for (uint8_t len = 0; len <= ULP_DATA_MAX; len++) {
		link_offer_pack(&o, &req.data);
		req.data.len = len;
		assert_int_equal(link_offer_unpack(&req.data, &back, err, sizeof(err)),
				 len == LINK_OFFER_LEN ? 0 : -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shared, setup, teardown),
		cmocka_unit_test_setup_teardown(crossing, setup, teardown),
		cmocka_unit_test_setup_teardown(both_orders, setup, teardown),
		cmocka_unit_test_setup_teardown(orders_differ, setup, teardown),
		cmocka_unit_test_setup_teardown(kept_a_while, setup, teardown),
		cmocka_unit_test_setup_teardown(charges, setup, teardown),
		cmocka_unit_test_setup_teardown(dialled_by_the_peer, setup, teardown),
		cmocka_unit_test_setup_teardown(taken_over, setup, teardown),
		cmocka_unit_test_setup_teardown(made_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(waiting_for_room, setup, teardown),
		cmocka_unit_test_setup_teardown(to_oneself, setup, teardown),
		cmocka_unit_test_setup_teardown(bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(between_layers, setup, teardown),
		cmocka_unit_test_setup_teardown(malformed, setup, teardown),
	};

	return unit_run(tests);
}
