// SPDX-License-Identifier: BSD-2-Clause
/* The agent's side of an application's shared memory: what it refuses, rings, sleeping. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/process/deferred_close.h"
#include "ipc/fdpass.h"
#include "lingering.h"
#include "loop/app.h"
#include "ulp/client.h"

enum { ARENA = 8192, USER = 1001 };

static char why[256];

static struct client *attach(struct app *a)
{
	const struct client_ends ends = app_ends(a);

	why[0] = '\0';
	return client_attach(&ends, 5, why, sizeof(why));
}

/* Attaching must fail with a sentence that has |word| in it. */
static void assert_refused(struct app *a, const char *word)
{
	assert_null(attach(a));
	assert_non_null(strstr(why, word));
	app_drop_all(a);
}

static void attach__good(void **state)
{
	struct client *cl;
	struct app a;

	(void)state;
	app_make(&a, ARENA, true);
	cl = attach(&a);
	assert_non_null(cl);
	assert_int_equal(client_service(cl), 5);
	assert_int_equal(client_doorbell(cl), a.doorbell);
	client_free(cl);
	client_free(NULL);
	app_drop(&a);
}

/* What the application has sent to its event socket's other end is closed with that, and takes its time. */
static void free__is_not_held_up(void **state)
{
	struct client_ends ends;
	struct client *cl;
	int peer, slow;
	struct app a;

	(void)state;
	app_make(&a, ARENA, true);
	ends = app_ends(&a);
	ends.release = deferred_close_memory;
	ends.uid = USER;
	cl = client_attach(&ends, 5, why, sizeof(why));
	assert_non_null(cl);
	slow = lingering(&peer);
	assert_int_equal(fdpass_send(a.event, &(struct iovec){ .iov_base = "x", .iov_len = 1 }, 1, &slow, 1,
				     MSG_NOSIGNAL), 1);
	close(slow);
	client_free(cl);
	assert_int_equal(deferred_close_pending(USER), 2);
	close(peer);
	while (deferred_close_pending(USER))
		sched_yield();
	app_drop(&a);
}

static void attach__memory_that_could_shrink(void **state)
{
	struct app a;

	(void)state;
	app_make(&a, ARENA, false);
	assert_refused(&a, "sealed");
}

static void attach__not_a_memfd(void **state)
{
	struct app a;
	int fd;

	(void)state;
	app_make(&a, ARENA, true);
	fd = a.memfd;
	a.memfd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	close(fd);
	assert_refused(&a, "memfd");
}

static void attach__bad_header(void **state)
{
	struct app a;

	(void)state;
	app_make(&a, ARENA, true);
	a.shm->magic++;
	assert_refused(&a, "magic");
	app_make(&a, ARENA, true);
	a.shm->version++;
	assert_refused(&a, "version");
	app_make(&a, ARENA, true);
	a.shm->arena_size = ARENA + 1;
	assert_refused(&a, "arena");
	app_make(&a, ARENA, true);
	a.shm->arena_size = UINT64_MAX - 4095;
	assert_refused(&a, "arena");
	app_make(&a, ARENA, true);
	a.shm->remote_offset = ARENA + 1;
	assert_refused(&a, "remote");
	app_make(&a, ARENA, true);
	a.shm->ring_sets = 0;
	assert_refused(&a, "ring sets");
	app_make(&a, ARENA, true);
	a.shm->ring_sets = FALCON_RING_SETS_MAX + 1;
	assert_refused(&a, "ring sets");
	app_make(&a, ARENA, true);
	a.shm->ring_sets = 2;	/* the memory has room for one */
	assert_refused(&a, "arena");
	app_make(&a, ARENA, true);
	a.shm->remote_offset = 1;
	assert_refused(&a, "remote");
	app_make(&a, ARENA, true);
	a.shm->remote_offset = 4096;
	a.shm->remote_len = UINT64_MAX - 4095;
	assert_refused(&a, "remote");
}

