// SPDX-License-Identifier: BSD-2-Clause
/*
 * The agents of tenants_nvme.h: initiators, a target, and media that answer a few requests a round or hang;
 * and what an operator does to the namespace and the device of those that misbehave.
 */
#include "tenants_nvme.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/process/deferred_close.h"
#include "ulp/nvme/target_priv.h"

enum {
	IOS = 1024,			/* requests that media hold: as nvme_store.c */
	IOS_ROUND = 8,			/* that end in a round */
	TARGET = 1,			/* index of the host that has it */
	TARGET_MEMORY = 512 * 1024,
	/* A host's connection for each device, and one that is lost with commands in the medium. */
	TARGET_CONNS = 8,
	/* What the heap has for an application. */
	PER_APP = 3 << 19,
	POOLS = 1 << 20,		/* of devices */
};

#define DEVICE_TIMEOUT_NS 5000000000ULL

struct disk disks[DISKS];
struct disk_agent disk_agents[ENV_HOSTS];
const char *const disk_names[DISKS] = { "good", "bad" };

static struct {
	struct nvme_io *list[IOS];
	unsigned int n;
} ios;

/* In place of the agent's, by a thread: what is charged to the heap and to descriptors is so at once. */
void deferred_close_memory(uid_t uid, int fd, void *base, uint64_t size)
{
	(void)uid;
	if (base)
		munmap(base, size);
	if (fd >= 0)
		close(fd);
}

/* ---- media ---- */

static int submit(struct nvme_io *io)
{
	if (ios.n == IOS)
		return -EAGAIN;
	ios.list[ios.n++] = io;
	return 0;
}

static const struct nvme_store_ops store_ops = { .submit = submit };

static void end_io(struct nvme_io *io)
{
	struct disk *d = (struct disk *)io->store;

	CHECK(io->offset <= DISK_BYTES && io->len <= DISK_BYTES - io->offset);
	if (io->op == NVME_IO_READ)
		memcpy(io->buf, d->bytes + io->offset, io->len);
	else if (io->op == NVME_IO_WRITE)
		memcpy(d->bytes + io->offset, io->buf, io->len);
	else if (io->op != NVME_IO_FLUSH)
		memset(d->bytes + io->offset, 0, io->len);
	io->done(io, 0);
}

static uint32_t end_ios(void *arg)
{
	unsigned int n = 0, i = 0;

	(void)arg;
	while (i < ios.n && n < IOS_ROUND) {
		struct nvme_io *io = ios.list[i];

		if (((struct disk *)io->store)->hangs) {
			i++;
			continue;
		}
		memmove(&ios.list[i], &ios.list[i + 1], (--ios.n - i) * sizeof(ios.list[0]));
		end_io(io);
		n++;
	}
	return n;
}

/* ---- agents ---- */

static int dial(void *arg, const struct ulp_dial *d, char *err, size_t errlen)
{
	return env_dial_other(((struct disk_agent *)arg)->host, OTHER_NVME, d, err, errlen);
}

static void hangup(void *arg, uint32_t cid, const char *why)
{
	(void)why;
	env_hangup_other(((struct disk_agent *)arg)->host, cid);
}

static const struct ulp_host ulp_host = { .dial = dial, .hangup = hangup };

static uint32_t pump(void *arg, uint64_t now)
{
	return nvme_apps_pump(((struct disk_agent *)arg)->apps, now);
}

static void broken(void *arg, struct nvme_app *at, const char *why)
{
	(void)arg;
	CHECK(why && disk_tenant_broken(at));
}

static void add_namespace(struct nvme_target *t, unsigned int disk)
{
	struct nvme_ns_attr ns = { .peers = "any", .store = &disks[disk].store, .nsid = disk + 1,
				   .block_shift = 9 };
	char err[256];

	disks[disk].store = (struct nvme_store){ .ops = &store_ops,
						 .bytes = disk == DISK_GOOD ? DISK_GOOD_BYTES : DISK_BYTES };
	disks[disk].hangs = false;
	memset(disks[disk].bytes, 0, DISK_BYTES);
	strcpy(ns.name, disk_names[disk]);
	CHECK(nvme_target_add(t, &ns, err, sizeof(err)) == 0);
}

static void add_device(struct disk_agent *a, unsigned int disk)
{
	struct nvme_dev_attr attr = { .nsid = 1, .ntargets = 1, .timeout_ns = DEVICE_TIMEOUT_NS,
				      .targets[0] = { .npaths = 1,
						      .paths[0] = { .nsid = disk + 1,
								    .ends.family = AF_INET } } };
	struct ulp_ends *ends = &attr.targets[0].paths[0].ends;
	char err[256];

	strcpy(attr.name, disk_names[disk]);
	memcpy(&ends->local, (uint8_t[4]){ 10, 0, 0, (uint8_t)(1 + a->host->index) }, 4);
	memcpy(&ends->remote, (uint8_t[4]){ 10, 0, 0, 1 + TARGET }, 4);
	CHECK(nvme_initiator_add(a->ulp.initiator, &attr, err, sizeof(err)) == 0);
}

