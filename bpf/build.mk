# SPDX-License-Identifier: BSD-2-Clause
# Every bpf/NAME.bpf.c becomes build/NAME.bpf.o. v3 instructions: atomics that fetch.
# The file names that BTF has do not tell where the tree was.
# falcon-large.bpf.o is falcon.bpf.o with room for as many connections as an agent can have.

BPF_CFLAGS := -O2 -g -target bpf -mcpu=v3 -std=gnu11 -Wall -Wextra $(WERROR) \
	-ffile-prefix-map=$(CURDIR)=. -Iinclude -Ibpf -I/usr/include/$(TRIPLET)

OBJECTS += $(patsubst bpf/%.bpf.c,$(B)/%.bpf.o,$(wildcard bpf/*.bpf.c))

$(B)/%.bpf.o: bpf/%.bpf.c bpf/build.mk
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -DFALCON_CONNS=$(CONNS) -MMD -MP -c -o $@ $<

OBJECTS += $(B)/falcon-large.bpf.o
$(B)/falcon-large.bpf.o: bpf/falcon.bpf.c bpf/build.mk
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -DFALCON_CONNS=131072 -MMD -MP -c -o $@ $<
