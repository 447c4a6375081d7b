# SPDX-License-Identifier: BSD-2-Clause
# falcond, plain and with AddressSanitizer.

AGENT_SRCS := $(wildcard user/agent/*.c user/cm/*.c user/io/*.c user/rue/*.c user/ulp/*.c \
	user/ulp/nvme/*.c user/ulp/rdma/*.c)
AGENT_PKGS := libxdp libbpf jansson libmnl inih libsystemd openssl libseccomp libcap liburing
AGENT_LIBS := $(shell pkg-config --libs $(AGENT_PKGS)) -lisal -ldl -lpthread

$(B)/falcond: $(AGENT_SRCS:%.c=$(B)/obj/%.o) $(B)/libfcore.a $(B)/libfcrypto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -rdynamic -o $@ $^ $(AGENT_LIBS)

$(B)/asan/falcond: $(AGENT_SRCS:%.c=$(B)/asan/%.o) $(B)/asan/libfcore.a $(B)/asan/libfcrypto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ASAN) -rdynamic -o $@ $^ $(AGENT_LIBS)

PROGRAMS += $(B)/falcond
TESTS += $(B)/asan/falcond
