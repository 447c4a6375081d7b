// SPDX-License-Identifier: BSD-2-Clause
#include "io/xsk.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

static uint64_t frame_addr(uint32_t index)
{
	return (uint64_t)index * XSK_FRAME_SIZE;
}

static int alloc_frames(struct xsk *x)
{
	x->area = mmap(NULL, (size_t)XSK_FRAMES * XSK_FRAME_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (x->area == MAP_FAILED) {
		x->area = NULL;
		return -errno;
	}
	x->frames = calloc(XSK_RX_FRAMES, sizeof(*x->frames));
	if (!x->frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < XSK_RX_FRAMES; i++) {
		x->frames[i] = (struct xsk_frame){ .xsk = x, .index = i };
		x->rx_free[x->rx_nfree++] = XSK_RX_FRAMES - 1 - i;
	}
	for (uint32_t i = 0; i < XSK_TX_FRAMES; i++)
		x->tx_free[x->tx_nfree++] = XSK_FRAMES - 1 - i;
	return 0;
}

static int create_umem(struct xsk *x)
{
	struct xsk_umem_config cfg = {
		.fill_size = XSK_RING_SIZE,
		.comp_size = XSK_RING_SIZE,
		.frame_size = XSK_FRAME_SIZE,
	};

	return xsk_umem__create(&x->umem, x->area, (uint64_t)XSK_FRAMES * XSK_FRAME_SIZE, &x->fill,
				&x->comp, &cfg);
}

static int create_socket(struct xsk *x, const char *ifname, __u16 bind_flags)
{
	struct xsk_socket_config cfg = {
		.rx_size = XSK_RING_SIZE,
		.tx_size = XSK_RING_SIZE,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = (__u16)(bind_flags | XDP_USE_NEED_WAKEUP),
	};

	return xsk_socket__create(&x->socket, ifname, x->queue, x->umem, &x->rx, &x->tx, &cfg);
}

/* Zero copy first where allowed; a refused bind leaves a umem that must be made anew. */
static int create(struct xsk *x, const char *ifname, enum xsk_mode mode)
{
	int rc = -EOPNOTSUPP;

	if (mode != XSK_MODE_COPY) {
		rc = create_umem(x);
		if (rc == 0) {
			rc = create_socket(x, ifname, XDP_ZEROCOPY);
			if (rc == 0) {
				x->zerocopy = true;
				return 0;
			}
			xsk_umem__delete(x->umem);
			x->umem = NULL;
		}
		if (mode == XSK_MODE_ZEROCOPY)
			return rc;
	}
	rc = create_umem(x);
	return rc ? rc : create_socket(x, ifname, XDP_COPY);
}

int xsk_open(struct xsk *x, const char *ifname, uint32_t queue, enum xsk_mode mode, int xsks_fd,
	     uint32_t index, struct falcon_credit *credit, char *err, size_t errlen)
{
	int rc, fd;

	memset(x, 0, sizeof(*x));
	x->queue = queue;
	x->index = index;
	rc = alloc_frames(x);
	if (rc == 0)
		rc = create(x, ifname, mode);
	if (rc < 0) {
		snprintf(err, errlen, "cannot open an AF_XDP socket on %s queue %u: %s", ifname,
			 queue, strerror(-rc));
		xsk_shut(x);
		return rc;
	}
	x->credit = credit;
	falcon_store(&credit->credits, 0);
	xsk_refill(x);
	fd = xsk_socket__fd(x->socket);
	if (bpf_map_update_elem(xsks_fd, &index, &fd, BPF_ANY) < 0) {
		rc = -errno;
		snprintf(err, errlen, "cannot enter queue %u of %s into falcon_xsks: %s", queue,
			 ifname, strerror(errno));
		xsk_shut(x);
		return rc;
	}
	return 0;
}

void xsk_shut(struct xsk *x)
{
	if (x->credit)
		falcon_store(&x->credit->credits, 0);
	if (x->socket)
		xsk_socket__delete(x->socket);
	if (x->umem)
		xsk_umem__delete(x->umem);
	if (x->area)
		munmap(x->area, (size_t)XSK_FRAMES * XSK_FRAME_SIZE);
	free(x->frames);
	memset(x, 0, sizeof(*x));
}

int xsk_fd(const struct xsk *x)
{
	return xsk_socket__fd(x->socket);
}

uint32_t xsk_rx(struct xsk *x, struct xsk_rx_item *items, uint32_t n)
{
	uint32_t pos = 0;

	n = xsk_ring_cons__peek(&x->rx, n, &pos);
	for (uint32_t i = 0; i < n; i++) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&x->rx, pos + i);

		items[i].frame = &x->frames[d->addr / XSK_FRAME_SIZE];
		items[i].data = x->area + d->addr;
		items[i].len = d->len;
	}
	if (n) {
		xsk_ring_cons__release(&x->rx, n);
		x->in_fill -= n;
		x->rx_frames += n;
	}
	return n;
}

uint32_t xsk_rx_waiting(const struct xsk *x)
{
	return falcon_load(x->rx.producer) - x->rx.cached_cons;
}

bool xsk_rx_ready(struct xsk *x)
{
	return xsk_cons_nb_avail(&x->rx, 1) > 0;
}

void xsk_frame_put(struct xsk_frame *f)
{
	struct xsk *x = f->xsk;

	x->rx_free[x->rx_nfree++] = f->index;
}

