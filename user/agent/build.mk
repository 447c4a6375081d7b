# SPDX-License-Identifier: BSD-2-Clause
# falcond, plain and with AddressSanitizer, and what the unit tests link of it.

AGENT_SRCS := $(wildcard user/agent/*.c user/io/*.c user/rue/*.c user/ulp/*.c)
AGENT_PKGS := libxdp libbpf jansson libmnl inih libsystemd
AGENT_LIBS := $(shell pkg-config --libs $(AGENT_PKGS)) -ldl

$(B)/falcond: $(AGENT_SRCS:%.c=$(B)/obj/%.o) $(B)/libfcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -rdynamic -o $@ $^ $(AGENT_LIBS)

$(B)/asan/falcond: $(AGENT_SRCS:%.c=$(B)/asan/%.o) $(B)/asan/libfcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ASAN) -rdynamic -o $@ $^ $(AGENT_LIBS)

PROGRAMS += $(B)/falcond
TESTS += $(B)/asan/falcond

