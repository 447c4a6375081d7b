/* SPDX-License-Identifier: BSD-2-Clause */
/* The fake agent's objects. */
#ifndef FALCON_SELFTESTS_VERBS_FAKE_PRIV_H
#define FALCON_SELFTESTS_VERBS_FAKE_PRIV_H

#include "falcon/abi/verbs.h"
#include "falcon/abi/verbs_shm.h"
#include "fake.h"

enum fake_const {
	FAKE_CTXS = 16,
	FAKE_AREAS = 16,
	FAKE_OBJECTS = 1024,
	FAKE_MESSAGE = 1 << 16,		/* bytes of a message, at most */
};

struct fake_ring {
	uint8_t *base;			/* NULL: none */
	uint32_t entries, stride, pos;
};

struct fake_ctx {
	bool used;
	int cmd, bell, async;
	struct {
		uint8_t *base;
		uint64_t size;
	} areas[FAKE_AREAS];
};

enum fake_kind {
	FAKE_NONE, FAKE_OTHER, FAKE_MR, FAKE_CHANNEL, FAKE_CQ, FAKE_SRQ, FAKE_QP,
};

/* An object; its number is its handle, its number with others. */
struct fake_object {
	enum fake_kind kind;
	struct fake_ctx *ctx;
	uint64_t cookie;
	int fd;				/* channel */
	struct fake_ring ring;		/* CQ, SRQ, send queue */
	struct fake_ring rq;
	struct fverbs_reg_mr mr;
	struct fverbs_create_qp qp;
	struct fverbs_qp_attr attr;
	uint32_t channel_plus_1;	/* CQ */
	uint32_t limit;			/* SRQ */
};

struct fake {
	int listen, wake;		/* |wake|: an eventfd: stop */
	bool stop;
	bool hold;
	struct fake_ctx ctxs[FAKE_CTXS];
	struct fake_object objects[FAKE_OBJECTS];
	uint16_t fault_op;
	enum fake_fault fault;
	uint32_t commands, copied, ordering, errors, memories;
	int answer_fd;			/* that goes with the answer, to be closed then; -1: none */
};

extern struct fake fake;

struct fake_object *fake_object(uint32_t handle, enum fake_kind kind);
/* One command; its answer's length. 0: no answer, close. */
size_t fake_command(struct fake_ctx *ctx, const void *msg, size_t len, int fd, void *out);
/* Carry out whatever can be. */
void fake_work(void);
void fake_ctx_end(struct fake_ctx *ctx);
/* |ctx| has been shown something: wake who naps. */
void fake_news(struct fake_ctx *ctx);
void fake_flush(struct fake_object *qp);

#endif /* FALCON_SELFTESTS_VERBS_FAKE_PRIV_H */
