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

int lib_submit(struct falcon *f, unsigned int set, const void *entry)
{
	struct ring_set *s = &f->sets[set];

	if (f->dead)
		return lib_fail(f, -EPIPE, "the agent is gone");
	if (s->sq_tail - falcon_load(&s->rings->sq.head) >= FALCON_SQ_ENTRIES)
		return lib_fail(f, -EAGAIN, "the submission ring is full");
	memcpy(&s->sqes[s->sq_tail++ % FALCON_SQ_ENTRIES], entry, sizeof(s->sqes[0]));
	return 0;
}

int falcon_submit(struct falcon *f, const struct falcon_sqe *sqe)
{
	unsigned int set = FALCON_CONN_SET(sqe->conn);

	if (sqe->local > f->arena_size || sqe->len > f->arena_size - sqe->local)
		return lib_fail(f, -EINVAL, "the operation's memory is outside of the arena");
	/* What no thread has, any of them completes with kCmplDeadConn. */
	return lib_submit(f, set < f->nsets ? set : 0, sqe);
}

/* Something was published: wake the agent's thread if it sleeps. */
static void ring_doorbell(struct ring_set *s)
{
	const uint64_t one = 1;

	if (!sleep_claim(&s->rings->agent_sleeping))
		return;
	/* Fails only if the counter is full, when the agent has a signal already. */
	if (write(s->doorbell, &one, sizeof(one)) < 0)
		return;
}

void falcon_flush(struct falcon *f)
{
	for (struct ring_set *s = f->sets; s < f->sets + f->nsets; s++) {
		if (s->sq_published == s->sq_tail)
			continue;
		s->sq_published = s->sq_tail;
		falcon_store(&s->rings->sq.tail, s->sq_tail);
		ring_doorbell(s);
	}
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

/* Take up to |n| completions of |s|. Returns how many. */
static int take_completions(struct ring_set *s, struct falcon_cqe *cqes, int n)
{
	uint32_t ready = falcon_load(&s->rings->cq.tail) - s->cq_head;
	int got = 0;

	while (got < n && (uint32_t)got < ready)
		cqes[got++] = s->cqes[s->cq_head++ % FALCON_CQ_ENTRIES];
	if (!got)
		return 0;
	falcon_store(&s->rings->cq.head, s->cq_head);
	/* The agent may have left submissions alone for want of room for their completions. */
	if (falcon_load(&s->rings->sq.head) != s->sq_tail)
		ring_doorbell(s);
	return got;
}

int falcon_poll(struct falcon *f, struct falcon_cqe *cqes, int n)
{
	int got = 0;

	falcon_flush(f);
	/* Another set is first each time, so that a busy one does not keep the others waiting. */
	for (unsigned int i = 0; i < f->nsets && got < n; i++)
		got += take_completions(&f->sets[(f->cq_next + i) % f->nsets], cqes + got, n - got);
	f->cq_next = (f->cq_next + 1) % f->nsets;
	if (!got)
		return idle(f);
	f->idle_polls = 0;
	return got;
}

static bool has_message(const struct ring_set *s)
{
	return falcon_load(&s->rings->rq.tail) != s->rq_head;
}

const struct falcon_msg *falcon_message(struct falcon *f)
{
	for (unsigned int i = 0; i < f->nsets; i++) {
		struct ring_set *s = &f->sets[f->rq_next];

		if (has_message(s))
			return &s->msgs[s->rq_head % FALCON_RQ_ENTRIES];
		f->rq_next = (f->rq_next + 1) % f->nsets;
	}
	return NULL;
}

void falcon_message_done(struct falcon *f)
{
	struct ring_set *s = &f->sets[f->rq_next];

	falcon_store(&s->rings->rq.head, ++s->rq_head);
	f->rq_next = (f->rq_next + 1) % f->nsets;
}

static bool something(const struct falcon *f)
{
	for (const struct ring_set *s = f->sets; s < f->sets + f->nsets; s++)
		if (falcon_load(&s->rings->cq.tail) != s->cq_head || has_message(s))
			return true;
	return false;
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
