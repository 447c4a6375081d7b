// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two agents without a network: loop_agent DIR [SEGMENT [LAYERS]] serves DIR/a.sock and DIR/b.sock, whose
 * hosts are connected by "a" and "b" (ordered) and "a-unordered" and "b-unordered". The control
 * protocol, shared memory and raw layer are falcond's own; the core between them is fake_core.c. With two
 * LAYERS each connection has one for itself, as if the agents had two threads.
 *
 * SIGUSR1 takes the connections down, SIGUSR2 stalls them, SIGTERM ends the program.
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/control/control.h"
#include "fake_core.h"

enum loop_const {
	CONNS = 2,		/* ordered, unordered */
	LAYERS_MAX = CONNS,
	BUDGET = 512,
	IDLE_ROUNDS = 200,
	CONTROL_ROUNDS = 256,	/* of work, between looks at the control sockets */
	SLEEP_MS = 1,
	MTU = 1500,
};

struct host {
	const char *peer;	/* its connections' name */
	struct raw_ulp *ulps[LAYERS_MAX];
	struct control *control;
	struct fcore_conn conns[CONNS];
};

static struct host hosts[2] = { { .peer = "b" }, { .peer = "a" } };
static uint32_t segment = 1400;
static unsigned int layers = 1;
static bool up = true;
static volatile sig_atomic_t stop, go_down, stall;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		go_down = 1;
	else if (sig == SIGUSR2)
		stall = 1;
	else
		stop = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* An attached application. */
struct raw_app {
	struct client *clients[LAYERS_MAX];
};

static struct raw_ulp *layer_of(const struct host *h, uint32_t cid)
{
	return h->ulps[cid % layers];
}

static int attach_all(struct host *h, struct raw_app *app, const int *fds, uint16_t service, char *err,
		      size_t errlen)
{
	for (unsigned int i = 0; i < layers; i++) {
		struct client_ends ends = { .memfd = dup(fds[0]), .doorbell = dup(fds[i ? 2 + i : 1]),
					    .event = dup(fds[2]), .set = i };
		int rc = raw_attach(h->ulps[i], &ends, service, &app->clients[i], err, errlen);

		if (rc) {
			close(ends.memfd);
			close(ends.doorbell);
			close(ends.event);
			return rc;
		}
		service = client_service(app->clients[0]);
	}
	return 0;
}

static int handle_attach(struct host *h, struct control_client *cl, json_t *req, int *fds,
			 int nfds, json_t **reply)
{
	uint16_t service = (uint16_t)json_integer_value(json_object_get(req, "service"));
	struct raw_app *app;
	char err[256];
	int rc;

	if (nfds != 2 + (int)layers)
		return control_error(reply, -EINVAL, "attach comes with other descriptors");
	app = calloc(1, sizeof(*app));
	rc = app ? attach_all(h, app, fds, service, err, sizeof(err)) : -ENOMEM;
	if (rc) {
		free(app);
		return control_error(reply, rc, "%s", err);
	}
	cl->raw = app;
	*reply = json_pack("{s:i}", "service", client_service(app->clients[0]));
	return 0;
}

static int handle_lookup(struct host *h, json_t *req, json_t **reply)
{
	const char *name = json_string_value(json_object_get(req, "name"));
	char unordered[32];

	snprintf(unordered, sizeof(unordered), "%s-unordered", h->peer);
	if (name && !strcmp(name, h->peer))
		*reply = json_pack("{s:i}", "conn", 0);
	else if (name && !strcmp(name, unordered))
		*reply = json_pack("{s:I}", "conn", (json_int_t)FALCON_CONN_HANDLE(1 % layers, 1));
	else
		return control_error(reply, -ENOENT, "no connection named \"%s\"", name);
	return 0;
}

static int handle_info(struct host *h, json_t *req, json_t **reply)
{
	uint32_t handle = (uint32_t)json_integer_value(json_object_get(req, "conn"));
	uint32_t conn = FALCON_CONN_CID(handle);

	if (conn >= CONNS || FALCON_CONN_SET(handle) != conn % layers)
		return control_error(reply, -ENOENT, "no such connection");
	*reply = json_pack("{s:s, s:b, s:b, s:i, s:i}", "name", h->peer, "up", up, "ordered",
			   !conn, "segment", (int)segment, "mtu", MTU);
	return 0;
}

static int handle(void *arg, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply)
{
	const char *op = json_string_value(json_object_get(req, "op"));
	struct host *h = arg;

	if (op && !strcmp(op, "threads")) {
		*reply = json_pack("{s:i}", "threads", (int)layers);
		return 0;
	}
	if (op && !strcmp(op, "attach"))
		return handle_attach(h, cl, req, fds, nfds, reply);
	if (op && !strcmp(op, "lookup"))
		return handle_lookup(h, req, reply);
	if (op && !strcmp(op, "conn-info"))
		return handle_info(h, req, reply);
	return control_error(reply, -EINVAL, "unknown request");
}

