// SPDX-License-Identifier: BSD-2-Clause
/*
 * AF_XDP. All sockets share one umem, the pool, so a frame is received into and sent from the same
 * buffer. The program comes off the interface with the descriptor of its link, so also when the
 * process is killed.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port.h"
#include "wire_steer.skel.h"

enum { SNDBUF = 16 << 20, KICKS = PORT_RING / 8 };

static __attribute__((format(printf, 4, 5))) int fail(int rc, char *err, size_t len,
						      const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(err, len, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < len)
		snprintf(err + n, len - (size_t)n, ": %s", strerror(-rc));
	return rc;
}

/* Give the kernel frames to receive into. */
static void refill(struct port *p, struct port_queue *q)
{
	uint32_t n = PORT_FILL - q->in_fill, pos = 0;

	if (n < PORT_BATCH)
		return;
	if (n > p->pool->frees)
		n = p->pool->frees;
	n = n ? xsk_ring_prod__reserve(&q->fill, n, &pos) : 0;
	for (uint32_t i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(&q->fill, pos + i) =
			(uint64_t)pool_take(p->pool) * p->pool->size;
	if (n)
		xsk_ring_prod__submit(&q->fill, n);
	q->in_fill += n;
}

static int open_socket(struct port *p, unsigned int i, struct port_umem *umem)
{
	const struct xsk_umem_config umem_conf = {
		.fill_size = PORT_RING, .comp_size = PORT_RING, .frame_size = umem->pool->size,
	};
	const struct xsk_socket_config conf = {
		.rx_size = PORT_RING,
		.tx_size = PORT_RING,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP,
	};
	struct port_queue *q = &p->queue[i];
	int rc = 0, size = SNDBUF;

	if (!umem->umem)
		rc = xsk_umem__create(&umem->umem, umem->pool->area,
				      (uint64_t)umem->pool->frames * umem->pool->size, &q->fill,
				      &q->comp, &umem_conf);
	if (rc == 0)
		rc = xsk_socket__create_shared(&q->socket, p->name, i, umem->umem, &q->rx, &q->tx,
					       &q->fill, &q->comp, &conf);
	if (rc)
		return rc;
	/* Else only about a hundred frames could wait for the receiver. */
	setsockopt(xsk_socket__fd(q->socket), SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	return xsk_socket__update_xskmap(q->socket, bpf_map__fd(p->steer->maps.wire_sockets));
}

static int attach(struct port *p, enum port_io io)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .flags = io == PORT_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);

	p->link = bpf_link_create(bpf_program__fd(p->steer->progs.wire_steer), p->ifindex, BPF_XDP,
				  &opts);
	return p->link < 0 ? p->link : 0;
}

static int open_all(struct port *p, enum port_io io, struct port_umem *umem, char *err, size_t len)
{
	int rc;

	p->queues = port_queues(p->name);
	if (p->queues > PORT_MAX_QUEUES)
		return fail(-E2BIG, err, len, "%u receive queues, of at most %d", p->queues,
			    PORT_MAX_QUEUES);
	p->queue = calloc(p->queues, sizeof(*p->queue));
	p->steer = wire_steer__open_and_load();
	if (!p->queue || !p->steer)
		return fail(errno ? -errno : -ENOMEM, err, len, "cannot load the XDP program");
	/* The program first: a driver may give its interface the rings that sockets need then. */
	rc = attach(p, io);
	if (rc)
		return fail(rc, err, len, "cannot attach the XDP program");
	for (unsigned int i = 0; i < p->queues; i++) {
		rc = open_socket(p, i, umem);
		if (rc)
			return fail(rc, err, len, "cannot open an AF_XDP socket on queue %u", i);
	}
	for (unsigned int i = 0; i < p->queues; i++)
		refill(p, &p->queue[i]);
	return 0;
}

int port_xdp_open(struct port *p, enum port_io io, struct port_umem *umem, char *err, size_t len)
{
	bool first = !umem->umem;
	int rc = open_all(p, io, umem, err, len);

	if (rc == 0)
		return 0;
	port_xdp_close(p);
	/* A umem serves again only if it has been bound once. */
	if (first && umem->umem && xsk_umem__delete(umem->umem) == 0)
		umem->umem = NULL;
	return rc;
}

