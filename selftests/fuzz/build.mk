# SPDX-License-Identifier: BSD-2-Clause
# make fuzz SECONDS=n: each fuzzer for n seconds. What it finds, and the corpus it learns, stay
# under build/fuzz/; a second run goes on from there.

FUZZERS := fuzz_frame fuzz_wire
FUZZ := $(B)/fuzz
FUZZ_SHARED := $(addprefix selftests/bpf/,reference.c traffic.c packet.c conn.c)
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	$(WARN) $(COMMON) -Iselftests/bpf

$(FUZZERS:%=$(FUZZ)/%): $(FUZZ)/%: selftests/fuzz/%.c $(FUZZ_SHARED) \
		$(wildcard selftests/bpf/*.h include/falcon/*.h)
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -o $@ $(filter %.c,$^)

$(FUZZ)/seeds: selftests/fuzz/seeds.c $(FUZZ_SHARED) \
		$(wildcard selftests/bpf/*.h include/falcon/*.h)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(WARN) $(COMMON) -Iselftests/bpf -o $@ $(filter %.c,$^)

fuzz: $(FUZZERS:%=$(FUZZ)/%) $(FUZZ)/seeds
	$(Q)mkdir -p $(FUZZ)/corpus
	$(Q)$(FUZZ)/seeds $(FUZZ)/corpus
	$(Q)for f in $(FUZZERS); do \
		echo "$$f: $(SECONDS) s"; \
		$(FUZZ)/$$f -max_total_time=$(SECONDS) -timeout=10 -max_len=16384 \
			-print_final_stats=1 -artifact_prefix=$(FUZZ)/$$f- \
			$(FUZZ)/corpus/$$f >$(FUZZ)/$$f.log 2>&1 || \
			{ tail -n 40 $(FUZZ)/$$f.log; exit 1; }; \
		grep -E 'number_of_executed_units|new_units_added' $(FUZZ)/$$f.log; \
	done
