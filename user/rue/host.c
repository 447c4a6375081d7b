// SPDX-License-Identifier: BSD-2-Clause
#include "rue/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 8 };	/* events between prefetching a state and using it */

struct engine {
	const struct rue_algorithm *algorithm;	/* NULL: not in use */
	void *self;
	char name[RUE_ALGORITHM_NAME];
};

struct rue_host {
	pthread_mutex_t lock;
	bool threaded;
	uint32_t flows;
	uint32_t n_profiles;
	struct rue_config profile[SWIFT_PROFILES];
	struct engine engine[RUE_ENGINES];
	struct swift *swift;		/* the engine of that name; NULL: not running */
	void *swift_memory;		/* for its state; NULL: its own */
	struct rue_trace *trace;	/* NULL: none */
	uint32_t trace_capacity, traced;	/* records; our own copies */
	int64_t trace_only;
};

static void lock(struct rue_host *h)
{
	if (h->threaded)
		pthread_mutex_lock(&h->lock);
}

static void unlock(struct rue_host *h)
{
	if (h->threaded)
		pthread_mutex_unlock(&h->lock);
}

struct rue_host *rue_host_create(uint32_t flows, const struct rue_config *profiles,
				 uint32_t n_profiles, bool threaded)
{
	struct rue_host *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	pthread_mutex_init(&h->lock, NULL);
	h->threaded = threaded;
	h->flows = flows;
	h->n_profiles = n_profiles < SWIFT_PROFILES ? n_profiles : SWIFT_PROFILES;
	memcpy(h->profile, profiles, h->n_profiles * sizeof(*profiles));
	return h;
}

void rue_host_destroy(struct rue_host *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < RUE_ENGINES; i++)
		if (h->engine[i].algorithm && h->engine[i].algorithm->destroy)
			h->engine[i].algorithm->destroy(h->engine[i].self);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

static int set_profiles(struct rue_host *h, struct swift *s, char *err, size_t size)
{
	char why[200];

	for (uint32_t i = 0; i < h->n_profiles; i++) {
		int rc = swift_set_profile(s, i, &h->profile[i].params, why, sizeof(why));

		if (rc) {
			snprintf(err, size, "profile %s: %s", h->profile[i].name, why);
			return rc;
		}
	}
	return 0;
}

static int start(struct rue_host *h, struct engine *g, const char *name, const char *const *params,
		 char *err, size_t size)
{
	const struct rue_algorithm *a = rue_load(name, err, size);
	char why[200] = "";
	void *self = NULL;

	if (!a)
		return -ENOENT;
	if (a->create)
		self = a->create(h->flows, params, why, sizeof(why));
	if (a->create && !self) {
		snprintf(err, size, "%s: %s", name, why);
		return -EINVAL;
	}
	if (a == &rue_swift && set_profiles(h, self, err, size)) {
		a->destroy(self);
		return -EINVAL;
	}
	lock(h);
	snprintf(g->name, sizeof(g->name), "%s", name);
	g->self = self;
	g->algorithm = a;
	if (a == &rue_swift) {
		h->swift = self;
		if (h->swift_memory)
			swift_state_move(self, h->swift_memory, true);
	}
	unlock(h);
	return 0;
}

int rue_host_engine(struct rue_host *h, const char *name, const char *const *params, char *err,
		    size_t size)
{
	uint32_t i;
	int rc;

	if (strlen(name) >= RUE_ALGORITHM_NAME) {
		snprintf(err, size, "an algorithm's name has at most %d bytes",
			 RUE_ALGORITHM_NAME - 1);
		return -ENAMETOOLONG;
	}
	for (i = 0; i < RUE_ENGINES && h->engine[i].algorithm; i++)
		if (!strcmp(h->engine[i].name, name))
			return (int)i;
	if (i == RUE_ENGINES) {
		snprintf(err, size, "%d algorithms run already: %s, %s, %s, %s", RUE_ENGINES,
			 h->engine[0].name, h->engine[1].name, h->engine[2].name,
			 h->engine[3].name);
		return -ENOSPC;
	}
	rc = start(h, &h->engine[i], name, params, err, size);
	return rc ? rc : (int)i;
}

const char *rue_host_name(const struct rue_host *h, uint32_t engine)
{
	return engine < RUE_ENGINES ? h->engine[engine].name : "";
}

bool rue_host_has_profiles(const struct rue_host *h, uint32_t engine)
{
	return engine < RUE_ENGINES && h->engine[engine].algorithm &&
	       h->engine[engine].algorithm->set_profile;
}

