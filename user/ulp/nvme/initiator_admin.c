// SPDX-License-Identifier: BSD-2-Clause
/*
 * Admin commands that the virtual controller answers by itself: Identify, Get Log Page, Get and Set Features,
 * Asynchronous Event Request.
 */
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

enum {
	SMART_UNIT = 512 * 1000,	/* bytes of a data unit of the SMART log */
	EVENTS_OF_ALL = 1 << 8,		/* Asynchronous Event Configuration: Namespace Attribute Notices */
	QUEUES = 0xfffe,		/* of each kind, less one: any number is a queue (nvme_api.h) */
};

static uint64_t log_bytes(const struct falcon_nvme_sqe *sqe)
{
	return ((le32toh(sqe->cdw10) >> 16 | (uint64_t)(le32toh(sqe->cdw11) & 0xffff) << 16) + 1) * 4;
}

uint64_t nvme_admin_bytes(const struct falcon_nvme_sqe *sqe)
{
	switch (sqe->opcode) {
	case nvme_admin_identify: return IDENTIFY_BYTES;
	case nvme_admin_get_lba_status: return (le32toh(sqe->cdw12) + 1ULL) * 4;
	case nvme_admin_get_log_page: return log_bytes(sqe);
	default: return 0;
	}
}

static void put_sum(uint8_t *field, uint64_t v)
{
	v = htole64(v);
	memcpy(field, &v, sizeof(v));
}

/* Of one namespace, or, for NSID 0 and all ones, of the controller. */
static void fill_smart(const struct nvme_dev *dev, bool all, struct nvme_smart_log *log)
{
	uint64_t reads = 0, writes = 0, read = 0, written = 0, damaged = 0;
	const struct nvme_dev *d;

	TAILQ_FOREACH(d, &dev->in->devs, link) {
		if (d != dev && (!all || !nvme_dev_visible(d) || !nvme_ctrl_same(d, dev)))
			continue;
		reads += d->info.reads;
		writes += d->info.writes;
		read += d->info.read_bytes;
		written += d->info.written_bytes;
		damaged += d->info.damaged;
	}
	log->avail_spare = 100;
	put_sum(log->data_units_read, (read + SMART_UNIT - 1) / SMART_UNIT);
	put_sum(log->data_units_written, (written + SMART_UNIT - 1) / SMART_UNIT);
	put_sum(log->host_reads, reads);
	put_sum(log->host_writes, writes);
	put_sum(log->media_errors, damaged);
}

/* Namespaces that have changed since this was last asked for, unless that is only a look (RAE). */
static void fill_changed(struct nvme_dev *dev, bool look, struct nvme_ns_list *log)
{
	uint32_t nsid = 0, n = 0;

	while ((nsid = nvme_ctrl_next(dev, nsid))) {
		struct nvme_dev *d = nvme_ctrl_ns(dev, nsid);

		if (!d->changed)
			continue;
		d->changed = look;
		log->ns[n++] = htole32(nsid);
	}
}

static uint16_t get_log(struct nvme_icmd *icmd)
{
	union {
		uint8_t bytes[4096];
		struct nvme_smart_log smart;
		struct nvme_firmware_slot firmware;
		struct nvme_ns_list changed;
	} log = {};
	const struct falcon_nvme_sqe *sqe = &icmd->sqe;
	uint64_t bytes = log_bytes(sqe), from = (uint64_t)le32toh(sqe->cdw13) << 32 | le32toh(sqe->cdw12);
	uint32_t nsid = le32toh(sqe->nsid);
	bool all = !nsid || nsid == UINT32_MAX;

	if (bytes > FALCON_NVME_MDTS || from % 4 || from > sizeof(log))
		return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	if (!all && nsid != icmd->dev->attr.nsid)
		return NVME_SC_INVALID_NS | NVME_SC_DNR;
	switch (le32toh(sqe->cdw10) & 0xff) {
	case NVME_LOG_LID_ERROR:
		break;
	case NVME_LOG_LID_SMART:
		fill_smart(icmd->dev, all, &log.smart);
		break;
	case NVME_LOG_LID_FW_SLOT:
		log.firmware.afi = 1;
		memcpy(log.firmware.frs[0], "1       ", sizeof(log.firmware.frs[0]));
		break;
	case NVME_LOG_LID_CHANGED_NS:
		fill_changed(icmd->dev, le32toh(sqe->cdw10) >> 15 & 1, &log.changed);
		break;
	default:
		return NVME_SCT_CMD_SPECIFIC << 8 | (NVME_SC_INVALID_LOG_PAGE & 0xff) | NVME_SC_DNR;
	}
	memset(icmd->data, 0, bytes);
	memcpy(icmd->data, log.bytes + from, bytes < sizeof(log) - from ? bytes : sizeof(log) - from);
	return 0;
}