void port_xdp_close(struct port *p)
{
	for (unsigned int i = 0; p->queue && i < p->queues; i++)
		if (p->queue[i].socket)
			xsk_socket__delete(p->queue[i].socket);
	if (p->link >= 0)
		close(p->link);
	if (p->steer)
		wire_steer__destroy(p->steer);
	free(p->queue);
	p->queue = NULL;
	p->steer = NULL;
	p->link = -1;
}

unsigned int port_xdp_receive(struct port *p, unsigned int queue, uint32_t *frames)
{
	struct port_queue *q = &p->queue[queue];
	uint32_t pos = 0, n = xsk_ring_cons__peek(&q->rx, PORT_BATCH, &pos);

	for (uint32_t i = 0; i < n; i++) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&q->rx, pos + i);
		uint32_t frame = (uint32_t)(d->addr / p->pool->size);

		frames[i] = frame;
		p->pool->frame[frame].offset = (uint32_t)(d->addr % p->pool->size);
		p->pool->frame[frame].len = d->len;
	}
	if (n)
		xsk_ring_cons__release(&q->rx, n);
	q->in_fill -= n;
	return n;
}

/* Take back what has been sent. */
static void reap(struct port *p, struct port_queue *q)
{
	uint32_t pos = 0, n;

	if (!q->in_tx)
		return;
	n = xsk_ring_cons__peek(&q->comp, PORT_RING, &pos);
	for (uint32_t i = 0; i < n; i++)
		pool_give(p->pool, (uint32_t)(*xsk_ring_cons__comp_addr(&q->comp, pos + i) /
					      p->pool->size));
	if (n)
		xsk_ring_cons__release(&q->comp, n);
	q->in_tx -= n;
	p->stats.sent += n;
}

/* Whether the kernel has taken all that the transmit ring held. */
static bool tx_empty(const struct port_queue *q)
{
	return __atomic_load_n(q->tx.consumer, __ATOMIC_ACQUIRE) == *q->tx.producer;
}

/* The kernel takes a few frames a call, and none while the receiver's ring is full. */
static void kick(struct port *p, struct port_queue *q)
{
	for (int i = 0; i < KICKS && !tx_empty(q); i++)
		if (sendto(xsk_socket__fd(q->socket), NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
		    errno != EAGAIN)
			break;
	q->committed = !tx_empty(q);
	reap(p, q);
}

void port_xdp_send(struct port *p, unsigned int queue, uint32_t frame)
{
	struct port_queue *q = &p->queue[queue];
	const struct pool_frame *f = &p->pool->frame[frame];
	struct xdp_desc *d;
	uint32_t pos = 0;

	/* No more in the ring than its completions have room for. */
	if (q->in_tx == PORT_RING)
		kick(p, q);
	if (q->in_tx == PORT_RING || !xsk_ring_prod__reserve(&q->tx, 1, &pos)) {
		p->stats.unsent++;
		pool_give(p->pool, frame);
		return;
	}
	d = xsk_ring_prod__tx_desc(&q->tx, pos);
	d->addr = (uint64_t)frame * p->pool->size + f->offset;
	d->len = f->len;
	d->options = 0;
	xsk_ring_prod__submit(&q->tx, 1);
	q->in_tx++;
	q->committed = true;
}

void port_xdp_flush(struct port *p)
{
	for (unsigned int i = 0; i < p->queues; i++) {
		struct port_queue *q = &p->queue[i];

		if (q->committed)
			kick(p, q);
		else
			reap(p, q);
		refill(p, q);
	}
}

uint64_t port_xdp_overrun(const struct port *p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < p->queues; i++) {
		struct xdp_statistics st = { 0 };
		socklen_t len = sizeof(st);

		if (getsockopt(xsk_socket__fd(p->queue[i].socket), SOL_XDP, XDP_STATISTICS, &st,
			       &len) == 0)
			sum += st.rx_dropped + st.rx_ring_full + st.rx_fill_ring_empty_descs;
	}
	return sum;
}
