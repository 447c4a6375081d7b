// SPDX-License-Identifier: BSD-2-Clause
/* Areas of memory shared with the agent, and who has which part of them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/agent.h"

#define AREA_SIZE (4ULL << 20)	/* bytes of the first; then as many as there are already */
#define PAGE 4096ULL
#define AREA_MAX (1ULL << 40)
#define OFFLOAD_STEP (16ULL << 20)	/* bytes of an offload area not asked for, at most */

static uint64_t round_up(uint64_t n)
{
	return (n + PAGE - 1) & ~(PAGE - 1);
}

static struct fv_area *map_area(uint64_t size)
{
	struct fv_area *area = calloc(1, sizeof(*area));
	int err;

	if (!area)
		return NULL;
	area->fd = memfd_create("falcon-verbs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (area->fd < 0 || ftruncate(area->fd, (off_t)size) ||
	    fcntl(area->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		goto fail;
	area->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, area->fd, 0);
	if (area->base == MAP_FAILED)
		goto fail;
	area->size = size;
	return area;
fail:
	err = errno;
	if (area->fd >= 0)
		close(area->fd);
	free(area);
	errno = err;
	return NULL;
}

static void unmap_area(struct fv_area *area)
{
	struct fv_room *room;

	while ((room = area->rooms)) {
		area->rooms = room->next;
		free(room);
	}
	munmap(area->base, area->size);
	if (area->fd >= 0)
		close(area->fd);
	free(area);
}

/* Take |size| bytes of |area|. NULL if there is no room. */
static struct fv_room *take(struct fv_area *area, uint64_t size)
{
	struct fv_room **p, *room;
	uint64_t offset = 0;