static void open_agent(struct disk_agent *a, int host)
{
	const uint8_t id[16] = { (uint8_t)(1 + host) };

	*a = (struct disk_agent){ .host = &env.host[host], .apps = nvme_apps_create(broken, a) };
	a->ulp = (struct nvme_ulp){ .initiator = nvme_initiator_create(id, 0, 1), .pump = pump,
				    .stores = end_ios, .wake = UINT64_MAX, .arg = a };
	CHECK(a->apps && a->ulp.initiator);
	nvme_initiator_set_host(a->ulp.initiator, &ulp_host, a);
	if (host == TARGET) {
		a->ulp.target = nvme_target_create(0, TARGET_MEMORY);
		CHECK(a->ulp.target);
		nvme_target_set_host(a->ulp.target, &ulp_host, a);
		for (unsigned int i = 0; i < DISKS; i++)
			add_namespace(a->ulp.target, i);
	}
	a->host->others[OTHER_NVME - 1] = (struct ulp){ &nvme_ulp_ops, &a->ulp };
}

void disks_open(void)
{
	ios.n = 0;
	for (int i = 0; i < ENV_HOSTS; i++)
		open_agent(&disk_agents[i], i);
	add_device(&disk_agents[0], DISK_GOOD);
	for (int i = 0; i < ENV_HOSTS; i++)
		add_device(&disk_agents[i], DISK_BAD);
	disk_good_open();
}

void disks_close(void)
{
	struct nvme_target *t = disk_agents[TARGET].ulp.target;
	struct nvme_target_stats s;

	disk_good_close();
	env_leave_other(OTHER_NVME);
	while (end_ios(NULL))
		;
	nvme_target_stats(t, &s);
	CHECK(!s.initiators && !s.orphans && !s.memory_used && !ios.n);
	for (int i = 0; i < ENV_HOSTS; i++) {
		struct disk_agent *a = &disk_agents[i];

		a->host->others[OTHER_NVME - 1] = (struct ulp){ 0 };
		nvme_target_destroy(a->ulp.target);
		nvme_initiator_destroy(a->ulp.initiator);
		nvme_apps_destroy(a->apps);
	}
}

void disk_attach(struct disk_app *d, unsigned int host, unsigned int disk, uint64_t arena)
{
	struct disk_agent *a = &disk_agents[host];
	struct nvme_dev *dev = nvme_dev_find(a->ulp.initiator, disk_names[disk]);
	char err[256];
	int rc = 0;

	app_make(&d->app, arena, true);
	d->at = NULL;
	if (dev)
		rc = nvme_app_attach(a->apps, dev, disk, (int[]){ d->app.memfd, d->app.doorbell,
				     d->app.agent_event }, &d->at, err, sizeof(err));
	CHECK(!rc || (rc == -EBUSY && nvme_apps_lingering(a->apps, disk) == NVME_APPS_LINGER));
	if (d->at)
		return;
	close(d->app.memfd);
	close(d->app.doorbell);
	close(d->app.agent_event);
}

void disk_detach(struct disk_app *d)
{
	if (!d->at)
		return;
	meter_turn("the end of an application of NVMe", true);
	nvme_app_detach(d->at);
	meter_turn("the end of an application of NVMe", false);
	d->at = NULL;
}

/* ---- the operator ---- */

static void remove_or_add(struct disk_agent *a)
{
	struct nvme_dev *dev = nvme_dev_find(a->ulp.initiator, disk_names[DISK_BAD]);

	if (dev)
		nvme_initiator_remove(dev);
	else
		add_device(a, DISK_BAD);
}

void disks_operate(void)
{
	struct nvme_target *t = disk_agents[TARGET].ulp.target;
	uint64_t v;

	switch (number(1) % 4) {
	case 0: disks[DISK_BAD].hangs = number(1) & 1; break;
	case 1:
		v = number(1);
		nvme_target_set_limits(t, DISK_BAD, v * 10, number(1) << 16);
		break;
	case 2:
		v = number(1) % 5;
		nvme_target_set_blocks(t, DISK_BAD, v ? v * DISK_BYTES / DISK_BLOCK / 4 : 1);
		break;
	case 3: remove_or_add(&disk_agents[number(1) % ENV_HOSTS]); break;
	}
}

void disks_go_well(void)
{
	struct nvme_target *t = disk_agents[TARGET].ulp.target;

	disks[DISK_BAD].hangs = false;
	nvme_target_set_limits(t, DISK_BAD, 0, 0);
	nvme_target_set_blocks(t, DISK_BAD, DISK_BYTES / DISK_BLOCK);
	for (int i = 0; i < ENV_HOSTS; i++)
		if (!nvme_dev_find(disk_agents[i].ulp.initiator, disk_names[DISK_BAD]))
			add_device(&disk_agents[i], DISK_BAD);
}

void disks_settled(void)
{
	struct nvme_target_stats s;

	nvme_target_stats(disk_agents[TARGET].ulp.target, &s);
	if (s.orphans || s.memory_used || ios.n)
		fprintf(stderr, "NVMe: %llu orphans, %llu bytes, %u requests in media\n",
			(unsigned long long)s.orphans, (unsigned long long)s.memory_used, ios.n);
	CHECK(!s.orphans && !s.memory_used && !ios.n);
	for (int i = 0; i < ENV_HOSTS; i++) {
		struct nvme_dev_info info;

		nvme_dev_info(nvme_dev_find(disk_agents[i].ulp.initiator, disk_names[DISK_BAD]), &info);
		CHECK(info.up == 1 && info.ready);
	}
}

int64_t disks_heap(void)
{
	int64_t n = POOLS + TARGET_CONNS * (int64_t)sizeof(struct nvme_tconn);

	for (int i = 0; i < ENV_HOSTS; i++)
		n += (1 + nvme_apps_lingering(disk_agents[i].apps, DISK_BAD)) * (int64_t)PER_APP;
	return n;
}
