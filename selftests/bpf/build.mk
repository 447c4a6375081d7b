# SPDX-License-Identifier: BSD-2-Clause
# Tests of falcon.bpf.o by BPF_PROG_TEST_RUN and on a veth pair. Each NAME below is NAME.c plus the
# stage they share.

BPF_TESTS := verdict_drop verdict_psp verdict_esp verdict_rx verdict_ack verdict_answer verdict_other \
	verdict_frags verdict_write verdict_pull verdict_sink \
	s11_receiver spi differential mutate starve room writes pulls shards rings
BPF_STAGE := env conn packet reference traffic verdict verdict_steps offload
BPF_BINS := $(BPF_TESTS:%=$(B)/selftests/bpf/%.t)

$(BPF_BINS): $(B)/selftests/bpf/%.t: $(B)/obj/selftests/bpf/%.o \
		$(BPF_STAGE:%=$(B)/obj/selftests/bpf/%.o) | $(B)/falcon.bpf.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ -lcmocka -lxdp -lbpf

# The agent's side of the maps.
$(B)/selftests/bpf/rings.t: $(patsubst %,$(B)/obj/user/io/%.o,maps memory rings)

# Programs that run beside falcon_rx, or before it.
BPF_HELPERS := $(B)/selftests/bpf/pass.bpf.o $(B)/selftests/bpf/headroom.bpf.o

$(BPF_HELPERS): $(B)/selftests/bpf/%.bpf.o: selftests/bpf/%.bpf.c
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

TESTS += $(BPF_BINS) $(BPF_HELPERS)
