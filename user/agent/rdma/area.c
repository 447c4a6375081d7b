// SPDX-License-Identifier: BSD-2-Clause
/*
 * What takes the kernel its time: mapping memory that applications share, making offload memory, giving both
 * back, closing descriptors. While a command is carried out no packet moves (call.h), so control does this
 * before the call, for the command that it sees coming, and after it, with what was let go.
 */
#include "agent/rdma/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/agent.h"
#include "agent/process/deferred_close.h"
#include "agent/shard/call.h"
#include "agent/shard/news.h"
#include "agent/tenant/quota.h"
#include "io/memory.h"
#include "ulp/client.h"

static void *map(int fd, uint64_t *size, char *err, size_t errlen)
{
	void *base;

	if (client_check_memfd(fd, size, err, errlen))
		return NULL;
	base = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base != MAP_FAILED)
		return base;
	snprintf(err, errlen, "cannot map %llu bytes: %s", (unsigned long long)*size, strerror(errno));
	return NULL;
}

/* Not beyond what the user may hold, though it is charged only when the command is carried out. */
static bool affordable(struct rdma_app *app, uint64_t size)
{
	struct quota *q = app->rdma->agent->quota;

	if (quota_charge(q, app->uid, QUOTA_MEMORY, size) < 0)
		return false;
	quota_uncharge(q, app->uid, QUOTA_MEMORY, size);
	return true;
}

void agent_rdma_prepare(struct rdma_app *app, const void *msg, size_t len, int fd)
{
	struct agent_rdma *v = app->rdma;
	struct rdma_prepared *p = &v->prepared;
	uint64_t size;

	*p = (struct rdma_prepared){ .fd = -1, .uid = app->uid };
	switch (rdma_command_area(msg, len, &size)) {
	case RDMA_AREA_SHARED:
		if (fd < 0)
			return;
		p->base = map(fd, &p->size, p->err, sizeof(p->err));
		p->kind = RDMA_AREA_SHARED;
		break;
	case RDMA_AREA_OFFLOAD:
		if (!affordable(app, size))
			return;
		p->index = memory_new(&v->agent->plane.maps, size, &p->base, &p->fd, p->err, sizeof(p->err));
		p->size = size;
		p->kind = RDMA_AREA_OFFLOAD;
		break;
	default:
		break;
	}
}

void agent_rdma_unprepare(struct rdma_app *app)
{
	struct agent_rdma *v = app->rdma;
	struct rdma_prepared *p = &v->prepared;

	if (p->kind == RDMA_AREA_SHARED && p->base)
		munmap(p->base, p->size);
	if (p->kind == RDMA_AREA_OFFLOAD && p->index >= 0) {
		memory_free(&v->agent->plane.maps, (uint32_t)p->index, p->base, p->size);
		deferred_close(p->fd, app->uid);
	}
	p->kind = RDMA_AREA_NONE;
}

void *agent_rdma_take_map(struct agent_rdma *v, int fd, uint64_t *size, char *err, size_t errlen)
{
	struct rdma_prepared *p = &v->prepared;

	p->kind = RDMA_AREA_NONE;
	*size = p->size;
	if (p->base)
		agent_rdma_let_go(v, &(struct rdma_let_go){ .fd = fd, .uid = p->uid });
	else
		snprintf(err, errlen, "%s", p->err);
	return p->base;
}

int agent_rdma_take_memory(struct agent_rdma *v, void **base, int *fd, char *err, size_t errlen)
{
	struct rdma_prepared *p = &v->prepared;

	if (p->kind != RDMA_AREA_OFFLOAD) {
		snprintf(err, errlen, "no offload memory was made");
		return -ENOMEM;
	}
	p->kind = RDMA_AREA_NONE;
	*base = p->base;
	*fd = p->fd;
	if (p->index < 0)
		snprintf(err, errlen, "%s", p->err);
	return p->index;
}

static void give_back(struct agent_rdma *v, const struct rdma_let_go *l)
{
	if (l->fd >= 0)
		deferred_close(l->fd, l->uid);
	else if (l->offload)
		memory_free(&v->agent->plane.maps, l->index, l->base, l->size);
	else
		munmap(l->base, l->size);
}

void agent_rdma_let_go(struct agent_rdma *v, const struct rdma_let_go *what)
{
	struct rdma_let_go *l = malloc(sizeof(*l));

	/* Then it takes its time here. */
	if (!l)
		return give_back(v, what);
	*l = *what;
	STAILQ_INSERT_TAIL(&v->let_go, l, entry);
	if (!call_within())
		news_verbs(v->shard);
}

void agent_rdma_give_back(struct agent_rdma *v, struct rdma_let_gos *list)
{
	struct rdma_let_go *l;

	while ((l = STAILQ_FIRST(list))) {
		STAILQ_REMOVE_HEAD(list, entry);
		give_back(v, l);
		free(l);
	}
}