int rue_host_profile(const struct rue_host *h, const char *name, char *err, size_t size)
{
	int n;

	for (uint32_t i = 0; i < h->n_profiles; i++)
		if (!strcmp(h->profile[i].name, name))
			return (int)i;
	n = snprintf(err, size, "no profile \"%.40s\"; there are", name);
	for (uint32_t i = 0; i < h->n_profiles && n > 0 && (size_t)n < size; i++)
		n += snprintf(err + n, size - (size_t)n, " %s", h->profile[i].name);
	return -ENOENT;
}

const struct rue_config *rue_host_profile_at(const struct rue_host *h, uint32_t number)
{
	return number < h->n_profiles ? &h->profile[number] : NULL;
}

void rue_host_reset(struct rue_host *h, uint32_t base_delay_target)
{
	lock(h);
	for (uint32_t i = 0; i < RUE_ENGINES; i++)
		if (h->engine[i].algorithm && h->engine[i].algorithm->reset)
			h->engine[i].algorithm->reset(h->engine[i].self, base_delay_target);
	unlock(h);
}

struct swift_state rue_host_swift_state(struct rue_host *h, uint32_t base_delay_target)
{
	struct swift_state s = { 0 };

	lock(h);
	if (h->swift)
		s = *swift_state(h->swift, base_delay_target);
	unlock(h);
	return s;
}

void rue_host_swift_memory(struct rue_host *h, void *memory, bool adopt)
{
	lock(h);
	if (h->swift)
		swift_state_move(h->swift, memory, adopt);
	h->swift_memory = memory;
	unlock(h);
}

static struct engine *engine_of(struct rue_host *h, const struct falcon_rue_event *e)
{
	return &h->engine[falcon_ev_get(e, event_queue_select)];
}

static void prefetch(struct rue_host *h, const struct falcon_rue_event *e)
{
	const struct engine *g = engine_of(h, e);

	if (g->algorithm && g->algorithm->prefetch)
		g->algorithm->prefetch(g->self, e);
}

/* The place of the next record, NULL if |e| is not to be recorded. */
static struct rue_trace_record *next_record(struct rue_host *h, const struct falcon_rue_event *e)
{
	if (!h->trace || h->traced >= h->trace_capacity || engine_of(h, e)->self != h->swift)
		return NULL;
	if (h->trace_only >= 0 &&
	    (int64_t)(falcon_ev_get(e, connection_id) & FALCON_RUE_CID_MASK) != h->trace_only)
		return NULL;
	return &h->trace->record[h->traced];
}

static void record(struct rue_host *h, struct rue_trace_record *to,
		   const struct falcon_rue_event *e, const struct swift_state *before, uint32_t now,
		   const struct falcon_rue_result *r)
{
	uint32_t base = (uint32_t)falcon_ev_get(e, base_delay_target);

	to->event = *e;
	to->result = *r;
	to->before = *before;
	to->after = *swift_state(h->swift, base);
	to->now = now;
	to->profile = base >> SWIFT_INDEX_BITS;
	falcon_store(&h->trace->n, ++h->traced);
}

static void process(struct rue_host *h, const struct falcon_rue_event *e, uint32_t now,
		    struct falcon_rue_result *r)
{
	const struct engine *g = engine_of(h, e);
	struct rue_trace_record *to = next_record(h, e);
	struct swift_state before = { 0 };

	if (to)
		before = *swift_state(h->swift, (uint32_t)falcon_ev_get(e, base_delay_target));
	memset(r, 0, sizeof(*r));
	if (g->algorithm)
		g->algorithm->process(g->self, e, now, r);
	else
		rue_fixed.process(NULL, e, now, r);
	if (to)
		record(h, to, e, &before, now, r);
}

void rue_host_process(struct rue_host *h, const struct falcon_rue_event *e, uint32_t n,
		      uint32_t now, struct falcon_rue_result *r)
{
	lock(h);
	for (uint32_t i = 0; n > 1 && i < AHEAD && i < n; i++)
		prefetch(h, &e[i]);
	for (uint32_t i = 0; i < n; i++) {
		if (n - i > AHEAD)
			prefetch(h, &e[i + AHEAD]);
		process(h, &e[i], now, &r[i]);
	}
	unlock(h);
}

void rue_host_trace(struct rue_host *h, struct rue_trace *t, uint32_t capacity, int64_t only)
{
	lock(h);
	h->trace = t;
	h->trace_only = only;
	h->traced = 0;
	h->trace_capacity = capacity;
	for (uint32_t i = 0; t && i < SWIFT_PROFILES; i++)
		t->profile[i] = h->profile[i < h->n_profiles ? i : 0];
	unlock(h);
}
