# SPDX-License-Identifier: BSD-2-Clause
# falcon-rifl, and its sanitizer build for the tests.

RIFL_TOOL_SRC := $(filter-out tools/rifl/hop.c,$(wildcard tools/rifl/*.c))
PROGRAMS += $(B)/falcon-rifl
TESTS += $(B)/asan/falcon-rifl

$(B)/falcon-rifl: $(RIFL_TOOL_SRC:%.c=$(B)/obj/%.o) $(B)/librifl.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(B)/asan/falcon-rifl: $(RIFL_TOOL_SRC:%.c=$(B)/asan/%.o) $(B)/asan/librifl.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(ASAN) -o $@ $^ -lm