bool xsk_frame_return(struct xsk_frame *f)
{
	return pile_put(&f->xsk->returned, f, f);
}

bool xsk_refillable(const struct xsk *x)
{
	return x->returned.wanted && x->in_fill < XSK_FILL_TARGET && !pile_empty(&x->returned);
}

static void take_returned(struct xsk *x)
{
	for (struct xsk_frame *f = pile_take(&x->returned), *next; f; f = next) {
		next = f->next;
		xsk_frame_put(f);
	}
}

/* Free frames, |n| of them if there are as many. Returns how many. */
static uint32_t have_free(struct xsk *x, uint32_t n)
{
	if (x->rx_nfree < n)
		take_returned(x);
	pile_want(&x->returned, x->rx_nfree < n);
	/* What was put before that was announced. */
	if (x->rx_nfree < n)
		take_returned(x);
	return x->rx_nfree < n ? x->rx_nfree : n;
}

static void fill(struct xsk *x)
{
	uint32_t n, pos = 0;

	if (x->in_fill >= XSK_FILL_TARGET)
		return;
	n = have_free(x, XSK_FILL_TARGET - x->in_fill);
	n = n ? xsk_ring_prod__reserve(&x->fill, n, &pos) : 0;
	if (n == 0)
		return;
	for (uint32_t i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(&x->fill, pos + i) =
			frame_addr(x->rx_free[--x->rx_nfree]);
	xsk_ring_prod__submit(&x->fill, n);
	x->in_fill += n;
	/* Only now may XDP count on them. */
	falcon_fetch_add(&x->credit->credits, (__s64)n);
}

/*
 * A driver that has found the fill ring empty stops looking at it, and says so. One that receives by itself,
 * as a copying kernel does, never says it.
 */
void xsk_refill(struct xsk *x)
{
	fill(x);
	if (!xsk_ring_prod__needs_wakeup(&x->fill) ||
	    xsk_prod_nb_free(&x->fill, XSK_RING_SIZE) == XSK_RING_SIZE)
		return;
	recvfrom(xsk_socket__fd(x->socket), NULL, 0, MSG_DONTWAIT, NULL, NULL);
	x->rx_kicks++;
}

/* Take back the frames that the kernel has sent. */
static void reap(struct xsk *x)
{
	uint32_t pos = 0, n;

	if (!x->tx_inflight)
		return;
	n = xsk_ring_cons__peek(&x->comp, XSK_RING_SIZE, &pos);
	for (uint32_t i = 0; i < n; i++)
		x->tx_free[x->tx_nfree++] =
			(uint32_t)(*xsk_ring_cons__comp_addr(&x->comp, pos + i) / XSK_FRAME_SIZE);
	if (n) {
		xsk_ring_cons__release(&x->comp, n);
		x->tx_inflight -= n;
	}
}

uint8_t *xsk_tx_reserve(struct xsk *x)
{
	if (!x->tx_nfree)
		xsk_kick(x);
	if (!x->tx_nfree) {
		x->tx_no_slot++;
		return NULL;
	}
	return x->area + frame_addr(x->tx_free[x->tx_nfree - 1]);
}

void xsk_tx_commit(struct xsk *x, uint32_t len)
{
	struct xdp_desc *d;
	uint32_t pos = 0;

	/* As many descriptors as frames: a frame in hand means a descriptor is free. */
	xsk_ring_prod__reserve(&x->tx, 1, &pos);
	d = xsk_ring_prod__tx_desc(&x->tx, pos);
	d->addr = frame_addr(x->tx_free[--x->tx_nfree]);
	d->len = len;
	d->options = 0;
	if (++x->tx_reserved >= XSK_TX_BATCH && !x->tx_held)
		xsk_kick(x);
}

void xsk_kick(struct xsk *x)
{
	if (x->tx_reserved) {
		xsk_ring_prod__submit(&x->tx, x->tx_reserved);
		x->tx_inflight += x->tx_reserved;
		x->tx_frames += x->tx_reserved;
		x->tx_reserved = 0;
	}
	if (!x->tx_inflight)
		return;
	if (xsk_ring_prod__needs_wakeup(&x->tx)) {
		/* EAGAIN and EBUSY mean "call again", which the next turn does. */
		sendto(xsk_socket__fd(x->socket), NULL, 0, MSG_DONTWAIT, NULL, 0);
		x->tx_kicks++;
	}
	reap(x);
}

bool xsk_dropped(struct xsk *x)
{
	struct xdp_statistics st = {};
	socklen_t len = sizeof(st);
	uint64_t drops;

	if (getsockopt(xsk_socket__fd(x->socket), SOL_XDP, XDP_STATISTICS, &st, &len) < 0)
		return false;
	/*
	 * Not rx_fill_ring_empty_descs: a zero-copy driver counts there each time that it looks for frames to
	 * receive into and finds none, before any packet; what a copying kernel loses so is in rx_dropped.
	 */
	drops = st.rx_dropped + st.rx_ring_full;
	if (drops == x->drops)
		return false;
	x->drops = drops;
	return true;
}

void xsk_hold_credits(struct xsk *x)
{
	falcon_store(&x->credit->credits, (__s64)-XSK_RING_SIZE);
}

void xsk_regrant(struct xsk *x)
{
	uint32_t waiting = xsk_cons_nb_avail(&x->rx, XSK_RING_SIZE);

	falcon_store(&x->credit->credits, (__s64)(x->in_fill - waiting));
}
