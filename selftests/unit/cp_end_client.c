// SPDX-License-Identifier: BSD-2-Clause
/* How a falcon-cp transfer ends at the client: DONE is the outcome, whatever else was on its way. */
#include "cp_end_env.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Upload an empty file; the server answers END with |answers|. The exit status. */
static int upload(struct upload *u, const enum cp_type *answers)
{
	struct cp_config *cfg = &u->cfg;
	int fd = openat(u->s.dir, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	close(fd);
	env.answers = answers;
	cfg->service = APP_CP_SERVICE;
	cfg->upload = true;
	strcpy(cfg->conn, "b");
	strcpy(cfg->remote, "f");
	snprintf(cfg->local, sizeof(cfg->local), "%s/f", u->dir);
	return cp_client(cfg);
}

/* DONE is the outcome, whatever comes behind it. */
static void done_is_done(void **state)
{
	static const enum cp_type answers[] = { CP_DONE, CP_ABORT, 0 };

	assert_int_equal(upload(*state, answers), 0);
	assert_int_equal(env.sent[env.nsent - 1].type, CP_END);
}

static void abort_is_failure(void **state)
{
	static const enum cp_type answers[] = { CP_ABORT, CP_DONE, 0 };

	assert_int_equal(upload(*state, answers), 1);
}

static void no_answer_is_failure(void **state)
{
	static const enum cp_type answers[] = { 0 };

	((struct upload *)*state)->cfg.timeout = 3;
	assert_int_equal(upload(*state, answers), 1);
	assert_int_equal(env.sent[env.nsent - 2].type, CP_PING);
	assert_int_equal(env.sent[env.nsent - 1].type, CP_ABORT);
}

/* What the server says while its disk works keeps the client waiting, but only in the end. */
static void waits_for_the_disk(void **state)
{
	static const enum cp_type answers[] = { 0 };

	((struct upload *)*state)->cfg.timeout = 3;
	env.pings = 10;
	env.ping_at = env.now + CP_PING_MS * 1000000ULL;
	assert_int_equal(upload(*state, answers), 0);
	assert_true(env.now >= 10 * CP_PING_MS * 1000000ULL);
}

static void does_not_wait_for_ready(void **state)
{
	static const enum cp_type answers[] = { 0 };

	((struct upload *)*state)->cfg.timeout = 3;
	env.mute = true;
	env.pings = 10;
	env.ping_at = env.now + CP_PING_MS * 1000000ULL;
	assert_int_equal(upload(*state, answers), 1);
	assert_true(env.pings > 5);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, cp_end_set_up, cp_end_tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(done_is_done),
		CASE(abort_is_failure),
		CASE(no_answer_is_failure),
		CASE(waits_for_the_disk),
		CASE(does_not_wait_for_ready),
	};

	return unit_run(tests);
}
