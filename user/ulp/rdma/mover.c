// SPDX-License-Identifier: BSD-2-Clause
/*
 * Copies to and from application memory, many with one call of the host: a run of copies of one kind
 * in a process's queue, in which pieces that are adjacent become one. What fails is found by how many
 * bytes were copied; the rest of the run goes on behind it.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/rdma/objects.h"

enum mover_const {
	RUN_MAX = 512,			/* copies at once; no more pieces than that, either side */
	RUN_BYTES = 1 << 20,		/* bytes at once: what a call may take */
};
_Static_assert((int)RUN_MAX <= (int)IOV_MAX, "what a call takes");

/*
 * Copies of one kind, in order, and the pieces that they are made of; or an atomic operation. There is
 * one that is being made, r->run: done() is called after it. Others wait for a call of the host that is
 * late (rdma_stalled()): their memory is in the kernel's hands.
 */
struct rdma_run {
	struct rdma_ctx *ctx;		/* NULL: it has gone meanwhile */
	struct rdma_run *next;		/* of those that are late */
	struct rdma_copy *copy[RUN_MAX];
	uint32_t len[RUN_MAX];		/* bytes of each */
	int error[RUN_MAX];		/* of the first |made| */
	unsigned int ncopies, made;
	struct iovec local[RUN_MAX], remote[RUN_MAX];
	unsigned int nlocal, nremote;
	uint64_t old;			/* atomic: what was there, once |read| */
	bool read;
	bool over;			/* late: it is known to what the call has come: |got| */
	ssize_t got;
};

int rdma_mover_open(struct rdma *r)
{
	r->copying_tail = &r->copying;
	r->orphans_tail = &r->orphans;
	r->run = calloc(1, sizeof(*r->run));
	return r->run ? 0 : -ENOMEM;
}

/* Runs that are late stay: a thread that is held up has them. */
void rdma_mover_close(struct rdma *r)
{
	free(r->run);
}

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

/* |ctx| has copies to make; not while a call for it is late, or it rests. */
static void list_ctx(struct rdma_ctx *ctx)
{
	struct rdma *r = ctx->r;

	if (ctx->copying || ctx->late || ctx->resting)
		return;
	ctx->copying = true;
	ctx->copying_next = NULL;
	*r->copying_tail = ctx;
	r->copying_tail = &ctx->copying_next;
}

static void unlist_ctx(struct rdma_ctx *ctx)
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
	ctx->copying = false;
}

void rdma_copy_queue(struct rdma *r, struct rdma_copy *copy)
{
	struct rdma_ctx *ctx = ctx_of(copy);

	if (!ctx) {
		append(&r->orphans_tail, copy);
		return;
	}
	append(&ctx->copies_tail, copy);
	list_ctx(ctx);
}

void rdma_copies_orphan(struct rdma_ctx *ctx)
{
	struct rdma *r = ctx->r;

	unlist_ctx(ctx);
	if (ctx->resting)
		LIST_REMOVE(ctx, in_resting);
	ctx->resting = false;
	if (ctx->late)
		ctx->late->ctx = NULL;
	if (!ctx->copies)
		return;
	*r->orphans_tail = ctx->copies;
	r->orphans_tail = ctx->copies_tail;
	ctx->copies = NULL;
	ctx->copies_tail = &ctx->copies;
}

