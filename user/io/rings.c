// SPDX-License-Identifier: BSD-2-Clause
/* The inner maps of falcon_rue and falcon_wake: ring buffers by which XDP tells shards. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/maps.h"

/* Rings on their way into the outer maps, by shard. */
struct fresh {
	int rue[FALCON_MAX_SHARDS], wake[FALCON_MAX_SHARDS];
};

static int on_rue(void *ctx, void *data, size_t len)
{
	const struct maps_rings *r = ctx;

	if (len >= sizeof(struct falcon_rue_event))
		r->on_event(r->arg, data);
	return 0;
}

/* A wake-up record has done its work by arriving. */
static int on_wake(void *ctx, void *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	return 0;
}

/* At least a page; more on hosts whose pages are larger. */
static int make(const char *name, uint32_t bytes)
{
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, name, 0, 0, bytes > page ? bytes : page, NULL);

	return fd < 0 ? -errno : fd;
}

/* What libbpf maps keeps the rings in its epoll set, without their descriptors. */
static int map_rings(struct maps_rings *r, int rue, int wake)
{
	r->both = ring_buffer__new(rue, on_rue, r, NULL);
	if (!r->both || ring_buffer__add(r->both, wake, on_wake, r) < 0)
		return -errno;
	return 0;
}

/* All in one call, for which the kernel waits once. */
static int enter(int outer, const int *fds, uint32_t n)
{
	uint32_t keys[FALCON_MAX_SHARDS], count = n;

	for (uint32_t i = 0; i < n; i++)
		keys[i] = i;
	return bpf_map_update_batch(outer, keys, fds, &count, NULL) < 0 ? -errno : 0;
}

/* Those of an agent with more shards. */
static void leave_out(int outer, uint32_t n)
{
	uint32_t id;

	for (uint32_t i = n; i < FALCON_MAX_SHARDS; i++)
		if (bpf_map_lookup_elem(outer, &i, &id) == 0)
			bpf_map_delete_elem(outer, &i);
}

static int open_rings(struct maps *m, uint32_t n, struct fresh *f)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && rc == 0; i++) {
		f->rue[i] = make("falcon_rue", FALCON_RUE_RING_BYTES);
		f->wake[i] = make("falcon_wake", FALCON_WAKE_RING_BYTES);
		if (f->rue[i] < 0 || f->wake[i] < 0)
			return f->rue[i] < 0 ? f->rue[i] : f->wake[i];
		rc = map_rings(&m->rings[i], f->rue[i], f->wake[i]);
	}
	if (rc == 0)
		rc = enter(m->rue_fd, f->rue, n);
	if (rc == 0)
		rc = enter(m->wake_fd, f->wake, n);
	return rc;
}

static void close_fds(const int *fds)
{
	for (uint32_t i = 0; i < FALCON_MAX_SHARDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int maps_rings_open(struct maps *m, uint32_t n,
		    void (*on_event)(void *arg, const struct falcon_rue_event *e), void *const *args,
		    char *err, size_t errlen)
{
	struct fresh f;
	int rc;

	memset(&f, -1, sizeof(f));
	for (uint32_t i = 0; i < n; i++)
		m->rings[i] = (struct maps_rings){ .on_event = on_event, .arg = args[i] };
	rc = open_rings(m, n, &f);
	close_fds(f.rue);
	close_fds(f.wake);
	if (rc < 0) {
		snprintf(err, errlen, "cannot make the event rings for %s: %s", m->dir, strerror(-rc));
		maps_rings_close(m);
		return rc;
	}
	leave_out(m->rue_fd, n);
	leave_out(m->wake_fd, n);
	return 0;
}

void maps_rings_close(struct maps *m)
{
	for (uint32_t i = 0; i < FALCON_MAX_SHARDS; i++) {
		ring_buffer__free(m->rings[i].both);
		m->rings[i] = (struct maps_rings){};
	}
}

int maps_consume(struct maps *m, uint32_t shard)
{
	return ring_buffer__consume(m->rings[shard].both);
}

int maps_fd(const struct maps *m, uint32_t shard)
{
	return ring_buffer__epoll_fd(m->rings[shard].both);
}
