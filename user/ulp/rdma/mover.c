// SPDX-License-Identifier: BSD-2-Clause
/*
 * Copies to and from application memory, many with one call of the host: a run of copies of one kind
 * in a process's queue, in which pieces that are adjacent become one. What fails is found by how many
 * bytes were copied; the rest of the run goes on behind it.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "ulp/rdma/objects.h"

enum mover_const {
	RUN_MAX = 512,			/* copies at once; no more pieces than that, either side */
	RUN_BYTES = 1 << 20,		/* bytes at once: what a call may take */
};
_Static_assert((int)RUN_MAX <= (int)IOV_MAX, "what a call takes");

/* Copies of one kind, in order, and the pieces that they are made of. */
struct run {
	struct rdma_copy *copy[RUN_MAX];
	unsigned int ncopies;
	struct iovec local[RUN_MAX], remote[RUN_MAX];
	unsigned int nlocal, nremote;
};

/* The one run that is being made: the layer has one thread, and done() is called after it. */
static struct run the_run;

static void append(struct rdma_copy ***tail, struct rdma_copy *copy)
{
	copy->next = NULL;
	**tail = copy;
	*tail = &copy->next;
}

static struct rdma_ctx *ctx_of(const struct rdma_copy *copy)
{
	const struct rdma_mr *mr = copy->span.mr;

	return mr && !mr->dead ? mr->ctx : NULL;
}

void rdma_copy_queue(struct rdma *r, struct rdma_copy *copy)
{
	struct rdma_ctx *ctx = ctx_of(copy);

	if (!ctx) {
		append(&r->orphans_tail, copy);
		return;
	}
	append(&ctx->copies_tail, copy);
	if (ctx->copying)
		return;
	ctx->copying = true;
	ctx->copying_next = NULL;
	*r->copying_tail = ctx;
	r->copying_tail = &ctx->copying_next;
}

void rdma_copies_orphan(struct rdma_ctx *ctx)
{
	struct rdma *r = ctx->r;
	struct rdma_ctx **p = &r->copying;

	if (!ctx->copying)
		return;
	while (*p != ctx)
		p = &(*p)->copying_next;
	*p = ctx->copying_next;
	if (r->copying_tail == &ctx->copying_next)
		r->copying_tail = p;
	*r->orphans_tail = ctx->copies;
	r->orphans_tail = ctx->copies_tail;
	ctx->copying = false;
	ctx->copies = NULL;
	ctx->copies_tail = &ctx->copies;
}

static void finish(struct rdma_copy *copy, int error)
{
	rdma_span_put(&copy->span);
	copy->done(copy, error);
}

static void add_piece(struct iovec *iov, unsigned int *n, void *base, size_t len)
{
	struct iovec *last = *n ? &iov[*n - 1] : NULL;

	if (last && (uint8_t *)last->iov_base + last->iov_len == base)
		last->iov_len += len;
	else
		iov[(*n)++] = (struct iovec){ .iov_base = base, .iov_len = len };
}

/* Make copies [from, ncopies) with one call. Returns how many of them were, or a negative errno. */
static int make_some(struct rdma_ctx *ctx, struct run *run, unsigned int from)
{
	const struct rdma_host *h = &ctx->r->host;
	bool read = run->copy[from]->kind == RDMA_COPY_READ;
	ssize_t got;
	int n = 0;

	run->nlocal = run->nremote = 0;
	for (unsigned int i = from; i < run->ncopies; i++) {
		const struct rdma_span *s = &run->copy[i]->span;

		add_piece(run->local, &run->nlocal, run->copy[i]->local, s->len);
		add_piece(run->remote, &run->nremote, (void *)(uintptr_t)s->addr, s->len);
	}
	got = (read ? h->read : h->write)(h->arg, ctx->owner.proc, run->local, run->nlocal,
					  run->remote, run->nremote);
	if (got < 0)
		return (int)got;
	for (unsigned int i = from; i < run->ncopies; i++, n++) {
		if (got < run->copy[i]->span.len)
			break;
		got -= run->copy[i]->span.len;
	}
	return n;
}

/* Make all of |run|, and tell. */
static void make_run(struct rdma_ctx *ctx, struct run *run)
{
	int error[RUN_MAX];
	unsigned int i = 0;

	while (i < run->ncopies) {
		int n = make_some(ctx, run, i);

		if (n == -ESRCH) {
			for (; i < run->ncopies; i++)
				error[i] = -ESRCH;
			break;
		}
		for (; n > 0; n--)
			error[i++] = 0;
		/* The one behind those that succeeded is it that failed. */
		if (i < run->ncopies)
			error[i++] = -EFAULT;
	}
	for (i = 0; i < run->ncopies; i++)
		finish(run->copy[i], error[i]);
}

