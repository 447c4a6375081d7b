// SPDX-License-Identifier: BSD-2-Clause
/*
 * A hostile application: whatever it likes in the memory that it shares with its agent, between the
 * turns of the raw layer. Two raw layers are joined by the unit tests' fake core; the near
 * application is the hostile one, the far one a victim that only lies about what it has read.
 *
 * The input is a sequence of actions, an u8 each, with arguments behind (see act()). Time is
 * virtual.
 *
 * Checked after every action: a turn does no more than its budget; what was taken is completed or
 * outstanding; the victim's arena outside of the range that it opened is untouched. Mappings have
 * inaccessible pages on both sides. In the end every operation has ended, and every descriptor and
 * byte is given back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/loop/app.h"
#include "../unit/loop/fake_core.h"
#include "check.h"
#include "ulp/raw_priv.h"

/* The sources under test are compiled with these for the real ones. */
#undef mmap
#undef munmap
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CONNS = 2,
	ARENA = 4 * 4096,
	OPEN_FROM = 5000,	/* what the victim lends, bytes into its arena */
	OPEN_LEN = 6000,
	SEGMENT = 1000,
	SERVICE = 7,		/* the victim's */
	ACTIONS = 512,		/* of an input */
	STEPS = 64,		/* transactions delivered in one action */
	GUARD = 4096,
	SECRET = 0xa5,		/* fills the victim's arena */
};

void *guarded_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int guarded_munmap(void *addr, size_t len);

void *guarded_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	size_t whole = (len + GUARD - 1) / GUARD * GUARD;
	uint8_t *base = mmap(addr, whole + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(base != MAP_FAILED);
	return mmap(base + GUARD, len, prot, flags | MAP_FIXED, fd, offset);
}

int guarded_munmap(void *addr, size_t len)
{
	size_t whole = (len + GUARD - 1) / GUARD * GUARD;

	return munmap((uint8_t *)addr - GUARD, whole + 2 * GUARD);
}

/* One side. */
struct side {
	struct raw_ulp *ulp;
	struct app app;
	struct client *client;	/* NULL: detached */
	struct fcore_conn conns[CONNS];
};

static struct side near, far;
static uint64_t now;

/* What is left of the input; zeros behind its end. */
static const uint8_t *input;
static size_t left;

static uint64_t number(size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes && left; i++, left--)
		v |= (uint64_t)*input++ << 8 * i;
	return v;
}

static void on_client_broken(void *arg, struct client *cl, const char *why)
{
	struct side *s = arg;

	CHECK(cl == s->client && why);
	s->client = NULL;
	raw_detach(s->ulp, cl);
}

static const struct raw_ops ops = { .client_broken = on_client_broken };

static void attach(struct side *s, uint16_t service)
{
	struct client_ends ends;
	char err[256];

	app_make(&s->app, ARENA, true);
	ends = app_ends(&s->app);
	s->app.shm->remote_offset = OPEN_FROM;
	s->app.shm->remote_len = OPEN_LEN;
	CHECK(raw_attach(s->ulp, &ends, service, &s->client, err, sizeof(err)) == 0);
}

static void set_up(void)
{
	now = 1000;
	near.ulp = raw_create(&ops, &near, CONNS);
	far.ulp = raw_create(&ops, &far, CONNS);
	attach(&near, 0);
	attach(&far, SERVICE);
	memset(far.app.arena, SECRET, ARENA);
	for (uint32_t i = 0; i < CONNS; i++) {
		fake_join(&near.conns[i], near.ulp, &far.conns[i], far.ulp, i);
		near.conns[i].unordered = far.conns[i].unordered = i == 1;
		CHECK(raw_conn_up(near.ulp, &near.conns[i], SEGMENT) == 0);
		CHECK(raw_conn_up(far.ulp, &far.conns[i], SEGMENT) == 0);
	}
}

static void tear_down(struct side *s)
{
	for (uint32_t i = 0; i < CONNS; i++) {
		fake_close(&s->conns[i], kCmplDeadConn);
		fake_release(&s->conns[i]);
		raw_conn_down(s->ulp, i);
	}
	if (s->client)
		CHECK(client_stats(s->client)->outstanding == 0);
	raw_destroy(s->ulp);
	app_drop(&s->app);
}

/* Index |which| of |s| becomes |v|, or moves by it. */
static void set_index(struct side *s, unsigned int which, uint32_t v, bool relative)
{
	struct falcon_ring_set *rings = s->app.rings;
	__u32 *const indexes[] = { &rings->sq.tail, &rings->sq.head, &rings->cq.tail, &rings->cq.head,
				   &rings->rq.tail, &rings->rq.head, &rings->agent_sleeping,
				   &s->app.shm->app_sleeping };
	__u32 *index = indexes[which % (sizeof(indexes) / sizeof(indexes[0]))];

	*index = relative ? *index + v : v;
}

