// SPDX-License-Identifier: BSD-2-Clause
/* NVMe devices of the agent: falcon.h's rings with NVMe's entries in them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "falcon/nvme_api.h"
#include "lib/lib.h"

enum { METADATA = 8 };		/* bytes of protection information of a block */

int falcon_nvme_open(const struct falcon_attr *attr, const char *device, struct falcon **out)
{
	json_t *answer = NULL;
	int rc = lib_open(attr, json_pack("{s:s, s:s}", "op", "nvme-attach", "name", device), false,
			  &answer, out);

	json_decref(answer);
	return rc;
}

int falcon_nvme_info(struct falcon *f, const char *device, struct falcon_nvme_info *info)
{
	json_t *answer = NULL;
	json_int_t bytes = 0;
	int block = 0, nsid = 0, protection = 0, rc;

	rc = lib_call(f, json_pack("{s:s, s:s}", "op", "nvme-device", "name", device), &answer);
	if (rc)
		return rc;
	memset(info, 0, sizeof(*info));
	if (json_unpack(answer, "{s:b, s:b, s:I, s:i, s:i, s:i}", "ready", &info->ready, "read_only",
			&info->read_only, "bytes", &bytes, "block_size", &block, "nsid", &nsid,
			"protection", &protection))
		rc = lib_fail(f, -EPROTO, "the agent's answer on a device is incomplete");
	info->bytes = (uint64_t)bytes;
	info->block_size = (uint32_t)block;
	info->nsid = (uint32_t)nsid;
	info->protection = (uint32_t)protection;
	info->metadata = protection ? METADATA : 0;
	if (!rc && !info->ready)
		rc = lib_fail(f, json_is_true(json_object_get(answer, "refused")) ? -ENXIO : 0, "%s",
			      json_string_value(json_object_get(answer, "reason")));
	json_decref(answer);
	return rc;
}

int falcon_nvme_reset(struct falcon *f, const char *device)
{
	return lib_call(f, json_pack("{s:s, s:s}", "op", "nvme-reset", "name", device), NULL);
}

int falcon_nvme_submit(struct falcon *f, const struct falcon_nvme_sqe *sqe)
{
	return lib_submit(f, 0, sqe);
}

int falcon_nvme_poll(struct falcon *f, struct falcon_nvme_cqe *cqes, int n)
{
	struct falcon_cqe slot;
	int got = 0, rc = 0;

	while (got < n && (rc = falcon_poll(f, &slot, 1)) == 1)
		memcpy(&cqes[got++], &slot, sizeof(cqes[0]));
	return got ? got : rc;
}
