# SPDX-License-Identifier: BSD-2-Clause
# falcond, plain and with AddressSanitizer, and the fuzzer of its control protocol.

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

# make fuzz runs it beside the fuzzers of selftests/fuzz/.
FUZZ_HANDSHAKE := $(B)/fuzz/fuzz_handshake

$(FUZZ_HANDSHAKE): selftests/fuzz/fuzz_handshake.c $(wildcard user/cm/*.[ch]) user/agent/log.c
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		$(WARN) $(COMMON) -DFALCON_MAX_CONNS=4096 -o $@ $(filter %.c,$^) -lssl -lcrypto -lcap -lpthread

fuzz-handshake: $(FUZZ_HANDSHAKE)
	$(Q)mkdir -p $(B)/fuzz/corpus/fuzz_handshake
	$(Q)echo "fuzz_handshake: $(SECONDS) s"; \
	$(FUZZ_HANDSHAKE) -max_total_time=$(SECONDS) -timeout=10 -print_final_stats=1 \
		-artifact_prefix=$(FUZZ_HANDSHAKE)- $(B)/fuzz/corpus/fuzz_handshake \
		>$(FUZZ_HANDSHAKE).log 2>&1 || { tail -n 40 $(FUZZ_HANDSHAKE).log; exit 1; }; \
	grep -E 'number_of_executed_units|new_units_added' $(FUZZ_HANDSHAKE).log

fuzz: fuzz-handshake
.PHONY: fuzz-handshake
