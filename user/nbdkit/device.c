// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <nvme/types.h>
#include <stdlib.h>
#include <string.h>

#include "nbdkit/device_priv.h"

enum {
	WINDOW = 16,		/* commands of one call at a time */
	DSM_AD = 4,		/* attribute Deallocate */
	DEAC = 1 << 25,		/* of Write Zeroes: may deallocate */
	ATYPE_ALLOCATED = 2,	/* Get LBA Status: blocks that take up room */
	LIST = 4096,		/* bytes of its list */
	LISTS = 16,		/* asked for in one call */
};
#define RANGE_BLOCKS (1U << 30)		/* of a trim in one command */

uint64_t device_bytes(const struct device *d)
{
	return d->info.bytes;
}

uint32_t device_block(const struct device *d)
{
	return d->info.block_size;
}

bool device_read_only(const struct device *d)
{
	return d->info.read_only;
}

struct transfer {
	uint8_t opcode;
	bool fua, deallocate;
	uint64_t max;		/* bytes of a command */
	uint8_t *in;		/* read: where to */
	const uint8_t *out;	/* write: where from */
};

/* One command of |t| for |len| bytes at |offset|; |at|: bytes into the call's buffer. */
static int start(struct device *d, const struct transfer *t, struct slot *s, uint64_t at,
		 uint64_t len, uint64_t offset)
{
	uint64_t lba = offset >> d->block_shift;
	struct falcon_nvme_sqe sqe = {
		.opcode = t->opcode,
		.qid = htole32(1),
		.cdw10 = htole32((uint32_t)lba),
		.cdw11 = htole32((uint32_t)(lba >> 32)),
		.cdw12 = htole32((uint32_t)((len >> d->block_shift) - 1) |
				 (uint32_t)t->fua << 30 | (t->deallocate ? DEAC : 0)),
	};
	const struct nvme_dsm_range range = { .nlb = htole32((uint32_t)(len >> d->block_shift)),
					      .slba = htole64(lba) };

	if (t->out)
		memcpy(device_data(d, s), t->out + at, len);
	protect_command(&d->protect, &sqe);
	s->checked = protect_has_metadata(&d->protect, &sqe);
	if (s->checked)
		sqe.mptr = htole64(device_offset(d, device_metadata(d, s)));
	if (s->checked && t->out)
		protect_make(&d->protect, lba, t->out + at, len, device_metadata(d, s));
	if (t->opcode == nvme_cmd_dsm) {
		memcpy(device_data(d, s), &range, sizeof(range));
		sqe.cdw10 = sqe.cdw12 = 0;
		sqe.cdw11 = htole32(DSM_AD);
	}
	return device_submit(d, s, &sqe);
}

/* What |s| has read, to where it is wanted. An errno value if it is not what was written. */
static int take(struct device *d, const struct slot *s, uint8_t *to, uint64_t len, uint64_t offset)
{
	memcpy(to, device_data(d, s), len);
	return !s->checked || protect_check(&d->protect, offset >> d->block_shift, to, len,
					    device_metadata(d, s)) ? 0 : EIO;
}

/* |len| bytes at |offset|, in commands of at most |t->max|, several at a time. */
static int run_once(struct device *d, const struct transfer *t, uint64_t len, uint64_t offset)
{
	struct slot *window[WINDOW];
	uint64_t sizes[WINDOW], begun = 0, ended = 0;
	unsigned int head = 0, n = 0;
	int rc = 0, one;

	while (n || (begun < len && !rc)) {
		struct slot *s = NULL;

		if (begun < len && !rc && n < WINDOW)
			s = device_get_slot(d, n == 0);
		if (s) {
			unsigned int i = (head + n) % WINDOW;

			sizes[i] = len - begun < t->max ? len - begun : t->max;
			window[i] = s;
			rc = start(d, t, s, begun, sizes[i], offset + begun);
			begun += sizes[i];
			n++;
			continue;
		}
		if (!n)
			break;
		s = window[head];
		one = device_finish(d, s);
		if (!one && t->in && !rc)
			one = take(d, s, t->in + ended, sizes[head], offset + ended);
		device_put_slot(d, s);
		rc = rc ? rc : one;
		ended += sizes[head];
		head = (head + 1) % WINDOW;
		n--;
	}
	return rc ? rc : falcon_load(&d->dead);
}

/* The same, again from the beginning if the agent goes: reads, writes and trims may be repeated. */
static int run(struct device *d, const struct transfer *t, uint64_t len, uint64_t offset)
{
	int rc;

	if ((offset | len) & (d->info.block_size - 1))
		return EINVAL;
	do {
		rc = device_enter(d);
		if (rc)
			return rc;
		rc = run_once(d, t, len, offset);
	} while (device_leave(d) && rc);
	return rc;
}