/* Submit |times| operations that mostly make sense. */
static void submit(unsigned int times)
{
	struct falcon_sqe sqe = {
		.op = (uint8_t)number(1),
		.dst_service = SERVICE,
		.conn = (uint32_t)number(1),
		.local = number(2),
		.remote = number(2),
		.len = (uint32_t)number(2),
	};

	for (unsigned int i = 0; i < times; i++)
		near.app.sqes[near.app.rings->sq.tail++ % FALCON_SQ_ENTRIES] = sqe;
}

/* Write anything anywhere. */
static void scribble(void)
{
	uint64_t at = number(4) % (FALCON_SHM_ARENA(1) + ARENA);
	uint64_t len = number(1);

	for (; len && at < FALCON_SHM_ARENA(1) + ARENA; len--, at++)
		((uint8_t *)near.app.shm)[at] = (uint8_t)number(1);
}

/* An entry of the submission ring of which every byte is the input's. */
static void raw_sqe(void)
{
	struct falcon_sqe *sqe = &near.app.sqes[near.app.rings->sq.tail++ % FALCON_SQ_ENTRIES];

	for (size_t i = 0; i < sizeof(*sqe); i++)
		((uint8_t *)sqe)[i] = (uint8_t)number(1);
}

static void pump(struct side *s)
{
	CHECK(raw_pump(s->ulp, now) <= RAW_TAKE_BUDGET + CONNS * RAW_SUBMIT_BUDGET);
}

/* Let the core deliver; held responses have only so much room. */
static void deliver(struct side *s, struct side *peer, uint32_t cid)
{
	struct fcore_conn *p = &peer->conns[cid];

	if (p->held_count + STEPS > FCORE_MAX_TXNS)
		fake_release(p);
	CHECK(fake_run(&s->conns[cid], now, STEPS) <= STEPS);
}

static void sleep_and_wake(void)
{
	if (raw_sleep_begin(near.ulp))
		raw_sleep_end(near.ulp);
}

static void down_and_up(uint32_t cid, bool core_first)
{
	if (core_first)
		fake_close(&near.conns[cid], kCmplDeadConn);
	raw_conn_down(near.ulp, cid);
	fake_close(&near.conns[cid], kCmplDeadConn);
	CHECK(raw_conn_up(near.ulp, &near.conns[cid], 1 + (uint32_t)number(2)) == 0);
}

/* The application goes, perhaps with operations in the core, and another comes. */
static void come_again(void)
{
	if (near.client)
		raw_detach(near.ulp, near.client);
	near.client = NULL;
	app_drop(&near.app);
	attach(&near, (uint16_t)number(1));
}

static void toggle(uint32_t cid, unsigned int what)
{
	switch (what % 4) {
	case 0: near.conns[cid].stalled ^= true; break;
	case 1: far.conns[cid].hold_responses ^= true; break;
	case 2: fake_release(&far.conns[cid]); break;
	case 3: near.conns[cid].limit = 1 + (uint32_t)number(1); break;
	}
}

static void act(unsigned int action)
{
	uint32_t cid = action >> 7;

	switch (action & 0xf) {
	case 0: set_index(&near, (unsigned int)number(1), (uint32_t)number(4), false); break;
	case 1: set_index(&near, (unsigned int)number(1), (uint32_t)number(2), true); break;
	case 2: submit(1); break;
	case 3: submit((unsigned int)number(2) % (FALCON_SQ_ENTRIES + 2)); break;
	case 4: raw_sqe(); break;
	case 5: scribble(); break;
	case 6:
	case 7: pump(&near); break;
	case 8: pump(&far); break;
	case 9:
	case 10: deliver(&near, &far, cid); break;
	case 11: now += number(5); break;
	case 12: sleep_and_wake(); break;
	case 13: down_and_up(cid, action & 0x40); break;
	case 14: toggle(cid, (unsigned int)number(1)); break;
	case 15:
		if (action & 0x40)
			set_index(&far, 2 + (unsigned int)number(1) % 6, (uint32_t)number(4), true);
		else
			come_again();
		break;
	}
}

static void check(void)
{
	static uint8_t secret[ARENA];
	const struct client_stats *s = near.client ? client_stats(near.client) : NULL;

	memset(secret, SECRET, sizeof(secret));
	CHECK(!memcmp(far.app.arena, secret, OPEN_FROM));
	CHECK(!memcmp(far.app.arena + OPEN_FROM + OPEN_LEN, secret, ARENA - OPEN_FROM - OPEN_LEN));
	CHECK(!s || s->taken == s->completed + s->outstanding);
	CHECK(!s || s->outstanding <= FALCON_CQ_ENTRIES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int before = open_fds();

	input = data;
	left = size;
	set_up();
	for (int i = 0; i < ACTIONS && left; i++) {
		act((unsigned int)number(1));
		check();
	}
	tear_down(&near);
	tear_down(&far);
	CHECK(open_fds() == before);
	return 0;
}
