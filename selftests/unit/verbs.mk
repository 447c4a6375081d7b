# SPDX-License-Identifier: BSD-2-Clause
# The verbs library against an agent in the same process.

VERBS_DIR := $(B)/selftests/unit
VERBS_TESTS := verbs_objects verbs_data verbs_end verbs_memory
VERBS_BINS := $(VERBS_TESTS:%=$(VERBS_DIR)/%.t)
VERBS_FAKE := $(wildcard selftests/unit/verbs/*.c)

$(VERBS_BINS): $(VERBS_DIR)/%.t: $(B)/asan/selftests/unit/%.o \
	$(patsubst %.c,$(B)/asan/%.o,$(VERBS_FAKE) $(filter-out %/redirect.c %/tree.c %/tree_sweep.c,$(VERBS_SRC)) $(VERBS_SHARED))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -rdynamic -o $@ $^ -libverbs -lrdmacm -lcmocka -ljansson -lpthread

TESTS += $(VERBS_BINS)
$(VERBS_DIR)/verbs_data.t: TEST_LD += -Xlinker --wrap=fv_idle_nothing

# The same, used by threads. Fences order what the agent sees, of which the sanitizer knows nothing.
$(B)/tsan/user/verbs/%.o $(B)/tsan/selftests/unit/verbs/%.o: CFLAGS += -Wno-tsan
VERBS_TSAN := $(patsubst %.c,$(B)/%.t,$(wildcard selftests/unit/tsan_verbs*.c))

$(VERBS_TSAN): TSAN_LD := -rdynamic
$(VERBS_TSAN): TSAN_LIBS := -libverbs -lrdmacm -ljansson
$(VERBS_TSAN): $(patsubst %.c,$(B)/tsan/%.o,$(VERBS_FAKE) \
	$(filter-out %/redirect.c %/tree.c %/tree_sweep.c,$(VERBS_SRC)) $(VERBS_SHARED))

# The rdma_cm device, of which the agent is in the test.
$(VERBS_DIR)/verbs_cm.t: $(B)/asan/selftests/unit/verbs_cm.o \
	$(patsubst %,$(B)/asan/user/verbs/%.o,cm cm_addr cm_command)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -libverbs -lcmocka -lpthread

TESTS += $(VERBS_DIR)/verbs_cm.t

$(VERBS_DIR)/tsan_cm.t: $(patsubst %,$(B)/tsan/user/verbs/%.o,cm cm_addr cm_command)

$(VERBS_DIR)/verbs_tree.t: $(B)/asan/selftests/unit/verbs_tree.o $(B)/asan/user/verbs/tree_sweep.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka

TESTS += $(VERBS_DIR)/verbs_tree.t

$(VERBS_DIR)/verbs_idle.t: $(B)/asan/selftests/unit/verbs_idle.o $(B)/asan/user/verbs/idle.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka

TESTS += $(VERBS_DIR)/verbs_idle.t
