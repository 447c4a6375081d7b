// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a falcon-cp transfer ends at the server: the file may take long to commit, and the client then
 * asks whether there is still a server.
 */
#include "cp_end_env.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* A PING that was sent while the file was committed does not turn success into failure. */
static void ping_behind_end_has_no_answer(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	assert_int_equal(env.nsent, 1);
	settle(u);
	assert_int_equal(env.nsent, 2);
	assert_int_equal(env.sent[1].type, CP_DONE);
	assert_true(file_is_there(u));
	client_says(u, CP_PING);
	assert_int_equal(env.nsent, 2);
}

/* The first reason counts: what the client said before it read of it adds none. */
static void abort_is_said_once(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_FILL);	/* of a download */
	assert_int_equal(env.sent[1].type, CP_ABORT);
	client_says(u, CP_WRITE);
	client_says(u, CP_END);
	assert_int_equal(env.nsent, 2);
}

/* Once the client has been told, a session is unknown, and whoever names it hears so. */
static void forgets_when_the_end_was_delivered(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	settle(u);
	assert_int_equal(places_taken(u), 1);
	complete(u, true);
	assert_int_equal(places_taken(u), 0);
	client_says(u, CP_PING);
	assert_int_equal(env.nsent, 3);
	assert_int_equal(env.sent[2].type, CP_ABORT);
}

static void forgets_a_client_that_is_gone(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	settle(u);
	complete(u, false);
	assert_int_equal(places_taken(u), 0);
}

/* A client that does not take its messages keeps no place for longer than any other. */
static void forgets_after_the_timeout(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	settle(u);
	pass(u, TIMEOUT * 1000ULL);
	assert_int_equal(places_taken(u), 1);
	pass(u, 1);
	assert_int_equal(places_taken(u), 0);
	assert_int_equal(env.nsent, 2);
	complete(u, true);
}

/* However long the disk takes, the client hears that it is not forgotten. */
static void waits_for_the_disk(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	pass(u, CP_PING_MS);
	assert_int_equal(env.nsent, 1);
	pass(u, 1);
	assert_int_equal(env.nsent, 2);
	client_says(u, CP_PING);
	pass(u, TIMEOUT * 2000ULL);
	assert_int_equal(env.nsent, 3);
	for (int i = 1; i < 3; i++)
		assert_int_equal(env.sent[i].type, CP_PING);
	complete(u, true);
	assert_false(file_is_there(u));
	settle(u);
	assert_int_equal(env.sent[3].type, CP_DONE);
	assert_true(file_is_there(u));
}

static void serves_others_meanwhile(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	client_says(u, CP_OPEN_PUT);
	assert_int_equal(env.sent[1].type, CP_READY);
	assert_int_equal(places_taken(u), 2);
}

static void says_that_the_disk_has_failed(void **state)
{
	struct upload *u = *state;

	disk.error = EIO;
	start(u);
	client_says(u, CP_END);
	settle(u);
	assert_int_equal(env.sent[1].type, CP_ABORT);
	assert_string_equal(env.sent[1].text, strerror(EIO));
	assert_false(file_is_there(u));
}

/* A file that nobody waits for does not appear; its place is free when the disk is done with it. */
static void cancels_for(struct upload *u, bool delivered)
{
	assert_int_equal(places_taken(u), 1);
	client_says(u, CP_PING);
	pass(u, TIMEOUT * 2000ULL);
	complete(u, delivered);
	assert_int_equal(env.nsent, env.completed);
	settle(u);
	assert_int_equal(places_taken(u), 0);
	assert_false(file_is_there(u));
}

static void cancels_for_a_client_that_gives_up(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	client_says(u, CP_ABORT);
	cancels_for(u, true);
	assert_int_equal(env.nsent, 1);
}

static void cancels_for_a_client_that_is_gone(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	pass(u, CP_PING_MS + 1);
	complete(u, false);
	cancels_for(u, false);
	assert_int_equal(env.nsent, 2);
}

static void stops_while_the_disk_works(void **state)
{
	struct upload *u = *state;

	start(u);
	client_says(u, CP_END);
	cp_session_end_all(&u->s, "stopped");
	assert_int_equal(env.sent[1].type, CP_ABORT);
	assert_string_equal(env.sent[1].text, "stopped");
	assert_true(cp_session_commits(&u->s));
	/* Without the warning it would wait for ever. */
	disk.done_when_said = true;
	cp_session_wait(&u->s);
	assert_false(cp_session_commits(&u->s));
	assert_false(file_is_there(u));
}

/* The file has its name, and then the server is stopped before it has looked: that was a success. */
static void stops_when_it_is_too_late(void **state)
{
	struct upload *u = *state;
	struct pollfd p = { .fd = u->s.wake, .events = POLLIN };

	start(u);
	client_says(u, CP_END);
	disk_is_done();
	assert_int_equal(poll(&p, 1, -1), 1);
	cp_session_end_all(&u->s, "stopped");
	assert_int_equal(env.sent[1].type, CP_DONE);
	assert_true(file_is_there(u));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, cp_end_set_up, cp_end_tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(ping_behind_end_has_no_answer),
		CASE(abort_is_said_once),
		CASE(forgets_when_the_end_was_delivered),
		CASE(forgets_a_client_that_is_gone),
		CASE(forgets_after_the_timeout),
		CASE(waits_for_the_disk),
		CASE(serves_others_meanwhile),
		CASE(says_that_the_disk_has_failed),
		CASE(cancels_for_a_client_that_gives_up),
		CASE(cancels_for_a_client_that_is_gone),
		CASE(stops_while_the_disk_works),
		CASE(stops_when_it_is_too_late),
	};

	return unit_run(tests);
}