static void client_gone(void *arg, struct control_client *cl)
{
	struct raw_app *app = cl->raw;
	struct host *h = arg;

	for (unsigned int i = 0; app && i < layers; i++)
		raw_detach(h->ulps[i], app->clients[i]);
	free(app);
	cl->raw = NULL;
}

/* The control connection stays; the application notices by its event socket. */
static void on_client_broken(void *arg, struct client *cl, const char *why)
{
	(void)arg;
	fprintf(stderr, "loop_agent: service %u: %s\n", client_service(cl), why);
	client_shutdown(cl);
}

static const struct raw_ops ops = { .client_broken = on_client_broken };

static void apply_signals(void)
{
	for (int i = 0; i < CONNS && (go_down || stall); i++) {
		for (int h = 0; h < 2; h++) {
			hosts[h].conns[i].stalled = stall;
			if (go_down) {
				fake_close(&hosts[h].conns[i], kCmplDeadConn);
				raw_conn_down(layer_of(&hosts[h], (uint32_t)i), (uint32_t)i);
			}
		}
	}
	if (go_down)
		up = false;
	go_down = 0;
}

static uint32_t pump(const struct host *h)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < layers; i++)
		n += raw_pump(h->ulps[i], now_ns());
	return n;
}

static uint32_t work(void)
{
	uint32_t n = 0;

	for (int h = 0; h < 2; h++) {
		n += pump(&hosts[h]);
		for (int i = 0; i < CONNS; i++)
			n += fake_run(&hosts[h].conns[i], now_ns(), BUDGET);
	}
	for (int h = 0; h < 2; h++)
		n += pump(&hosts[h]);
	return n;
}

/*
 * Doorbells are not watched here: a sleep is so short that the rings are looked at soon enough.
 * The flags are set all the same, so that applications ring.
 */
static void rest(void)
{
	struct pollfd pfds[2];
	bool sleep = true;

	for (int h = 0; h < 2; h++) {
		pfds[h] = (struct pollfd){ control_fd(hosts[h].control), POLLIN, 0 };
		for (unsigned int i = 0; i < layers; i++)
			sleep = raw_sleep_begin(hosts[h].ulps[i]) && sleep;
	}
	poll(pfds, 2, sleep ? SLEEP_MS : 0);
	for (int h = 0; h < 2; h++) {
		for (unsigned int i = 0; i < layers; i++)
			raw_sleep_end(hosts[h].ulps[i]);
		if (pfds[h].revents)
			control_process(hosts[h].control);
	}
}

static int set_up(const char *dir)
{
	char path[256], err[256];

	for (int h = 0; h < 2; h++) {
		snprintf(path, sizeof(path), "%s/%c.sock", dir, 'a' + h);
		for (unsigned int i = 0; i < layers; i++)
			hosts[h].ulps[i] = raw_create(&ops, &hosts[h], CONNS);
		if (control_open(&hosts[h].control, path, "", handle, client_gone, &hosts[h], err,
				 sizeof(err))) {
			fprintf(stderr, "loop_agent: %s\n", err);
			return -1;
		}
	}
	for (uint32_t i = 0; i < CONNS; i++) {
		fake_join(&hosts[0].conns[i], layer_of(&hosts[0], i), &hosts[1].conns[i],
			  layer_of(&hosts[1], i), i);
		for (int h = 0; h < 2; h++) {
			hosts[h].conns[i].unordered = i == 1;
			raw_conn_up(layer_of(&hosts[h], i), &hosts[h].conns[i], segment);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t idle = 0, round = 0;

	if (argc < 2)
		return 2;
	if (argc > 2)
		segment = (uint32_t)atoi(argv[2]);
	if (argc > 3 && atoi(argv[3]) == LAYERS_MAX)
		layers = LAYERS_MAX;
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	if (set_up(argv[1]))
		return 1;
	while (!stop) {
		apply_signals();
		idle = work() ? 0 : idle + 1;
		if (idle)
			sched_yield();
		if (idle > IDLE_ROUNDS || ++round % CONTROL_ROUNDS == 0)
			rest();
	}
	for (int h = 0; h < 2; h++)
		for (int i = 0; i < CONNS; i++)
			fake_close(&hosts[h].conns[i], kCmplDeadConn);
	for (int h = 0; h < 2; h++) {
		control_close(hosts[h].control);
		for (unsigned int i = 0; i < layers; i++)
			raw_destroy(hosts[h].ulps[i]);
	}
	return 0;
}
