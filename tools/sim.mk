# SPDX-License-Identifier: BSD-2-Clause
# The simulator, and its sanitizer build for the tests.

SIM_SRC := $(wildcard tools/sim/*.c) user/io/frame.c
PROGRAMS += $(B)/falcon-sim
TESTS += $(B)/asan/falcon-sim

$(B)/falcon-sim: $(SIM_SRC:%.c=$(B)/obj/%.o) $(B)/libfcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson -linih

$(B)/asan/falcon-sim: $(SIM_SRC:%.c=$(B)/asan/%.o) $(B)/asan/libfcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(ASAN) -o $@ $^ -ljansson -linih