/* A number in memory that the application shares, while it may change it. */
static uint64_t exchange_direct(const struct rdma_copy *copy, const uint64_t *arg)
{
	uint64_t old, new;

	memcpy(&old, copy->span.direct, sizeof(old));
	if ((uintptr_t)copy->span.direct % sizeof(uint64_t) == 0) {
		uint64_t *at = (uint64_t *)copy->span.direct;

		if (copy->kind == RDMA_COPY_FETCH_ADD)
			return __atomic_fetch_add(at, arg[0], __ATOMIC_SEQ_CST);
		old = arg[0];
		__atomic_compare_exchange_n(at, &old, arg[1], false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		return old;
	}
	new = copy->kind == RDMA_COPY_FETCH_ADD ? old + arg[0] : arg[1];
	if (copy->kind == RDMA_COPY_FETCH_ADD || old == arg[0])
		memcpy(copy->span.direct, &new, sizeof(new));
	return old;
}

/* Read and write, which is atomic as to all queue pairs of this host: nobody is in between. */
static int exchange(struct rdma_ctx *ctx, const struct rdma_copy *copy, const uint64_t *arg,
		    uint64_t *old)
{
	const struct rdma_host *h = &ctx->r->host;
	struct iovec remote = { (void *)(uintptr_t)copy->span.addr, sizeof(*old) };
	uint64_t new = arg[0];
	struct iovec there = { old, sizeof(*old) }, back = { &new, sizeof(new) };
	ssize_t n = h->read(h->arg, ctx->owner.proc, &there, 1, &remote, 1);

	if (n == (ssize_t)sizeof(*old)) {
		if (copy->kind == RDMA_COPY_FETCH_ADD)
			new += *old;
		else if (*old == arg[0])
			new = arg[1];
		else
			return 0;
		n = h->write(h->arg, ctx->owner.proc, &back, 1, &remote, 1);
	}
	if (n == (ssize_t)sizeof(*old))
		return 0;
	return n == -ESRCH ? -ESRCH : -EFAULT;
}

static void make_atomic(struct rdma_ctx *ctx, struct rdma_copy *copy)
{
	uint64_t arg[2] = {}, old = 0;
	int error = 0;

	memcpy(arg, copy->local, copy->kind == RDMA_COPY_CMP_SWAP ? 16 : 8);
	if (copy->span.direct)
		old = exchange_direct(copy, arg);
	else
		error = exchange(ctx, copy, arg, &old);
	if (!error)
		memcpy(copy->local, &old, sizeof(old));
	finish(copy, error);
}

static void make_direct(struct rdma_copy *copy)
{
	if (copy->kind == RDMA_COPY_READ)
		memcpy(copy->local, copy->span.direct, copy->span.len);
	else
		memcpy(copy->span.direct, copy->local, copy->span.len);
	finish(copy, 0);
}

static struct rdma_copy *take(struct rdma_ctx *ctx)
{
	struct rdma_copy *copy = ctx->copies;

	ctx->copies = copy->next;
	if (!ctx->copies)
		ctx->copies_tail = &ctx->copies;
	return copy;
}

/* May |copy| stand in a run? */
static bool runs(const struct rdma_copy *copy)
{
	return copy->kind <= RDMA_COPY_WRITE && copy->span.mr && !copy->span.direct &&
	       !copy->span.mr->dead;
}

/* Make what stands first in |ctx|'s queue, as much as goes at once. Returns how many copies. */
static uint32_t make_first(struct rdma_ctx *ctx)
{
	struct run *run = &the_run;
	struct rdma_copy *copy = take(ctx);
	enum rdma_copy_kind kind = copy->kind;
	uint64_t bytes = copy->span.len;

	if (!runs(copy)) {
		if (!copy->span.mr)
			finish(copy, 0);
		else if (copy->span.mr->dead)
			finish(copy, -EFAULT);
		else if (copy->kind > RDMA_COPY_WRITE)
			make_atomic(ctx, copy);
		else
			make_direct(copy);
		return 1;
	}
	run->copy[0] = copy;
	run->ncopies = 1;
	while ((copy = ctx->copies) && run->ncopies < RUN_MAX && copy->kind == kind && runs(copy) &&
	       (bytes += copy->span.len) <= RUN_BYTES)
		run->copy[run->ncopies++] = take(ctx);
	make_run(ctx, run);
	return run->ncopies;
}

static uint32_t make_orphans(struct rdma *r)
{
	struct rdma_copy *copy = r->orphans, *next;
	uint32_t n = 0;

	r->orphans = NULL;
	r->orphans_tail = &r->orphans;
	for (; copy; copy = next, n++) {
		next = copy->next;
		finish(copy, copy->span.mr ? -ESRCH : 0);
	}
	return n;
}

uint32_t rdma_copies_run(struct rdma *r)
{
	struct rdma_ctx *ctx;
	uint32_t n = 0;

	while (r->orphans || r->copying) {
		n += make_orphans(r);
		ctx = r->copying;
		if (!ctx)
			continue;
		while (ctx->copies)
			n += make_first(ctx);
		ctx->copying = false;
		r->copying = ctx->copying_next;
		if (!r->copying)
			r->copying_tail = &r->copying;
	}
	return n;
}
