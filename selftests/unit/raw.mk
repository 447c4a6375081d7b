# SPDX-License-Identifier: BSD-2-Clause
# Tests of the raw layer, its shared memory, libfalcon and the tools on it; all with the sanitizers.
# loop_agent is two agents in one process without a network, for tests that need one to attach to.

RAW_DIR := $(B)/selftests/unit
RAW_TESTS := raw_ulp raw_shutdown client_rings client_hostile lib_rings perf_histogram perf_data \
	     cp_proto cp_paths cp_sink cp_end_server cp_end_client
RAW_BINS := $(RAW_TESTS:%=$(RAW_DIR)/%.t)
RAW_SRC := $(wildcard user/ulp/*.c) selftests/unit/loop/fake_core.c
LOOP_SRC := $(RAW_SRC) selftests/unit/loop/agent.c $(addprefix user/agent/control/,control.c msg.c) user/agent/process/deferred_close.c \
	user/base/log.c
APP_SRC := user/ulp/client.c selftests/unit/loop/app.c

asan_objs = $(patsubst %.c,$(B)/asan/%.o,$(1))

$(RAW_DIR)/raw_ulp.t $(RAW_DIR)/raw_shutdown.t: \
	$(call asan_objs,$(RAW_SRC) selftests/unit/loop/pair.c selftests/unit/loop/app.c)
$(RAW_DIR)/client_rings.t $(RAW_DIR)/client_hostile.t: $(call asan_objs,$(APP_SRC))
$(RAW_DIR)/client_rings.t: $(call asan_objs,user/agent/process/deferred_close.c)
$(RAW_DIR)/lib_rings.t: $(B)/asan/libfalcon.a | $(RAW_DIR)/loop_agent
$(RAW_DIR)/perf_histogram.t: $(call asan_objs,tools/common/histogram.c)
$(RAW_DIR)/perf_data.t: $(call asan_objs,tools/perf/data.c)
$(RAW_DIR)/cp_proto.t: $(call asan_objs,tools/cp/proto.c)
CP_END_SRC := $(filter-out tools/cp/main.c tools/cp/server.c,$(wildcard tools/cp/*.c)) tools/common/mailbox.c \
	selftests/unit/cp_end_env.c
CP_END := $(addprefix $(RAW_DIR)/,cp_end_server.t cp_end_client.t)
$(CP_END): $(call asan_objs,$(CP_END_SRC))
$(CP_END) $(RAW_DIR)/cp_end_tsan.t: TEST_LD += -Xlinker --wrap=fsync
$(RAW_DIR)/cp_paths.t $(RAW_DIR)/cp_sink.t: $(call asan_objs,tools/cp/file.c)

$(RAW_BINS): $(RAW_DIR)/%.t: $(B)/asan/selftests/unit/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka -ljansson

$(RAW_DIR)/loop_agent: $(call asan_objs,$(LOOP_SRC))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -ljansson

# The server's threads.
$(RAW_DIR)/cp_end_tsan.t: $(patsubst %.c,$(B)/tsan/%.o,selftests/unit/cp_end_server.c $(CP_END_SRC))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(TSAN) $(TEST_LD) -o $@ $^ -lcmocka -ljansson -lpthread

TESTS += $(RAW_BINS) $(RAW_DIR)/cp_end_tsan.t $(RAW_DIR)/loop_agent
