# SPDX-License-Identifier: BSD-2-Clause
# Tests of the rate update engine: every rue_NAME.c here but rue_bits.c is a program.

RUE_TESTS := $(filter-out rue_bits,$(patsubst selftests/unit/%.c,%,$(wildcard selftests/unit/rue_*.c)))
RUE_BINS := $(RUE_TESTS:%=$(B)/selftests/unit/%.t)
RUE_OBJS := $(patsubst %.c,$(B)/asan/%.o,$(wildcard user/rue/*.c))

$(B)/selftests/unit/rue_columns.t: $(B)/asan/tools/rue/columns.o

$(RUE_BINS): $(B)/selftests/unit/%.t: $(B)/asan/selftests/unit/%.o $(RUE_OBJS)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $(filter %.o,$^) -lcmocka -lm

TESTS += $(RUE_BINS)

# What these load.
$(B)/selftests/unit/rue_load.t $(B)/selftests/unit/rue_host.t: | $(B)/selftests/unit/rue_other_abi.so $(B)/rue/aimd.so $(B)/libfalcon.so $(B)/falcon.bpf.o

$(B)/selftests/unit/rue_other_abi.so: user/rue/example/aimd.c include/falcon/rue_engine.h
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)sed 's/= FALCON_RUE_ABI/= FALCON_RUE_ABI + 1/' $< | \
		$(CC) $(CFLAGS) -shared -fPIC -Iinclude -x c -o $@ -
