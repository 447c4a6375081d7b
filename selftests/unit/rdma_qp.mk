# SPDX-License-Identifier: BSD-2-Clause
# Tests of queue pairs: the whole layer on real cores, in virtual time (rdma_env.h).

RDMA_QP_TESTS := $(patsubst %,$(B)/selftests/unit/%.t,rdma_qp rdma_chaos rdma_errors rdma_kinds \
	rdma_hostile rdma_strict rdma_cie rdma_filtered rdma_holes rdma_down rdma_srq rdma_ud_hold \
	rdma_ud_dying rdma_ud_order rdma_golden)

$(RDMA_QP_TESTS): $(B)/selftests/unit/%.t: $(B)/asan/selftests/unit/%.o \
	$(patsubst %.c,$(B)/asan/%.o,$(wildcard selftests/unit/rdma_env*.c user/ulp/rdma/*.c)) \
	$(B)/asan/libfcore.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka

TESTS += $(RDMA_QP_TESTS)
