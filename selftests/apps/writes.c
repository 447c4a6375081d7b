/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * writes [-g GID_INDEX] [-l BYTES] [-n COUNT] [-d DEPTH] [-o] [SERVER]: the client WRITEs to the server's
 * memory, and READs it; with -o an end's own memory is offload memory. It reads commands from its standard
 * input, a line each, says on its standard output when one is done, and ends with the input:
 *
 *	write	COUNT WRITEs of BYTES each, DEPTH at a time, to places of their own one after the other
 *	send	a SEND, which tells the server how many WRITEs there were before it
 *	read	COUNT READs of BYTES each, DEPTH at a time, of what "write" has written last, which is checked
 *	atomic	COUNT fetch-and-adds, DEPTH at a time, to one word: each finds what the one before it has left
 *	time	as write, of whatever there is; says Gb/s and operations a second
 *
 * The server checks with every SEND that what "write" has written before it is there, unless it was written
 * over by "time", and says how many WRITEs that were.
 */
#include <time.h>

#include "peer.h"

enum {
	SLOTS = 64,			/* places in the server's memory */
	STRIDE_ALIGN = 64,
	RD_ATOMIC = 16,			/* READs and atomics under way */
	REMOTE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

/* What one end tells the other. */
struct end {
	uint32_t qpn, rkey;
	uint64_t addr;
	union ibv_gid gid;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct end far;
static uint8_t *memory;			/* SLOTS places, to write to or from; then a number, and a counter */
static uint32_t len = 65536, count = 1000, depth = 16, stride;
static uint64_t written;		/* WRITEs so far */
static uint64_t added;			/* fetch-and-adds so far */
static int gid_index, offload, sock;

/* Byte |i| of WRITE |n|. */
static uint8_t byte_of(uint64_t n, uint32_t i)
{
	return (uint8_t)(n * 31 + i + (i >> 8) * 7);
}

static size_t memory_size(void)
{
	return (size_t)SLOTS * stride + 2 * sizeof(uint64_t);
}

static struct ibv_wc complete(void)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		;
	check(n == 1, "polling");
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
	return wc;
}

/* ---- the client ---- */

static void post(enum ibv_wr_opcode opcode, uint64_t at, uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)memory + at, bytes, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = opcode, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
	};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.rkey = far.rkey;
		wr.wr.atomic.remote_addr = far.addr + memory_size() - sizeof(uint64_t);
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.rkey = far.rkey;
		wr.wr.rdma.remote_addr = far.addr + at;
	}
	check(!ibv_post_send(qp, &wr, &bad), "posting");
}

/* What is under way keeps its place: there are more places than requests. */
static void write_all(int fill)
{
	uint32_t posted = 0, done = 0;

	while (done < count) {
		for (; posted < count && posted - done < depth; posted++) {
			uint64_t n = written + posted, at = n % SLOTS * stride;

			for (uint32_t i = 0; fill && i < len; i++)
				memory[at + i] = byte_of(n, i);
			post(IBV_WR_RDMA_WRITE, at, len);
		}
		complete();
		done++;
	}
	written += fill ? count : 0;
}

static void check_place(uint64_t n)
{
	const uint8_t *p = memory + n % SLOTS * stride;

	for (uint32_t i = 0; i < len; i++)
		if (p[i] != byte_of(n, i)) {
			fprintf(stderr, "READ of WRITE %llu: byte %u is wrong\n", (unsigned long long)n, i);
			exit(1);
		}
}

/* The latest SLOTS WRITEs, round and round. */
static void read_all(void)
{
	uint64_t first = written > SLOTS ? written - SLOTS : 0, n = written - first;
	uint32_t posted = 0, done = 0;

	check(n >= depth && depth <= RD_ATOMIC, "enough written before");
	while (done < count) {
		for (; posted < count && posted - done < depth; posted++) {
			uint64_t at = (first + posted % n) % SLOTS * stride;

			memset(memory + at, 0, len);
			post(IBV_WR_RDMA_READ, at, len);
		}
		complete();
		check_place(first + done++ % n);
	}
}

static void add_all(void)
{
	uint32_t posted = 0, done = 0;

	check(depth <= RD_ATOMIC, "a depth that atomics have");
	while (done < count) {
		uint64_t old;

		for (; posted < count && posted - done < depth; posted++)
			post(IBV_WR_ATOMIC_FETCH_AND_ADD, (uint64_t)posted % SLOTS * stride, sizeof(old));
		complete();
		memcpy(&old, memory + (uint64_t)done % SLOTS * stride, sizeof(old));
		if (old != added) {
			fprintf(stderr, "fetch-and-add %llu has found %llu\n", (unsigned long long)added,
				(unsigned long long)old);
			exit(1);
		}
		added++;
		done++;
	}
}

