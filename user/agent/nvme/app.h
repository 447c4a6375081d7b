/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applications that use an NVMe device of the agent's: the shared memory of client.h, whose rings
 * carry the entries of include/falcon/nvme_api.h, 64 bytes each way of which a completion uses 16.
 */
#ifndef FALCON_AGENT_NVME_APP_H
#define FALCON_AGENT_NVME_APP_H

#include <sys/types.h>

#include "ulp/client.h"
#include "ulp/nvme/initiator.h"

struct nvme_apps;
struct nvme_app;

/* |broken| is called for an application that broke the rules, which is to be detached then. */
struct nvme_apps *nvme_apps_create(void (*broken)(void *arg, struct nvme_app *app,
						  const char *why), void *arg);
/* Applications have gone; their commands have ended. */
void nvme_apps_destroy(struct nvme_apps *apps);

enum nvme_app_const {
	NVME_APPS_LINGER = 16,	/* applications of a user that have gone, and whose commands have not ended */
};

/*
 * Attach an application of user |uid| to |dev|: see client_attach(). 0 and it in *|out|, or an errno with a
 * sentence in |err|. -EBUSY: so many of the user's linger, or one that attaches and goes at once would have
 * memory that grows until targets answer.
 */
int nvme_app_attach(struct nvme_apps *apps, struct nvme_dev *dev, uid_t uid, const int fds[3],
		    struct nvme_app **out, char *err, size_t errlen);
/*
 * It has gone. What of its commands has not been sent ends; its memory stays mapped until the last of the
 * others has ended.
 */
void nvme_app_detach(struct nvme_app *app);
/* Call |freed| when that memory is mapped no more: |bytes| of it were user |uid|'s. */
void nvme_app_on_free(struct nvme_app *app, void (*freed)(void *arg, uid_t uid, uint64_t bytes), void *arg);
/* How many of user |uid|'s linger. */
unsigned int nvme_apps_lingering(const struct nvme_apps *apps, uid_t uid);
const struct client *nvme_app_client(const struct nvme_app *app);
const struct nvme_dev *nvme_app_dev(const struct nvme_app *app);
/* What nvme_apps_create() got. */
void *nvme_app_arg(const struct nvme_app *app);

/* Take submissions and publish completions. Returns how many were taken. */
uint32_t nvme_apps_pump(struct nvme_apps *apps, uint64_t now);
bool nvme_apps_sleep_begin(struct nvme_apps *apps);
void nvme_apps_sleep_end(struct nvme_apps *apps);

#endif /* FALCON_AGENT_NVME_APP_H */
