/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two hosts with the RDMA layer on real cores, a wire between them that loses and reorders, in virtual
 * time; and applications whose memory is a piece of ours, driven by commands and rings as the library
 * does it. Connections that the layer dials come up at the next step.
 */
#ifndef FALCON_SELFTESTS_RDMA_ENV_H
#define FALCON_SELFTESTS_RDMA_ENV_H

#include <infiniband/verbs.h>

#include "unit.h"

#include <falcon/receive/rx.h>
#include <falcon/wire/rdma.h>
#include <ulp/rdma/rdma.h>

enum {
	ENV_HOSTS = 2,
	ENV_CONNS = 64,			/* of a host; CID 0 is not used */
	ENV_FLIGHT = 8192,		/* packets on the wire */
	ENV_BYTES = 2048,		/* longest Falcon packet */
	ENV_MAX_LEN = 1024,		/* bytes of a transaction, ... */
	ENV_OTHER_MAX_LEN = 1400,	/* ... and of one of a host's other layers */
	ENV_OTHERS = 3,
	ENV_SHM = 1 << 22,		/* bytes of an application's area 0 */
	ENV_EVENTS = 64,
	ENV_NOTES = 256,		/* between connection managers, under way */
	ENV_AREA = 1 << 16,		/* bytes of an application's other areas */
};

struct env_faults {
	unsigned int loss, dup, reorder;	/* percent */
	unsigned int jitter;			/* ns */
	unsigned int refuse;			/* transmit() has no room, percent */
};

struct env_conn {
	struct fcore_conn *core;	/* NULL: not there */
	struct falcon_conn shared;
	uint32_t peer_host, peer_cid;
	bool ordered;
	unsigned int other;		/* whose it is: 0: RDMA's; n: |others[n - 1]|'s */
	bool dirty, hung;
	bool redial;			/* |others|: it is dialled here again when it ends, ... */
	struct ulp_dial dial;		/* ... like this */
} FALCON_ALIGNED;

struct env_host {
	int index;
	struct rdma *r;
	struct ulp others[ENV_OTHERS];	/* layers of the test's own; without ops: none */
	struct fcore *core;
	long fds;			/* not closed; the test counts up what commands came with */
	long frames;			/* lent to the core */
	struct env_conn conns[ENV_CONNS];
	bool dirty, hung;		/* some of these are, or were */
	uint32_t ncids;
	struct {
		struct ulp_dial dial;
		uint32_t cid;
		uint64_t at;		/* not before */
	} dials[ENV_CONNS];		/* that have not been answered */
	uint32_t ndials;
	bool deaf;			/* nobody answers its dials */
	bool dark;			/* nothing arrives there but what it sends itself */
	bool still;			/* its layer is not pumped */
	bool ending;			/* its layer is told that a connection ends */
};

/* A process: its memory, and what it shares with the agent. */
struct env_app {
	struct env_host *host;
	uint32_t uid;
	struct rdma_ctx *ctx;
	uint8_t *memory;		/* "process memory" */
	size_t size;			/* bytes of it */
	bool dead;			/* the process is no more */
	bool full;			/* its sockets have no room */
	uint8_t *shm;
	uint64_t shm_next;		/* bytes of area 0 that are given */
	uint32_t pd;
	uint32_t slots;			/* given */
	struct fverbs_async_event events[ENV_EVENTS];
	unsigned int nevents;
};

struct env_ring {
	struct fverbs_place place;
	uint8_t *base;
	uint32_t pos;			/* ours: producer's tail, consumer's head */
};

struct env_cq {
	struct env_app *app;
	struct env_ring ring;
	uint32_t handle;
};

struct env_qp {
	struct env_app *app;
	struct env_ring sq, rq;
	struct env_cq *cq;
	uint32_t handle, num, slot;
	uint32_t type;
};

struct env_mr {
	uint32_t handle, lkey, rkey;
};

/* What to make a queue pair with; zeros are good. */
struct env_qp_opts {
	uint32_t type;			/* 0: RC */
	uint32_t ordering, errors;
	uint32_t entries;		/* of both queues; 0: 64 */
	uint32_t srq_plus_1, xrcd_plus_1;
	bool sig_all;
	bool foreign;			/* of rdma_pair.h: see struct env */
};

