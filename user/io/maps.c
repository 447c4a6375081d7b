// SPDX-License-Identifier: BSD-2-Clause
#include "io/maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/memory.h"

static const char *const usual_places[] = {
	"/sys/fs/bpf/tc/globals",	/* ip link (iproute2) */
	"/sys/fs/bpf/falcon",
	"/sys/fs/bpf",			/* libbpf's and libxdp's default */
};

/* What a pinned map must look like for this build. */
struct map_shape {
	const char *name;
	__u32 type;
	__u32 value_size;
	__u32 max_entries;
};

/* As many as there are, up to this. */
static const struct map_shape shape_conns = { "falcon_conns", BPF_MAP_TYPE_ARRAY,
					      sizeof(struct falcon_conn), FALCON_MAX_CONNS };
static const struct map_shape shape_config = { "falcon_config", BPF_MAP_TYPE_ARRAY,
					       sizeof(struct falcon_config), 1 };
static const struct map_shape shape_credits = { "falcon_credits", BPF_MAP_TYPE_ARRAY,
						sizeof(struct falcon_credit), FALCON_MAX_XSKS };
static const struct map_shape shape_dirty = { "falcon_dirty", BPF_MAP_TYPE_ARRAY,
					      sizeof(struct falcon_dirty), FALCON_MAX_SHARDS };
static const struct map_shape shape_responses = { "falcon_responses", BPF_MAP_TYPE_ARRAY,
						  sizeof(struct falcon_responses), FALCON_RESPONSES };
static const struct map_shape shape_sinks = { "falcon_sinks", BPF_MAP_TYPE_ARRAY,
					      sizeof(struct falcon_sinks), FALCON_SINKS };
static const struct map_shape shape_ports = { "falcon_ports", BPF_MAP_TYPE_HASH,
					      sizeof(struct falcon_port), FALCON_MAX_PORTS };
static const struct map_shape shape_sadb = { "falcon_sadb", BPF_MAP_TYPE_HASH, sizeof(__u32),
					     FALCON_SADB_PER_CONN * FALCON_MAX_CONNS };
static const struct map_shape shape_memory = { "falcon_memory", BPF_MAP_TYPE_ARRAY_OF_MAPS,
					       sizeof(__u32), FALCON_MEMORIES };
static const struct map_shape shape_regions = { "falcon_regions", BPF_MAP_TYPE_HASH,
						sizeof(struct falcon_region), FALCON_REGIONS };
static const struct map_shape shape_xsks = { "falcon_xsks", BPF_MAP_TYPE_XSKMAP, sizeof(int),
					     FALCON_MAX_XSKS };
static const struct map_shape shape_counters = { "falcon_counters", BPF_MAP_TYPE_PERCPU_ARRAY,
						 sizeof(struct falcon_counters), 1 };
static const struct map_shape shape_rue = { "falcon_rue", BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(__u32),
					    FALCON_MAX_SHARDS };
static const struct map_shape shape_wake = { "falcon_wake", BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(__u32),
					     FALCON_MAX_SHARDS };

static const struct maps no_maps = { .ports_fd = -1, .xsks_fd = -1, .counters_fd = -1,
				     .sadb_fd = -1, .memory_fd = -1, .regions_fd = -1,
				     .rue_fd = -1, .wake_fd = -1 };

static bool fits(const struct map_shape *s, const struct bpf_map_info *info)
{
	if (info->type != s->type || info->value_size != s->value_size)
		return false;
	if (s == &shape_conns || s == &shape_sadb)
		return info->max_entries > 1 && info->max_entries <= s->max_entries;
	return info->max_entries == s->max_entries;
}

/* *|entries| is set to how many the map has. */
static int open_map(struct maps *m, const struct map_shape *s, uint32_t *entries, char *err,
		    size_t errlen)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	char path[320];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", m->dir, s->name);
	fd = bpf_obj_get(path);
	if (fd < 0) {
		snprintf(err, errlen, "cannot open map %s: %s", path, strerror(errno));
		return -errno;
	}
	rc = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (rc < 0) {
		snprintf(err, errlen, "cannot inspect map %s: %s", path, strerror(errno));
		rc = -errno;
	} else if (!fits(s, &info)) {
		snprintf(err, errlen,
			 "map %s has %u entries of %u bytes, this falcond wants %u of %u: detach the "
			 "XDP program, remove the pinned falcon_* maps, attach this build's object",
			 path, info.max_entries, info.value_size, s->max_entries, s->value_size);
		rc = -EPROTO;
	}
	if (rc < 0) {
		close(fd);
		return rc;
	}
	*entries = info.max_entries;
	return fd;
}

static size_t map_bytes(const struct map_shape *s, uint32_t entries)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (size_t)((s->value_size + 7) & ~7U) * entries;

	return (bytes + page - 1) & ~(page - 1);
}

static int map_memory(struct maps *m, const struct map_shape *s, uint32_t *entries, void **out,
		      char *err, size_t errlen)
{
	int fd = open_map(m, s, entries, err, errlen);
	void *p;

	if (fd < 0)
		return fd;
	p = mmap(NULL, map_bytes(s, *entries), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED) {
		snprintf(err, errlen, "cannot map %s/%s: %s", m->dir, s->name, strerror(errno));
		return -errno;
	}
	*out = p;
	return 0;
}

static void choose_dir(struct maps *m, const char *dir)
{
	size_t n = sizeof(usual_places) / sizeof(usual_places[0]);

	if (dir && *dir) {
		snprintf(m->dir, sizeof(m->dir), "%s", dir);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		char path[320];

		snprintf(m->dir, sizeof(m->dir), "%s", usual_places[i]);
		snprintf(path, sizeof(path), "%s/%s", m->dir, shape_conns.name);
		if (access(path, F_OK) == 0)
			return;
	}
	snprintf(m->dir, sizeof(m->dir), "%s", usual_places[0]);
}

