// SPDX-License-Identifier: BSD-2-Clause
/*
 * falconctl rue trace: what Swift is asked and answers, as the CSV that falcon-rue --vectors replays.
 * The agent appends to memory that is made here; the connection to it stays open meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../rue/rue.h"
#include "ctl.h"
#include "rue/params.h"
#include "rue/trace.h"

enum { DEFAULT_SECONDS = 10, SECONDS_MAX = 86400, LOOK_MS = 20 };

struct request {
	const char *path;	/* of the CSV; "-": standard output */
	const char *conn;	/* NULL: all */
	uint32_t count;		/* records */
	double seconds;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *r = state->input;

	switch (key) {
	case 'n': r->count = (uint32_t)cli_number(state, "--count", arg, 1, RUE_TRACE_MAX); return 0;
	case 't': r->seconds = cli_real(state, "--seconds", arg, 0.001, SECONDS_MAX); return 0;
	case 'c': r->conn = arg; return 0;
	case ARGP_KEY_ARG:
		if (r->path)
			argp_error(state, "one file, not \"%s\" as well", arg);
		r->path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a file is missing");
		return 0;
	case ARGP_KEY_END:
		/* A number of records that is wanted has the time it takes. */
		if (r->seconds == 0)
			r->seconds = r->count ? SECONDS_MAX : DEFAULT_SECONDS;
		if (!r->count)
			r->count = RUE_TRACE_MAX;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "count", 'n', "N", 0, "End after N events", 0 },
	{ "seconds", 't', "S", 0, "End after S seconds (10)", 0 },
	{ "conn", 'c', "NAME", 0, "Of this connection alone", 0 },
	{},
};

static const struct argp argp = {
	.options = options, .parser = parse, .args_doc = "FILE",
	.doc = "Record what Swift is asked and what it answers, for falcon-rue --vectors.",
};

/* Zeroed memory that the agent accepts, and its head. */
static struct rue_trace *make_memory(uint32_t count, int *fd)
{
	size_t bytes = rue_trace_bytes(count);
	struct rue_trace *t = MAP_FAILED;

	*fd = memfd_create("falcon-rue-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd >= 0 && ftruncate(*fd, (off_t)bytes) == 0 &&
	    fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0)
		t = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (t == MAP_FAILED) {
		fprintf(stderr, "falconctl: no memory for a trace: %s\n", strerror(errno));
		if (*fd >= 0)
			close(*fd);
		return NULL;
	}
	t->magic = RUE_TRACE_MAGIC;
	t->record_size = sizeof(struct rue_trace_record);
	t->capacity = count;
	return t;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Until there are enough, or time is over, or the agent is gone, or ^C. */
static void record(const struct request *r, const struct rue_trace *t, const struct ipc_client *agent)
{
	const double end = now() + r->seconds;
	struct pollfd fd = {.fd = agent->sock, .events = POLLIN};

	while (!interrupted && falcon_load(&t->n) < r->count && now() < end)
		if (poll(&fd, 1, LOOK_MS) > 0)
			return;
}

/*
 * A profile that is not as built in under its name goes into the file, as a remark that falcon-rue
 * reads.
 */
static void write_profile(FILE *f, const struct rue_config *c, const struct rue_configs *known)
{
	const struct rue_config *same = rue_configs_find(known, c->name);
	char value[SWIFT_PARAM_TEXT];
	size_t n;
	const struct swift_param *table = swift_params_table(&n);
	bool differs = !same;

	for (size_t i = 0; i < n && !differs; i++)
		differs = swift_params_get(&c->params, &table[i]) !=
			  swift_params_get(&same->params, &table[i]);
	if (!differs)
		return;
	fprintf(f, "#config = \"%s\"\n", c->name);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "#\t%s = %s\n", table[i].name,
			swift_params_format(&table[i], swift_params_get(&c->params, &table[i]),
					    value));
}

static void write_row(FILE *f, const struct rue_trace *t, uint32_t i)
{
	const struct rue_trace_record *rec = &t->record[i];
	const struct rue_vector v = {
		.event = rec->event, .result = rec->result, .before = rec->before,
		.after = rec->after, .now = rec->now,
	};
	size_t n;
	const struct vector_column *c = vector_columns(&n);

	fprintf(f, "%s,ind,-1,%" PRIu32, t->profile[rec->profile % SWIFT_PROFILES].name, i);
	for (size_t k = 0; k < n; k++)
		fprintf(f, ",%" PRIu64, c[k].get(&v, &c[k]));
	fputc('\n', f);
}

static int write_file(const struct request *r, const struct rue_trace *t, uint32_t n)
{
	FILE *f = strcmp(r->path, "-") ? fopen(r->path, "we") : stdout;
	struct rue_configs known;
	size_t columns;
	const struct vector_column *c = vector_columns(&columns);
	bool bad;

	if (f) {
		rue_configs_builtin(&known);
		for (int i = 0; i < SWIFT_PROFILES; i++)
			if (!i || strcmp(t->profile[i].name, t->profile[0].name))
				write_profile(f, &t->profile[i], &known);
		fputs("config,kind,seq,step", f);
		for (size_t k = 0; k < columns; k++)
			fprintf(f, ",%s", c[k].name);
		fputc('\n', f);
		for (uint32_t i = 0; i < n; i++)
			write_row(f, t, i);
		bad = fflush(f) || ferror(f);
		if (f == stdout ? bad : fclose(f) || bad)
			f = NULL;
	}
	if (!f)
		fprintf(stderr, "falconctl: cannot write %s: %s\n", r->path, strerror(errno));
	return f ? CTL_OK : CTL_FAILED;
}

/* Record with the memory |t|, |memfd|, over a connection to the agent. */
static int run(const struct options *o, const struct request *r, struct rue_trace *t, int memfd)
{
	json_t *req = json_pack("{s:s}", "op", "rue-trace"), *reply;
	struct ipc_client agent;
	uint32_t n;

	if (r->conn)
		json_object_set_new(req, "name", json_string(r->conn));
	if (ctl_connect(&agent, o->socket) < 0) {
		json_decref(req);
		return CTL_FAILED;
	}
	reply = ctl_call(&agent, req, memfd);
	json_decref(reply);
	if (reply)
		record(r, t, &agent);
	ipc_client_close(&agent);
	if (!reply)
		return CTL_FAILED;
	n = falcon_load(&t->n);
	if (n > r->count)
		n = r->count;
	fprintf(stderr, "%" PRIu32 " events recorded\n", n);
	return write_file(r, t, n);
}

int ctl_rue_trace(const struct options *o, const struct object *obj, int argc, char **argv)
{
	const struct sigaction sa = {.sa_handler = on_signal};
	struct request r = {0};
	struct rue_trace *t;
	int rc, memfd;

	(void)obj;
	ctl_parse("rue trace", &argp, argc, argv, &r);
	t = make_memory(r.count, &memfd);
	if (!t)
		return CTL_FAILED;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	rc = run(o, &r, t, memfd);
	munmap(t, rue_trace_bytes(r.count));
	close(memfd);
	return rc;
}
