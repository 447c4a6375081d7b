// SPDX-License-Identifier: BSD-2-Clause
/* The CC event and result queues: order, full and empty, generations, another mapping, lies. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "falcon/abi/rue_queue.h"
#include "unit.h"

enum { ENTRIES = 8 };

struct pair {
	int fd;
	size_t bytes;
	struct falcon_rue_queue *q, *again;	/* the same memory, mapped twice */
	struct falcon_rue_producer p;
	struct falcon_rue_consumer c;
};

static struct falcon_rue_queue *map(int fd, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static int setup(void **state)
{
	struct pair *v = calloc(1, sizeof(*v));

	v->bytes = falcon_rue_queue_bytes(ENTRIES);
	v->fd = memfd_create("queue", MFD_CLOEXEC);
	assert_int_equal(ftruncate(v->fd, (off_t)v->bytes), 0);
	v->q = map(v->fd, v->bytes);
	v->again = map(v->fd, v->bytes);
	assert_ptr_not_equal(v->q, v->again);
	falcon_rue_queue_init(v->q, ENTRIES);
	falcon_rue_produce_into(&v->p, v->q);
	falcon_rue_consume_from(&v->c, v->again);
	*state = v;
	return 0;
}

static int teardown(void **state)
{
	struct pair *v = *state;

	munmap(v->q, v->bytes);
	munmap(v->again, v->bytes);
	close(v->fd);
	free(v);
	return 0;
}

static bool put(struct pair *v, uint64_t n)
{
	const __u64 w[8] = { n, ~n, n, n, n, n, n, ~0ULL };

	return falcon_rue_put(&v->p, w);
}

static void want(struct pair *v, uint64_t n)
{
	__u64 w[8];

	assert_true(falcon_rue_ready(&v->c));
	assert_true(falcon_rue_get(&v->c, w));
	assert_int_equal(w[0], n);
	assert_int_equal(w[1], ~n);
	assert_int_equal(w[6], n);
	assert_int_equal(w[7] | 1ULL << 63, ~0ULL);
}

static void want_none(struct pair *v)
{
	__u64 w[8];

	assert_false(falcon_rue_ready(&v->c));
	assert_false(falcon_rue_get(&v->c, w));
}

static void queue__entries_are_in_order_over_many_laps(void **state)
{
	struct pair *v = *state;
	uint64_t in = 0, out = 0, rng = 1;

	want_none(v);
	while (out < 1000) {
		for (uint64_t n = unit_random(&rng) % (ENTRIES + 1); n; n--)
			if (in - out < ENTRIES)
				assert_true(put(v, in++));
		assert_int_equal(falcon_rue_used(&v->p), in - out);
		for (uint64_t n = unit_random(&rng) % (ENTRIES + 1); n && out < in; n--)
			want(v, out++);
		if (out == in)
			want_none(v);
	}
}

static void queue__a_full_one_refuses_and_loses_nothing(void **state)
{
	struct pair *v = *state;

	for (uint64_t i = 0; i < ENTRIES; i++)
		assert_true(put(v, i));
	assert_false(put(v, 99));
	assert_int_equal(falcon_rue_used(&v->p), ENTRIES);
	want(v, 0);
	assert_true(put(v, ENTRIES));
	assert_false(put(v, 99));
	for (uint64_t i = 1; i <= ENTRIES; i++)
		want(v, i);
	want_none(v);
}

static void queue__generation_is_bit_511_and_flips_each_lap(void **state)
{
	struct pair *v = *state;

	assert_int_equal(FALCON_EV_gen, 511);
	for (uint64_t i = 0; i < 4 * ENTRIES; i++) {
		put(v, i);
		assert_int_equal(v->again->entry[i % ENTRIES].w[7] >> 63, i / ENTRIES % 2 == 0);
		want(v, i);
	}
}

static void queue__indexes_wrap_at_2_32(void **state)
{
	struct pair *v = *state;

	/* Where a queue that has been used for long stands, a multiple of two laps. */
	v->q->head = v->q->tail = 0U - 2 * ENTRIES;
	falcon_rue_produce_into(&v->p, v->q);
	falcon_rue_consume_from(&v->c, v->again);
	for (uint64_t i = 0; i < 5 * ENTRIES; i++) {
		assert_true(put(v, i));
		want(v, i);
		want_none(v);
	}
}

static void queue__successors_go_on_where_it_stopped(void **state)
{
	struct pair *v = *state;

	for (uint64_t i = 0; i < ENTRIES + 3; i++) {
		put(v, i);
		want(v, i);
	}
	put(v, 100);
	memset(&v->p, 0, sizeof(v->p));
	memset(&v->c, 0, sizeof(v->c));
	falcon_rue_produce_into(&v->p, v->again);
	falcon_rue_consume_from(&v->c, v->q);
	put(v, 101);
	want(v, 100);
	want(v, 101);
	want_none(v);
}

static void queue__sleeper_is_woken_once(void **state)
{
	struct pair *v = *state;

	assert_false(falcon_rue_must_wake(&v->p));
	assert_true(falcon_rue_sleep(&v->c));
	put(v, 1);
	assert_true(falcon_rue_must_wake(&v->p));
	assert_false(falcon_rue_must_wake(&v->p));
	assert_false(falcon_rue_sleep(&v->c));
	assert_false(falcon_rue_must_wake(&v->p));
	want(v, 1);
}

static void queue__what_is_none_is_refused(void **state)
{
	struct pair *v = *state;
	struct falcon_rue_queue *q = v->q;

	assert_true(falcon_rue_queue_valid(q, v->bytes));
	assert_false(falcon_rue_queue_valid(q, v->bytes - 1));
	assert_false(falcon_rue_queue_valid(q, 16));
	q->entries = ENTRIES - 1;
	assert_false(falcon_rue_queue_valid(q, v->bytes));
	q->entries = 0;
	assert_false(falcon_rue_queue_valid(q, v->bytes));
	q->entries = 2 * FALCON_RUE_QUEUE_MAX;
	assert_false(falcon_rue_queue_valid(q, (size_t)1 << 40));
	q->entries = ENTRIES;
	q->version++;
	assert_false(falcon_rue_queue_valid(q, v->bytes));
	q->version--;
	q->magic++;
	assert_false(falcon_rue_queue_valid(q, v->bytes));
}

/* The other side may write what it likes: no access leaves the memory (the sanitizer watches). */
static void queue__other_side_may_write_nonsense(void **state)
{
	struct pair *v = *state;
	uint64_t rng = 7;
	__u64 w[8];

	for (int i = 0; i < 10000; i++) {
		uint32_t *words = (uint32_t *)v->q;

		words[unit_random(&rng) % (v->bytes / 4)] = (uint32_t)unit_random(&rng);
		put(v, (uint64_t)i);
		falcon_rue_get(&v->c, w);
		assert_true(falcon_rue_used(&v->p) <= ENTRIES);
	}
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(queue__entries_are_in_order_over_many_laps),
		TEST(queue__a_full_one_refuses_and_loses_nothing),
		TEST(queue__generation_is_bit_511_and_flips_each_lap),
		TEST(queue__indexes_wrap_at_2_32),
		TEST(queue__successors_go_on_where_it_stopped),
		TEST(queue__sleeper_is_woken_once),
		TEST(queue__what_is_none_is_refused),
		TEST(queue__other_side_may_write_nonsense),
	};

	return unit_run(tests);
}
