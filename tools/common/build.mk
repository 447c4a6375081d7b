# SPDX-License-Identifier: BSD-2-Clause
# What tools on libfalcon share; they are linked with its archive so that they run from anywhere.

APP_COMMON := $(wildcard tools/common/*.c) user/base/cli.c

# $(call app,PROGRAM,FOLDER): the program build/PROGRAM from the sources in tools/FOLDER.
define app
PROGRAMS += $(B)/$(1)
$(B)/$(1): $(patsubst %.c,$(B)/obj/%.o,$(wildcard tools/$(2)/*.c) $(APP_COMMON)) $(B)/libfalcon.a
	$$(call say,LD,$$@)
	$(Q)$$(CC) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$(filter %.o,$$^) $(B)/libfalcon.a -ljansson
endef
