# SPDX-License-Identifier: BSD-2-Clause
# It attaches itself, to see whether that can be done.
RUN_SRC := $(wildcard tools/run/*.c) user/base/cli.c user/verbs/agent.c user/verbs/area.c user/verbs/env.c user/verbs/tree.c \
	user/verbs/tree_sweep.c $(VERBS_SHARED)
PROGRAMS += $(B)/falcon-run

# Where an installed library may be, seen from $(BINDIR).
$(B)/obj/tools/run/main.o: CPPFLAGS += -DVERBS_LIBRARY='"libfalcon_verbs.so.$(ABI)"' \
	-DMULTIARCH='"$(TRIPLET)"'

$(B)/falcon-run: $(RUN_SRC:%.c=$(B)/obj/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson -lpthread
