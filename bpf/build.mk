# SPDX-License-Identifier: BSD-2-Clause
# Every bpf/NAME.bpf.c becomes build/NAME.bpf.o. v3 instructions: atomics that fetch.

BPF_CFLAGS := -O2 -g -target bpf -mcpu=v3 -std=gnu11 -Wall -Wextra -Werror \
	-DFALCON_MAX_CONNS=$(CONNS) -Iinclude -Ibpf -I/usr/include/$(shell $(CC) -print-multiarch)

OBJECTS += $(patsubst bpf/%.bpf.c,$(B)/%.bpf.o,$(wildcard bpf/*.bpf.c))

$(B)/%.bpf.o: bpf/%.bpf.c bpf/build.mk
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<
