# SPDX-License-Identifier: BSD-2-Clause
# Tests of the links of queue pairs: user/ulp/rdma/link*.c, without an agent.

RDMA_LINK_TESTS := $(patsubst %,$(B)/selftests/unit/%.t,rdma_link rdma_link_ud)

$(RDMA_LINK_TESTS): $(B)/selftests/unit/%.t: $(B)/asan/selftests/unit/%.o \
	$(patsubst %.c,$(B)/asan/%.o,selftests/unit/rdma_link_env.c $(wildcard user/ulp/rdma/link*.c))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka

TESTS += $(RDMA_LINK_TESTS)

# RDMA connection management, likewise.
RDMA_CM_TESTS := $(patsubst %,$(B)/selftests/unit/%.t,rdma_cm rdma_cm_end rdma_cm_group)

$(RDMA_CM_TESTS): $(B)/selftests/unit/%.t: $(B)/asan/selftests/unit/%.o \
	$(patsubst %.c,$(B)/asan/%.o,$(wildcard user/ulp/rdma/cm_*.c))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka

TESTS += $(RDMA_CM_TESTS)

# Keys of several layers.
$(B)/selftests/unit/rdma_group.t: $(B)/asan/selftests/unit/rdma_group.o $(B)/asan/user/ulp/rdma/key.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka

TESTS += $(B)/selftests/unit/rdma_group.t
