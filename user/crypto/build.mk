# SPDX-License-Identifier: BSD-2-Clause
# PSP: a static library, and its twin for tests with the sanitizers.

# libipsec-mb is for x86-64. When it is needed: "make deps" has no compiler yet.
CRYPTO_LIBS = -lcrypto $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine)),-lIPSec_MB)
CRYPTO_SRC := $(wildcard user/crypto/*.c)

$(B)/libfcrypto.a: $(CRYPTO_SRC:%.c=$(B)/obj/%.o)
$(B)/asan/libfcrypto.a: $(CRYPTO_SRC:%.c=$(B)/asan/%.o)

$(B)/libfcrypto.a $(B)/asan/libfcrypto.a:
	$(call say,AR,$@)
	@rm -f $@.new
	$(Q)$(AR) rcs $@.new $^ && mv $@.new $@