struct env {
	uint64_t now, random;
	struct env_faults faults;
	struct env_host host[ENV_HOSTS];
	struct env_packet *flight;	/* a heap by arrival */
	uint32_t in_flight;
	uint64_t packets;		/* ever sent */
	/* Spoil the |len| bytes of a response; returns how many there are. NULL: none is spoiled. */
	uint32_t (*tamper)(uint8_t *bytes, uint32_t len);
	/* Looks at each packet of |host|, from the Falcon header on. NULL: nothing does. */
	void (*tap)(const struct env_host *host, const uint8_t *packet, uint32_t len);
	/* A call into a layer, or with a packet into the core, begins or ends. NULL: nobody wants to know. */
	void (*turn)(const char *what, bool begins);
	/* |uid| is to hold |amount| more of |what|, or less. False: that is too much. NULL: nothing is. */
	bool (*charge)(const struct env_host *host, uint32_t uid, enum rdma_charge what, int64_t amount);
	struct ulp_note notes[ENV_NOTES];	/* that arrive with the next step */
	uint32_t nnotes;
	bool foreign;			/* hosts are of different makes: no offer has extensions */
	bool hostile;			/* packets need not be what a strict receiver takes */
	void *garbage[256];		/* rdma_hostile.h: payloads that the core may still read */
	unsigned int ngarbage;
};

extern struct env env;

void env_open(uint64_t seed);
/* Everything must have come back. */
void env_close(void);
/* To the next event: a packet, a timer, or work. */
void env_step(void);
/* Steps until |done| or |limit| steps. Returns whether done. */
bool env_run(bool (*done)(void *arg), void *arg, unsigned int limit);
/* The connection of |h| with CID |cid| ends, from one step to the next; what is on the wire is lost. */
void env_end_conn(struct env_host *h, uint32_t cid);
/* Connection |cid|, which is free at both hosts, comes up between the layers |others[other - 1]| of both. */
void env_join_other(unsigned int other, uint32_t cid);
/*
 * For layer |others[other - 1]| of |h|: as struct ulp_host's. The first of the peer's others that has the
 * same protocol and accept() accepts it.
 */
int env_dial_other(struct env_host *h, unsigned int other, const struct ulp_dial *d, char *err,
		   size_t errlen);
void env_hangup_other(struct env_host *h, uint32_t cid);
/* All connections of that layer end, at both ends, for good. */
void env_leave_other(unsigned int other);
/* So many steps. */
void env_steps(unsigned int n);

void env_app_open(struct env_app *app, struct env_host *host, size_t memory);
void env_app_open_as(struct env_app *app, struct env_host *host, size_t memory, uint32_t uid);
void env_app_close(struct env_app *app);
/* A command. Returns the answer's errno value; the answer in |out|, |outlen| bytes. */
int env_cmd(struct env_app *app, uint16_t op, const void *req, size_t len, void *out, size_t outlen);
/* The number of the socket for its events. */
int env_fd_of(struct env_app *app);
/* All of the application's memory, [off, off + len), opened for |access|. */
struct env_mr env_reg(struct env_app *app, size_t off, size_t len, uint32_t access);
void env_cq_open(struct env_app *app, struct env_cq *cq, uint32_t entries);
/* The next completion. False: none. */
bool env_poll(struct env_cq *cq, struct fverbs_cqe *out);
/* Steps until there is one; fails the test if none comes. */
struct fverbs_cqe env_wait(struct env_cq *cq);

struct env_ring env_ring(struct env_app *app, uint32_t entries, uint32_t stride);
int env_qp_try(struct env_app *app, struct env_cq *cq, const struct env_qp_opts *opts,
	       struct env_qp *qp);
void env_qp_open(struct env_app *app, struct env_cq *cq, const struct env_qp_opts *opts,
		 struct env_qp *qp);
void env_qp_close(struct env_qp *qp);
/* The errno value. */
int env_modify(struct env_qp *qp, uint32_t mask, const struct fverbs_qp_attr *attr);
uint8_t env_state(const struct env_qp *qp);
void env_to_init(struct env_qp *qp, uint32_t access);
void env_to_rtr(struct env_qp *qp, const struct env_host *to, uint32_t dest);
void env_to_rts(struct env_qp *qp);
/* Both to RTS, connected to each other. */
void env_connect(struct env_qp *a, struct env_qp *b);

/* Post; |wqe|'s num_sge or inline_len say what |data| is: elements or bytes. */
void env_post_send(struct env_qp *qp, const struct fverbs_send_wqe *wqe, const void *data);
void env_post_recv(struct env_qp *qp, uint64_t wr_id, const struct fverbs_sge *sge, uint32_t n);
/* Requests of the send queue that the agent has not completed. */
uint32_t env_sq_used(const struct env_qp *qp);
uint32_t env_rq_used(const struct env_qp *qp);
bool env_has_event(const struct env_app *app, uint32_t type);

#endif /* FALCON_SELFTESTS_RDMA_ENV_H */
