# SPDX-License-Identifier: BSD-2-Clause
# Parts of the simulator on their own.

SIM_UNIT := $(B)/selftests/unit/sim_event.t

$(B)/selftests/unit/sim_event.t: $(B)/asan/selftests/unit/sim_event.o $(B)/asan/tools/sim/event.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka

TESTS += $(SIM_UNIT)
