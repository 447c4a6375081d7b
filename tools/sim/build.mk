# SPDX-License-Identifier: BSD-2-Clause
# The simulator, and its sanitizer build for the tests. A host of an incast has more connections
# than a host's agent is built for, so the simulator has a core of its own, with room for them.

SIM_SRC := $(wildcard tools/sim/*.c user/core/*.c user/rue/*.c) user/base/cli.c user/io/frame.c tools/rifl/line.c tools/rifl/hop.c \
	user/agent/shard/call.c $(addprefix user/agent/conn/,rekey.c security.c) $(wildcard user/agent/keys/*.c)
SIM_OBJ := $(SIM_SRC:%.c=$(B)/sim/%.o)
PROGRAMS += $(B)/falcon-sim
TESTS += $(B)/asan/falcon-sim

$(eval $(call c_rule,sim,))
$(SIM_OBJ): CPPFLAGS += -DFALCON_MAX_CONNS=8192
$(B)/sim/user/rue/%.o: CFLAGS += $(RUE_FP)

$(B)/falcon-sim: $(SIM_OBJ) $(B)/libfcrypto.a $(B)/librifl.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson -linih -lm $(CRYPTO_LIBS)

$(B)/asan/falcon-sim: $(SIM_SRC:%.c=$(B)/asan/%.o) $(B)/asan/libfcrypto.a $(B)/asan/librifl.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -ljansson -linih -lm $(CRYPTO_LIBS)

FIGURES := $(patsubst tools/sim/figures/%.sim,$(B)/figures/%.png,$(wildcard tools/sim/figures/*.sim))

figures: $(FIGURES)

$(B)/figures/%.png: tools/sim/figures/%.sim $(B)/falcon-sim
	$(call say,PLOT,$@)
	@mkdir -p $(@D)
	$(Q)$(B)/falcon-sim --csv $(@:.png=.csv) --plot $@ $<

.PHONY: figures
