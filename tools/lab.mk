# SPDX-License-Identifier: BSD-2-Clause
LINKEM := $(patsubst %.c,$(B)/obj/%.o,$(wildcard tools/lab/*.c))
LAB_PARTS := $(patsubst tools/%,$(B)/%,$(wildcard tools/lab/*.sh))
PROGRAMS += $(B)/falcon-lab $(B)/falcon-linkem

$(B)/falcon-linkem: $(LINKEM)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(LINKEM)

$(B)/lab/%.sh: tools/lab/%.sh
	@mkdir -p $(@D)
	$(Q)install -m 644 $< $@

$(B)/falcon-lab: tools/falcon-lab $(LAB_PARTS)
	$(call say,INSTALL,$@)
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@
