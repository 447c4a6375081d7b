/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NVMe in fuzz_tenants.c: each host has an initiator, the peer a target with two namespaces. One is of the
 * application that behaves alone; the other one is shared by those that do not, an application a host,
 * and by a host of its own whose agent sends what it likes.
 */
#ifndef FALCON_FUZZ_TENANTS_NVME_H
#define FALCON_FUZZ_TENANTS_NVME_H

#include "tenants.h"

#include "agent/nvme/app.h"
#include "ulp/nvme/nvme.h"

enum tenants_nvme_const {
	DISK_GOOD,			/* of disks[]; NSIDs are one more */
	DISK_BAD,
	DISKS,
	DISK_BLOCK = 512,
	DISK_BYTES = 256 * 1024,
	DISK_GOOD_BYTES = 32 * 1024,	/* of that, to be looked at often */
};

/* A namespace's medium. */
struct disk {
	struct nvme_store store;
	uint8_t bytes[DISK_BYTES];
	bool hangs;			/* what has begun does not end */
};

/* A host's agent, as to NVMe. */
struct disk_agent {
	struct env_host *host;
	struct nvme_ulp ulp;
	struct nvme_apps *apps;
};

/* An application. */
struct disk_app {
	struct app app;
	struct nvme_app *at;		/* NULL: it is detached */
};

extern struct disk disks[DISKS];
extern struct disk_agent disk_agents[ENV_HOSTS];
/* What the devices are called. */
extern const char *const disk_names[DISKS];

/* ---- tenants_nvme.c ---- */

/* Attach to the device on |disk| of |host|, as user |disk|; detached if there is none, or he may not. */
void disk_attach(struct disk_app *d, unsigned int host, unsigned int disk, uint64_t arena);
void disk_detach(struct disk_app *d);

/* ---- tenants_nvme_bad.c ---- */

/* This one is detached for what it has written. False: |at| is not one of theirs. */
bool disk_tenant_broken(const struct nvme_app *at);

/* ---- tenants_nvme_good.c ---- */

void disk_good_open(void);
void disk_good_close(void);

/* ---- tenants_nvme_host.c: the host that sends what it likes ---- */

void disk_host_open(void);
void disk_host_close(void);

#endif /* FALCON_FUZZ_TENANTS_NVME_H */
