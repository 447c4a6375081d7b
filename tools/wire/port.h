/* SPDX-License-Identifier: BSD-2-Clause */
/* An interface that falcon-wire reads from and writes to, by AF_XDP or packet sockets. */
#ifndef FALCON_WIRE_PORT_H
#define FALCON_WIRE_PORT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <xdp/xsk.h>

#include "pool.h"

struct port;
struct wire_steer;

enum port_const {
	PORT_MAX_QUEUES = 16,
	PORT_RING = 2048,	/* entries of each ring */
	PORT_FILL = 1024,	/* frames that each queue keeps ready to receive into */
	PORT_BATCH = 64,
	PORT_NAME_LEN = 32,
	PORT_MAX_FRAME = 4096,	/* largest buffer */
};

/* How to read and write. */
enum port_io {
	PORT_AUTO,	/* the first of the following that works */
	PORT_NATIVE,	/* AF_XDP, with XDP in the driver */
	PORT_GENERIC,	/* AF_XDP, with XDP in the kernel's generic receive path */
	PORT_PACKET,	/* packet sockets */
};

/* One AF_XDP socket. */
struct port_queue {
	struct xsk_socket *socket;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons comp, rx;
	uint32_t in_fill;	/* frames given to receive into */
	uint32_t in_tx;		/* frames given to send, not yet returned */
	bool committed;		/* something was put into the ring since the last kick */
};

struct port_stats {
	uint64_t received, sent;	/* frames */
	uint64_t overrun;	/* the kernel had no room to hand them over */
	uint64_t unsent;	/* the interface did not take them */
	uint64_t oversize;	/* longer than a buffer; packet sockets only */
};

struct port {
	char name[PORT_NAME_LEN];
	int ifindex;
	enum port_io io;	/* what it came to */
	struct pool *pool;
	unsigned int queues;	/* AF_XDP sockets; 1 with a packet socket */
	struct port_queue *queue;
	struct wire_steer *steer;	/* the XDP program */
	int link;		/* of the program to the interface; goes with the process */
	int fd;			/* packet socket */
	uint32_t out[PORT_BATCH];	/* frames that wait for the packet socket */
	unsigned int outs;
	struct port_stats stats;
	uint64_t overrun_base;	/* the kernel's count when the statistics began */
};

/* The umem that all AF_XDP sockets share. */
struct port_umem {
	struct pool *pool;
	struct xsk_umem *umem;	/* made with the first socket */
};

/* The largest frame that the interface |name| can carry, or a negative errno. */
int port_frame_len(const char *name);

/* How many receive queues it has, at least 1. */
unsigned int port_queues(const char *name);

/*
 * Open |name|. If |io| is PORT_AUTO and AF_XDP cannot be had, says so on standard error and takes
 * what can. 0, or a negative errno after a message.
 */
int port_open(struct port *p, const char *name, enum port_io io, struct port_umem *umem);
void port_close(struct port *p);

/* Add the descriptors to wait for to |fds|. Returns how many. */
unsigned int port_pollfds(const struct port *p, struct pollfd *fds);

/*
 * Take up to PORT_BATCH frames that came in through |queue|. Those in |frames| are the caller's.
 */
unsigned int port_receive(struct port *p, unsigned int queue, uint32_t *frames);

/* Send |frame| through |queue|, modulo those that there are. Takes the frame in any case. */
void port_send(struct port *p, unsigned int queue, uint32_t frame);
/* Let the kernel have what port_send() took, and keep its queues stocked. */
void port_flush(struct port *p);

/* Bring |p->stats| up to date, or begin them anew. */
void port_count(struct port *p);
void port_reset_stats(struct port *p);

/* "native", "generic" or "packet". */
const char *port_io_name(enum port_io io);

/* ---- for port.c: the two ways ----------------------------------------------------------- */

/* 0, or a negative errno with the reason in |err|. */
int port_xdp_open(struct port *p, enum port_io io, struct port_umem *umem, char *err, size_t len);
void port_xdp_close(struct port *p);
unsigned int port_xdp_receive(struct port *p, unsigned int queue, uint32_t *frames);
void port_xdp_send(struct port *p, unsigned int queue, uint32_t frame);
void port_xdp_flush(struct port *p);
/* Frames that the kernel has dropped since the sockets were opened. */
uint64_t port_xdp_overrun(const struct port *p);

int port_packet_open(struct port *p, char *err, size_t len);
void port_packet_close(struct port *p);
unsigned int port_packet_receive(struct port *p, uint32_t *frames);
void port_packet_send(struct port *p, uint32_t frame);
void port_packet_flush(struct port *p);
/* As above, but since the last call. */
uint64_t port_packet_overrun(const struct port *p);

#endif /* FALCON_WIRE_PORT_H */