static int open_all(struct maps *m, char *err, size_t errlen)
{
	uint32_t n;
	int rc;

	if ((rc = map_memory(m, &shape_conns, &m->nconns, (void **)&m->conns, err, errlen)) < 0 ||
	    (rc = map_memory(m, &shape_config, &n, (void **)&m->config, err, errlen)) < 0 ||
	    (rc = map_memory(m, &shape_credits, &n, (void **)&m->credits, err, errlen)) < 0 ||
	    (rc = map_memory(m, &shape_dirty, &n, (void **)&m->dirty, err, errlen)) < 0 ||
	    (rc = map_memory(m, &shape_responses, &n, (void **)&m->responses, err, errlen)) < 0 ||
	    (rc = map_memory(m, &shape_sinks, &n, (void **)&m->sinks, err, errlen)) < 0)
		return rc;
	if ((rc = m->ports_fd = open_map(m, &shape_ports, &n, err, errlen)) < 0 ||
	    (rc = m->sadb_fd = open_map(m, &shape_sadb, &n, err, errlen)) < 0 ||
	    (rc = m->memory_fd = open_map(m, &shape_memory, &n, err, errlen)) < 0 ||
	    (rc = m->regions_fd = open_map(m, &shape_regions, &n, err, errlen)) < 0 ||
	    (rc = m->rue_fd = open_map(m, &shape_rue, &n, err, errlen)) < 0 ||
	    (rc = m->wake_fd = open_map(m, &shape_wake, &n, err, errlen)) < 0 ||
	    (rc = m->xsks_fd = open_map(m, &shape_xsks, &n, err, errlen)) < 0 ||
	    (rc = m->counters_fd = open_map(m, &shape_counters, &n, err, errlen)) < 0)
		return rc;
	return 0;
}

int maps_open(struct maps *m, const char *dir, char *err, size_t errlen)
{
	int rc;

	*m = no_maps;
	choose_dir(m, dir);
	rc = open_all(m, err, errlen);
	if (rc < 0) {
		if (rc == -ENOENT) {
			size_t n = strlen(err);

			snprintf(err + n, errlen - n,
				 "; attach the program first: ip link set dev IF xdp obj "
				 "falcon.bpf.o sec xdp");
		}
		maps_close(m);
	}
	return rc;
}

static void unmap(void *p, const struct map_shape *s, uint32_t entries)
{
	if (p)
		munmap(p, map_bytes(s, entries));
}

void maps_close(struct maps *m)
{
	memory_stop(m);
	unmap(m->conns, &shape_conns, m->nconns);
	unmap(m->config, &shape_config, shape_config.max_entries);
	unmap(m->credits, &shape_credits, shape_credits.max_entries);
	unmap(m->dirty, &shape_dirty, shape_dirty.max_entries);
	unmap(m->responses, &shape_responses, shape_responses.max_entries);
	unmap(m->sinks, &shape_sinks, shape_sinks.max_entries);
	if (m->ports_fd >= 0)
		close(m->ports_fd);
	if (m->xsks_fd >= 0)
		close(m->xsks_fd);
	if (m->counters_fd >= 0)
		close(m->counters_fd);
	if (m->sadb_fd >= 0)
		close(m->sadb_fd);
	if (m->memory_fd >= 0)
		close(m->memory_fd);
	if (m->regions_fd >= 0)
		close(m->regions_fd);
	if (m->rue_fd >= 0)
		close(m->rue_fd);
	if (m->wake_fd >= 0)
		close(m->wake_fd);
	maps_rings_close(m);
	*m = no_maps;
}

int maps_counters(const struct maps *m, struct falcon_counters *sum)
{
	size_t words = sizeof(*sum) / sizeof(__u64);
	int cpus = libbpf_num_possible_cpus();
	__u64 *per_cpu, *out = (__u64 *)sum;
	__u32 key = 0;

	if (cpus < 0)
		return cpus;
	per_cpu = calloc((size_t)cpus, sizeof(*sum));
	if (!per_cpu)
		return -ENOMEM;
	memset(sum, 0, sizeof(*sum));
	if (bpf_map_lookup_elem(m->counters_fd, &key, per_cpu) < 0) {
		free(per_cpu);
		return -errno;
	}
	for (int cpu = 0; cpu < cpus; cpu++)
		for (size_t i = 0; i < words; i++)
			out[i] += per_cpu[(size_t)cpu * words + i];
	free(per_cpu);
	return 0;
}

int maps_sadb_add(struct maps *m, uint32_t spi, uint32_t cid)
{
	return bpf_map_update_elem(m->sadb_fd, &spi, &cid, BPF_ANY) < 0 ? -errno : 0;
}

void maps_sadb_del(struct maps *m, uint32_t spi)
{
	bpf_map_delete_elem(m->sadb_fd, &spi);
}

/* Of a hash whose keys are words. */
static void empty_hash(int fd)
{
	uint32_t key;

	while (bpf_map_get_next_key(fd, NULL, &key) == 0)
		if (bpf_map_delete_elem(fd, &key) < 0)
			return;
}

void maps_ports_empty(struct maps *m)
{
	empty_hash(m->ports_fd);
}

void maps_sadb_empty(struct maps *m)
{
	empty_hash(m->sadb_fd);
}

void maps_quiesce(void)
{
	/* A global barrier is an RCU grace period, and XDP programs run under RCU. */
	syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}
