/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One AF_XDP socket on one queue: its buffers, rings and the credits it grants to XDP.
 *
 * The buffer area is cut into frames: the first XSK_RX_FRAMES belong to reception, the rest to
 * transmission, so that neither can starve the other. A receive frame is in one place at a time:
 * the free stack, the fill ring, the receive ring, with the caller who got it from xsk_rx(), or on the
 * pile of those that other threads have given back.
 *
 * One thread uses a socket, but for xsk_frame_return().
 */
#ifndef FALCON_IO_XSK_H
#define FALCON_IO_XSK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xdp/xsk.h>

#include "falcon/abi/maps.h"
#include "falcon/abi/stats.h"
#include "io/pile.h"

enum xsk_const {
	XSK_FRAME_SIZE = 4096,
	XSK_RING_SIZE = 2048,		/* entries of each of the four rings */
	XSK_RX_FRAMES = 6144,
	XSK_TX_FRAMES = 2048,
	XSK_FRAMES = XSK_RX_FRAMES + XSK_TX_FRAMES,
	/*
	 * Frames to a doorbell: a copying kernel sends no more at a call, and frames that wait for
	 * others to be built are older on the wire than their T1 says.
	 */
	XSK_TX_BATCH = 32,
	XSK_FILL_TARGET = 1024,		/* frames kept in the fill ring; the credit limit */
	XSK_MAX_FRAME = XSK_FRAME_SIZE - 256,	/* after the kernel's own headroom */
	/*
	 * Drivers put frames of a larger MTU into several buffers, of which a socket takes the first
	 * only: such links carry this much for us, and more for others.
	 */
	XSK_MAX_MTU = 3498,
};

enum xsk_mode {
	XSK_MODE_AUTO,		/* zero copy if the driver can, else copy */
	XSK_MODE_COPY,
	XSK_MODE_ZEROCOPY,
};

/* Of a socket (stats.h). */
#define XSK_STATS(V)											\
	V(counter, rx_frames, none, "frames received")							\
	V(counter, tx_frames, none, "frames sent")							\
	V(counter, tx_no_slot, none, "times there was no room for a frame to send")			\
	V(counter, rx_kicks, none, "calls that woke a driver which waits for free frames")		\
	V(counter, tx_kicks, none, "calls that had the kernel send")					\
	V(counter, drops, none, "frames that the socket has dropped")

struct xsk {
	uint8_t *area;			/* XSK_FRAMES * XSK_FRAME_SIZE bytes */
	struct xsk_umem *umem;
	struct xsk_socket *socket;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons comp, rx;
	struct falcon_credit *credit;	/* shared with XDP */
	struct xsk_frame *frames;	/* XSK_RX_FRAMES handles */
	uint32_t rx_free[XSK_RX_FRAMES];	/* stack of frame numbers */
	uint32_t rx_nfree;
	struct pile returned;		/* by other threads */
	uint32_t thread;		/* that uses it: the caller's number for it, which does not change */
	uint32_t tx_free[XSK_TX_FRAMES];
	uint32_t tx_nfree;
	uint32_t in_fill;		/* frames in the fill or receive ring */
	uint32_t tx_reserved;		/* descriptors written and not yet submitted */
	bool tx_held;			/* they wait for the owner's xsk_kick(), however many there are */
	uint32_t tx_inflight;		/* submitted and not yet completed */
	uint32_t queue;			/* RX/TX queue of the interface */
	uint32_t index;			/* in falcon_xsks and falcon_credits */
	bool zerocopy;
	XSK_STATS(STAT_MEMBER)	/* |drops|: when xsk_dropped() last looked */
};

/*
 * Open the socket of |queue| on |ifname|, enter it into falcon_xsks (|xsks_fd|) at |index| and
 * grant its first credits in |credit|. 0, or a negative errno with the reason in |err|. The caller sets
 * x->thread then, if there are several.
 */
int xsk_open(struct xsk *x, const char *ifname, uint32_t queue, enum xsk_mode mode, int xsks_fd,
	     uint32_t index, struct falcon_credit *credit, char *err, size_t errlen);
/* Close it and take its credits back. Frames that an owner still holds are gone. */
void xsk_shut(struct xsk *x);
int xsk_fd(const struct xsk *x);

/* A frame out of the receive ring. */
struct xsk_rx_item {
	struct xsk_frame *frame;	/* give back with xsk_frame_put() or xsk_frame_return() */
	uint8_t *data;			/* Ethernet header on; metadata lies before it */
	uint32_t len;			/* bytes */
};

/* Take up to |n| received frames. The caller owns them. */
uint32_t xsk_rx(struct xsk *x, struct xsk_rx_item *items, uint32_t n);
/* Frames that wait in the receive ring. */
uint32_t xsk_rx_waiting(const struct xsk *x);
/* True if a frame waits in the receive ring. */
bool xsk_rx_ready(struct xsk *x);
void xsk_frame_put(struct xsk_frame *f);
/* By a thread that does not use the socket. True: the one that does waits for frames. */
bool xsk_frame_return(struct xsk_frame *f);
/* Frames that the socket is short of have been returned: xsk_refill() will take them. */
bool xsk_refillable(const struct xsk *x);
/* Its memory, XSK_FRAME_SIZE bytes. */
static inline uint8_t *xsk_frame_data(const struct xsk_frame *f)
{
	return f->xsk->area + (size_t)f->index * XSK_FRAME_SIZE;
}
/* Put free frames into the fill ring, grant the credits for them, and wake a driver that waits for them. */
void xsk_refill(struct xsk *x);

/* Room to write one frame to send, at least XSK_MAX_FRAME bytes; NULL if there is none. */
uint8_t *xsk_tx_reserve(struct xsk *x);
/*
 * Send the frame last reserved, |len| bytes of it, with the next xsk_kick() at the latest. |tx_held| is the
 * owner's.
 */
void xsk_tx_commit(struct xsk *x, uint32_t len);
/* Hand what was committed to the kernel, and take back what it has sent. */
void xsk_kick(struct xsk *x);

/* True if the socket dropped frames since the last call: claims may have been lost. */
bool xsk_dropped(struct xsk *x);
/*
 * Make credits agree with the rings again after a drop: call with every received frame taken, XDP
 * kept out by xsk_hold_credits() and maps_quiesce() before.
 */
void xsk_hold_credits(struct xsk *x);
void xsk_regrant(struct xsk *x);

#endif /* FALCON_IO_XSK_H */
