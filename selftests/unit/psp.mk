# SPDX-License-Identifier: BSD-2-Clause
# Tests of AES-GCM, PSP, ESP, and of what falcon-psp reads. psp_header belongs to wire.mk.

PSP_DIR := $(B)/selftests/unit
PSP_TESTS := $(patsubst selftests/unit/%.c,%,$(filter-out %/psp_header.c, \
	$(wildcard selftests/unit/psp_*.c selftests/unit/esp_*.c selftests/unit/gcm*.c)))
PSP_BINS := $(PSP_TESTS:%=$(PSP_DIR)/%.t)

$(PSP_DIR)/psp_tool.t: $(patsubst %,$(B)/asan/tools/psp/%.o,config capture json kdf)
$(PSP_BINS): $(PSP_DIR)/%.t: $(B)/asan/selftests/unit/%.o $(B)/asan/libfcrypto.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka $(CRYPTO_LIBS) \
		-ljansson -lpcap

TESTS += $(PSP_BINS)
