# SPDX-License-Identifier: BSD-2-Clause
# The example algorithm, built as its README says, and installed for falcond to find.

RUE_EXAMPLE := $(B)/rue/aimd.so
RUE_EXAMPLE_ASAN := $(B)/asan/rue/aimd.so

$(RUE_EXAMPLE): user/rue/example/aimd.c include/falcon/rue_engine.h include/falcon/rue.h
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(WARN) -ffile-prefix-map=$(CURDIR)=. -shared -fPIC -Iinclude -o $@ $<

# Beside the agent with AddressSanitizer, which looks there.
$(RUE_EXAMPLE_ASAN): $(RUE_EXAMPLE)
	@mkdir -p $(@D)
	$(Q)ln -f $< $@

all: $(RUE_EXAMPLE)
tests: $(RUE_EXAMPLE_ASAN)

INSTALLED += $(call put,644,$(RUE_EXAMPLE),$(PKGLIBDIR)/rue)
