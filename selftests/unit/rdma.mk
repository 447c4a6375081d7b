# SPDX-License-Identifier: BSD-2-Clause
# Tests of what applications have at the RDMA layer, over the queue pairs and links of rdma_obj_stubs.c.

RDMA_OBJECTS := $(addprefix user/ulp/rdma/,area.c channel.c command.c command_memory.c \
	command_qp.c command_queue.c cq.c ctx.c device.c key.c mover.c mr.c mw.c offload.c rdma.c srq.c wq.c) \
	$(wildcard user/ulp/rdma/cm_*.c)
RDMA_TESTS := $(patsubst %,$(B)/selftests/unit/%.t,rdma_keys rdma_mover rdma_queues rdma_commands \
	rdma_offload rdma_xrc_domains)

$(RDMA_TESTS): $(B)/selftests/unit/%.t: $(B)/asan/selftests/unit/%.o \
	$(patsubst %.c,$(B)/asan/%.o,selftests/unit/rdma_obj_env.c selftests/unit/rdma_obj_stubs.c \
	$(RDMA_OBJECTS))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka

TESTS += $(RDMA_TESTS)

$(eval $(call agent_test,rdma_proc,rdma/proc,-lcap))
RDMA_LAYER := $(patsubst user/ulp/%.c,../ulp/%,$(wildcard user/ulp/rdma/*.c))
$(eval $(call agent_test,agent_rdma,shard/call rdma/rdma rdma/show rdma/app rdma/area rdma/proc rdma/rest rdma/stall shard/stall process/deferred_close ../ulp/client ../base/log tenant/quota ../io/memory $(RDMA_LAYER),-lcap -ljansson -lbpf))
$(eval $(call agent_test,quota_tenants,shard/call rdma/rdma rdma/show rdma/app rdma/area rdma/rest rdma/stall conn/users shard/stall process/deferred_close ../ulp/client ../base/log tenant/quota ../io/memory $(RDMA_LAYER),-lcap -ljansson -lbpf))
