# SPDX-License-Identifier: BSD-2-Clause
# Every tsan_NAME.c is a test of what threads share, built with ThreadSanitizer.

TSAN_BINS := $(patsubst %.c,$(B)/%.t,$(wildcard selftests/unit/tsan_*.c))

$(TSAN_BINS): $(B)/%.t: $(B)/tsan/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(TSAN) -o $@ $< -lcmocka -lpthread

TESTS += $(TSAN_BINS)
