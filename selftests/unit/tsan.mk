# SPDX-License-Identifier: BSD-2-Clause
# Every tsan_NAME.c is a test of what threads share, built with ThreadSanitizer.

TSAN_BINS := $(patsubst %.c,$(B)/%.t,$(wildcard selftests/unit/tsan_*.c))

# The engines, for the thread that they have.
$(B)/selftests/unit/tsan_rue_worker.t: $(patsubst %.c,$(B)/tsan/%.o,$(wildcard user/rue/*.c))

$(TSAN_BINS): $(B)/%.t: $(B)/tsan/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(TSAN) $(TEST_LD) $(TSAN_LD) -o $@ $^ -lcmocka -lpthread -lm $(TSAN_LIBS)

TESTS += $(TSAN_BINS)

# Tests of the agent's threads, which run with the other sanitizers, too.
TSAN_AGENT := $(patsubst %,$(B)/selftests/unit/%_tsan.t,call drop grace stall)

$(TSAN_AGENT): $(B)/selftests/unit/%_tsan.t: $(B)/tsan/selftests/unit/%.o $(B)/tsan/user/agent/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(TSAN) $(TEST_LD) -o $@ $^ -lcmocka -lpthread

TESTS += $(TSAN_AGENT)
