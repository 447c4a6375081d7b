# SPDX-License-Identifier: BSD-2-Clause
# RIFL: a static library, and its twin for tests with the sanitizers.

RIFL_SRC := $(wildcard user/rifl/*.c)

$(B)/librifl.a: $(RIFL_SRC:%.c=$(B)/obj/%.o)
$(B)/asan/librifl.a: $(RIFL_SRC:%.c=$(B)/asan/%.o)

$(B)/librifl.a $(B)/asan/librifl.a:
	$(call say,AR,$@)
	@rm -f $@.new
	$(Q)$(AR) rcs $@.new $^ && mv $@.new $@