int device_read(struct device *d, void *buf, uint64_t len, uint64_t offset)
{
	const struct transfer t = { .opcode = nvme_cmd_read, .max = FALCON_NVME_MDTS, .in = buf };

	return run(d, &t, len, offset);
}

int device_write(struct device *d, const void *buf, uint64_t len, uint64_t offset, bool fua)
{
	const struct transfer t = { .opcode = nvme_cmd_write, .max = FALCON_NVME_MDTS, .out = buf,
				    .fua = fua };

	return run(d, &t, len, offset);
}

int device_zero(struct device *d, uint64_t len, uint64_t offset, bool trim, bool fua)
{
	const struct transfer t = { .opcode = nvme_cmd_write_zeroes, .fua = fua, .deallocate = trim,
				    .max = (uint64_t)65536 << d->block_shift };

	return run(d, &t, len, offset);
}

int device_trim(struct device *d, uint64_t len, uint64_t offset, bool fua)
{
	const struct transfer t = { .opcode = nvme_cmd_dsm,
				    .max = (uint64_t)RANGE_BLOCKS << d->block_shift };
	int rc = run(d, &t, len, offset);

	return rc || !fua ? rc : device_flush(d);
}

static int run_one_once(struct device *d, struct falcon_nvme_sqe *sqe, void *out, size_t len)
{
	struct slot *s = device_get_slot(d, true);
	int rc, one;

	if (!s)
		return falcon_load(&d->dead);
	rc = device_submit(d, s, sqe);
	one = device_finish(d, s);
	rc = rc ? rc : one;
	if (!rc && len)
		memcpy(out, device_data(d, s), len);
	device_put_slot(d, s);
	return rc;
}

/* One command by itself; what it brings, at most |len| bytes, goes to |out|. */
static int run_one(struct device *d, struct falcon_nvme_sqe *sqe, void *out, size_t len)
{
	int rc;

	do {
		rc = device_enter(d);
		if (rc)
			return rc;
		rc = run_one_once(d, sqe, out, len);
	} while (device_leave(d) && rc);
	return rc;
}

int device_flush(struct device *d)
{
	struct falcon_nvme_sqe sqe = { .opcode = nvme_cmd_flush, .qid = htole32(1) };

	return run_one(d, &sqe, NULL, 0);
}

/* A list of blocks that are allocated, in order, from |lba| on; *|end|: how far it goes. */
static int get_list(struct device *d, uint64_t lba, uint64_t *end, struct nvme_lba_status *list)
{
	uint64_t n = *end - lba < UINT16_MAX ? *end - lba : UINT16_MAX;
	struct falcon_nvme_sqe sqe = {
		.opcode = nvme_admin_get_lba_status, .cdw10 = htole32((uint32_t)lba),
		.cdw11 = htole32((uint32_t)(lba >> 32)), .cdw12 = htole32(LIST / 4 - 1),
		.cdw13 = htole32((uint32_t)n | (uint32_t)ATYPE_ALLOCATED << 24),
	};
	uint32_t entries, room = (LIST - sizeof(*list)) / sizeof(list->descs[0]);
	int rc = run_one(d, &sqe, list, LIST);

	if (rc)
		return rc;
	entries = le32toh(list->nlsd) < room ? le32toh(list->nlsd) : room;
	list->nlsd = htole32(entries);
	*end = lba + n;
	/* It had room for no more. */
	if (list->cmpc == 1 && entries)
		*end = le64toh(list->descs[entries - 1].dslba) +
		       le32toh(list->descs[entries - 1].nlb);
	return 0;
}

int device_extents(struct device *d, uint64_t len, uint64_t offset,
		   int (*tell)(void *arg, uint64_t offset, uint64_t len, bool allocated), void *arg)
{
	unsigned int shift = d->block_shift;
	uint64_t at = offset >> shift, last = (offset + len - 1) >> shift, end;
	struct nvme_lba_status *list = malloc(LIST);
	int rc = list ? 0 : ENOMEM;

	for (int i = 0; i < LISTS && at <= last && !rc; i++) {
		end = last + 1;
		rc = get_list(d, at, &end, list);
		for (uint32_t k = 0; !rc && k < le32toh(list->nlsd); k++) {
			uint64_t from = le64toh(list->descs[k].dslba);
			uint32_t n = le32toh(list->descs[k].nlb);

			if (from > at)
				rc = tell(arg, at << shift, (from - at) << shift, false);
			if (!rc && n)
				rc = tell(arg, from << shift, (uint64_t)n << shift, true);
			at = from + n;
		}
		if (!rc && at < end)
			rc = tell(arg, at << shift, (end - at) << shift, false);
		at = end;
	}
	free(list);
	return rc;
}
