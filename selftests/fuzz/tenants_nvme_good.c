// SPDX-License-Identifier: BSD-2-Clause
/*
 * The application of tenants_nvme.h that behaves, on a namespace of its own: one operation after another,
 * each of which writes some blocks, reads them and flushes. All has to end well, and soon, and what is read
 * and what is on the medium is what was written.
 */
#include "tenants_nvme.h"

#include <nvme/types.h>
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

enum {
	BLOCKS = 6,			/* of an operation: several packets */
	BYTES = BLOCKS * DISK_BLOCK,
	SLOTS = DISK_GOOD_BYTES / BYTES,	/* places on the disk in turn */
	FROM = 0,			/* into the arena: what is written, ... */
	TO = BYTES,			/* ... what is read */
	ARENA = 4 * BYTES,
	ROUNDS_MAX = 4000,		/* as in tenants_good.c */
};

#define OPERATION_MAX_NS 2000000000ULL
#define IDLE_NS 200000ULL		/* between two operations */

static const uint8_t opcodes[] = { nvme_cmd_write, nvme_cmd_read, nvme_cmd_flush };

static struct {
	struct disk_app app;
	uint8_t shadow[DISK_GOOD_BYTES];	/* what the medium is to be */
	bool busy;
	unsigned int step, rounds;	/* of opcodes[]; since the operation has begun */
	uint64_t number, since;		/* |since|: or, not |busy|, since it has ended */
} good;

static uint64_t place(void)
{
	return good.number % SLOTS * BYTES;
}

static void command(void)
{
	struct falcon_nvme_sqe sqe = { .opcode = opcodes[good.step], .nsid = 1, .qid = 1,
				       .cid = (uint16_t)(good.number + good.step) };
	struct falcon_sqe slot;

	if (sqe.opcode != nvme_cmd_flush) {
		sqe.prp1 = sqe.opcode == nvme_cmd_write ? FROM : TO;
		sqe.cdw10 = (uint32_t)(place() / DISK_BLOCK);
		sqe.cdw12 = BLOCKS - 1;
	}
	memcpy(&slot, &sqe, sizeof(slot));
	app_submit(&good.app.app, &slot);
}

static void begin(void)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		memset(good.app.app.arena + FROM + i * DISK_BLOCK, (int)(good.number * 7 + i), DISK_BLOCK);
	memset(good.app.app.arena + TO, 0, BYTES);
	good.busy = true;
	good.step = good.rounds = 0;
	good.since = env.now;
	command();
}

static void end(void)
{
	const uint8_t *arena = good.app.app.arena;

	CHECK(!memcmp(arena + FROM, arena + TO, BYTES));
	CHECK(!memcmp(arena + FROM, disks[DISK_GOOD].bytes + place(), BYTES));
	memcpy(good.shadow + place(), arena + FROM, BYTES);
	good.busy = false;
	good.number++;
	good.since = env.now;
}

/* Why it waits for so long. */
static void tell(void)
{
	struct nvme_target_stats s;

	nvme_target_stats(disk_agents[1].ulp.target, &s);
	fprintf(stderr, "NVMe: opcode %u waits for %u rounds, %llu ns: the target has %llu orphans, %llu of "
		"%llu bytes, the medium %s\n", opcodes[good.step], good.rounds,
		(unsigned long long)(env.now - good.since), (unsigned long long)s.orphans,
		(unsigned long long)s.memory_used, (unsigned long long)s.memory_size,
		disks[DISK_BAD].hangs ? "hangs" : "works");
}

void disks_go_on(void)
{
	struct falcon_nvme_cqe cqe;
	struct falcon_cqe slot;

	if (!good.busy) {
		if (env.now - good.since >= IDLE_NS)
			begin();
		return;
	}
	good.rounds++;
	if (!app_complete(&good.app.app, &slot)) {
		if (good.rounds > ROUNDS_MAX || env.now - good.since > OPERATION_MAX_NS)
			tell();
		CHECK(good.rounds <= ROUNDS_MAX && env.now - good.since <= OPERATION_MAX_NS);
		return;
	}
	memcpy(&cqe, &slot, sizeof(cqe));
	if (cqe.status)
		fprintf(stderr, "NVMe: opcode %u ends with status %#x\n", opcodes[good.step],
			cqe.status >> 1);
	CHECK(!cqe.status && cqe.cid == (uint16_t)(good.number + good.step));
	if (++good.step < ARRAY_SIZE(opcodes))
		command();
	else
		end();
}

bool disks_are_idle(void)
{
	return !good.busy;
}

void disks_check(void)
{
	/* This is on its way, or has arrived. */
	if (good.busy)
		memcpy(good.shadow + place(), disks[DISK_GOOD].bytes + place(), BYTES);
	CHECK(!memcmp(disks[DISK_GOOD].bytes, good.shadow, DISK_GOOD_BYTES));
}

/* Until the device is ready nothing can be asked of it. */
void disk_good_open(void)
{
	const struct nvme_dev *dev;

	memset(&good, 0, sizeof(good));
	disk_attach(&good.app, 0, DISK_GOOD, ARENA);
	dev = nvme_app_dev(good.app.at);
	for (int i = 0; i < ROUNDS_MAX && !nvme_dev_ready(dev); i++)
		env_step();
	CHECK(nvme_dev_ready(dev));
}

/* Its connection is one that it has alone. */
bool disks_have(const struct env_host *h, uint32_t cid)
{
	const struct env_conn *c = &h->conns[cid];
	struct nvme_initiator *in = disk_agents[0].ulp.initiator;

	if (h->index != 0) {
		h = &env.host[c->peer_host];
		cid = c->peer_cid;
	}
	return h->index == 0 && c->other == OTHER_NVME && nvme_initiator_owns(in, cid) &&
	       in->by_cid[cid]->dev == nvme_app_dev(good.app.at);
}

void disk_good_close(void)
{
	disk_detach(&good.app);
	app_drop(&good.app.app);
}
