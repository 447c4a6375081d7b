# SPDX-License-Identifier: BSD-2-Clause
# What disturbs the machine while shake.sh runs tests.
TESTS += $(B)/selftests/shake/disturb

$(B)/selftests/shake/disturb: $(B)/obj/selftests/shake/disturb.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $<
