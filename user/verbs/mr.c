// SPDX-License-Identifier: BSD-2-Clause
/* Memory regions, and which of them a work request's elements lie in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "verbs/fv.h"
#include "verbs/moved.h"
#include "verbs/vma.h"

enum {
	BUCKETS = 1024,
	SHIFT = 8,		/* the lowest byte of a key is its owner's to choose */
};

static struct fv_mr **bucket(struct fv_ctx *ctx, uint32_t lkey)
{
	return &ctx->mrs[(lkey ^ lkey >> SHIFT) % BUCKETS];
}

/* Queue pairs remember regions: with another generation they ask again. */
static void changed(struct fv_ctx *ctx)
{
	__atomic_add_fetch(&ctx->mr_generation, 1, __ATOMIC_RELEASE);
}

static void insert(struct fv_ctx *ctx, struct fv_mr *mr)
{
	struct fv_mr **head = bucket(ctx, mr->mr.lkey);

	mr->next = *head;
	*head = mr;
}

static void unlink_mr(struct fv_ctx *ctx, struct fv_mr *mr)
{
	struct fv_mr **p = bucket(ctx, mr->mr.lkey);

	while (*p && *p != mr)
		p = &(*p)->next;
	if (*p)
		*p = mr->next;
}

const void *fv_mr_memory(struct fv_qp *qp, const struct ibv_sge *sge)
{
	struct fv_ctx *ctx = qp->ctx;
	uint32_t generation = falcon_load(&ctx->mr_generation);
	const struct fv_mr *mr = &qp->known;
	__u64 offset;

	if (mr->mr.lkey != sge->lkey || qp->mr_generation != generation) {
		qp->known.mr.lkey = 0;
		pthread_mutex_lock(&ctx->lock);
		for (mr = *bucket(ctx, sge->lkey); mr; mr = mr->next) {
			if (mr->mr.lkey == sge->lkey)
				break;
		}
		if (mr)
			qp->known = *mr;
		qp->mr_generation = generation;
		pthread_mutex_unlock(&ctx->lock);
		mr = &qp->known;
	}
	/* What is nobody's, or may not be there, is the agent's to judge; what it reads, to read. */
	if (!mr->mr.lkey || mr->implicit || mr->shared)
		return NULL;
	offset = sge->addr - mr->iova;
	if (offset > mr->mr.length || sge->length > mr->mr.length - offset)
		return NULL;
	return (const char *)mr->mr.addr + offset;
}

/* What the agent is told of memory [addr, addr + length). */
static struct fverbs_reg_mr describe(struct fv_ctx *ctx, struct ibv_pd *pd, const void *addr,
				     size_t length, uint64_t iova, unsigned int access)
{
	struct fverbs_reg_mr req = {
		.pd = pd->handle, .access = access, .addr = (uintptr_t)addr, .length = length,
		.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
	};
	__u64 offset;
	uint32_t area;

	if (fv_area_find(&ctx->agent, addr, length, &area, &offset)) {
		req.area_plus_1 = area + 1;
		req.addr = offset;
	}
	return req;
}

/*
 * The memory is there now, and may be used so: what hardware would find out when it pins it. The agent does
 * not look, and writes through /proc/PID/mem, which knows no mapping that may not be written.
 */
static bool is_there(const struct fverbs_reg_mr *req)
{
	const uint32_t writes = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	char first, last;
	const struct iovec local[] = { { &first, 1 }, { &last, 1 } };
	const struct iovec remote[] = { { (void *)(uintptr_t)req->addr, 1 },
					{ (void *)(uintptr_t)(req->addr + req->length - 1), 1 } };
	ssize_t n;

	if (req->area_plus_1 || req->access & IBV_ACCESS_ON_DEMAND)
		return true;
	if (!fv_vma_allows(FV_VMA_BEST, req->addr, req->length, req->access & writes))
		return false;
	n = process_vm_readv(getpid(), local, 2, remote, 2, 0);
	/* Where filters forbid it, what is not there is found out when it is used. */
	return n == 2 || (n < 0 && errno != EFAULT);
}

