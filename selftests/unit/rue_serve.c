// SPDX-License-Identifier: BSD-2-Clause
/*
 * Engines for agents in other processes, and agents of all kinds: such that come and go, that are too
 * many, that send what they should not. The server stays, and serves the next.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "rue/configs.h"
#include "rue/pair.h"
#include "rue/serve.h"
#include "rue/share.h"
#include "rue/trace.h"
#include "rue/worker.h"
#include "unit.h"

enum { FLOWS = 128, ENTRIES = 64, PATIENCE_MS = 60000 };

static char dir[UNIT_PATH], path[UNIT_PATH + 28];
static struct rue_server *server;
static struct rue_host *host;
static pthread_t serving;
static int stop_fd;
static char err[256];

static void say(const char *text)
{
	(void)text;
}

static void *run_server(void *arg)
{
	rue_serve_run(arg, stop_fd);
	return NULL;
}

static int set_up(void **state)
{
	struct rue_configs all;

	(void)state;
	rue_configs_builtin(&all);
	host = rue_host_create(FLOWS, all.config, 2, false);
	stop_fd = eventfd(0, EFD_CLOEXEC);
	server = rue_serve(path, say, err, sizeof(err));
	assert_non_null(server);
	return pthread_create(&serving, NULL, run_server, server);
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(eventfd_write(stop_fd, 1), 0);
	pthread_join(serving, NULL);
	rue_serve_end(server);
	rue_host_destroy(host);
	close(stop_fd);
	return 0;
}

static void wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

/* Until the server says something to |w|. */
static int news(struct rue_worker *w)
{
	wait_readable(rue_worker_sock(w));
	return rue_worker_look(w, err, sizeof(err));
}

static struct rue_worker *join(void)
{
	struct rue_worker *w = rue_worker_connect(host, path, FLOWS, ENTRIES, err, sizeof(err));

	assert_non_null(w);
	assert_int_equal(news(w), 1);
	return w;
}

static struct falcon_rue_event event(uint32_t flow, uint32_t engine)
{
	struct falcon_rue_event e = { { 0 } };

	falcon_ev_put(&e, connection_id, flow);
	falcon_ev_put(&e, base_delay_target, flow);
	falcon_ev_put(&e, event_queue_select, engine);
	falcon_ev_put(&e, fcwnd_integer, 8);
	falcon_ev_put(&e, ncwnd, 8);
	falcon_ev_put(&e, t4, 50);
	falcon_ev_put(&e, num_packets_acked, 8);
	return e;
}

static struct falcon_rue_result ask(struct rue_worker *w, uint32_t flow, uint32_t engine)
{
	const struct falcon_rue_event e = event(flow, engine);
	struct falcon_rue_result r;
	uint64_t n;

	assert_true(rue_worker_put(w, &e));
	rue_worker_flush(w);
	while (!rue_worker_get(w, &r))
		if (rue_worker_idle(w)) {
			wait_readable(rue_worker_fd(w));
			assert_int_equal(read(rue_worker_fd(w), &n, sizeof(n)), sizeof(n));
		}
	assert_int_equal(falcon_res_get(&r, connection_id), flow);
	return r;
}

static void serve__computes_and_shares_its_state(void **state)
{
	struct rue_worker *w = join(), *other = join();
	const struct swift_state *s = rue_worker_states(w);
	struct falcon_rue_result r;

	(void)state;
	r = ask(w, 3, 0);		/* no engine yet: as it was */
	assert_int_equal(falcon_res_get(&r, fcwnd), 8);
	assert_true(rue_worker_engine(w, 0, "swift", NULL));
	r = ask(w, 3, 0);
	assert_int_equal(falcon_res_get(&r, fcwnd), 9);
	assert_int_equal(s[3].plb, 0);
	r = ask(other, 3, 0);		/* which has engines of its own */
	assert_int_equal(falcon_res_get(&r, fcwnd), 8);
	rue_worker_stop(w);
	r = ask(other, 4, 0);
	assert_int_equal(falcon_res_get(&r, fcwnd), 8);
	rue_worker_stop(other);
}

