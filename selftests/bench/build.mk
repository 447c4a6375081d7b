# SPDX-License-Identifier: BSD-2-Clause
# The link's ceiling: AF_XDP without Falcon.

BENCH := $(B)/selftests/bench

$(BENCH)/ceiling.bpf.o: selftests/bench/ceiling.bpf.c
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Wextra $(WERROR) \
		-I/usr/include/$(TRIPLET) -c -o $@ $<

$(BENCH)/xsk_ceiling: $(B)/obj/selftests/bench/xsk_ceiling.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $< -lxdp -lbpf

TESTS += $(BENCH)/ceiling.bpf.o $(BENCH)/xsk_ceiling

# A disk without a front end, over Falcon and locally.
$(BENCH)/nvme_load: $(B)/obj/selftests/bench/nvme_load.o $(B)/obj/tools/common/histogram.o $(B)/libfalcon.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(B)/libfalcon.a -ljansson -luring

TESTS += $(BENCH)/nvme_load

# Tenants that misbehave.
MISBEHAVE_SRC := $(wildcard selftests/bench/misbehave*.c) user/verbs/agent.c user/verbs/area.c user/verbs/env.c
$(BENCH)/misbehave: $(MISBEHAVE_SRC:%.c=$(B)/obj/%.o) $(B)/libfalcon.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(B)/libfalcon.a -libverbs -ljansson -lcmocka -lpthread

TESTS += $(BENCH)/misbehave