/* What is as it is, whatever the host sets. */
static uint16_t feature(const struct nvme_icmd *icmd, uint32_t *result)
{
	bool set = icmd->sqe.opcode == nvme_admin_set_features;

	switch (le32toh(icmd->sqe.cdw10) & 0xff) {
	case NVME_FEAT_FID_VOLATILE_WC: *result = 1; break;
	case NVME_FEAT_FID_NUM_QUEUES:
		*result = (uint32_t)QUEUES << 16 | QUEUES;
		return 0;
	case NVME_FEAT_FID_ASYNC_EVENT: *result = EVENTS_OF_ALL; break;
	default: return NVME_SC_INVALID_FIELD | NVME_SC_DNR;
	}
	if (!set)
		return 0;
	if (le32toh(icmd->sqe.cdw11) == *result) {
		*result = 0;
		return 0;
	}
	return NVME_SCT_CMD_SPECIFIC << 8 | (NVME_SC_FEATURE_NOT_CHANGEABLE & 0xff) | NVME_SC_DNR;
}

static void tell(struct nvme_icmd *icmd)
{
	nvme_icmd_end(icmd, 0, NVME_AER_NOTICE | NVME_AER_NOTICE_NS_CHANGED << 8 |
			       NVME_LOG_LID_CHANGED_NS << 16);
}

/* Until there is something to tell. */
static void hold(struct nvme_icmd *icmd)
{
	struct nvme_dev *dev = icmd->dev;

	if (dev->untold) {
		dev->untold = false;
		return tell(icmd);
	}
	TAILQ_REMOVE(&dev->waiting, icmd, link);
	TAILQ_INSERT_TAIL(&dev->events, icmd, link);
	icmd->event = true;
}

/* Several applications may be attached to the controller: each that waits is told. */
void nvme_dev_changed(struct nvme_dev *dev)
{
	struct nvme_icmds events;
	struct nvme_icmd *icmd;
	struct nvme_dev *d;

	dev->changed = true;
	TAILQ_FOREACH(d, &dev->in->devs, link) {
		if (!nvme_dev_visible(d) || !nvme_ctrl_same(d, dev))
			continue;
		d->untold = TAILQ_EMPTY(&d->events);
		/* Those that come meanwhile are for what comes next. */
		TAILQ_INIT(&events);
		TAILQ_CONCAT(&events, &d->events, link);
		while ((icmd = TAILQ_FIRST(&events))) {
			TAILQ_REMOVE(&events, icmd, link);
			TAILQ_INSERT_TAIL(&d->events, icmd, link);
			tell(icmd);
		}
	}
}

void nvme_dev_admin(struct nvme_icmd *icmd)
{
	uint32_t result = 0;
	uint16_t status;

	if (icmd->sqe.opcode == nvme_admin_async_event)
		return hold(icmd);
	switch (icmd->sqe.opcode) {
	case nvme_admin_identify:
		status = icmd->dev->info.ready ? nvme_dev_identify(icmd) : NVME_SC_NS_NOT_READY;
		break;
	case nvme_admin_get_log_page: status = get_log(icmd); break;
	case nvme_admin_set_features:
	case nvme_admin_get_features: status = feature(icmd, &result); break;
	default: status = NVME_SC_INVALID_OPCODE | NVME_SC_DNR; break;
	}
	nvme_icmd_end(icmd, status, result);
}
