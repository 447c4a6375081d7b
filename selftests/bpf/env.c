// SPDX-License-Identifier: BSD-2-Clause
#include "env.h"

#include <setjmp.h>
#include <stdarg.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xdp/xsk.h>

static void *map_mem(int fd, size_t value_size, size_t entries)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = value_size * entries;
	void *p = mmap(NULL, (len + page - 1) & ~(page - 1), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       0);

	return p == MAP_FAILED ? NULL : p;
}

static int map_fd(const struct env *e, const char *name)
{
	return bpf_object__find_map_fd_by_name(e->obj, name);
}

/* A record about connection |cid| has come by |r|. */
static void arrived(const struct env_rings *r, uint64_t cid)
{
	r->env->strays += cid >= FALCON_CONNS || r->env->conns[cid].id.shard != r->shard;
}

static int on_event(void *arg, void *data, size_t len)
{
	const struct env_rings *r = arg;
	struct env *e = r->env;

	if (len == sizeof(e->event)) {
		memcpy(&e->event, data, sizeof(e->event));
		arrived(r, falcon_ev_get(&e->event, connection_id) & FALCON_RUE_CID_MASK);
	}
	return 0;
}

static int on_wake(void *arg, void *data, size_t len)
{
	const struct env_rings *r = arg;
	uint64_t cid = UINT64_MAX;

	if (len == sizeof(cid))
		memcpy(&cid, data, sizeof(cid));
	arrived(r, cid);
	r->env->wakes++;
	return 0;
}

/* Rings for all shards but the first, in the outer map |into|. */
static int make_rings(int into, uint32_t bytes, int fds[FALCON_MAX_SHARDS])
{
	uint32_t keys[FALCON_MAX_SHARDS], n = FALCON_MAX_SHARDS - 1;

	for (uint32_t i = 0; i < n; i++) {
		keys[i] = i + 1;
		fds[i + 1] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, bytes, NULL);
		if (fds[i + 1] < 0)
			return -1;
	}
	return bpf_map_update_batch(into, keys, fds + 1, &n, NULL);
}

static int open_rings(struct env *e)
{
	int rue[FALCON_MAX_SHARDS], wake[FALCON_MAX_SHARDS];

	if (make_rings(map_fd(e, "falcon_rue"), FALCON_RUE_RING_BYTES, rue) ||
	    make_rings(map_fd(e, "falcon_wake"), FALCON_WAKE_RING_BYTES, wake))
		return -1;
	for (uint32_t i = 1; i < FALCON_MAX_SHARDS; i++) {
		struct env_rings *r = &e->rings[i];

		r->env = e;
		r->shard = i;
		r->both = ring_buffer__new(rue[i], on_event, r, NULL);
		if (!r->both || ring_buffer__add(r->both, wake[i], on_wake, r))
			return -1;
	}
	return 0;
}

/* build/selftests/bpf/x.t -> build/NAME */
void env_object_path(const char *name, char *path, size_t len)
{
	ssize_t n = readlink("/proc/self/exe", path, len - 1);

	path[n < 0 ? 0 : n] = 0;
	for (int i = 0; i < 3; i++) {
		char *slash = strrchr(path, '/');

		if (slash)
			*slash = 0;
	}
	n = (ssize_t)strlen(path);
	snprintf(path + n, len - (size_t)n, "/%s", name);
}

static int load(struct env *e)
{
	char path[512];
	struct bpf_map *map;

	env_object_path("falcon.bpf.o", path, sizeof(path));
	e->obj = bpf_object__open_file(path, NULL);
	if (!e->obj)
		return -1;
	/* Nothing pinned: tests neither see nor leave maps of an agent on this host. */
	bpf_object__for_each_map(map, e->obj)
		bpf_map__set_pin_path(map, NULL);
	if (bpf_object__load(e->obj))
		return -1;
	e->prog_fd = bpf_program__fd(bpf_object__find_program_by_name(e->obj, "falcon_rx"));
	e->frags_fd = bpf_program__fd(bpf_object__find_program_by_name(e->obj, "falcon_rx_frags"));
	e->ports_fd = map_fd(e, "falcon_ports");
	e->xsks_fd = map_fd(e, "falcon_xsks");
	e->counters_fd = map_fd(e, "falcon_counters");
	e->sadb_fd = map_fd(e, "falcon_sadb");
	e->conns = map_mem(map_fd(e, "falcon_conns"), sizeof(*e->conns), FALCON_CONNS);
	e->config = map_mem(map_fd(e, "falcon_config"), sizeof(*e->config), 1);
	e->credits = map_mem(map_fd(e, "falcon_credits"), sizeof(*e->credits), FALCON_MAX_XSKS);
	e->dirty = map_mem(map_fd(e, "falcon_dirty"), sizeof(*e->dirty), FALCON_MAX_SHARDS);
	e->ncpu = libbpf_num_possible_cpus();
	e->percpu = calloc((size_t)e->ncpu, sizeof(*e->percpu));
	if (!e->conns || !e->config || !e->credits || !e->dirty || !e->percpu)
		return -1;
	return open_rings(e);
}

