# SPDX-License-Identifier: BSD-2-Clause
# Helpers of the scripts here; not tests by themselves.
NET_HELPERS := $(patsubst selftests/net/%.c,$(B)/selftests/net/%,$(wildcard selftests/net/*.c))
TESTS += $(NET_HELPERS)

$(NET_HELPERS): $(B)/selftests/net/%: $(B)/obj/selftests/net/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $<
