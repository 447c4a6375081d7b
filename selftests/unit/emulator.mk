# SPDX-License-Identifier: BSD-2-Clause
# Tests of falcon-wire's model, in virtual time.

EMULATOR_BINS := $(addprefix $(B)/selftests/unit/emulator_,link.t chance.t paths.t settings.t rifl.t)
EMULATOR_TESTED := $(patsubst %.c,$(B)/asan/%.o,$(filter-out %/main.c %/loop.c %/options.c \
	%/client.c %/control.c tools/common/app.c,$(WIRE_SRC)))

$(EMULATOR_BINS): $(B)/selftests/unit/%.t: $(B)/asan/selftests/unit/%.o $(EMULATOR_TESTED) \
	$(B)/asan/librifl.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka $(WIRE_LIBS)

TESTS += $(EMULATOR_BINS)
