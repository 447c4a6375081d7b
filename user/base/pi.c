// SPDX-License-Identifier: BSD-2-Clause
#include "base/pi.h"

#include <isa-l/crc.h>
#include <nvme/types.h>
#include <string.h>

uint16_t nvme_pi_crc(uint16_t crc, const void *data, size_t len)
{
	return crc16_t10dif(crc, data, len);
}

uint16_t nvme_pi_move(uint16_t crc, size_t len)
{
	static const uint8_t zeros[4096];

	for (size_t n; crc && len; len -= n) {
		n = len < sizeof(zeros) ? len : sizeof(zeros);
		crc = crc16_t10dif(crc, zeros, n);
	}
	return crc;
}

static uint32_t reftag(const struct nvme_pi_tags *t, uint32_t i)
{
	return t->type == 3 ? t->reftag : t->reftag + i;
}

static uint16_t apptag(const struct nvme_pi_tags *t, uint32_t i)
{
	return t->apptag_counts ? (uint16_t)(t->apptag + i) : t->apptag;
}

struct nvme_pi nvme_pi_make(const struct nvme_pi_tags *t, uint32_t i, uint16_t crc)
{
	return (struct nvme_pi){ .guard = falcon_hton16(crc), .apptag = falcon_hton16(apptag(t, i)),
				 .reftag = falcon_hton32(reftag(t, i)) };
}

/* Whether |pi| says that its block is not to be checked. */
static bool exempt(const struct nvme_pi_tags *t, uint32_t i, const struct nvme_pi *pi)
{
	if (falcon_ntoh16(pi->apptag) != UINT16_MAX)
		return false;
	if (t->type == 3)
		return falcon_ntoh32(pi->reftag) == UINT32_MAX;
	return !(t->apptag_counts && t->prinfo & NVME_PRINFO_APPTAG &&
		 t->apptag_mask == UINT16_MAX && apptag(t, i) == UINT16_MAX);
}

static uint16_t media(uint16_t sc)
{
	return (uint16_t)(NVME_SCT_MEDIA << 8 | (sc & 0xff));
}

uint16_t nvme_pi_check(const struct nvme_pi_tags *t, uint32_t i, uint16_t crc,
		       const struct nvme_pi *pi)
{
	if (exempt(t, i, pi))
		return 0;
	if (t->prinfo & NVME_PRINFO_GUARD && falcon_ntoh16(pi->guard) != crc)
		return media(NVME_SC_GUARD_CHECK);
	if (t->prinfo & NVME_PRINFO_APPTAG &&
	    (falcon_ntoh16(pi->apptag) ^ apptag(t, i)) & t->apptag_mask)
		return media(NVME_SC_APPTAG_CHECK);
	if (t->prinfo & NVME_PRINFO_REFTAG && t->type != 3 &&
	    falcon_ntoh32(pi->reftag) != reftag(t, i))
		return media(NVME_SC_REFTAG_CHECK);
	return 0;
}

uint16_t nvme_pi_suits(const struct nvme_pi_tags *t, uint64_t lba, bool tagged)
{
	bool bad = (t->type == 3 && t->prinfo & NVME_PRINFO_REFTAG) ||
		   (t->type == 1 && tagged && t->reftag != (uint32_t)lba);

	return bad ? NVME_SCT_CMD_SPECIFIC << 8 | NVME_SC_INVALID_PI | NVME_SC_DNR : 0;
}

bool nvme_pi_damaged(uint16_t status)
{
	unsigned int sc = status & 0xff;

	return (status >> 8 & 7) == NVME_SCT_MEDIA && sc >= (NVME_SC_GUARD_CHECK & 0xff) &&
	       sc <= (NVME_SC_REFTAG_CHECK & 0xff);
}

bool nvme_md_unwritten(const struct nvme_md *md)
{
	static const uint8_t ones[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	_Static_assert(sizeof(ones) == sizeof(*md), "all of it");
	return !memcmp(md, ones, sizeof(ones));
}

void nvme_md_protect(const struct nvme_pi_tags *t, uint32_t i, uint16_t crc, struct nvme_md *md)
{
	md->outer = nvme_pi_make(t, i, nvme_pi_crc(crc, &md->inner, sizeof(md->inner)));
}

uint16_t nvme_md_check(const struct nvme_pi_tags *t, uint32_t i, uint16_t crc,
		       const struct nvme_md *md)
{
	/* The CRC of zeros, and of hardly anything else, is 0. */
	if (nvme_md_unwritten(md))
		return t->prinfo & NVME_PRINFO_GUARD && crc ? media(NVME_SC_GUARD_CHECK) : 0;
	return nvme_pi_check(t, i, nvme_pi_crc(crc, &md->inner, sizeof(md->inner)), &md->outer);
}

void nvme_md_interleave(uint8_t *data, uint32_t blocks, unsigned int shift,
			const struct nvme_md *md)
{
	size_t size = (size_t)1 << shift, stride = size + sizeof(*md);

	for (uint32_t i = blocks; i-- > 0;) {
		memmove(data + i * stride, data + i * size, size);
		memcpy(data + i * stride + size, &md[i], sizeof(*md));
	}
}
