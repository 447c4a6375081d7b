// SPDX-License-Identifier: BSD-2-Clause
/* A malicious peer of a queue pair: its packets and responses, as rdma_hostile.h plays them. */
#include "../unit/rdma_hostile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 2000)
		return -1;
	hostile_run(data, size);
	return 0;
}
