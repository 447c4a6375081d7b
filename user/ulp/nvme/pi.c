// SPDX-License-Identifier: BSD-2-Clause
#include "ulp/nvme/pi.h"

#include <isa-l/crc.h>
#include <nvme/types.h>
#include <stdbool.h>
#include <string.h>

static const uint8_t *block(const struct nvme_pi_range *r, uint32_t i)
{
	return r->data + ((size_t)i << r->shift);
}

static uint16_t guard(const struct nvme_pi_range *r, uint32_t i)
{
	return crc16_t10dif(0, block(r, i), 1ULL << r->shift);
}

void nvme_pi_insert(const struct nvme_pi_range *r, struct nvme_pi *pi)
{
	for (uint32_t i = 0; i < r->blocks; i++)
		pi[i] = (struct nvme_pi){ .guard = falcon_hton16(guard(r, i)),
					  .apptag = falcon_hton16(r->apptag),
					  .reftag = falcon_hton32(r->reftag + i) };
}

static bool zeros(const uint8_t *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

static uint16_t verify_one(const struct nvme_pi_range *r, uint32_t i, const struct nvme_pi *pi)
{
	static const struct nvme_pi unwritten;

	if (!memcmp(pi, &unwritten, sizeof(*pi)))
		return !(r->prinfo & NVME_PRINFO_GUARD) || zeros(block(r, i), 1ULL << r->shift) ?
		       0 : NVME_SC_GUARD_CHECK;
	if (falcon_ntoh16(pi->apptag) == UINT16_MAX)
		return 0;
	if (r->prinfo & NVME_PRINFO_GUARD && falcon_ntoh16(pi->guard) != guard(r, i))
		return NVME_SC_GUARD_CHECK;
	if (r->prinfo & NVME_PRINFO_APPTAG &&
	    (falcon_ntoh16(pi->apptag) ^ r->apptag) & r->apptag_mask)
		return NVME_SC_APPTAG_CHECK;
	if (r->prinfo & NVME_PRINFO_REFTAG && falcon_ntoh32(pi->reftag) != r->reftag + i)
		return NVME_SC_REFTAG_CHECK;
	return 0;
}

uint16_t nvme_pi_verify(const struct nvme_pi_range *r, const struct nvme_pi *pi)
{
	for (uint32_t i = 0; i < r->blocks; i++) {
		uint16_t sc = verify_one(r, i, &pi[i]);

		if (sc)
			return (uint16_t)(NVME_SCT_MEDIA << 8 | (sc & 0xff));
	}
	return 0;
}
