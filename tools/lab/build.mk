# SPDX-License-Identifier: BSD-2-Clause
LAB_PARTS := $(patsubst tools/%,$(B)/%,$(wildcard tools/lab/*.sh))
PROGRAMS += $(B)/falcon-lab
INSTALLED += $(call put,644,$(LAB_PARTS),$(PKGLIBDIR)/lab)

$(B)/lab/%.sh: tools/lab/%.sh
	@mkdir -p $(@D)
	$(Q)install -m 644 $< $@

$(B)/falcon-lab: tools/lab/falcon-lab $(LAB_PARTS)
	$(call say,INSTALL,$@)
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@
