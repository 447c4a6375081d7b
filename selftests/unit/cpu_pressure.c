// SPDX-License-Identifier: BSD-2-Clause
/* Whether the agent gets the CPU that it wants, from what the kernel says of its thread. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <agent/shard/cpu_pressure.h>

static char path[UNIT_PATH];
static struct cpu_pressure pressure;
static uint64_t now;

/* The thread has waited for |ns| in all. */
static void waited(uint64_t ns)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "123456789 %llu 42\n", (unsigned long long)ns);
	fclose(f);
}

/* The next look, which finds that of the time since the latest |percent| went by waiting. */
static bool look(unsigned int percent)
{
	static uint64_t sum = 1000000;

	sum += CPU_PRESSURE_LOOK_NS * percent / 100;
	now += CPU_PRESSURE_LOOK_NS;
	waited(sum);
	return cpu_pressure_look(&pressure, now);
}

static void it_is_seen_and_held(void **state)
{
	(void)state;
	assert_false(look(0));
	assert_false(look(CPU_PRESSURE_PERCENT - 1));
	assert_true(look(CPU_PRESSURE_PERCENT));
	for (uint64_t t = CPU_PRESSURE_LOOK_NS; t < CPU_PRESSURE_HOLD_NS; t += CPU_PRESSURE_LOOK_NS)
		assert_true(look(0));
	assert_false(look(0));
	assert_true(look(100));
}

static void between_looks_nothing_changes(void **state)
{
	(void)state;
	now += CPU_PRESSURE_HOLD_NS;
	assert_false(look(0));
	waited(1ULL << 40);
	assert_false(cpu_pressure_look(&pressure, now + CPU_PRESSURE_LOOK_NS - 1));
	assert_true(cpu_pressure_look(&pressure, now + CPU_PRESSURE_LOOK_NS));
}

static void without_the_file_it_never_is(void **state)
{
	struct cpu_pressure none;

	(void)state;
	cpu_pressure_open(&none, "/nowhere/schedstat", 0);
	assert_false(cpu_pressure_look(&none, 1ULL << 40));
	cpu_pressure_close(&none);
	/* Nor with one that says nothing. */
	cpu_pressure_open(&none, "/dev/null", 0);
	assert_false(cpu_pressure_look(&none, 1ULL << 40));
	cpu_pressure_close(&none);
}

static int open_it(void **state)
{
	int fd = mkstemp(unit_template(path, "pressure"));

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	waited(1000000);
	now = 1ULL << 32;
	cpu_pressure_open(&pressure, path, now);
	return 0;
}

static int close_it(void **state)
{
	(void)state;
	cpu_pressure_close(&pressure);
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_seen_and_held),
		cmocka_unit_test(between_looks_nothing_changes),
		cmocka_unit_test(without_the_file_it_never_is),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, open_it, close_it);
}
