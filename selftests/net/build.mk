# SPDX-License-Identifier: BSD-2-Clause
# Helpers of the scripts here; not tests by themselves.
NET_HELPERS := $(patsubst selftests/net/%.c,$(B)/selftests/net/%, \
	$(filter-out %.bpf.c,$(wildcard selftests/net/*.c)))
TESTS += $(NET_HELPERS) $(B)/selftests/net/beside.bpf.o

$(NET_HELPERS): $(B)/selftests/net/%: $(B)/obj/selftests/net/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(LDLIBS)

$(B)/selftests/net/stuck_memory: LDLIBS := -libverbs
$(B)/selftests/net/durable $(B)/selftests/net/lingering_event: $(B)/libfalcon.a
$(B)/selftests/net/lingering_event: LDLIBS := -lcmocka -ljansson
$(B)/selftests/net/durable: LDLIBS := -ljansson

$(B)/selftests/net/%.bpf.o: selftests/net/%.bpf.c
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

# A boot sector that lives on its disk.
$(B)/selftests/net/disk_guest.img: selftests/net/disk_guest.S
	$(call say,AS,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -m32 -c -o $(@:.img=.o) $<
	$(Q)$(LD) -m elf_i386 -Ttext 0x7c00 --oformat binary -o $@ $(@:.img=.o)

TESTS += $(B)/selftests/net/disk_guest.img