	for (p = &area->rooms; *p && (*p)->offset - offset < size; p = &(*p)->next)
		offset = (*p)->offset + (*p)->size;
	if (!*p && area->size - offset < size)
		return NULL;
	room = malloc(sizeof(*room));
	if (!room)
		return NULL;
	*room = (struct fv_room){ .next = *p, .offset = offset, .size = size };
	*p = room;
	return room;
}

int fv_areas_init(struct fv_agent *agent, int *memfd)
{
	struct fv_area *area = map_area(AREA_SIZE);

	if (!area)
		return fv_fail(errno, "cannot make shared memory: %s", strerror(errno));
	if (!take(area, round_up(sizeof(struct fverbs_ctx_shm)))) {
		unmap_area(area);
		return fv_fail(ENOMEM, "out of memory");
	}
	*memfd = area->fd;
	agent->areas = area;
	agent->shm = (struct fverbs_ctx_shm *)area->base;
	agent->shm->magic = FVERBS_SHM_MAGIC;
	agent->shm->version = FVERBS_SHM_VERSION;
	return 0;
}

void fv_areas_free(struct fv_agent *agent)
{
	struct fv_area *area;

	while ((area = agent->areas)) {
		agent->areas = area->next;
		unmap_area(area);
	}
}

void fv_areas_unshare(struct fv_agent *agent)
{
	for (struct fv_area *area = agent->areas; area; area = area->next) {
		if (area->fd >= 0)
			close(area->fd);
		area->fd = -1;
		/* Without a mapping, a use of it ends the child alone. */
		if (mmap(area->base, area->size, PROT_READ | PROT_WRITE,
			 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			munmap(area->base, area->size);
	}
}

/* A new area for |size| bytes, known to the agent. NULL with errno. */
static struct fv_area *add_area(struct fv_agent *agent, uint64_t size)
{
	struct fverbs_handle answer;
	struct fv_area *area;
	uint64_t all = 0;
	int rc;

	/* The agent knows few areas of an application: the more it needs, the larger they get. */
	for (area = agent->areas; area; area = area->next)
		all += area->offload ? 0 : area->size;
	area = map_area(size > all ? size : all);
	if (!area)
		return NULL;
	rc = fv_call(agent, FVERBS_ADD_AREA, NULL, 0, area->fd, &answer, sizeof(answer));
	if (rc) {
		unmap_area(area);
		errno = rc;
		return NULL;
	}
	area->number = answer.handle;
	area->next = agent->areas;
	agent->areas = area;
	return area;
}

/* A new area of offload memory, as large as the agent makes it for |size| bytes. NULL with errno. */
static struct fv_area *make_offload(struct fv_agent *agent, uint64_t size)
{
	const struct fverbs_new_area req = { .size = size };
	struct fverbs_new_area_answer answer;
	struct fv_area *area = calloc(1, sizeof(*area));
	int fd = -1;

	if (!area)
		return NULL;
	if (fv_call_fd(agent, FVERBS_NEW_AREA, &req, sizeof(req), &answer, sizeof(answer), &fd)) {
		free(area);
		return NULL;
	}
	*area = (struct fv_area){ .offload = true, .number = answer.number, .size = answer.size, .fd = fd };
	area->base = mmap(NULL, area->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area->base == MAP_FAILED) {
		int err = errno;

		if (fd >= 0)
			close(fd);
		fv_call_handle(agent, FVERBS_DEL_AREA, area->number);
		free(area);
		errno = err;
		return NULL;
	}
	area->next = agent->areas;
	agent->areas = area;
	return area;
}

/* The more there are, the larger they get, if they may: so that many small pieces have few areas. */
static struct fv_area *add_offload(struct fv_agent *agent, uint64_t size)
{
	struct fv_area *area;
	uint64_t all = 0;

	for (area = agent->areas; area; area = area->next)
		all += area->offload ? area->size : 0;
	if (all > OFFLOAD_STEP)
		all = OFFLOAD_STEP;
	area = size < all ? make_offload(agent, all) : NULL;
	return area ? area : make_offload(agent, size);
}

bool fv_place_alloc(struct fv_agent *agent, bool offload, uint64_t size, struct fv_place *place)
{
	struct fv_room *room = NULL;
	struct fv_area *area;

	if (!size || size > AREA_MAX) {
		errno = size ? ENOMEM : EINVAL;
		return false;
	}
	size = round_up(size);
	pthread_mutex_lock(&agent->area_lock);
	for (area = agent->areas; area; area = area->next) {
		room = area->offload == offload ? take(area, size) : NULL;
		if (room)
			break;
	}
	if (!room) {
		area = offload ? add_offload(agent, size) : add_area(agent, size);
		room = area ? take(area, size) : NULL;
	}
	if (room)
		*place = (struct fv_place){
			.area = area->number, .fd = area->fd, .offset = room->offset,
			.mem = area->base + room->offset,
		};
	pthread_mutex_unlock(&agent->area_lock);
	return room != NULL;
}

void *fv_area_alloc(struct fv_agent *agent, uint64_t size, uint32_t *area, __u64 *offset)
{
	struct fv_place place;

	if (!fv_place_alloc(agent, false, size, &place))
		return NULL;
	*area = place.area;
	*offset = place.offset;
	return place.mem;
}

void *fv_offload_alloc(struct fv_agent *agent, uint64_t size)
{
	struct fv_place place;

	return fv_place_alloc(agent, true, size, &place) ? place.mem : NULL;
}

/* Tell the agent to forget the empty |*p|, which is not area 0. */
static void drop_area(struct fv_agent *agent, struct fv_area **p)
{
	struct fv_area *area = *p;

	if (fv_live(agent) && fv_call_handle(agent, FVERBS_DEL_AREA, area->number))
		return;
	*p = area->next;
	unmap_area(area);
}

void fv_area_free(struct fv_agent *agent, void *mem)
{
	struct fv_area **p;
	struct fv_room **r;

	pthread_mutex_lock(&agent->area_lock);
	for (p = &agent->areas; *p; p = &(*p)->next) {
		if ((uint8_t *)mem >= (*p)->base && (uint8_t *)mem < (*p)->base + (*p)->size)
			break;
	}
	for (r = *p ? &(*p)->rooms : NULL; r && *r; r = &(*r)->next) {
		struct fv_room *room = *r;

		if ((*p)->base + room->offset != (uint8_t *)mem)
			continue;
		*r = room->next;
		/* Gives the pages back, and makes them zero for whoever is next. */
		if (!fv_forked(agent) && madvise(mem, room->size, MADV_REMOVE))
			memset(mem, 0, room->size);
		free(room);
		if (!(*p)->rooms)
			drop_area(agent, p);
		break;
	}
	pthread_mutex_unlock(&agent->area_lock);
}

bool fv_area_find(struct fv_agent *agent, const void *addr, uint64_t len, uint32_t *number,
		  __u64 *offset)
{
	uintptr_t start = (uintptr_t)addr;
	struct fv_area *area;

	pthread_mutex_lock(&agent->area_lock);
	for (area = agent->areas; area; area = area->next) {
		uintptr_t base = (uintptr_t)area->base;

		if (start >= base && start - base < area->size && len <= area->size - (start - base)) {
			*number = area->number;
			*offset = start - base;
			break;
		}
	}
	pthread_mutex_unlock(&agent->area_lock);
	return area != NULL;
}

static bool has_area_at(struct fv_agent *agent, void *arg)
{
	const uintptr_t *start = arg;
	const struct fv_area *area;

	pthread_mutex_lock(&agent->area_lock);
	for (area = agent->areas; area && (uintptr_t)area->base != *start;)
		area = area->next;
	pthread_mutex_unlock(&agent->area_lock);
	return area != NULL;
}

bool fv_area_at(uintptr_t start)
{
	return fv_agent_any(has_area_at, &start);
}