static void attach__too_small(void **state)
{
	struct app a;
	int fd;

	(void)state;
	app_make(&a, ARENA, true);
	fd = memfd_create("small", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	assert_int_equal(write(fd, a.shm, 16), 16);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	close(a.memfd);
	a.memfd = fd;
	assert_refused(&a, "small");
	app_make(&a, 0, true);
	a.shm->arena_size = 4096;
	assert_refused(&a, "arena");
}

static void attach__read_only_memory(void **state)
{
	char path[64];
	struct app a;
	int fd;

	(void)state;
	app_make(&a, ARENA, true);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", a.memfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(a.memfd);
	a.memfd = fd;
	assert_refused(&a, "map");
}

/* Descriptors that could make the agent block. */
static void attach__other_kinds_of_signals(void **state)
{
	struct app a;
	int pipes[2];

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	app_make(&a, ARENA, true);
	close(a.doorbell);
	a.doorbell = dup(pipes[0]);
	assert_refused(&a, "doorbell");
	app_make(&a, ARENA, true);
	close(a.agent_event);
	a.agent_event = dup(pipes[1]);
	assert_refused(&a, "event");
	app_make(&a, ARENA, true);
	close(a.agent_event);
	a.agent_event = eventfd(0, EFD_CLOEXEC);
	assert_refused(&a, "event");
	app_make(&a, ARENA, true);
	close(a.agent_event);
	a.agent_event = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_refused(&a, "event");
	close(pipes[0]);
	close(pipes[1]);
}

/* What was checked at attach stays, whatever the application writes there later. */
static void attach__header_is_copied(void **state)
{
	struct client *cl;
	struct app a;

	(void)state;
	app_make(&a, ARENA, true);
	a.shm->remote_len = 100;
	a.shm->remote_write = 0;
	cl = attach(&a);
	a.shm->arena_size = UINT64_MAX;
	a.shm->remote_len = UINT64_MAX;
	a.shm->remote_write = 1;
	assert_null(client_local(cl, 0, ARENA + 1));
	assert_non_null(client_local(cl, 0, ARENA));
	assert_null(client_remote(cl, 0, 101, false, 3, 9));
	assert_non_null(client_remote(cl, 0, 100, false, 3, 9));
	assert_null(client_remote(cl, 0, 1, true, 3, 9));
	client_free(cl);
	app_drop(&a);
}

/* Slots are for those whom they are granted to, and no operation is for two. */
static void remote__slots(void **state)
{
	struct client *cl;
	struct app a;

	(void)state;
	app_make(&a, ARENA, true);
	a.shm->remote_offset = 1024;
	a.shm->remote_len = 3000;
	a.shm->remote_write = a.shm->remote_read = 1;
	cl = attach(&a);
	assert_true(a.shm->agent_features & FALCON_SHM_GRANTS);
	assert_non_null(client_remote(cl, 1024, 3000, true, 3, 9));
	a.shm->slot_bytes = 1000;
	assert_null(client_remote(cl, 1024, 1, true, 3, 9));
	a.shm->grants[1] = FALCON_GRANT(FALCON_CONN_HANDLE(0, 3), 9);
	assert_ptr_equal(client_remote(cl, 2024, 1000, true, 3, 9), client_local(cl, 2024, 1000));
	assert_non_null(client_remote(cl, 3023, 1, false, 3, 9));
	assert_null(client_remote(cl, 2024, 1001, true, 3, 9));
	assert_null(client_remote(cl, 2023, 2, true, 3, 9));
	assert_null(client_remote(cl, 3024, 1, true, 3, 9));
	assert_null(client_remote(cl, 2024, 1, true, 3, 8));
	assert_null(client_remote(cl, 2024, 1, false, 4, 9));
	a.shm->grants[1] = 0;
	assert_null(client_remote(cl, 2024, 1, true, 3, 9));
	assert_null(client_remote(cl, 2024, 0, true, 0, 0));
	/* Nonsense is nobody's. */
	a.shm->slot_bytes = 1;
	assert_null(client_remote(cl, 4000, 1, true, 3, 9));
	a.shm->slot_bytes = UINT64_MAX;
	assert_null(client_remote(cl, 1024, 1, true, 3, 9));
	client_free(cl);
	app_drop(&a);
}

static int setup(void **state)
{
	static struct app a;

	app_make(&a, ARENA, true);
	*state = &a;
	return 0;
}

static void rings__through_many_turns(void **state)
{
	struct app *a = *state;
	struct client *cl = attach(a);
	struct falcon_sqe sqe;
	struct falcon_cqe cqe;

	for (uint64_t i = 0; i < 3 * FALCON_CQ_ENTRIES; i++) {
		app_submit(a, &(struct falcon_sqe){ .cookie = i });
		assert_int_equal(client_take(cl, &sqe), 1);
		assert_int_equal(sqe.cookie, i);
		assert_int_equal(client_take(cl, &sqe), 0);
		client_complete(cl, &(struct falcon_cqe){ .cookie = i });
		assert_false(app_complete(a, &cqe));
		client_publish(cl);
		assert_true(app_complete(a, &cqe));
		assert_int_equal(cqe.cookie, i);
	}
	assert_int_equal(client_stats(cl)->outstanding, 0);
	client_free(cl);
	app_drop(a);
}

static void rings__messages(void **state)
{
	struct app *a = *state;
	struct client *cl = attach(a);
	char text[FALCON_MSG_MAX];

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < FALCON_RQ_ENTRIES; i++)
		assert_int_equal(client_deliver(cl, 1, 2, (uint64_t)i, text, sizeof(text)), 0);
	assert_int_equal(client_deliver(cl, 1, 2, 0, text, 1), -ENOBUFS);
	assert_null(app_message(a));
	client_publish(cl);
	for (int i = 0; i < FALCON_RQ_ENTRIES; i++) {
		assert_int_equal(app_message(a)->tag, i);
		assert_memory_equal(app_message(a)->payload, text, sizeof(text));
		app_message_done(a);
	}
	assert_int_equal(client_deliver(cl, 1, 2, 0, text, 0), 0);
	client_free(cl);
	app_drop(a);
}