static int make_veth(struct env *e)
{
	if (system("ip link set lo up && "
		   "ip link add fa numtxqueues 1 numrxqueues 2 type veth "
		   "peer name fb numtxqueues 2 numrxqueues 2 && "
		   "ip link set fa mtu 3498 up && ip link set fb mtu 3498 up"))
		return -1;
	e->ifindex = (int)if_nametoindex("fb");
	return e->ifindex ? 0 : -1;
}

static int make_xsk(struct env *e)
{
	const struct xsk_socket_config cfg = {
		.rx_size = 2048,
		.tx_size = 2048,
		.libbpf_flags = XSK_LIBBPF_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_COPY,
	};
	struct falcon_port port = { .index = ENV_PORT, .max_frame = ENV_MAX_FRAME };
	const size_t size = (size_t)ENV_FRAMES * ENV_FRAME_SIZE;
	uint32_t key = ENV_XSK;
	int fd;

	memcpy(port.mac, packet_dst_mac, sizeof(port.mac));
	e->area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e->area == MAP_FAILED)
		return -1;
	if (xsk_umem__create(&e->umem, e->area, size, &e->fill, &e->comp, NULL))
		return -1;
	if (xsk_socket__create(&e->xsk, "fb", 0, e->umem, &e->rx, &e->tx, &cfg))
		return -1;
	fd = xsk_socket__fd(e->xsk);
	if (bpf_map_update_elem(e->xsks_fd, &key, &fd, BPF_ANY))
		return -1;
	return bpf_map_update_elem(e->ports_fd, &e->ifindex, &port, BPF_ANY);
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, args) : 0;
}

int env_open(struct env *e, const char **why)
{
	memset(e, 0, sizeof(*e));
	libbpf_set_print(quiet);
	if (unshare(CLONE_NEWNET)) {
		*why = "needs root";
		return 1;
	}
	if (load(e) || make_veth(e) || make_xsk(e)) {
		fprintf(stderr, "cannot set the stage: %s\n", strerror(errno));
		return -1;
	}
	env_reset(e);
	return 0;
}

void env_close(struct env *e)
{
	xsk_socket__delete(e->xsk);
	xsk_umem__delete(e->umem);
	for (uint32_t i = 0; i < FALCON_MAX_SHARDS; i++)
		ring_buffer__free(e->rings[i].both);
	bpf_object__close(e->obj);
	free(e->percpu);
}

int env_main(struct env *e, const char *group, const struct CMUnitTest *tests, size_t n,
	     int (*more)(void))
{
	const char *why;
	int rc = env_open(e, &why);

	if (rc == 0 && more && more()) {
		fprintf(stderr, "cannot set the stage of %s: %s\n", group, strerror(errno));
		return 1;
	}
	if (rc) {
		if (rc > 0)
			printf("1..0 # SKIP %s\n", why);
		return rc < 0;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	rc = _cmocka_run_group_tests(group, tests, n, NULL, NULL);
	env_close(e);
	return rc;
}

void env_reset(struct env *e)
{
	uint32_t spi;

	while (bpf_map_get_next_key(e->sadb_fd, NULL, &spi) == 0)
		bpf_map_delete_elem(e->sadb_fd, &spi);
	for (uint32_t i = 1; i < FALCON_MAX_SHARDS; i++)
		env_consume_shard(e, i);
	e->strays = 0;
	memset(e->conns, 0, sizeof(*e->conns) * 16);
	for (uint32_t cid = 0; cid < ENV_CONNS; cid++)
		conn_fresh(&e->conns[cid], cid, ENV_PSN);
	memset(e->config, 0, sizeof(*e->config));
	e->config->replay_margin = 1000000;
	e->config->cur_spi_gen = CONN_SPI_GEN;
	for (uint32_t i = 0; i < FALCON_MAX_SHARDS; i++)
		e->config->shard[i].rx_level = 17 + i % 8;
	e->config->rue_threshold[0] = 1 << 18;
	e->config->rue_threshold[1] = 1 << 19;
	e->config->rue_threshold[2] = 3 << 18;
	env_dirty_clear(e);
	memset(e->credits, 0, sizeof(*e->credits) * FALCON_MAX_XSKS);
	e->credits[ENV_XSK].credits = 64;
	memset(&e->event, 0, sizeof(e->event));
	e->wakes = 0;
}

void env_sadb(struct env *e, uint32_t spi, uint32_t cid)
{
	bpf_map_update_elem(e->sadb_fd, &spi, &cid, BPF_ANY);
}

void env_shape(const struct env *e, uint32_t cid, uint64_t iv, struct packet_shape *s)
{
	packet_shape_of(&e->conns[cid].id, iv, s);
}

void env_push(const struct env *e, uint32_t cid, uint32_t psn, struct falcon_hdr *h)
{
	memset(h, 0, sizeof(*h));
	h->cid = cid;
	if (e->conns[cid].id.rx_function != FALCON_FUNCTION_ANY)
		h->function = e->conns[cid].id.rx_function;
	h->proto = FALCON_PROTO_RAW;
	h->type = FALCON_PUSH_DATA;
	h->rdbpsn = e->conns[cid].tx_acked.data_base;
	h->rrbpsn = e->conns[cid].tx_acked.req_base;
	h->psn = psn;
	h->rsn = psn + 5;
}

int env_run_on(struct env *e, const uint8_t *frame, size_t len, int ifindex, uint32_t queue,
	       struct env_result *r)
{
	struct xdp_md in = { .data_end = (__u32)len, .ingress_ifindex = (__u32)ifindex,
			     .rx_queue_index = queue };
	struct xdp_md out = {};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (__u32)len,
		    .data_out = r->buf, .data_size_out = sizeof(r->buf), .ctx_in = &in,
		    .ctx_size_in = sizeof(in), .ctx_out = &out, .ctx_size_out = sizeof(out),
		    .repeat = 1);
	int rc = bpf_prog_test_run_opts(e->prog_fd, &opts);

	r->action = (int)opts.retval;
	r->meta_len = out.data - out.data_meta;
	r->len = out.data_end - out.data;
	return rc;
}

