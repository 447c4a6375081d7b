# SPDX-License-Identifier: BSD-2-Clause
# falcon-wire, and its sanitizer build for the tests.

WIRE_SRC := $(wildcard tools/wire/*.c)
WIRE_SRC := $(filter-out %.bpf.c,$(WIRE_SRC)) tools/common/histogram.c user/base/cli.c tools/rifl/hop.c tools/rifl/line.c
PROGRAMS += $(B)/falcon-wire
TESTS += $(B)/asan/falcon-wire
WIRE_LIBS := -lxdp -lbpf -ljansson -lm

$(B)/wire_steer.bpf.o: tools/wire/steer.bpf.c
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

# Ubuntu's is a script that refuses to work under another kernel than its packages', such as a container's host's.
BPFTOOL = $(or $(shell bpftool version >/dev/null 2>&1 && echo bpftool),\
	$(lastword $(wildcard /usr/lib/linux-tools/*/bpftool)),bpftool)

$(B)/wire_steer.skel.h: $(B)/wire_steer.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name wire_steer >$@ || { rm -f $@; false; }

$(foreach k,obj asan,$(B)/$(k)/tools/wire/port_xdp.o): $(B)/wire_steer.skel.h

$(B)/falcon-wire: $(WIRE_SRC:%.c=$(B)/obj/%.o) $(B)/libfalcon.a $(B)/librifl.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(WIRE_LIBS)

$(B)/asan/falcon-wire: $(WIRE_SRC:%.c=$(B)/asan/%.o) $(B)/asan/libfalcon.a $(B)/asan/librifl.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ $(WIRE_LIBS)