static void finish(struct rdma_copy *copy, int error)
{
	struct rdma_ctx *ctx = ctx_of(copy);

	if (ctx)
		ctx->shown |= copy->kind != RDMA_COPY_READ;
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

/* Make what is left of |run| with one call. Returns bytes, or a negative errno. */
static ssize_t make_some(struct rdma_ctx *ctx, struct rdma_run *run)
{
	const struct rdma_host *h = &ctx->r->host;
	bool read = run->copy[0]->kind == RDMA_COPY_READ;

	run->nlocal = run->nremote = 0;
	for (unsigned int i = run->made; i < run->ncopies; i++) {
		const struct rdma_span *s = &run->copy[i]->span;

		add_piece(run->local, &run->nlocal, run->copy[i]->local, run->len[i]);
		add_piece(run->remote, &run->nremote, (void *)(uintptr_t)s->addr, run->len[i]);
	}
	return (read ? h->read : h->write)(h->arg, ctx->owner.proc, run->local, run->nlocal,
					   run->remote, run->nremote);
}

/* A call for what was left of |run| has come to |got|. */
static void account(struct rdma_run *run, ssize_t got)
{
	if (got == -ESRCH) {
		while (run->made < run->ncopies)
			run->error[run->made++] = -ESRCH;
		return;
	}
	if (got < 0) {
		run->error[run->made++] = (int)got;
		return;
	}
	for (; run->made < run->ncopies && got >= run->len[run->made]; run->made++) {
		got -= run->len[run->made];
		run->error[run->made] = 0;
	}
	/* The one behind those that succeeded is it that failed. */
	if (run->made < run->ncopies)
		run->error[run->made++] = -EFAULT;
}

/* Make all of |run|, and tell. */
static void make_run(struct rdma_ctx *ctx, struct rdma_run *run)
{
	while (run->made < run->ncopies)
		account(run, make_some(ctx, run));
	for (unsigned int i = 0; i < run->ncopies; i++)
		finish(run->copy[i], run->error[i]);
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
static int exchange(struct rdma_ctx *ctx, struct rdma_run *run, const uint64_t *arg)
{
	const struct rdma_host *h = &ctx->r->host;
	const struct rdma_copy *copy = run->copy[0];
	struct iovec remote = { (void *)(uintptr_t)copy->span.addr, sizeof(run->old) };
	uint64_t new = arg[0];
	struct iovec there = { &run->old, sizeof(run->old) }, back = { &new, sizeof(new) };
	ssize_t n = h->read(h->arg, ctx->owner.proc, &there, 1, &remote, 1);

	run->read = n == (ssize_t)sizeof(run->old);
	if (run->read) {
		if (copy->kind == RDMA_COPY_FETCH_ADD)
			new += run->old;
		else if (run->old == arg[0])
			new = arg[1];
		else
			return 0;
		n = h->write(h->arg, ctx->owner.proc, &back, 1, &remote, 1);
	}
	if (n == (ssize_t)sizeof(new))
		return 0;
	return n == -ESRCH ? -ESRCH : -EFAULT;
}

static void finish_atomic(struct rdma_copy *copy, uint64_t old, int error)
{
	if (!error && copy->span.mr)
		memcpy(copy->local, &old, sizeof(old));
	finish(copy, error);
}

static void make_atomic(struct rdma_ctx *ctx, struct rdma_run *run)
{
	struct rdma_copy *copy = run->copy[0];
	uint64_t arg[2] = {};
	int error = 0;

	memcpy(arg, copy->local, copy->kind == RDMA_COPY_CMP_SWAP ? 16 : 8);
	run->read = false;
	if (copy->span.direct)
		run->old = exchange_direct(copy, arg);
	else
		error = exchange(ctx, run, arg);
	finish_atomic(copy, run->old, error);
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

static void add_copy(struct rdma_run *run, struct rdma_copy *copy)
{
	run->len[run->ncopies] = copy->span.len;
	run->copy[run->ncopies++] = copy;
}

/* Make what stands first in |ctx|'s queue, as much as goes at once. Returns how many copies. */
static uint32_t make_first(struct rdma_ctx *ctx)
{
	struct rdma_run *run = ctx->r->run;
	struct rdma_copy *copy = take(ctx);
	enum rdma_copy_kind kind = copy->kind;
	uint64_t bytes = copy->span.len;

	run->ctx = ctx;
	run->ncopies = run->made = 0;
	add_copy(run, copy);
	if (!runs(copy)) {
		if (!copy->span.mr)
			finish(copy, 0);
		else if (copy->span.mr->dead)
			finish(copy, -EFAULT);
		else if (copy->kind > RDMA_COPY_WRITE)
			make_atomic(ctx, run);
		else
			make_direct(copy);
		return 1;
	}
	while ((copy = ctx->copies) && run->ncopies < RUN_MAX && copy->kind == kind && runs(copy) &&
	       (bytes += copy->span.len) <= RUN_BYTES)
		add_copy(run, take(ctx));
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

/* ---- calls that are late ---- */

struct rdma_run *rdma_stalled(struct rdma *r)
{
	struct rdma_run *run = r->run;

	r->run = NULL;
	run->over = false;
	run->next = r->late;
	r->late = run;
	unlist_ctx(run->ctx);
	run->ctx->late = run;
	return run;
}

void rdma_resumed(struct rdma_run *run, ssize_t got)
{
	run->over = true;
	run->got = got;
}

/* What is left of |run| is tried again, before all that came later. */
static void put_back(struct rdma_run *run)
{
	struct rdma_ctx *ctx = run->ctx;

	for (unsigned int i = run->ncopies; i-- > run->made;) {
		run->copy[i]->next = ctx->copies;
		if (!ctx->copies)
			ctx->copies_tail = &run->copy[i]->next;
		ctx->copies = run->copy[i];
	}
}

/* The late call for |run| is over. Returns how many copies ended with it. */
static uint32_t make_late(struct rdma_run *run)
{
	struct rdma_ctx *ctx = run->ctx;
	bool atomic = run->copy[0]->kind > RDMA_COPY_WRITE;
	unsigned int n;

	/* An atomic operation is not made of what was read long ago: others may have been at it. */
	if (!atomic || run->read)
		account(run, run->got);
	n = ctx ? run->made : run->ncopies;
	for (unsigned int i = run->made; i < n; i++)
		run->error[i] = -ESRCH;
	if (ctx) {
		ctx->late = NULL;
		put_back(run);
		if (ctx->copies)
			list_ctx(ctx);
	}
	for (unsigned int i = 0; i < n; i++) {
		if (atomic)
			finish_atomic(run->copy[i], run->old, run->error[i]);
		else
			finish(run->copy[i], run->error[i]);
	}
	free(run);
	return n;
}

static uint32_t make_resumed(struct rdma *r)
{
	struct rdma_run **p = &r->late, *run;
	uint32_t n = 0;

	while ((run = *p)) {
		if (!run->over) {
			p = &run->next;
			continue;
		}
		*p = run->next;
		n += make_late(run);
	}
	return n;
}

bool rdma_late_uses(const struct rdma *r, const void *base, size_t len)
{
	for (const struct rdma_run *run = r->late; run; run = run->next)
		for (unsigned int i = 0; i < run->nlocal && !run->over; i++) {
			uintptr_t at = (uintptr_t)run->local[i].iov_base;

			if (at < (uintptr_t)base + len && (uintptr_t)base < at + run->local[i].iov_len)
				return true;
		}
	return false;
}

/* ---- contexts that rest ---- */

/* |ctx| is to make no more copies now: the host will not have calls made for it yet. */
static bool rests(struct rdma_ctx *ctx)
{
	const struct rdma_host *h = &ctx->r->host;
	uint64_t until = h->rest ? h->rest(h->arg, ctx->owner.proc) : 0;

	if (until <= ctx->r->now)
		return false;
	ctx->rest_until = until;
	ctx->resting = true;
	LIST_INSERT_HEAD(&ctx->r->resting, ctx, in_resting);
	return true;
}

static void wake_rested(struct rdma *r)
{
	struct rdma_ctx *ctx, *next;

	for (ctx = LIST_FIRST(&r->resting); ctx; ctx = next) {
		next = LIST_NEXT(ctx, in_resting);
		if (ctx->rest_until > r->now)
			continue;
		LIST_REMOVE(ctx, in_resting);
		ctx->resting = false;
		if (ctx->copies)
			list_ctx(ctx);
	}
}

uint64_t rdma_copies_deadline(const struct rdma *r)
{
	const struct rdma_ctx *ctx;
	uint64_t at = UINT64_MAX;

	LIST_FOREACH(ctx, &r->resting, in_resting)
		at = ctx->rest_until < at ? ctx->rest_until : at;
	return at;
}

uint32_t rdma_copies_run(struct rdma *r)
{
	struct rdma_ctx *ctx;
	uint32_t n = r->late ? make_resumed(r) : 0;

	wake_rested(r);
	if (!r->run)
		r->run = calloc(1, sizeof(*r->run));
	while (r->run && (r->orphans || r->copying)) {
		n += make_orphans(r);
		ctx = r->copying;
		if (!ctx)
			continue;
		while (ctx->copies && !rests(ctx))
			n += make_first(ctx);
		ctx->copying = false;
		r->copying = ctx->copying_next;
		if (!r->copying)
			r->copying_tail = &r->copying;
	}
	return n;
}
