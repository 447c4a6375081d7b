# SPDX-License-Identifier: BSD-2-Clause
# falcond, plain, with AddressSanitizer, and with ThreadSanitizer.

AGENT_SRCS := $(wildcard user/agent/*.c user/agent/*/*.c user/base/*.c user/cm/*.c user/io/*.c user/rue/*.c user/ulp/*.c \
	user/ulp/nvme/*.c user/ulp/rdma/*.c)
AGENT_PKGS := libxdp libbpf jansson libmnl inih libsystemd openssl libseccomp libcap liburing libmicrohttpd
# When it is needed: "make deps" has no pkg-config yet.
AGENT_LIBS = $(shell pkg-config --libs $(AGENT_PKGS)) $(CRYPTO_LIBS) -lisal -ldl -lpthread

$(B)/falcond: $(AGENT_SRCS:%.c=$(B)/obj/%.o) $(B)/libfcore.a $(B)/libfcrypto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -rdynamic -o $@ $^ $(AGENT_LIBS)

$(B)/asan/falcond: $(AGENT_SRCS:%.c=$(B)/asan/%.o) $(B)/asan/libfcore.a $(B)/asan/libfcrypto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -rdynamic -o $@ $^ $(AGENT_LIBS)

$(B)/tsan/falcond: $(patsubst %.c,$(B)/tsan/%.o,$(AGENT_SRCS) $(wildcard user/core/*.c user/crypto/*.c))
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(TSAN) $(TEST_LD) -rdynamic -o $@ $^ $(AGENT_LIBS)

# Fences are for what other processes share, of which ThreadSanitizer sees nothing.
$(B)/tsan/falcond: WARN += -Wno-tsan

DAEMONS += $(B)/falcond
INSTALLED += $(call put,644,user/agent/own-user.conf,$(DATADIR)/falcon)
INSTALLED += $(call put,644,user/agent/own-user.sysusers,$(DATADIR)/falcon)
TESTS += $(B)/asan/falcond $(B)/tsan/falcond
