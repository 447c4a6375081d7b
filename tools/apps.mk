# SPDX-License-Identifier: BSD-2-Clause
# The tools on libfalcon, linked with its archive so that they run from anywhere.

APP_COMMON := tools/app.c tools/histogram.c tools/mailbox.c
PERF_SRC := $(wildcard tools/falcon-perf*.c)
CP_SRC := $(wildcard tools/falcon-cp*.c)
PROGRAMS += $(B)/falcon-perf $(B)/falcon-cp

$(B)/falcon-perf: $(PERF_SRC:%.c=$(B)/obj/%.o)
$(B)/falcon-cp: $(CP_SRC:%.c=$(B)/obj/%.o)
$(B)/falcon-perf $(B)/falcon-cp: $(APP_COMMON:%.c=$(B)/obj/%.o) $(B)/libfalcon.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(B)/libfalcon.a -ljansson
