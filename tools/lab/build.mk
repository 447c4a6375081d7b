# SPDX-License-Identifier: BSD-2-Clause
LAB_PARTS := $(patsubst tools/%,$(B)/%,$(wildcard tools/lab/*.sh))
PROGRAMS += $(B)/falcon-lab
INSTALLED += $(call put,644,$(LAB_PARTS),$(PKGLIBDIR)/lab) $(call put,755,$(B)/lab/enter,$(PKGLIBDIR)/lab)

$(B)/lab/%.sh: tools/lab/%.sh
	@mkdir -p $(@D)
	$(Q)install -m 644 $< $@

$(B)/lab/enter: $(B)/obj/tools/lab/enter.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(B)/falcon-lab: tools/lab/falcon-lab $(LAB_PARTS) $(B)/lab/enter
	$(call say,INSTALL,$@)
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@
