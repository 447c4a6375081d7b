# SPDX-License-Identifier: BSD-2-Clause
# Verbs applications of our own. chaos and writes know nothing of Falcon but where they ask for offload memory.
APPS_BINS := $(B)/selftests/apps/chaos $(B)/selftests/apps/writes

$(APPS_BINS): $(B)/selftests/apps/%: $(B)/obj/selftests/apps/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< -libverbs

TESTS += $(APPS_BINS)
