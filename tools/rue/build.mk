# SPDX-License-Identifier: BSD-2-Clause
FALCON_RUE_SRC := $(wildcard tools/rue/*.c user/rue/*.c) user/base/cli.c
PROGRAMS += $(B)/falcon-rue
TESTS += $(B)/asan/falcon-rue

$(B)/falcon-rue: $(FALCON_RUE_SRC:%.c=$(B)/obj/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson -lsystemd -lm

$(B)/asan/falcon-rue: $(FALCON_RUE_SRC:%.c=$(B)/asan/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) $(LDFLAGS) -o $@ $^ -ljansson -lsystemd -lm
