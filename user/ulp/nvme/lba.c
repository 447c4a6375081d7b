// SPDX-License-Identifier: BSD-2-Clause
#include "ulp/nvme/lba.h"

/* log2 of the blocks that are striped together: chunk_start of the pseudocode. */
static unsigned int chunk_start(const struct nvme_nsid_row *ns)
{
	return ns->chunk_shift + ns->group_shift + NVME_CHUNK_UNIT_SHIFT - ns->block_shift;
}

/* log2 of the blocks of a stripe. */
static unsigned int stripe_start(const struct nvme_nsid_row *ns)
{
	return ns->stripe_shift + NVME_STRIPE_UNIT_SHIFT - ns->block_shift;
}

/* Of the stripes in its chunks, the one that |lba| is in. */
static uint64_t stripe_num(const struct nvme_nsid_row *ns, uint64_t lba)
{
	uint64_t stripes = 1ULL << (chunk_start(ns) - stripe_start(ns));

	return (lba >> stripe_start(ns)) & (stripes - 1);
}

bool nvme_nsid_row_valid(const struct nvme_nsid_row *ns)
{
	return ns->block_shift >= 9 && ns->block_shift <= 12 &&
	       ns->chunk_shift + ns->group_shift + NVME_CHUNK_UNIT_SHIFT < 64 &&
	       ns->stripe_shift + NVME_STRIPE_UNIT_SHIFT <=
		       ns->chunk_shift + NVME_CHUNK_UNIT_SHIFT;
}

uint64_t nvme_lba_rows(const struct nvme_nsid_row *ns)
{
	if (!ns->blocks)
		return 0;
	return (((ns->blocks - 1) >> chunk_start(ns)) + 1) << ns->group_shift;
}

uint64_t nvme_lba_index(const struct nvme_nsid_row *ns, uint64_t lba)
{
	uint64_t chunk_num = lba >> chunk_start(ns);

	return ns->start + ((chunk_num << ns->group_shift) |
			    (stripe_num(ns, lba) & ((1ULL << ns->group_shift) - 1)));
}

uint64_t nvme_lba_run(const struct nvme_nsid_row *ns, uint64_t lba)
{
	uint64_t stripe = 1ULL << stripe_start(ns);

	return stripe - (lba & (stripe - 1));
}

bool nvme_lba_translate(const struct nvme_nsid_row *ns, const struct nvme_map_row *rows,
			uint64_t nrows, uint64_t lba, struct nvme_place *out)
{
	uint64_t index = nvme_lba_index(ns, lba);
	uint64_t offset_in_stripe = lba & ((1ULL << stripe_start(ns)) - 1);

	if (index >= nrows || !rows[index].valid)
		return false;
	out->row = &rows[index];
	out->lba = ((uint64_t)rows[index].chunk << (chunk_start(ns) - ns->group_shift)) |
		   ((stripe_num(ns, lba) >> ns->group_shift) << stripe_start(ns)) |
		   offset_in_stripe;
	return true;
}
