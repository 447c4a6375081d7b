# SPDX-License-Identifier: BSD-2-Clause
# falcon-rifl, its sanitizer build for the tests, and the paper's tables and figures.

RIFL_TOOL_SRC := $(filter-out tools/rifl/hop.c,$(wildcard tools/rifl/*.c)) user/base/cli.c
PROGRAMS += $(B)/falcon-rifl
TESTS += $(B)/asan/falcon-rifl

$(B)/falcon-rifl: $(RIFL_TOOL_SRC:%.c=$(B)/obj/%.o) $(B)/librifl.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(B)/asan/falcon-rifl: $(RIFL_TOOL_SRC:%.c=$(B)/asan/%.o) $(B)/asan/librifl.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lm

RIFL_FIGURES := $(foreach k,table-2 table-3 table-5 figure-8 figure-9,$(B)/figures/rifl-$(k).png)

figures: $(RIFL_FIGURES)

# Of figure 9 a million slots at each ratio.
$(RIFL_FIGURES): $(B)/figures/rifl-%.png: $(B)/falcon-rifl
	$(call say,PLOT,$@)
	@mkdir -p $(@D)
	$(Q)$< --$(subst -, ,$*) --slots 1000000 --plot $@ >$(@:.png=.csv)
