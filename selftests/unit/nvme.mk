# SPDX-License-Identifier: BSD-2-Clause
# Tests of NVMe over Falcon, with the sanitizers.

NVME_DIR := $(B)/selftests/unit
# Those with initiators and targets in one process.
NVME_ENV_TESTS := nvme_engine nvme_pi nvme_pi_ends nvme_pi_model nvme_xts nvme_app nvme_status nvme_resize \
	nvme_attack nvme_requests nvme_filtered nvme_combined \
	nvme_hosts nvme_paths nvme_discover nvme_admin
NVME_TESTS := nvme_lba nvme_store $(NVME_ENV_TESTS)
NVME_BINS := $(NVME_TESTS:%=$(NVME_DIR)/%.t)
NVME_SRC := $(wildcard user/ulp/nvme/*.c) user/base/pi.c

$(NVME_DIR)/nvme_lba.t: $(B)/asan/user/ulp/nvme/lba.o
$(NVME_ENV_TESTS:%=$(NVME_DIR)/%.t): $(NVME_SRC:%.c=$(B)/asan/%.o) \
	$(B)/asan/selftests/unit/nvme_env.o
$(NVME_DIR)/nvme_xts.t $(NVME_DIR)/nvme_pi_ends.t $(NVME_DIR)/nvme_pi_model.t: $(B)/asan/user/crypto/xts.o
$(NVME_DIR)/nvme_app.t: $(patsubst %,$(B)/asan/%.o,user/ulp/client user/agent/process/deferred_close user/agent/nvme/app selftests/unit/loop/app)
$(NVME_DIR)/nvme_store.t: $(B)/asan/user/agent/nvme/store.o

$(NVME_BINS): $(NVME_DIR)/%.t: $(B)/asan/selftests/unit/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $(filter %.o,$^) -lcmocka -lcrypto -luring -lisal

TESTS += $(NVME_BINS)
