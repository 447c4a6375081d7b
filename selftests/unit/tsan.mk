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

# Tests of the agent's threads, which run with the other sanitizers, too: objects of user/agent.
TSAN_AGENT := conn/grace shard/call shard/stall process/deferred_close

define tsan_agent_test
$(B)/selftests/unit/$(notdir $(1))_tsan.t: $(B)/tsan/selftests/unit/$(notdir $(1)).o $(B)/tsan/user/agent/$(1).o
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$(Q)$$(CC) $$(CFLAGS) $$(TSAN) $$(TEST_LD) -o $$@ $$^ -lcmocka -lpthread
TESTS += $(B)/selftests/unit/$(notdir $(1))_tsan.t
endef

$(foreach object,$(TSAN_AGENT),$(eval $(call tsan_agent_test,$(object))))
