# SPDX-License-Identifier: BSD-2-Clause
# Tests of the protocol core: every core_NAME.c here is a program.

CORE_TESTS := $(patsubst selftests/unit/%.c,%,$(wildcard selftests/unit/core_*.c))
CORE_BINS := $(CORE_TESTS:%=$(B)/selftests/unit/%.t)

$(CORE_BINS): $(B)/selftests/unit/%.t: $(B)/asan/selftests/unit/%.o $(B)/asan/libfcore.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka

TESTS += $(CORE_BINS)
