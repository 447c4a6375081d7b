// SPDX-License-Identifier: BSD-2-Clause
#include "app.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

void app_make(struct app *a, uint64_t arena_size, bool seal)
{
	uint64_t size = FALCON_SHM_ARENA(1) + arena_size;
	int pair[2], rc;
	uint8_t *base, *set;

	a->memfd = memfd_create("app", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	rc = ftruncate(a->memfd, (off_t)size);
	if (!rc && seal)
		rc = fcntl(a->memfd, F_ADD_SEALS, F_SEAL_SHRINK);
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, a->memfd, 0);
	assert(!rc && base != MAP_FAILED);
	a->doorbell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair);
	assert(!rc && a->doorbell >= 0);
	a->event = pair[0];
	a->agent_event = pair[1];
	a->shm = (struct falcon_shm *)base;
	set = base + FALCON_SHM_SET(0);
	a->rings = (struct falcon_ring_set *)set;
	a->sqes = (struct falcon_sqe *)(set + FALCON_SET_SQ);
	a->cqes = (struct falcon_cqe *)(set + FALCON_SET_CQ);
	a->msgs = (struct falcon_msg *)(set + FALCON_SET_RQ);
	a->arena = base + FALCON_SHM_ARENA(1);
	a->arena_size = arena_size;
	a->shm->magic = FALCON_SHM_MAGIC;
	a->shm->version = FALCON_SHM_VERSION;
	a->shm->arena_size = arena_size;
	a->shm->remote_len = arena_size;
	a->shm->remote_write = 1;
	a->shm->remote_read = 1;
	a->shm->ring_sets = 1;
}

struct client_ends app_ends(const struct app *a)
{
	return (struct client_ends){ .memfd = a->memfd, .doorbell = a->doorbell, .event = a->agent_event };
}

void app_drop(struct app *a)
{
	munmap(a->shm, FALCON_SHM_ARENA(1) + a->arena_size);
	close(a->event);
}

void app_drop_all(struct app *a)
{
	close(a->memfd);
	close(a->doorbell);
	close(a->agent_event);
	app_drop(a);
}

void app_submit(struct app *a, const struct falcon_sqe *sqe)
{
	uint32_t tail = a->rings->sq.tail;

	assert(tail - falcon_load(&a->rings->sq.head) < FALCON_SQ_ENTRIES);
	a->sqes[tail % FALCON_SQ_ENTRIES] = *sqe;
	falcon_store(&a->rings->sq.tail, tail + 1);
}

bool app_complete(struct app *a, struct falcon_cqe *cqe)
{
	uint32_t head = a->rings->cq.head;

	if (head == falcon_load(&a->rings->cq.tail))
		return false;
	*cqe = a->cqes[head % FALCON_CQ_ENTRIES];
	falcon_store(&a->rings->cq.head, head + 1);
	return true;
}

const struct falcon_msg *app_message(const struct app *a)
{
	if (a->rings->rq.head == falcon_load(&a->rings->rq.tail))
		return NULL;
	return &a->msgs[a->rings->rq.head % FALCON_RQ_ENTRIES];
}

void app_message_done(struct app *a)
{
	falcon_store(&a->rings->rq.head, a->rings->rq.head + 1);
}

int app_signals(struct app *a)
{
	char buf[64];
	ssize_t n = recv(a->event, buf, sizeof(buf), MSG_DONTWAIT);

	if (n > 0)
		return (int)n;
	return n == 0 ? -1 : 0;
}
