# SPDX-License-Identifier: BSD-2-Clause
# Tests of RIFL: every rifl_NAME.c here is a program.

RIFL_TESTS := $(patsubst selftests/unit/%.c,%,$(wildcard selftests/unit/rifl_*.c))
RIFL_BINS := $(RIFL_TESTS:%=$(B)/selftests/unit/%.t)

$(RIFL_BINS): $(B)/selftests/unit/%.t: $(B)/asan/selftests/unit/%.o $(B)/asan/librifl.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka

TESTS += $(RIFL_BINS)
