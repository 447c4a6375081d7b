/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chaos [-n OPERATIONS] [-g GID_INDEX] [-s SEED] [-o] [SERVER]: random sequences of all operations over
 * several queue pairs, from the client to the server, against a model of the server's memory.
 *
 * Each queue pair has a region at the server, in slots. The client keeps what must be in them; an
 * operation has its slot for itself until it has completed, and then READs and atomics have brought what
 * the model says. What messages hold, and how long they are, follows from the queue pair and their number
 * alone, so that the server knows what to expect of the next one. It posts receive requests late, half of
 * its queue pairs from a shared queue. With -o the server's regions are in offload memory, where XDP may
 * carry out what is written.
 */
#include "peer.h"

enum {
	QPS = 4,
	DEPTH = 16,			/* operations of a queue pair under way, and slots */
	SLOT = 16384,			/* bytes */
	REGION = DEPTH * SLOT,
	MAX_LEN = 9000,			/* bytes of an operation: several packets */
	RECVS = 8,			/* receive requests of a queue */
	INLINE = 64,
	WINDOW_EVERY = 3,		/* one in so many operations uses the memory window */
};

/* What one end tells the other of a queue pair. */
struct end {
	uint32_t qpn, rkey, window;	/* |window|: the key of a memory window over the region */
	uint64_t addr;
	union ibv_gid gid;
};

struct op {
	enum ibv_wr_opcode opcode;
	uint32_t number;		/* of the queue pair's operations */
	uint32_t slot, off, len;	/* bytes, in the slot */
	uint64_t old;			/* atomics: what was there */
	uint64_t now;			/* and what is then */
};

struct pair {
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_mw *mw;		/* the server's */
	struct end far;
	uint8_t *near;			/* client: where operations read and write; server: the region */
	uint8_t *model;			/* client: the server's region */
	struct op ops[DEPTH];		/* under way, by number */
	uint32_t head, tail;		/* numbers of operations: completed, posted */
	uint32_t messages;		/* that take a receive request: sent, or received */
	uint32_t posted;		/* server: receive requests there are */
	uint32_t owed[RECVS], nowed;	/* and buffers without one */
};

static struct pair pairs[QPS];
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static uint8_t *buffers[QPS];		/* server: of receive requests */
static struct ibv_mr *buffer_mr[QPS];
static uint64_t seed = 1;
static int offload;
static int gid_index, sock;
static unsigned int operations = 4000;

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint32_t pick(uint32_t n)
{
	static uint64_t state;

	return (uint32_t)(mix(seed * 0x9e3779b97f4a7c15ULL + ++state) % n);
}

/* ---- what messages are ---- */

static uint64_t message(uint32_t p, uint32_t n)
{
	return mix(((uint64_t)p << 40 | n) + 77);
}

static uint32_t message_len(uint32_t p, uint32_t n)
{
	uint32_t r = (uint32_t)(message(p, n) >> 8);

	return r % 4 ? r / 4 % MAX_LEN : r / 4 % 32;
}

static enum ibv_wr_opcode message_opcode(uint32_t p, uint32_t n)
{
	static const enum ibv_wr_opcode all[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
	};

	return all[message(p, n) % 3];
}

static uint8_t message_byte(uint32_t p, uint32_t n, uint32_t i)
{
	return (uint8_t)(message(p, n) >> (i % 7 * 8)) ^ (uint8_t)(i >> 3);
}

