// SPDX-License-Identifier: BSD-2-Clause
/*
 * Applications of tenants_nvme.h that misbehave, one a host: commands of all kinds, one or many, into memory
 * that they change meanwhile; rings that mean anything; they reset their controller, go and come again in the
 * middle.
 */
#include "tenants_nvme.h"

#include <nvme/types.h>
#include <string.h>

enum {
	ARENA = 160 * 1024,		/* more than the data of one command */
	BURST = 4,			/* commands of one of the input */
};

static struct disk_app apps[ENV_HOSTS];

bool disk_tenant_broken(const struct nvme_app *at)
{
	for (int i = 0; i < ENV_HOSTS; i++) {
		if (apps[i].at != at)
			continue;
		disk_detach(&apps[i]);
		return true;
	}
	return false;
}

static void attach(struct disk_app *d)
{
	disk_attach(d, (unsigned int)(d - apps), DISK_BAD, ARENA);
}

static void detach(struct disk_app *d)
{
	disk_detach(d);
	app_drop(&d->app);
}

void disk_tenants_open(void)
{
	for (int i = 0; i < ENV_HOSTS; i++)
		attach(&apps[i]);
	disk_host_open();
}

void disk_tenants_close(void)
{
	disk_host_close();
	for (int i = 0; i < ENV_HOSTS; i++)
		detach(&apps[i]);
}

static void submit(struct disk_app *d)
{
	static const uint8_t io[] = { nvme_cmd_read, nvme_cmd_write, nvme_cmd_flush, nvme_cmd_compare,
				      nvme_cmd_write_zeroes, nvme_cmd_dsm, nvme_cmd_verify, 0x55 };
	static const uint8_t admin[] = { nvme_admin_identify, nvme_admin_get_log_page, nvme_admin_abort_cmd,
					 nvme_admin_set_features, nvme_admin_get_features,
					 nvme_admin_async_event, nvme_admin_get_lba_status, 0x55 };
	uint64_t how = number(1), n = number(1) * BURST;
	struct falcon_nvme_sqe sqe = { .qid = how & 8 ? 0 : 1 + (uint32_t)(how >> 4 & 1), .nsid = 1 };
	struct app *a = &d->app;

	sqe.opcode = sqe.qid ? io[how & 7] : admin[how & 7];
	sqe.cid = (uint16_t)number(1);
	sqe.prp1 = number(1) * DISK_BLOCK;
	sqe.cdw10 = (uint32_t)number(2);
	sqe.cdw12 = (uint32_t)number(1);
	sqe.cdw11 = (uint32_t)number(1);
	sqe.cdw12 |= (uint32_t)number(1) << 24;
	sqe.cdw13 = (uint32_t)number(1);
	if (how & 0x20)
		sqe.nsid = number(1) & 1 ? UINT32_MAX : (uint32_t)number(1);
	if (how & 0x40)
		sqe.prp1 += number(8);
	for (; n; n--, sqe.cid++)
		memcpy(&a->sqes[a->rings->sq.tail++ % FALCON_SQ_ENTRIES], &sqe, sizeof(sqe));
}

static void reset(struct disk_app *d)
{
	if (!d->at)
		return;
	meter_turn("the reset of a controller", true);
	nvme_ctrl_reset((struct nvme_dev *)nvme_app_dev(d->at));
	meter_turn("the reset of a controller", false);
}

void disk_tenant_act(unsigned int which)
{
	struct disk_app *d = &apps[which];

	switch (number(1) % 8) {
	case 0:
	case 1:
	case 2: submit(d); break;
	case 3: shared_scribble(&d->app); break;
	case 4: shared_index(&d->app); break;
	case 5: shared_drain(&d->app); break;
	case 6: reset(d); break;
	case 7:
		detach(d);
		attach(d);
		break;
	}
}
