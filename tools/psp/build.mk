# SPDX-License-Identifier: BSD-2-Clause
FALCON_PSP_SRC := $(wildcard tools/psp/*.c) user/base/cli.c
FALCON_PSP_LIBS = -ljansson -lpcap $(CRYPTO_LIBS)
PROGRAMS += $(B)/falcon-psp
TESTS += $(B)/asan/falcon-psp

$(B)/falcon-psp: $(FALCON_PSP_SRC:%.c=$(B)/obj/%.o) $(B)/libfcrypto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(FALCON_PSP_LIBS)

$(B)/asan/falcon-psp: $(FALCON_PSP_SRC:%.c=$(B)/asan/%.o) $(B)/asan/libfcrypto.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) $(LDFLAGS) -o $@ $^ $(FALCON_PSP_LIBS)
