# SPDX-License-Identifier: BSD-2-Clause
# nbdkit's plugin falcon-nvme.

NBDKIT_SRC := $(wildcard user/nbdkit/*.c) user/base/pi.c
NBDKIT_PLUGIN := $(B)/nbdkit-falcon-nvme-plugin.so

$(NBDKIT_PLUGIN): $(NBDKIT_SRC:%.c=$(B)/pic/%.o) $(LIBFALCON_SRC:%.c=$(B)/pic/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-Bsymbolic $(LDFLAGS) -o $@ $^ -ljansson -lisal -lpthread

all: $(NBDKIT_PLUGIN)
INSTALLED += $(call put,644,$(NBDKIT_PLUGIN),$(LIBDIR)/nbdkit/plugins)