int env_run_frags(struct env *e, const uint8_t *frame, size_t len)
{
	struct xdp_md in = { .data_end = (__u32)len, .ingress_ifindex = (__u32)e->ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (__u32)len, .ctx_in = &in,
		    .ctx_size_in = sizeof(in), .repeat = 1);
	int rc = bpf_prog_test_run_opts(e->frags_fd, &opts);

	return rc < 0 ? rc : (int)opts.retval;
}

int env_run(struct env *e, const uint8_t *frame, size_t len, uint32_t queue, struct env_result *r)
{
	return env_run_on(e, frame, len, e->ifindex, queue, r);
}

void env_ack(struct env *e, uint32_t cid)
{
	const struct falcon_ack a = {
		.cid = cid,
		.type = FALCON_BACK,
		.rdbpsn = e->conns[cid].tx_acked.data_base + 1,
		.rrbpsn = e->conns[cid].tx_acked.req_base,
	};
	uint8_t falcon[FALCON_MAX_HDR_LEN], frame[PACKET_MAX];
	struct packet_shape s;
	struct env_result r;
	size_t len;

	env_shape(e, cid, 5000000, &s);
	len = packet_build(&s, falcon, falcon_ack_pack(&a, falcon), frame);
	assert_int_equal(env_run(e, frame, len, 0, &r), 0);
	assert_int_equal(r.action, XDP_DROP);
	assert_int_equal(e->conns[cid].tx_acked.data_base, a.rdbpsn);
}

void env_counters(struct env *e, struct falcon_counters *sum)
{
	uint32_t zero = 0;
	uint64_t *to = (uint64_t *)sum;

	memset(sum, 0, sizeof(*sum));
	if (bpf_map_lookup_elem(e->counters_fd, &zero, e->percpu))
		return;
	for (int cpu = 0; cpu < e->ncpu; cpu++) {
		const uint64_t *from = (const uint64_t *)&e->percpu[cpu];

		for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
			to[i] += from[i];
	}
}

int env_verdict(const struct falcon_counters *before, const struct falcon_counters *after)
{
	const uint64_t *b = (const uint64_t *)before, *a = (const uint64_t *)after;
	int found = -1;

	for (int v = 0; v < FALCON_VERDICT_COUNT; v++) {
		if (a[v] == b[v])
			continue;
		if (found >= 0 || a[v] - b[v] != 1)
			return -1;
		found = v;
	}
	return found;
}

const char *env_verdict_name(int v)
{
	static const char *const names[] = {
#define NAME(name, text) #name,
		FALCON_VERDICTS(NAME)
#undef NAME
	};

	return v >= 0 && v < FALCON_VERDICT_COUNT ? names[v] : "none, or several";
}

int env_consume_shard(struct env *e, uint32_t shard)
{
	return ring_buffer__consume(e->rings[shard].both);
}

int env_consume(struct env *e)
{
	int n = 0;

	for (uint32_t i = 1; i < FALCON_MAX_SHARDS; i++)
		n += env_consume_shard(e, i);
	assert_int_equal(e->strays, 0);
	return n;
}

uint64_t env_dirty(const struct env *e)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < FALCON_MAX_SHARDS; i++) {
		const struct falcon_dirty *d = &e->dirty[i];

		for (uint64_t bits = d->word[0]; bits; bits &= bits - 1)
			assert_int_equal(e->conns[__builtin_ctzll(bits)].id.shard, i);
		assert_int_equal(d->summary[0], d->word[0] != 0);
		all |= d->word[0];
	}
	return all;
}

void env_dirty_clear(struct env *e)
{
	memset(e->dirty, 0, sizeof(*e->dirty) * FALCON_MAX_SHARDS);
}
