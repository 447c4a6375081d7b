// SPDX-License-Identifier: BSD-2-Clause
/* Random packets of a malicious peer; selftests/fuzz/fuzz_rdma.c looks further. */
#include "rdma_hostile.h"

static void random_packets(void **state)
{
	uint64_t random = 99;
	uint8_t data[600];

	(void)state;
	for (int run = 0; run < 150; run++) {
		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = (uint8_t)(unit_random(&random) >> 11);
		hostile_run(data, sizeof(data));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_packets),
	};

	return unit_run(tests);
}
