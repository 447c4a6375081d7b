# SPDX-License-Identifier: BSD-2-Clause
# libfalcon, the C API of include/falcon/falcon.h: archive, shared object, and the archive's ASan
# twin for the tests.

$(eval $(call c_rule,pic,-fPIC))

LIBFALCON_SRC := $(wildcard user/lib/*.c) $(IPC_CLIENT_SRC)
LIBFALCON_MAP := user/lib/libfalcon.map

$(B)/libfalcon.a: $(LIBFALCON_SRC:%.c=$(B)/obj/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/asan/libfalcon.a: $(LIBFALCON_SRC:%.c=$(B)/asan/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/libfalcon.so: $(LIBFALCON_SRC:%.c=$(B)/pic/%.o) $(LIBFALCON_MAP)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,libfalcon.so.0 -Wl,--no-undefined \
		-Wl,--version-script=$(LIBFALCON_MAP) $(LDFLAGS) -o $@ $(filter %.o,$^) -ljansson

all: $(B)/libfalcon.a $(B)/libfalcon.so