static void tell(void)
{
	size_t at = (size_t)SLOTS * stride;

	memcpy(memory + at, &written, sizeof(written));
	post(IBV_WR_SEND, at, sizeof(written));
	complete();
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void serve_commands(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		double start = now(), took;

		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "send"))
			tell();
		else if (!strcmp(line, "read"))
			read_all();
		else if (!strcmp(line, "atomic"))
			add_all();
		else
			write_all(!strcmp(line, "write"));
		took = now() - start;
		if (strcmp(line, "time"))
			printf("done: %s\n", line);
		else
			printf("%.3f Gb/s, %.0f a second\n", count * 8.0 * len / took / 1e9, count / took);
	}
}

/* ---- the server ---- */

static void receive(void)
{
	struct ibv_sge sge = { (uintptr_t)memory + (size_t)SLOTS * stride, sizeof(uint64_t), mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	check(!ibv_post_recv(qp, &wr, &bad), "posting a receive request");
}

/* The latest WRITE to every place is there. */
static void check_written(void)
{
	uint64_t first = written > SLOTS ? written - SLOTS : 0;

	for (uint64_t n = first; n < written; n++)
		for (uint32_t i = 0; i < len; i++)
			if (memory[n % SLOTS * stride + i] != byte_of(n, i)) {
				printf("WRITE %llu, byte %u is wrong\n", (unsigned long long)n, i);
				exit(1);
			}
	printf("%llu\n", (unsigned long long)written);
}

static void serve(void)
{
	char end;
	struct ibv_wc wc;
	int n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (;;) {
		n = ibv_poll_cq(cq, 1, &wc);
		check(n >= 0, "polling");
		if (n && wc.status == IBV_WC_SUCCESS) {
			memcpy(&written, memory + (size_t)SLOTS * stride, sizeof(written));
			check_written();
			receive();
		} else if (recv(sock, &end, 1, MSG_DONTWAIT) == 0) {
			return;
		} else {
			usleep(100);
		}
	}
}

/* ---- both ---- */

static void open_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 256, 4, 1, 1, 0 } };

	check(list && list[0], "a device");
	ctx = ibv_open_device(list[0]);
	check(ctx != NULL, "the device");
	ibv_free_device_list(list);
	if (!offload)
		memory = calloc(1, memory_size());
	else if (falcon_alloc_offload)
		memory = falcon_alloc_offload(ctx, memory_size());
	check(memory != NULL, "memory");
	pd = ibv_alloc_pd(ctx);
	cq = pd ? ibv_create_cq(ctx, 512, NULL, NULL, 0) : NULL;
	check(cq != NULL, "a completion queue");
	mr = ibv_reg_mr(pd, memory, memory_size(), IBV_ACCESS_LOCAL_WRITE | REMOTE);
	init.send_cq = init.recv_cq = cq;
	qp = mr ? ibv_create_qp(pd, &init) : NULL;
	check(qp != NULL, "a queue pair");
}

static void connect_qp(void)
{
	struct end near = { .qpn = qp->qp_num, .rkey = mr->rkey, .addr = (uintptr_t)memory };
	struct peer_qp peer = { .gid_index = gid_index, .timeout = 18, .rd_atomic = RD_ATOMIC };

	check(!ibv_query_gid(ctx, 1, gid_index, &near.gid), "the GID");
	peer_init_qp(qp, REMOTE);
	receive();
	peer_swap(sock, &near, &far, sizeof(near));
	peer.qpn = far.qpn;
	peer.gid = far.gid;
	peer_connect_qp(qp, &peer);
	/* Both ends are ready. */
	peer_swap(sock, &near, &far, sizeof(near));
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "g:l:n:d:o")) != -1) {
		switch (c) {
		case 'g': gid_index = atoi(optarg); break;
		case 'l': len = (uint32_t)atol(optarg); break;
		case 'n': count = (uint32_t)atol(optarg); break;
		case 'd': depth = (uint32_t)atol(optarg); break;
		case 'o': offload = 1; break;
		default: return 2;
		}
	}
	if (depth > SLOTS)
		return 2;
	stride = (len + STRIDE_ALIGN - 1) / STRIDE_ALIGN * STRIDE_ALIGN;
	sock = peer_meet(argv[optind]);
	open_all();
	connect_qp();
	if (argv[optind])
		serve_commands();
	else
		serve();
	return 0;
}
