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
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,libfalcon.so.$(ABI) -Wl,--no-undefined \
		-Wl,--version-script=$(LIBFALCON_MAP) $(LDFLAGS) -o $@ $(filter %.o,$^) -ljansson

all: $(B)/libfalcon.a $(B)/libfalcon.so

# $(call put_library,NAME): the shared object under its version, and the names that lead there.
put_library = 644:$(B)/$(1).so:$(LIBDIR)/$(1).so.$(VERSION) \
	link:$(1).so.$(VERSION):$(LIBDIR)/$(1).so.$(ABI) link:$(1).so.$(ABI):$(LIBDIR)/$(1).so

INSTALLED += $(call put,644,$(B)/libfalcon.a,$(LIBDIR)) $(call put_library,libfalcon) \
	$(call put,644,$(GENERATED)/libfalcon.pc,$(LIBDIR)/pkgconfig)