static int takes_receive(enum ibv_wr_opcode o)
{
	return o == IBV_WR_SEND || o == IBV_WR_SEND_WITH_IMM || o == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static int is_atomic(enum ibv_wr_opcode o)
{
	return o == IBV_WR_ATOMIC_CMP_AND_SWP || o == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* ---- the client ---- */

static int slot_is_busy(const struct pair *q, uint32_t slot)
{
	for (uint32_t n = q->head; n != q->tail; n++)
		if (q->ops[n % DEPTH].slot == slot)
			return 1;
	return 0;
}

static void choose(struct pair *q, struct op *o)
{
	static const enum ibv_wr_opcode others[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	uint32_t p = (uint32_t)(q - pairs);

	o->off = pick(SLOT - MAX_LEN) & ~7U;
	o->len = pick(4) ? pick(MAX_LEN) : pick(INLINE);
	if (pick(2)) {
		o->opcode = message_opcode(p, q->messages);
		o->len = message_len(p, q->messages);
	} else {
		o->opcode = others[pick(sizeof(others) / sizeof(others[0]))];
	}
	if (is_atomic(o->opcode))
		o->len = 8;
}

/* The model has it from now on: nobody else looks at the slot before it has completed. */
static void prepare(struct pair *q, struct op *o, struct ibv_send_wr *wr)
{
	uint32_t p = (uint32_t)(q - pairs), at = o->slot * SLOT + o->off;

	for (uint32_t i = 0; i < o->len; i++)
		q->near[at + i] = takes_receive(o->opcode) ? message_byte(p, q->messages, i) :
							     (uint8_t)(o->number * 31 + i + p);
	if (o->opcode == IBV_WR_RDMA_WRITE || o->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		memcpy(q->model + at, q->near + at, o->len);
	if (!is_atomic(o->opcode))
		return;
	memcpy(&o->old, q->model + at, 8);
	wr->wr.atomic.compare_add = pick(2) ? o->old : pick(1000);
	wr->wr.atomic.swap = mix(o->number);
	if (o->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		o->now = o->old + wr->wr.atomic.compare_add;
	else
		o->now = o->old == wr->wr.atomic.compare_add ? wr->wr.atomic.swap : o->old;
	memcpy(q->model + at, &o->now, 8);
}

static int cut(struct ibv_sge *sge, uint8_t *at, uint32_t len, uint32_t lkey, int most)
{
	int n = 1 + (int)pick((uint32_t)most);

	for (int i = 0; i < n; i++) {
		uint32_t part = i + 1 == n ? len : pick(len + 1);

		sge[i] = (struct ibv_sge){ (uintptr_t)at, part, lkey };
		at += part;
		len -= part;
	}
	return n;
}

/* Completions are asked for now and then; the last one of what is under way always. */
static unsigned int flags_of(const struct pair *q, const struct op *o)
{
	unsigned int flags = pick(8) ? 0 : IBV_SEND_FENCE;

	if (q->tail - q->head >= DEPTH / 2 || pick(3) == 0)
		flags |= IBV_SEND_SIGNALED;
	if (o->len <= INLINE && !is_atomic(o->opcode) && o->opcode != IBV_WR_RDMA_READ && pick(2))
		flags |= IBV_SEND_INLINE;
	if (pick(4) == 0)
		flags |= IBV_SEND_SOLICITED;
	return flags;
}

static int start(struct pair *q, unsigned int last)
{
	struct op *o = &q->ops[q->tail % DEPTH];
	struct ibv_send_wr wr = { .wr_id = q->tail }, *bad;
	uint32_t slot = pick(DEPTH), key;
	struct ibv_sge sge[3];

	if (q->tail - q->head == DEPTH || slot_is_busy(q, slot))
		return 0;
	*o = (struct op){ .number = q->tail, .slot = slot };
	choose(q, o);
	prepare(q, o, &wr);
	wr.opcode = o->opcode;
	wr.imm_data = htonl(q->messages);
	wr.sg_list = sge;
	wr.num_sge = cut(sge, q->near + o->slot * SLOT + o->off, o->len, q->mr->lkey,
			 is_atomic(o->opcode) ? 1 : 3);
	wr.send_flags = flags_of(q, o) | (last ? IBV_SEND_SIGNALED : 0);
	key = pick(WINDOW_EVERY) ? q->far.rkey : q->far.window;
	if (is_atomic(o->opcode)) {
		wr.wr.atomic.remote_addr = q->far.addr + o->slot * SLOT + o->off;
		wr.wr.atomic.rkey = key;
	} else {
		wr.wr.rdma.remote_addr = q->far.addr + o->slot * SLOT + o->off;
		wr.wr.rdma.rkey = key;
	}
	check(!ibv_post_send(q->qp, &wr, &bad), "ibv_post_send");
	q->messages += (uint32_t)takes_receive(o->opcode);
	q->tail++;
	return 1;
}

static void finish(struct pair *q, const struct op *o)
{
	uint32_t at = o->slot * SLOT + o->off;

	if (is_atomic(o->opcode))
		check(!memcmp(q->near + at, &o->old, 8), "an atomic brings what was there");
	else if (o->opcode == IBV_WR_RDMA_READ)
		check(!memcmp(q->near + at, q->model + at, o->len), "a READ brings what is there");
}

static struct pair *pair_of(uint32_t qpn)
{
	for (int i = 0; i < QPS; i++)
		if (pairs[i].qp->qp_num == qpn)
			return &pairs[i];
	check(0, "a completion is of one of the queue pairs");
	return NULL;
}

static void take_sent(const struct ibv_wc *wc)
{
	struct pair *q = pair_of(wc->qp_num);

	if (wc->status)
		fprintf(stderr, "%s, opcode %d\n", ibv_wc_status_str(wc->status),
			(int)q->ops[wc->wr_id % DEPTH].opcode);
	check(!wc->status, "an operation succeeds");
	check((uint32_t)wc->wr_id - q->head < q->tail - q->head, "each completes once, in order");
	while (q->head != (uint32_t)wc->wr_id + 1)
		finish(q, &q->ops[q->head++ % DEPTH]);
}

static void poll_sent(void)
{
	struct ibv_wc wc[8];
	int n = ibv_poll_cq(cq, 8, wc);

	check(n >= 0, "ibv_poll_cq");
	for (int i = 0; i < n; i++)
		take_sent(&wc[i]);
}

/* All there is at the server, byte by byte. */
static void compare(struct pair *q)
{
	for (uint32_t i = 0; i < DEPTH; i++) {
		struct ibv_sge sge = { (uintptr_t)q->near, SLOT, q->mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
					  .send_flags = IBV_SEND_SIGNALED,
					  .wr.rdma = { q->far.addr + i * SLOT, q->far.rkey } }, *bad;
		struct ibv_wc wc;
		int n;

		check(!ibv_post_send(q->qp, &wr, &bad), "ibv_post_send");
		while (!(n = ibv_poll_cq(cq, 1, &wc)))
			;
		check(n == 1 && !wc.status, "a READ");
		check(!memcmp(q->near, q->model + i * SLOT, SLOT), "memory is as the model has it");
	}
}

static void drive(void)
{
	uint32_t totals[QPS], last = 0;

	for (unsigned int left = operations; left;) {
		left -= (unsigned int)start(&pairs[pick(QPS)], left <= QPS * DEPTH);
		poll_sent();
	}
	for (int i = 0; i < QPS; i++) {
		while (pairs[i].head != pairs[i].tail) {
			/* What asked for no completion waits for one that does. */
			while (!last && !start(&pairs[i], 1))
				poll_sent();
			last = 1;
			poll_sent();
		}
		last = 0;
		totals[i] = pairs[i].messages;
	}
	for (int i = 0; i < QPS; i++)
		compare(&pairs[i]);
	check(write(sock, totals, sizeof(totals)) == sizeof(totals), "the server is told");
	check(read(sock, &last, sizeof(last)) == sizeof(last) && last == 1, "the server has all");
}

/* ---- the server ---- */

static void post_recv(struct pair *q)
{
	uint32_t p = (uint32_t)(q - pairs), b = q->owed[--q->nowed];
	struct ibv_sge sge[3];
	struct ibv_recv_wr wr = { .wr_id = p << 8 | b, .sg_list = sge }, *bad;

	wr.num_sge = cut(sge, buffers[p] + b * SLOT, SLOT, buffer_mr[p]->lkey, 3);
	check(!(q->qp->srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(q->qp, &wr, &bad)),
	      "a receive request");
}

static void take_received(const struct ibv_wc *wc)
{
	struct pair *q = pair_of(wc->qp_num), *owner = &pairs[wc->wr_id >> 8 & 0xff];
	uint32_t p = (uint32_t)(q - pairs), n = q->messages++, b = wc->wr_id & 0xff;
	enum ibv_wr_opcode o = message_opcode(p, n);
	const uint8_t *data = buffers[owner - pairs] + b * SLOT;

	check(!wc->status, "a message arrives");
	check(wc->opcode == (o == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM :
							      IBV_WC_RECV), "it is the next one");
	check(wc->byte_len == message_len(p, n), "its length");
	check(o == IBV_WR_SEND || ntohl(wc->imm_data) == n, "its immediate data");
	for (uint32_t i = 0; i < wc->byte_len && o != IBV_WR_RDMA_WRITE_WITH_IMM; i++)
		check(data[i] == message_byte(p, n, i), "its bytes");
	owner->owed[owner->nowed++] = b;
}

static void serve(void)
{
	uint32_t totals[QPS], done = 0, yes = 1;
	struct ibv_wc wc[8];

	while (!done) {
		int n = ibv_poll_cq(cq, 8, wc);

		for (int i = 0; i < n; i++)
			take_received(&wc[i]);
		/* Late: senders find nobody ready. */
		for (int i = 0; i < QPS; i++)
			while (pairs[i].nowed && pick(4) == 0)
				post_recv(&pairs[i]);
		if (n || recv(sock, totals, sizeof(totals), MSG_DONTWAIT | MSG_PEEK) < 0)
			continue;
		check(recv(sock, totals, sizeof(totals), MSG_WAITALL) == sizeof(totals),
		      "the client ends well");
		for (int i = 0; i < QPS; i++)
			check(pairs[i].messages == totals[i], "all messages have arrived");
		done = 1;
	}
	check(write(sock, &yes, sizeof(yes)) == sizeof(yes), "the client is told");
}

/* ---- both ---- */

static uint8_t *get(size_t len)
{
	uint8_t *p = calloc(1, len);

	check(p != NULL, "memory");
	return p;
}

static uint8_t *get_offload(size_t len)
{
	uint8_t *p = falcon_alloc_offload ? falcon_alloc_offload(ctx, len) : NULL;

	check(p != NULL, "offload memory");
	return p;
}

static void open_pair(struct pair *q, int is_server)
{
	int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.srq = is_server && (q - pairs) % 2 ? srq : NULL,
		.cap = { DEPTH + 4, RECVS, 3, 3, INLINE },
	};

	q->near = is_server && offload ? get_offload(REGION) : get(REGION);
	q->model = get(REGION);
	q->mr = ibv_reg_mr(pd, q->near, REGION, all);
	q->qp = ibv_create_qp(pd, &init);
	check(q->mr && q->qp, "a queue pair");
	peer_init_qp(q->qp, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	for (uint32_t i = 0; i < RECVS; i++)
		q->owed[q->nowed++] = i;
}

static void connect_pair(struct pair *q)
{
	struct peer_qp far = { q->far.qpn, q->far.gid, gid_index, .timeout = 14, .rd_atomic = 8 };

	peer_connect_qp(q->qp, &far);
}

/* A window over all of the region: its key, when the queue pair works. */
static void bind_window(struct pair *q)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { q->mr, (uintptr_t)q->near, REGION,
			       IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC },
	};
	struct ibv_wc wc;
	int n;

	q->mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	check(q->mw && !ibv_bind_mw(q->qp, q->mw, &bind), "a memory window");
	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	check(n == 1 && !wc.status, "a window is bound");
}

static void open_all(int is_server)
{
	struct ibv_srq_init_attr si = { .attr = { .max_wr = QPS * RECVS, .max_sge = 3 } };
	struct ibv_device **list = ibv_get_device_list(NULL);
	union ibv_gid gid;

	check(list && list[0] && (ctx = ibv_open_device(list[0])), "a device");
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, QPS * (DEPTH + RECVS), NULL, NULL, 0);
	srq = ibv_create_srq(pd, &si);
	check(pd && cq && srq && !ibv_query_gid(ctx, 1, gid_index, &gid), "objects");
	for (int i = 0; i < QPS; i++) {
		struct pair *q = &pairs[i];
		struct end mine;

		buffers[i] = get(RECVS * SLOT);
		buffer_mr[i] = ibv_reg_mr(pd, buffers[i], RECVS * SLOT, IBV_ACCESS_LOCAL_WRITE);
		check(buffer_mr[i] != NULL, "buffers");
		open_pair(q, is_server);
		mine = (struct end){ q->qp->qp_num, q->mr->rkey, 0, (uintptr_t)q->near, gid };
		peer_swap(sock, &mine, &q->far, sizeof(mine));
		connect_pair(q);
		if (is_server) {
			bind_window(q);
			mine.window = q->mw->rkey;
		}
		peer_swap(sock, &mine, &q->far, sizeof(mine));
	}
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "n:g:s:o")) != -1) {
		switch (c) {
		case 'n': operations = (unsigned int)atol(optarg); break;
		case 'g': gid_index = atoi(optarg); break;
		case 'o': offload = 1; break;
		case 's': seed = (uint64_t)atoll(optarg); break;
		default: return 2;
		}
	}
	sock = peer_meet(argv[optind]);
	open_all(!argv[optind]);
	if (argv[optind])
		drive();
	else
		serve();
	printf("%u operations\n", operations);
	return 0;
}
