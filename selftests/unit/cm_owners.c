// SPDX-License-Identifier: BSD-2-Clause
/* Whose connection is begun next: users take turns, and each waits for answers of its own. */
#include "unit.h"

#include <stdlib.h>

#include <cm/priv.h>

enum { MANY = CM_OFFERS_MAX + 100, GREEDY = 1000, OTHER = 1001 };

static struct cm_session s;

static struct cm_conn *add(uint32_t owner, uint32_t cid)
{
	struct cm_conn *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->session = &s;
	c->cfg.owner = owner;
	c->cfg.local_cid = cid;
	c->state = CM_OPENING;
	assert_true(cm_owner_join(c));
	return c;
}

static void take_out(struct cm_conn *c)
{
	cm_owner_leave(c);
	free(c);
}

static int setup(void **state)
{
	(void)state;
	LIST_INIT(&s.owners);
	TAILQ_INIT(&s.turns);
	TAILQ_INIT(&s.dials);
	return 0;
}

/* What conn.c does with whoever's turn it is. */
static struct cm_conn *begin(void)
{
	struct cm_conn *c = cm_owner_next(&s);

	if (!c)
		return NULL;
	cm_owner_took_turn(&s, c);
	if (cm_conn_to_offer(c)) {
		c->ours.incarnation = 1;
		cm_conn_offered(c);
	}
	return c;
}

static void take_turns(void **state)
{
	struct cm_conn *of[6], *c;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		of[i] = add(i < 4 ? GREEDY : OTHER, i);
	for (uint32_t i = 0; i < 6; i++)
		cm_conn_due(of[i]);
	cm_conn_due(of[0]);
	static const uint32_t order[] = {0, 4, 1, 5, 2, 3};

	for (uint32_t i = 0; i < 6; i++) {
		c = begin();
		assert_non_null(c);
		assert_int_equal(c->cfg.local_cid, order[i]);
	}
	assert_null(begin());
	for (uint32_t i = 0; i < 6; i++)
		take_out(of[i]);
	assert_true(LIST_EMPTY(&s.owners));
}

/* Connections of one user that nobody answers leave others' alone, and go on when there are answers. */
static void wait_for_answers(void **state)
{
	struct cm_conn *of[MANY], *other;
	uint32_t begun = 0;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		of[i] = add(GREEDY, i);
		cm_conn_due(of[i]);
	}
	while (begin())
		begun++;
	assert_int_equal(begun, CM_OFFERS_MAX);
	other = add(OTHER, MANY);
	cm_conn_due(other);
	assert_ptr_equal(begin(), other);
	assert_null(begin());
	/* One is answered, one reset, one removed. */
	of[0]->state = CM_RECEIVING;
	of[1]->ours.incarnation = 0;
	take_out(of[2]);
	for (begun = 0; begin(); begun++)
		;
	assert_int_equal(begun, 3);
	/* What needs no answer does not wait. */
	of[0]->state = CM_READY;
	assert_null(cm_owner_next(&s));
	cm_conn_due(of[0]);
	assert_ptr_equal(begin(), of[0]);
	assert_null(begin());
	for (uint32_t i = 0; i < MANY; i++) {
		if (i != 2)
			take_out(of[i]);
	}
	take_out(other);
	assert_true(LIST_EMPTY(&s.owners));
	assert_true(TAILQ_EMPTY(&s.turns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(take_turns, setup),
		cmocka_unit_test_setup(wait_for_answers, setup),
	};

	return unit_run(tests);
}