/*
 * Memory that the application has not asked us for may move now, for the agent, or for XDP. Says in |req|
 * where it lies, and in *|noted| whether fv_moved_put() is due some day. 0 or an errno value.
 */
static int settle(struct fv_ctx *ctx, struct fverbs_reg_mr *req, const void *addr, bool *noted)
{
	const uint32_t peers = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			       IBV_ACCESS_MW_BIND;
	enum fv_memory to = req->access & IBV_ACCESS_ON_DEMAND ? FV_MEMORY_PLAIN : ctx->memory;
	uint32_t area;
	__u64 offset;
	int rc;

	*noted = false;
	if (req->area_plus_1)
		return 0;
	rc = fv_moved_get(&ctx->agent, addr, req->length, to, req->access & peers, &area, &offset);
	*noted = rc != -ENOMEM;
	if (!rc) {
		req->area_plus_1 = area + 1;
		req->addr = offset;
	}
	return rc == -ENOMEM ? ENOMEM : 0;
}

static void unsettle(struct fv_ctx *ctx, bool noted, const void *addr, size_t length)
{
	int err = errno;

	if (noted)
		fv_moved_put(&ctx->agent, addr, length);
	errno = err;
}

static void remember(struct fv_mr *mr, const struct fverbs_reg_mr *req, const void *addr)
{
	mr->mr.addr = (void *)addr;
	mr->mr.length = req->length;
	mr->iova = req->iova;
	mr->access = req->access;
	mr->shared = req->area_plus_1 != 0;
	mr->implicit = req->implicit != 0;
}

static struct ibv_mr *register_mr(struct ibv_pd *pd, const struct fverbs_reg_mr *req, void *addr)
{
	struct fv_ctx *ctx = fv_ctx_of(pd->context);
	struct fverbs_mr answer;
	struct fv_mr *mr = calloc(1, sizeof(*mr));

	if (!mr)
		return NULL;
	if (fv_call(&ctx->agent, FVERBS_REG_MR, req, sizeof(*req), -1, &answer, sizeof(answer))) {
		free(mr);
		return NULL;
	}
	remember(mr, req, addr);
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.handle = answer.handle;
	mr->mr.lkey = answer.lkey;
	mr->mr.rkey = answer.rkey;
	pthread_mutex_lock(&ctx->lock);
	insert(ctx, mr);
	pthread_mutex_unlock(&ctx->lock);
	return &mr->mr;
}

/* Whether |access| makes sense (InfiniBand 10.6.3.1). */
static bool access_valid(unsigned int access)
{
	const unsigned int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				   IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
				   IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;

	if (access & ~(known | IBV_ACCESS_OPTIONAL_RANGE))
		return false;
	return access & IBV_ACCESS_LOCAL_WRITE ||
	       !(access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
}

FV_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, unsigned int access)
{
	struct fv_ctx *ctx = fv_ctx_of(pd->context);
	struct fverbs_reg_mr req;
	struct ibv_mr *mr;
	bool noted;

	if (!ctx)
		FV_FORWARD(ibv_reg_mr_iova2, NULL, pd, addr, length, iova, access);
	if (!access_valid(access)) {
		errno = EINVAL;
		return NULL;
	}
	access &= ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE;
	if (access & IBV_ACCESS_ON_DEMAND && !addr && length == SIZE_MAX) {
		req = (struct fverbs_reg_mr){
			.pd = pd->handle, .access = access, .length = SIZE_MAX, .implicit = 1,
		};
		return register_mr(pd, &req, NULL);
	}
	if (!length || (uintptr_t)addr + length < (uintptr_t)addr) {
		errno = EINVAL;
		return NULL;
	}
	req = describe(ctx, pd, addr, length, iova, access);
	errno = is_there(&req) ? settle(ctx, &req, addr, &noted) : EFAULT;
	if (errno)
		return NULL;
	mr = register_mr(pd, &req, addr);
	if (mr)
		((struct fv_mr *)mr)->noted = noted;
	else
		unsettle(ctx, noted, addr, length);
	return mr;
}

