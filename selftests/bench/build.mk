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

# What walk.sh runs: an agent and a verbs library that write down their calls. Nothing is inline, so that a call in
# the source is a call; helpers of other projects' headers are left out. Built only for that.
WALK := -O1 -g1 -fPIC -fno-inline -fno-optimize-sibling-calls -fno-omit-frame-pointer -finstrument-functions \
	-finstrument-functions-exclude-file-list=/usr/include,/usr/lib
WALK_AGENT := $(AGENT_SRCS) $(wildcard user/core/*.c user/crypto/*.c)
$(eval $(call c_rule,walk,$(WALK)))

$(B)/walk/falcond: $(WALK_AGENT:%.c=$(B)/walk/%.o) $(B)/pic/selftests/bench/walk.o
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(TEST_LD) -rdynamic -o $@ $^ $(AGENT_LIBS)

$(VERBS_SRC:%.c=$(B)/walk/%.o): CPPFLAGS += -fvisibility=hidden

$(B)/walk/libfalcon_verbs.so: $(VERBS_SRC:%.c=$(B)/walk/%.o) $(VERBS_SHARED:%.c=$(B)/walk/%.o) \
		$(B)/pic/selftests/bench/walk.o $(VERBS_MAP)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,libfalcon_verbs.so.$(ABI) -Wl,--no-undefined -Wl,-z,now \
		-Wl,--version-script=$(VERBS_MAP) $(LDFLAGS) $(TEST_LD) -o $@ $(filter %.o,$^) \
		-Wl,--no-as-needed -libverbs -lrdmacm -Wl,--as-needed -ljansson -lpthread
