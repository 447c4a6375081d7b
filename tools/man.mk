# SPDX-License-Identifier: BSD-2-Clause
# Manual pages: NAME.SECTION.scd, beside what it documents, becomes build/man/NAME.SECTION.

MAN_SOURCES := $(wildcard tools/*/*.scd user/*/*.scd bpf/*.scd)
MANPAGES := $(patsubst %.scd,$(B)/man/%,$(notdir $(MAN_SOURCES)))

vpath %.scd $(sort $(dir $(MAN_SOURCES)))

$(MANPAGES): $(B)/man/%: %.scd
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)scdoc <$< >$@ || { rm -f $@; false; }

all: $(MANPAGES)
