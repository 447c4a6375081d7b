# SPDX-License-Identifier: BSD-2-Clause
# A verbs application of our own, which knows nothing of Falcon; chaos.t.sh runs it.
$(B)/selftests/apps/chaos: $(B)/obj/selftests/apps/chaos.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< -libverbs

TESTS += $(B)/selftests/apps/chaos
