// SPDX-License-Identifier: BSD-2-Clause
/*
 * Several tenants of one agent, of whom one behaves: layers of RDMA, raw and NVMe on one real core,
 * and a peer of the same kind, over the link of the RDMA unit tests, in virtual time. Two verbs
 * applications of two users, an application of the raw layer, one of each at the peer, the peer's
 * connection manager and an operator do what the input says (tenants_verbs.c, tenants_raw.c); one
 * verbs application does what it should (tenants_good.c). So it is with applications of NVMe and hosts that
 * share a target (tenants_nvme.h), which is a third layer on the same core.
 *
 * The input is a sequence of actions of RECORD bytes: an u8 that says whose, and what that takes
 * (act()). All have the same length, so that one that is changed leaves the others as they are.
 *
 * Checked all the time:
 *   progress	each operation of the one that behaves ends well, within so many rounds and so much time
 *   isolation	its memory and its partner's change by these operations only
 *   turns	no call of a layer or the core, and no command, takes more work than TURN_MAX
 *   heap	it has no more than tenants_heap() says for what applications have
 * and when all others have gone: no object, id, connection, charge or descriptor of theirs is left,
 * and the heap is as it was, but for tables that have grown.
 */
#include <stdlib.h>
#include <string.h>

#include "tenants_verbs.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	ACTIONS = 256,			/* of an input */
	RECORD = 32,			/* bytes of one */
	STEPS = 32,			/* rounds in one action, at most */
	FIRST_ROUNDS = 128,		/* of the one that behaves alone */
	TABLES = 3 << 20,		/* bytes by which tables and pools stay larger, of both hosts */
};

#define SETTLE_NS 40000000000ULL	/* more than LINK_IDLE_MS */
#define SETTLE_STEP_NS 2000000000ULL
#define PAUSE_NS 10000000ULL

/* What is left of an action; zeros behind its end. */
static const uint8_t *input;
static size_t left;

uint64_t number(size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes && left; i++, left--)
		v |= (uint64_t)*input++ << 8 * i;
	return v;
}

/* What of an agent is to be as it was when tenants have gone. */
struct census {
	long ctxs, ids, channels, conns, dials, fds;
};

static struct census census(const struct env_host *h)
{
	struct tenants_cm cm = tenants_cm(h);
	struct census c = { .ctxs = h->r->nctxs, .ids = cm.ids, .channels = cm.channels, .dials = h->ndials,
			    .fds = h->fds };

	for (uint32_t cid = 1; cid < ENV_CONNS; cid++)
		c.conns += h->conns[cid].peer_cid != 0;
	return c;
}

static void check_census(const struct census *was, const struct census *is)
{
	if (memcmp(was, is, sizeof(*was)))
		fprintf(stderr, "%ld %ld contexts, %ld %ld ids, %ld %ld channels, %ld %ld connections, "
			"%ld %ld dials, %ld %ld fds\n", was->ctxs, is->ctxs, was->ids, is->ids,
			was->channels, is->channels, was->conns, is->conns, was->dials, is->dials,
			was->fds, is->fds);
	CHECK(!memcmp(was, is, sizeof(*was)));
}

static void check(int64_t before)
{
	int64_t now = meter_heap() - before, max = tenants_heap() + disks_heap();

	if (now > max)
		fprintf(stderr, "the heap has %lld bytes, explained are %lld\n", (long long)now,
			(long long)max);
	CHECK(now <= max);
	good_check();
	disks_check();
}

static void rounds(unsigned int n)
{
	for (; n; n--) {
		env_step();
		good_go_on();
		disks_go_on();
	}
}

/* To the end of operations, which comes within so many rounds: who has ended waits for the other. */
static void finish(void)
{
	while (!good_is_idle() || !disks_are_idle()) {
		env_step();
		if (!good_is_idle())
			good_go_on();
		if (!disks_are_idle())
			disks_go_on();
	}
}

