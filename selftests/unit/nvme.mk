# SPDX-License-Identifier: BSD-2-Clause
# Tests of NVMe over Falcon, with the sanitizers.

NVME_DIR := $(B)/selftests/unit
NVME_TESTS := nvme_lba nvme_engine nvme_xts
NVME_BINS := $(NVME_TESTS:%=$(NVME_DIR)/%.t)
NVME_SRC := $(wildcard user/ulp/nvme/*.c)

$(NVME_DIR)/nvme_lba.t: $(B)/asan/user/ulp/nvme/lba.o
$(NVME_DIR)/nvme_engine.t $(NVME_DIR)/nvme_xts.t: $(NVME_SRC:%.c=$(B)/asan/%.o) \
	$(B)/asan/selftests/unit/nvme_env.o
$(NVME_DIR)/nvme_xts.t: $(B)/asan/user/crypto/xts.o

$(NVME_BINS): $(NVME_DIR)/%.t: $(B)/asan/selftests/unit/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) -o $@ $(filter %.o,$^) -lcmocka -lcrypto

TESTS += $(NVME_BINS)
