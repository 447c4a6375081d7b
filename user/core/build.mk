# SPDX-License-Identifier: BSD-2-Clause
# The protocol core: a static library, and its twins for the sanitizer builds of tests.

FCORE_SRC := $(wildcard user/core/*.c)

$(B)/libfcore.a: $(FCORE_SRC:%.c=$(B)/obj/%.o)
$(B)/asan/libfcore.a: $(FCORE_SRC:%.c=$(B)/asan/%.o)
$(B)/tsan/libfcore.a: $(FCORE_SRC:%.c=$(B)/tsan/%.o)

$(B)/libfcore.a $(B)/asan/libfcore.a $(B)/tsan/libfcore.a:
	$(call say,AR,$@)
	@rm -f $@.new
	$(Q)$(AR) rcs $@.new $^ && mv $@.new $@