/* Both ends of a connection, but not of who behaves. */
static void reset(void)
{
	struct env_host *h = &env.host[0];
	uint32_t cid = 1 + (uint32_t)number(1) % (ENV_CONNS - 1), peer = h->conns[cid].peer_cid;
	struct env_host *other = &env.host[h->conns[cid].peer_host];

	if (!h->conns[cid].core || good_has(h, cid) || disks_have(h, cid))
		return;
	if (peer < ENV_CONNS && other->conns[peer].core)
		env_end_conn(other, peer);
	if (h->conns[cid].core)
		env_end_conn(h, cid);
}

static void operate(void)
{
	switch (number(1) % 6) {
	case 0:
	case 1: reset(); break;
	case 2: raws_join(); break;
	case 3:
		env.faults = (struct env_faults){ .loss = (unsigned int)number(1) % 5,
						  .dup = (unsigned int)number(1) % 5,
						  .reorder = (unsigned int)number(1) % 20,
						  .refuse = (unsigned int)number(1) % 20 };
		break;
	case 4: rdma_set_cpu_pressure(env.host[0].r, number(1) & 1); break;
	case 5: rdma_devices_refresh(env.host[0].r); break;
	}
}

static void act(unsigned int whose)
{
	switch (whose % 24) {
	case 0:
	case 1:
	case 2: tenant_act(0); break;
	case 3:
	case 4:
	case 5: tenant_act(1); break;
	case 6:
	case 7: tenant_act(2); break;
	case 8:
	case 9: raw_act(0); break;
	case 10: raw_act(1); break;
	case 11: tenants_note(); break;
	case 12: operate(); break;
	case 13:
	case 14: rounds((unsigned int)number(1) % STEPS); break;
	case 15:
		/* Nothing happens for a while. */
		finish();
		env.now += number(1) * PAUSE_NS;
		rounds(1);
		break;
	case 16:
	case 17:
	case 18: disk_tenant_act(0); break;
	case 19:
	case 20: disk_tenant_act(1); break;
	case 21:
	case 22: disk_host_act(); break;
	case 23: disks_operate(); break;
	}
}

/* Until what others have left behind has ended, and no operation is under way. */
static void settle(void)
{
	uint64_t until = env.now + SETTLE_NS;

	env.faults = (struct env_faults){ 0 };
	good_keep(true);
	while (env.now < until) {
		finish();
		env.now += SETTLE_STEP_NS;
		rounds(1);
	}
	finish();
	good_keep(false);
}

static void run(const uint8_t *data, size_t size)
{
	struct census was[ENV_HOSTS], is;
	int64_t empty = meter_heap(), before;

	env_open(1);
	env.hostile = true;
	env.turn = meter_turn;
	for (int i = 0; i < ENV_HOSTS; i++)
		env.host[i].ncids = RAW_CONNS;
	disks_open();
	good_open();
	rounds(FIRST_ROUNDS);
	finish();
	before = meter_heap();
	for (int i = 0; i < ENV_HOSTS; i++)
		was[i] = census(&env.host[i]);
	raws_open();
	tenants_open();
	disk_tenants_open();
	for (size_t i = 0; i < ACTIONS && i * RECORD < size; i++) {
		input = data + i * RECORD;
		left = size - i * RECORD < RECORD ? size - i * RECORD : RECORD;
		act((unsigned int)number(1));
		check(before);
	}
	rounds(STEPS);
	raws_close();
	tenants_close();
	disk_tenants_close();
	disks_go_well();
	settle();
	good_check();
	disks_check();
	tenants_settled();
	disks_settled();
	for (int i = 0; i < ENV_HOSTS; i++) {
		is = census(&env.host[i]);
		check_census(&was[i], &is);
	}
	CHECK(meter_heap() - before <= TABLES);
	good_close();
	disks_close();
	env_close();
	CHECK(meter_heap() == empty);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	meter_open();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int before = open_fds();

	run(data, size);
	CHECK(open_fds() == before);
	return 0;
}
