// SPDX-License-Identifier: BSD-2-Clause
/* RDMA connection management of a host with two layers: which one a message is for, and whose a port is. */
#include "rdma_cm_env.h"

#define A "10.0.0.1"
#define B "10.0.0.2"

static struct side c;		/* with |b|, the layers of one host */

static int setup(void **state)
{
	(void)state;
	side_open(&a, &b, A);
	side_open(&b, &a, B);
	side_open(&c, &a, B);
	rdma_join(&c.r, &b.r.alone);
	return 0;
}

static int teardown(void **state)
{
	struct side *all[] = { &a, &b, &c };

	(void)state;
	for (int i = 0; i < 3; i++) {
		rdma_cm_ctx_gone(&all[i]->ctx);
		rdma_cm_close(&all[i]->r);
	}
	return 0;
}

/* The next note of |from| as its receiver has it. */
static struct ulp_note next_note(struct side *from)
{
	struct ulp_note n;
	struct falcon_addr addr;

	assert_true(from->head < from->tail);
	n = from->out[from->head++ % NOTES];
	addr = n.local;
	n.local = n.remote;
	n.remote = addr;
	return n;
}

/* The only note that A sends now is for |want|, as all layers together know, or each by itself. */
static void sends_to(struct side *want, bool by_itself)
{
	int number = (int)want->r.member;
	struct ulp_note n;

	rdma_cm_run(&a.r);
	n = next_note(&a);
	assert_int_equal(rdma_cm_note_for(&b.r, &n, false), by_itself ? number : -1);
	assert_int_equal(rdma_cm_note_for(&b.r, &n, true), number);
	rdma_cm_note(&want->r, &n);
	assert_int_equal(a.head, a.tail);
}

static void answers(struct side *s)
{
	struct ulp_note n;

	rdma_cm_run(&s->r);
	n = next_note(s);
	rdma_cm_note(&a.r, &n);
}

static void connect_to(struct side *s, uint16_t port)
{
	uint32_t at_a, at_s;

	listen_at(s, B, port, false);
	at_a = dial(&a, A, B, port, false);
	sends_to(s, false);
	at_s = expect(s, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	assert_int_equal(with_param(s, FVERBS_CM_ACCEPT, at_s, 22, ""), 0);
	answers(s);
	expect(&a, RDMA_CM_EVENT_CONNECT_RESPONSE, 200, 0);
	assert_int_equal(ask_id(&a, FVERBS_CM_ACCEPT, at_a), 0);
	sends_to(s, true);
	expect(s, RDMA_CM_EVENT_ESTABLISHED, 5, 0);
	assert_int_equal(ask_id(&a, FVERBS_CM_DISCONNECT, at_a), 0);
	sends_to(s, true);
	expect(s, RDMA_CM_EVENT_DISCONNECTED, 5, 0);
}

static void to_who_listens(void **state)
{
	(void)state;
	connect_to(&c, 7000);
	connect_to(&b, 7001);
}

/* Its answer got lost: it comes again, to the one that has it, though it listens no more. */
static void again(void **state)
{
	uint32_t listener = listen_at(&c, B, 7000, false), id;

	(void)state;
	dial(&a, A, B, 7000, false);
	sends_to(&c, false);
	id = expect(&c, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	assert_int_equal(with_param(&c, FVERBS_CM_ACCEPT, id, 22, ""), 0);
	rdma_cm_run(&c.r);
	next_note(&c);
	assert_int_equal(ask_id(&c, FVERBS_CM_DESTROY_ID, listener), 0);
	a.r.now = a.r.cm->next_at;
	sends_to(&c, false);
	answers(&c);
	expect(&a, RDMA_CM_EVENT_CONNECT_RESPONSE, 200, 0);
}

/* Who takes a request back does not know yet where it went. */
static void taken_back(void **state)
{
	uint32_t id;

	(void)state;
	listen_at(&c, B, 7000, false);
	id = dial(&a, A, B, 7000, false);
	sends_to(&c, false);
	assert_int_equal(ask_id(&a, FVERBS_CM_DESTROY_ID, id), 0);
	sends_to(&c, false);
	expect_none(&c);
}

static void to_nobody(void **state)
{
	(void)state;
	dial(&a, A, B, 7000, false);
	sends_to(&b, false);
	answers(&b);
	expect(&a, RDMA_CM_EVENT_REJECTED, 200, RCM_REJ_INVALID_SERVICE);
}

static void ports_are_the_host_s(void **state)
{
	uint32_t at_b = make_id(&b, 1, false), at_c = make_id(&c, 1, false);

	(void)state;
	assert_int_equal(bind_to(&b, at_b, B, 5000), 0);
	assert_int_equal(bind_to(&c, at_c, B, 5000), -EADDRINUSE);
	assert_int_equal(bind_to(&c, at_c, "0.0.0.0", 5000), -EADDRINUSE);
	assert_int_equal(bind_to(&c, at_c, B, 5001), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(to_who_listens, setup, teardown),
		cmocka_unit_test_setup_teardown(again, setup, teardown),
		cmocka_unit_test_setup_teardown(taken_back, setup, teardown),
		cmocka_unit_test_setup_teardown(to_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(ports_are_the_host_s, setup, teardown),
	};

	return unit_run(tests);
}
