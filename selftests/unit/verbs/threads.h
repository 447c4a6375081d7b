/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tests of the verbs library with several threads have in common. They run with ThreadSanitizer
 * and the agent in a thread of the same process. What threads count together they count without
 * ordering, so that it hides no race.
 *
 * Memory shared with the agent is mapped twice, and the sanitizer does not know that it is the same:
 * what it sees is the library's own state. No thread looks at memory that the agent writes before it
 * has taken the agent's lock, as fake_hold() does.
 */
#ifndef FALCON_SELFTESTS_VERBS_THREADS_H
#define FALCON_SELFTESTS_VERBS_THREADS_H

#include "env.h"

#include <pthread.h>
#include <sched.h>

/* End the program: cmocka's assertions are for the main thread. */
#define REQUIRE(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #x); \
			abort(); \
		} \
	} while (0)

static inline unsigned int get(const unsigned int *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

static inline unsigned int add(unsigned int *n, int by)
{
	return __atomic_add_fetch(n, (unsigned int)by, __ATOMIC_RELAXED);
}

static inline pthread_t start(void *(*f)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, f, arg), 0);
	return thread;
}

static inline void join(const pthread_t *t, unsigned int n)
{
	while (n--)
		assert_int_equal(pthread_join(t[n], NULL), 0);
}

#endif /* FALCON_SELFTESTS_VERBS_THREADS_H */