FV_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	if (!fv_ctx_of(pd->context))
		FV_FORWARD(ibv_reg_mr, NULL, pd, addr, length, access);
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

FV_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					 uint64_t iova, int access)
{
	if (!fv_ctx_of(pd->context))
		FV_FORWARD(ibv_reg_mr_iova, NULL, pd, addr, length, iova, access);
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

FV_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					   uint64_t iova, int fd, int access)
{
	if (!fv_ctx_of(pd->context))
		FV_FORWARD(ibv_reg_dmabuf_mr, NULL, pd, offset, length, iova, fd, access);
	/* The agent copies with the CPU, to and from processes' memory. */
	errno = EOPNOTSUPP;
	return NULL;
}

/* What |flags| change: 0, or that the request makes no sense. */
static int check_rereg(const struct fv_mr *mr, int flags, const struct ibv_pd *pd, const void *addr,
		       size_t length, int access)
{
	if (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED || !flags)
		return EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION &&
	    (!length || !addr || (uintptr_t)addr + length < (uintptr_t)addr))
		return EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_PD && (!pd || pd->context != mr->mr.context))
		return EINVAL;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS && !access_valid((unsigned int)access))
		return EINVAL;
	return mr->dm || mr->implicit ? EOPNOTSUPP : 0;
}

/* Under the same handle |mr| is another region from now on, as |req| says. 0 or an error of rereg's. */
static int change(struct fv_ctx *ctx, struct fv_mr *mr, const struct fverbs_rereg_mr *req)
{
	struct fverbs_mr answer;
	int rc;

	pthread_mutex_lock(&ctx->lock);
	unlink_mr(ctx, mr);
	changed(ctx);
	pthread_mutex_unlock(&ctx->lock);
	rc = fv_call(&ctx->agent, FVERBS_REREG_MR, req, sizeof(*req), -1, &answer, sizeof(answer));
	if (!rc) {
		mr->mr.lkey = answer.lkey;
		mr->mr.rkey = answer.rkey;
	}
	return rc ? IBV_REREG_MR_ERR_CMD : 0;
}

static void back_in(struct fv_ctx *ctx, struct fv_mr *mr)
{
	pthread_mutex_lock(&ctx->lock);
	insert(ctx, mr);
	pthread_mutex_unlock(&ctx->lock);
}

FV_EXPORT int ibv_rereg_mr(struct ibv_mr *ibmr, int flags, struct ibv_pd *pd, void *addr,
			   size_t length, int access)
{
	struct fv_ctx *ctx = fv_ctx_of(ibmr->context);
	struct fv_mr *mr = (struct fv_mr *)ibmr;
	struct fverbs_rereg_mr req = { .mr = ibmr->handle, .flags = (uint32_t)flags };
	bool move = flags & IBV_REREG_MR_CHANGE_TRANSLATION, noted = false;
	struct fv_mr old;
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_rereg_mr, IBV_REREG_MR_ERR_INPUT, ibmr, flags, pd, addr, length,
			   access);
	errno = check_rereg(mr, flags, pd, addr, length, access);
	if (errno)
		return IBV_REREG_MR_ERR_INPUT;
	pd = flags & IBV_REREG_MR_CHANGE_PD ? pd : ibmr->pd;
	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		access = (int)mr->access;
	access &= ~IBV_ACCESS_OPTIONAL_RANGE;
	addr = move ? addr : ibmr->addr;
	req.to = describe(ctx, pd, addr, move ? length : ibmr->length,
			  move ? (uintptr_t)addr : mr->iova, (unsigned int)access);
	if ((move || flags & IBV_REREG_MR_CHANGE_ACCESS) && !is_there(&req.to))
		errno = EFAULT;
	else if (move)
		errno = settle(ctx, &req.to, addr, &noted);
	if (errno)
		return IBV_REREG_MR_ERR_INPUT;
	old = *mr;
	rc = change(ctx, mr, &req);
	if (!rc) {
		remember(mr, &req.to, addr);
		ibmr->pd = pd;
		mr->noted = move ? noted : old.noted;
		/* It lies where it lay. */
		mr->shared = move ? mr->shared : old.shared;
	}
	back_in(ctx, mr);
	if (rc)
		unsettle(ctx, noted, addr, length);
	else if (move)
		unsettle(ctx, old.noted, old.mr.addr, old.mr.length);
	return rc;
}

