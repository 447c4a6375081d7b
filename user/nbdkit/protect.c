// SPDX-License-Identifier: BSD-2-Clause
#include "nbdkit/protect.h"

#include <endian.h>
#include <nvme/types.h>
#include <string.h>

static struct nvme_pi_tags tags(const struct protect *p, uint64_t lba)
{
	bool counts = p->type != 3;

	return (struct nvme_pi_tags){
		.type = p->type, .reftag = counts ? (uint32_t)lba : 0,
		.prinfo = NVME_PRINFO_GUARD | (counts ? NVME_PRINFO_REFTAG : 0),
	};
}

static bool moves_data(const struct falcon_nvme_sqe *sqe)
{
	return sqe->opcode == nvme_cmd_read || sqe->opcode == nvme_cmd_write;
}

void protect_command(const struct protect *p, struct falcon_nvme_sqe *sqe)
{
	const struct nvme_pi_tags t = tags(p, le32toh(sqe->cdw10));
	uint32_t prinfo = t.prinfo | (p->own ? 0 : NVME_PRINFO_ACT);

	if (!p->type || !moves_data(sqe))
		return;
	sqe->cdw12 |= htole32(prinfo << 26);
	sqe->cdw14 = htole32(t.reftag);
}

bool protect_has_metadata(const struct protect *p, const struct falcon_nvme_sqe *sqe)
{
	return p->type && p->own && moves_data(sqe);
}

static uint16_t crc(const struct protect *p, const uint8_t *data, uint64_t i)
{
	return nvme_pi_crc(0, data + (i << p->shift), (size_t)1 << p->shift);
}

void protect_make(const struct protect *p, uint64_t lba, const uint8_t *data, uint64_t len,
		  struct nvme_pi *md)
{
	const struct nvme_pi_tags t = tags(p, lba);

	for (uint32_t i = 0; i < len >> p->shift; i++)
		md[i] = nvme_pi_make(&t, i, crc(p, data, i));
}

bool protect_check(const struct protect *p, uint64_t lba, const uint8_t *data, uint64_t len,
		   const struct nvme_pi *md)
{
	const struct nvme_pi_tags t = tags(p, lba);

	for (uint32_t i = 0; i < len >> p->shift; i++)
		if (nvme_pi_check(&t, i, crc(p, data, i), &md[i]))
			return false;
	return true;
}