static void serve__forgets_flows_before_later_events(void **state)
{
	struct rue_worker *w = join();
	struct swift_state *s = rue_worker_states(w);

	(void)state;
	assert_true(rue_worker_engine(w, 0, "swift", NULL));
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		s[flow].ncwnd_fraction = 1000;
	ask(w, 0, 0);
	rue_worker_reset(w, 70);
	rue_worker_reset(w, 5 | 3u << FALCON_RUE_INDEX_BITS);
	ask(w, 0, 0);
	for (uint32_t flow = 1; flow < FLOWS; flow++)
		assert_int_equal(s[flow].ncwnd_fraction, flow == 5 || flow == 70 ? 0 : 1000);
	rue_worker_stop(w);
}

static void serve__records_a_trace(void **state)
{
	struct rue_worker *w = join();
	int fd = memfd_create("trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct rue_trace *t;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)rue_trace_bytes(2)), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	t = mmap(NULL, rue_trace_bytes(2), PROT_READ, MAP_SHARED, fd, 0);
	assert_true(t != MAP_FAILED);
	assert_true(rue_worker_engine(w, 0, "swift", NULL));
	ask(w, 1, 0);
	assert_true(rue_worker_trace(w, fd, 100, 7));	/* there is room for two */
	for (uint32_t flow = 6; flow < 9; flow++)
		ask(w, flow, 0);
	assert_int_equal(t->n, 1);
	ask(w, 7, 0);
	ask(w, 7, 0);
	assert_int_equal(t->n, 2);
	assert_true(rue_worker_trace(w, -1, 0, -1));
	ask(w, 7, 0);
	rue_worker_stop(w);
	munmap(t, rue_trace_bytes(2));
	close(fd);
}

static void serve__refuses_and_says_why(void **state)
{
	struct rue_worker *w = join();

	(void)state;
	assert_true(rue_worker_engine(w, 0, "cubic", NULL));
	assert_int_equal(news(w), -1);
	assert_non_null(strstr(err, "cubic"));
	rue_worker_stop(w);
	w = join();
	assert_true(rue_worker_engine(w, 2, "swift", NULL));
	assert_int_equal(news(w), -1);
	assert_string_equal(err, "engines are not numbered alike");
	rue_worker_stop(w);
	w = join();
	assert_true(rue_worker_trace(w, stop_fd, 100, -1));
	assert_int_equal(news(w), -1);
	assert_string_equal(err, "the memory of a trace cannot be used");
	rue_worker_stop(w);
	rue_worker_stop(join());
}

static int connect_raw(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(connect(sock, (struct sockaddr *)&at, sizeof(at)), 0);
	return sock;
}

/* What the server answers to a RUE_ATTACH with |fd|, before it hangs up. */
static void refused(const int *fd, unsigned int n, const char *why)
{
	const uint32_t type = RUE_ATTACH;
	char text[256] = "";
	int sock = connect_raw();

	assert_int_equal(rue_message_send(sock, &type, sizeof(type), fd, n), 0);
	assert_true(recv(sock, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, why);
	assert_int_equal(recv(sock, text, sizeof(text), 0), 0);
	close(sock);
}

/* More descriptors than an attachment has: one more, which the kernel has room for, and all it takes. */
static void refused_with_many(const char *why)
{
	int many[FDPASS_MAX];

	for (int i = 0; i < FDPASS_MAX; i++)
		many[i] = stop_fd;
	refused(many, RUE_ATTACH_FDS + 1, why);
	refused(many, FDPASS_MAX, why);
}

static int share_of(uint32_t flows, size_t bytes)
{
	const struct rue_share s = { .magic = RUE_SHARE_MAGIC, .size = sizeof(s), .flows = flows };
	int fd = memfd_create("share", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(pwrite(fd, &s, sizeof(s), 0), sizeof(s));
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return fd;
}

static void serve__survives_bad_attachments(void **state)
{
	static const char mismatch[] = "the shared memory does not hold what it says";
	struct rue_pair pair;
	int fd[RUE_ATTACH_FDS], open = memfd_create("open", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(rue_pair_open(&pair, ENTRIES), 0);
	fd[0] = pair.events.memory;
	fd[1] = pair.events.bell;
	fd[2] = pair.results.memory;
	fd[3] = pair.results.bell;
	fd[4] = stop_fd;
	refused(NULL, 0, "a first message with five descriptors is wanted");
	refused(fd, 4, "a first message with five descriptors is wanted");
	refused_with_many("a first message with five descriptors is wanted");
	refused(fd, 5, "falcond and falcon-rue are of different builds");
	fd[4] = share_of(100, 1 << 20);
	refused(fd, 5, mismatch);
	close(fd[4]);
	fd[4] = share_of(1u << 31, 1 << 20);
	refused(fd, 5, mismatch);
	close(fd[4]);
	fd[4] = share_of(FLOWS, rue_share_bytes(FLOWS) - 1);
	refused(fd, 5, mismatch);
	close(fd[4]);
	fd[4] = share_of(FLOWS, rue_share_bytes(FLOWS));
	pair.results.q->entries = 3;
	refused(fd, 5, "no queue is in the memory");
	fd[0] = open;
	refused(fd, 5, "the memory of a queue is not a memfd sealed against shrinking");
	close(fd[4]);
	close(open);
	rue_pair_close(&pair);
	/* Gone before it has said anything. */
	close(connect_raw());
	rue_worker_stop(join());
}

static void serve__lets_in_as_many_as_it_can(void **state)
{
	struct rue_worker *w[RUE_SERVE_AGENTS + 1];
	int n = RUE_SERVE_AGENTS;

	(void)state;
	for (int i = 0; i < n; i++)
		w[i] = join();
	w[n] = rue_worker_connect(host, path, FLOWS, ENTRIES, err, sizeof(err));
	if (w[n]) {
		assert_int_equal(news(w[n]), -1);
		rue_worker_stop(w[n]);
	}
	for (int i = 0; i < n; i++)
		rue_worker_stop(w[i]);
}

static void serve__takes_only_a_path_that_is_free(void **state)
{
	char file[UNIT_PATH + 28];

	(void)state;
	assert_null(rue_serve(path, say, err, sizeof(err)));
	assert_non_null(strstr(err, "in use"));
	rue_worker_stop(join());
	snprintf(file, sizeof(file), "%s/file", dir);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	assert_null(rue_serve(file, say, err, sizeof(err)));
	assert_int_equal(unlink(file), 0);
	assert_null(rue_worker_connect(host, file, FLOWS, ENTRIES, err, sizeof(err)));
	assert_non_null(strstr(err, file));
}

/* One that a process has left, which died. */
static void serve__replaces_what_is_left_over(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	(void)state;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(bind(sock, (struct sockaddr *)&at, sizeof(at)), 0);
	close(sock);
	assert_int_equal(set_up(NULL), 0);
	rue_worker_stop(join());
	tear_down(NULL);
}

int main(void)
{
#define SERVED(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		SERVED(serve__computes_and_shares_its_state),
		SERVED(serve__forgets_flows_before_later_events),
		SERVED(serve__records_a_trace),
		SERVED(serve__refuses_and_says_why),
		SERVED(serve__survives_bad_attachments),
		SERVED(serve__lets_in_as_many_as_it_can),
		SERVED(serve__takes_only_a_path_that_is_free),
		cmocka_unit_test(serve__replaces_what_is_left_over),
	};
	int rc;

	assert_non_null(mkdtemp(unit_template(dir, "falcon-serve")));
	snprintf(path, sizeof(path), "%s/rue.sock", dir);
	rc = unit_run(tests);
	rmdir(dir);
	return rc;
}