FV_EXPORT int ibv_dereg_mr(struct ibv_mr *ibmr)
{
	struct fv_ctx *ctx = fv_ctx_of(ibmr->context);
	struct fv_mr *mr = (struct fv_mr *)ibmr;
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_dereg_mr, ENOSYS, ibmr);
	rc = fv_call_destroy(&ctx->agent, FVERBS_DEREG_MR, ibmr->handle);
	if (rc)
		return rc;
	pthread_mutex_lock(&ctx->lock);
	unlink_mr(ctx, mr);
	changed(ctx);
	pthread_mutex_unlock(&ctx->lock);
	if (mr->dm)
		__atomic_sub_fetch(&mr->of->refs, 1, __ATOMIC_RELEASE);
	unsettle(ctx, mr->noted, ibmr->addr, ibmr->length);
	free(mr);
	return 0;
}

void fv_mr_leave(struct fv_ctx *ctx)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (struct fv_mr *mr = ctx->mrs[i]; mr; mr = mr->next) {
			/* Before its memory is the application's again, peers must be off it. */
			if (mr->noted && mr->shared)
				fv_call_destroy(&ctx->agent, FVERBS_DEREG_MR, mr->mr.handle);
			unsettle(ctx, mr->noted, mr->mr.addr, mr->mr.length);
		}
	fv_moved_leave(&ctx->agent);
}

int fv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		 struct ibv_sge *sg_list, uint32_t num_sge)
{
	struct fv_ctx *ctx = fv_ctx_of(pd->context);
	int rc = fv_agent_usable(&ctx->agent);

	if (rc)
		return rc;
	if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT ||
	    flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || !num_sge)
		return EINVAL;
	/* Memory is touched with the CPU when it is needed: all that is to be done is to check. */
	for (uint32_t i = 0; i < num_sge && !rc; i++) {
		const struct fv_mr *mr;

		pthread_mutex_lock(&ctx->lock);
		for (mr = *bucket(ctx, sg_list[i].lkey); mr; mr = mr->next) {
			if (mr->mr.lkey == sg_list[i].lkey)
				break;
		}
		if (!mr || mr->mr.pd->handle != pd->handle)
			rc = ENOENT;
		else if (sg_list[i].addr - mr->iova > mr->mr.length ||
			 sg_list[i].length > mr->mr.length - (sg_list[i].addr - mr->iova))
			rc = EFAULT;
		pthread_mutex_unlock(&ctx->lock);
	}
	return rc;
}

struct ibv_mr *fv_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm, uint64_t offset, size_t length,
			    unsigned int access)
{
	struct fv_ctx *ctx = fv_ctx_of(pd->context);
	struct fv_dm *dm = (struct fv_dm *)ibdm;
	struct fverbs_reg_mr req;
	struct ibv_mr *mr;

	if (!(access & IBV_ACCESS_ZERO_BASED) || !access_valid(access) ||
	    offset > dm->length || length > dm->length - offset) {
		errno = EINVAL;
		return NULL;
	}
	access &= ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE;
	req = describe(ctx, pd, dm->mem + offset, length, 0, access);
	mr = register_mr(pd, &req, dm->mem + offset);
	if (mr) {
		((struct fv_mr *)mr)->of = dm;
		((struct fv_mr *)mr)->dm = true;
		__atomic_add_fetch(&dm->refs, 1, __ATOMIC_RELAXED);
	}
	return mr;
}

FV_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	if (!fv_ctx_of(pd->context))
		FV_FORWARD(ibv_import_mr, NULL, pd, handle);
	errno = EOPNOTSUPP;
	return NULL;
}

FV_EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
	static void *seen;
	void (*real)(struct ibv_mr *);

	if (fv_ctx_of(mr->context))
		return;
	real = (__typeof__(real))fv_real_once(&seen, "ibv_unimport_mr");
	if (real)
		real(mr);
}
