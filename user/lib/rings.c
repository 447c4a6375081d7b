// SPDX-License-Identifier: BSD-2-Clause
/* The application's side of the shared rings, and sleeping on them. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/sleep.h"
#include "lib/lib.h"

enum rings_const {
	IDLE_CHECK = 1024,	/* empty polls between looks whether the agent is still there */
};

int lib_submit(struct falcon *f, const void *entry)
{
	if (f->dead)
		return lib_fail(f, -EPIPE, "the agent is gone");
	if (f->sq_tail - falcon_load(&f->shm->sq.head) >= FALCON_SQ_ENTRIES)
		return lib_fail(f, -EAGAIN, "the submission ring is full");
	memcpy(&f->sqes[f->sq_tail++ % FALCON_SQ_ENTRIES], entry, sizeof(f->sqes[0]));
	return 0;
}

int falcon_submit(struct falcon *f, const struct falcon_sqe *sqe)
{
	if (sqe->local > f->arena_size || sqe->len > f->arena_size - sqe->local)
		return lib_fail(f, -EINVAL, "the operation's memory is outside of the arena");
	return lib_submit(f, sqe);
}

/* Something was published: wake the agent if it sleeps. */
static void ring_doorbell(struct falcon *f)
{
	const uint64_t one = 1;

	if (!sleep_claim(&f->shm->agent_sleeping))
		return;
	/* Fails only if the counter is full, when the agent has a signal already. */
	if (write(f->doorbell, &one, sizeof(one)) < 0)
		return;
}

void falcon_flush(struct falcon *f)
{
	if (f->sq_published == f->sq_tail)
		return;
	f->sq_published = f->sq_tail;
	falcon_store(&f->shm->sq.tail, f->sq_tail);
	ring_doorbell(f);
}

/* Read what the event socket holds; notice its end. */
static void drain_event(struct falcon *f)
{
	char buf[64];
	ssize_t n = recv(f->event, buf, sizeof(buf), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
		f->dead = true;
}

/* Nothing found once more: see now and then whether there is still someone to wait for. */
static int idle(struct falcon *f)
{
	if (++f->idle_polls % IDLE_CHECK == 0)
		drain_event(f);
	return f->dead ? lib_fail(f, -EPIPE, "the agent is gone") : 0;
}

int falcon_poll(struct falcon *f, struct falcon_cqe *cqes, int n)
{
	uint32_t ready;
	int got = 0;

	falcon_flush(f);
	ready = falcon_load(&f->shm->cq.tail) - f->cq_head;
	while (got < n && (uint32_t)got < ready)
		cqes[got++] = f->cqes[f->cq_head++ % FALCON_CQ_ENTRIES];
	if (!got)
		return idle(f);
	f->idle_polls = 0;
	falcon_store(&f->shm->cq.head, f->cq_head);
	/* The agent may have left submissions alone for want of room for their completions. */
	if (falcon_load(&f->shm->sq.head) != f->sq_tail)
		ring_doorbell(f);
	return got;
}

const struct falcon_msg *falcon_message(struct falcon *f)
{
	if (falcon_load(&f->shm->rq.tail) == f->rq_head)
		return NULL;
	return &f->msgs[f->rq_head % FALCON_RQ_ENTRIES];
}

void falcon_message_done(struct falcon *f)
{
	falcon_store(&f->shm->rq.head, ++f->rq_head);
}

static bool something(const struct falcon *f)
{
	return falcon_load(&f->shm->cq.tail) != f->cq_head ||
	       falcon_load(&f->shm->rq.tail) != f->rq_head;
}

int falcon_fd(const struct falcon *f)
{
	return f->event;
}

int falcon_arm(struct falcon *f)
{
	falcon_flush(f);
	drain_event(f);
	sleep_announce(&f->shm->app_sleeping);
	if (!something(f))
		return 0;
	sleep_over(&f->shm->app_sleeping);
	return 1;
}

/* Look again and again for a while, leaving the CPU to whoever needs it. */
static bool spin(struct falcon *f)
{
	uint64_t since = spin_clock(), now = since;

	do {
		if (something(f))
			return true;
		if (!spin_once(&f->spin, since, now))
			return false;
		now = spin_clock();
	} while (!f->dead);
	return something(f);
}

/* Milliseconds left until |deadline|, at least 0 and rounded up; -1 if there is none. */
static int left_ms(uint64_t deadline)
{
	uint64_t now = spin_clock();

	if (deadline == UINT64_MAX)
		return -1;
	return now >= deadline ? 0 : (int)((deadline - now + 999999) / 1000000);
}

int falcon_wait(struct falcon *f, int timeout_ms)
{
	uint64_t deadline = UINT64_MAX;

	if (timeout_ms >= 0)
		deadline = spin_clock() + (uint64_t)timeout_ms * 1000000;
	falcon_flush(f);
	if (something(f) || (timeout_ms && spin(f)))
		return 1;
	for (;;) {
		struct pollfd pfd = { .fd = f->event, .events = POLLIN };
		int left = left_ms(deadline), rc;
		uint64_t since;

		if (falcon_arm(f))
			return 1;
		if (f->dead)
			return lib_fail(f, -EPIPE, "the agent is gone");
		since = spin_clock();
		rc = poll(&pfd, 1, left);
		spin_slept(&f->spin, spin_clock() - since, rc > 0);
		sleep_over(&f->shm->app_sleeping);
		if (something(f))
			return 1;
		if (rc < 0)
			return lib_fail(f, -errno, "interrupted");
		if (rc == 0 && left_ms(deadline) == 0)
			return 0;
	}
}
