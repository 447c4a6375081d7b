# SPDX-License-Identifier: BSD-2-Clause
# Verbs applications of our own. chaos, moving and writes know nothing of Falcon but where they ask for offload memory.
APPS_BINS := $(B)/selftests/apps/chaos $(B)/selftests/apps/moving $(B)/selftests/apps/writes

$(APPS_BINS): $(B)/selftests/apps/%: $(B)/obj/selftests/apps/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< -libverbs

TESTS += $(APPS_BINS)

# A boot sector, which QEMU migrates.
$(B)/selftests/apps/guest.img: selftests/apps/guest.S
	$(call say,AS,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -m32 -c -o $(@:.img=.o) $<
	$(Q)$(LD) -m elf_i386 -Ttext 0x7c00 --oformat binary -o $@ $(@:.img=.o)

TESTS += $(B)/selftests/apps/guest.img