static void completions__are_bounded(void **state)
{
	struct app *a = *state;
	struct client *cl = attach(a);
	struct falcon_sqe sqe;
	struct falcon_cqe cqe = { 0 };
	uint32_t n = 0;

	for (; n < FALCON_CQ_ENTRIES; n++) {
		app_submit(a, &(struct falcon_sqe){ 0 });
		assert_int_equal(client_take(cl, &sqe), 1);
		client_publish(cl);
	}
	app_submit(a, &(struct falcon_sqe){ 0 });
	assert_int_equal(client_take(cl, &sqe), 0);
	assert_true(client_sleep_begin(cl));	/* it can do nothing: no reason to stay awake */
	while (n--)
		client_complete(cl, &cqe);
	client_publish(cl);
	assert_int_equal(client_take(cl, &sqe), 0);
	assert_true(app_complete(a, &cqe));
	assert_int_equal(client_take(cl, &sqe), 1);
	client_free(cl);
	app_drop(a);
}

static void wake__one_signal_a_sleep(void **state)
{
	struct app *a = *state;
	struct client *cl = attach(a);

	client_deliver(cl, 0, 0, 0, "", 0);
	client_publish(cl);
	assert_int_equal(app_signals(a), 0);
	a->shm->app_sleeping = 1;
	client_publish(cl);
	assert_int_equal(app_signals(a), 0);	/* nothing new */
	for (int i = 0; i < 10; i++) {
		client_deliver(cl, 0, 0, 0, "", 0);
		client_publish(cl);
	}
	assert_int_equal(app_signals(a), 1);
	assert_int_equal(a->shm->app_sleeping, 0);
	client_shutdown(cl);
	assert_int_equal(app_signals(a), -1);
	a->shm->app_sleeping = 1;
	client_deliver(cl, 0, 0, 0, "", 0);
	client_publish(cl);			/* no SIGPIPE */
	client_free(cl);
	app_drop(a);
}

/* An application that never reads its signals cannot block the agent. */
static void wake__full_socket_does_not_block(void **state)
{
	struct app *a = *state;
	struct client *cl = attach(a);

	fcntl(a->agent_event, F_SETFL, 0);	/* it shares the flags and may do so */
	for (int i = 0; i < 100000; i++) {
		a->shm->app_sleeping = 1;
		a->rings->rq.head = a->rings->rq.tail;
		assert_int_equal(client_deliver(cl, 0, 0, 0, "", 0), 0);
		client_publish(cl);
	}
	assert_int_equal(client_stats(cl)->wakes, 100000);
	client_free(cl);
	app_drop(a);
}

static void sleep__sees_what_came_meanwhile(void **state)
{
	struct app *a = *state;
	struct client *cl = attach(a);
	struct falcon_sqe sqe;

	assert_true(client_sleep_begin(cl));
	assert_int_equal(a->rings->agent_sleeping, 1);
	client_sleep_end(cl);
	assert_int_equal(a->rings->agent_sleeping, 0);
	app_submit(a, &(struct falcon_sqe){ 0 });
	assert_false(client_sleep_begin(cl));
	assert_int_equal(a->rings->agent_sleeping, 0);
	assert_int_equal(client_take(cl, &sqe), 1);
	assert_true(client_sleep_begin(cl));
	client_free(cl);
	app_drop(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attach__good),
		cmocka_unit_test(free__is_not_held_up),
		cmocka_unit_test(attach__memory_that_could_shrink),
		cmocka_unit_test(attach__not_a_memfd),
		cmocka_unit_test(attach__bad_header),
		cmocka_unit_test(attach__too_small),
		cmocka_unit_test(attach__read_only_memory),
		cmocka_unit_test(attach__other_kinds_of_signals),
		cmocka_unit_test(attach__header_is_copied),
		cmocka_unit_test(remote__slots),
		cmocka_unit_test_setup(rings__through_many_turns, setup),
		cmocka_unit_test_setup(rings__messages, setup),
		cmocka_unit_test_setup(completions__are_bounded, setup),
		cmocka_unit_test_setup(wake__one_signal_a_sleep, setup),
		cmocka_unit_test_setup(wake__full_socket_does_not_block, setup),
		cmocka_unit_test_setup(sleep__sees_what_came_meanwhile, setup),
	};

	return unit_run(tests);
}
