# SPDX-License-Identifier: BSD-2-Clause
# PSP: a static library, and its twin for tests with the sanitizers.

CRYPTO_SRC := $(wildcard user/crypto/*.c)

$(B)/libfcrypto.a: $(CRYPTO_SRC:%.c=$(B)/obj/%.o)
$(B)/asan/libfcrypto.a: $(CRYPTO_SRC:%.c=$(B)/asan/%.o)

$(B)/libfcrypto.a $(B)/asan/libfcrypto.a:
	$(call say,AR,$@)
	@rm -f $@.new
	$(Q)$(AR) rcs $@.new $^ && mv $@.new $@
