# SPDX-License-Identifier: BSD-2-Clause
# libfalcon_verbs.so, preloaded over libibverbs and librdmacm.

VERBS_SRC := $(wildcard user/verbs/*.c)
VERBS_SHARED := $(IPC_CLIENT_SRC)
VERBS_MAP := user/verbs/libfalcon_verbs.map

$(VERBS_SRC:%.c=$(B)/pic/%.o): CPPFLAGS += -fvisibility=hidden

$(B)/libfalcon_verbs.so: $(VERBS_SRC:%.c=$(B)/pic/%.o) $(VERBS_SHARED:%.c=$(B)/pic/%.o) $(VERBS_MAP)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,libfalcon_verbs.so.$(ABI) -Wl,--no-undefined -Wl,-z,now \
		-Wl,--version-script=$(VERBS_MAP) $(LDFLAGS) -o $@ $(filter %.o,$^) \
		-Wl,--no-as-needed -libverbs -lrdmacm -Wl,--as-needed -ljansson -lpthread

all: $(B)/libfalcon_verbs.so
INSTALLED += $(call put_library,libfalcon_verbs)
