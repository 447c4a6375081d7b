# SPDX-License-Identifier: BSD-2-Clause
# make fuzz SECONDS=n: each fuzzer for n seconds. What it finds, and the corpus it learns, stay
# under build/fuzz/; a second run goes on from there. make fuzz-corpus puts what was learnt into the tree, and
# make fuzz-coverage says how many lines of the product all inputs run.

FUZZERS :=	# all of them
# Those of what comes from the network, of the control socket and of several tenants, which fuzz.t.sh builds and
# gives their seeds. All of them would take longer to compile.
FUZZERS_TESTED := fuzz_frame fuzz_wire fuzz_psp fuzz_handshake fuzz_rdma fuzz_rdma_cm fuzz_nvme fuzz_rifl fuzz_tenants \
	fuzz_control
FUZZ := $(B)/fuzz
FUZZ_COVERAGE :=	# what counts the lines that are run, in builds of "make fuzz-coverage"
FUZZ_SEEDS := $(FUZZ)/seeds
FUZZ_FLAGS := -O1 -gline-tables-only -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
	$(WARN) $(COMMON) -DFALCON_MAX_CONNS=4096 -Iselftests/bpf $(FUZZ_COVERAGE)

# $(call fuzz_rule,FLAVOUR,flags): $(FUZZ)/FLAVOUR/x.o from x.c, once for all fuzzers of that flavour.
define fuzz_rule
$(FUZZ)/$(1)/%.o: %.c
	$$(call say,FUZZ,$$@)
	@mkdir -p $$(@D)
	$(Q)$$(CLANG) $$(FUZZ_FLAGS) $(2) -MMD -MP -c -o $$@ $$<
endef
# Shared memory and frames may lie at any boundary.
$(eval $(call fuzz_rule,any,-fno-sanitize=alignment))
$(eval $(call fuzz_rule,aligned,))
$(eval $(call fuzz_rule,guarded,-fno-sanitize=alignment -Dmmap=guarded_mmap -Dmunmap=guarded_munmap))
# Code that fuzz_tenants counts the edges of. Others that have most of it share the objects, and count nothing:
# libFuzzer's own function for that ends the program.
$(eval $(call fuzz_rule,metered,-fno-sanitize=alignment -fsanitize-coverage=trace-pc))
FUZZ_METER := -Wl,--wrap=__sanitizer_cov_trace_pc
FUZZ_UNMETERED := selftests/fuzz/unmetered.c
$(eval $(call fuzz_rule,counted,-fno-sanitize=alignment -Dgetrandom=counted_getrandom))

# $(call fuzzer,NAME,FLAVOUR,sources beside NAME.c,libraries)
define fuzzer
FUZZERS += $(1)
$(FUZZ)/$(1): $(patsubst %.c,$(FUZZ)/$(2)/%.o,$(sort selftests/fuzz/$(1).c $(3)))
	$$(call say,LD,$$@)
	$(Q)$$(CLANG) -fsanitize=fuzzer,address,undefined $(FUZZ_COVERAGE) $(TEST_LD) -o $$@ $$^ $(4)
endef

# The receive path.
FUZZ_FRAMES := $(addprefix selftests/bpf/,reference.c traffic.c packet.c conn.c)
$(eval $(call fuzzer,fuzz_frame,aligned,$(FUZZ_FRAMES)))
$(eval $(call fuzzer,fuzz_wire,aligned,$(FUZZ_FRAMES)))
FUZZ_PSP := $(wildcard user/crypto/*.c) $(addprefix tools/psp/,config.c capture.c json.c kdf.c)
$(eval $(call fuzzer,fuzz_psp,aligned,$(FUZZ_PSP),$$(CRYPTO_LIBS) -ljansson -lpcap))

# What strangers give the agent and falcon-cp.
FUZZ_CONFIG := $(wildcard user/agent/config/*.c) user/base/log.c \
	$(addprefix user/rue/,configs.c params.c) $(wildcard user/core/*.c)
FUZZ_RAW := $(wildcard user/ulp/*.c) \
	$(addprefix selftests/unit/loop/,app.c fake_core.c)
FUZZ_CONTROL := selftests/fuzz/fuzz_control_agent.c \
	$(filter-out %/commands/pools.c,$(wildcard $(addprefix user/agent/,config/*.c control/*.c commands/*.c nvme/*.c raw/*.c tenant/*.c))) \
	$(addprefix user/agent/,conn/filter.c conn/rows.c conn/users.c keys/sec.c keys/sec_keys.c) \
	$(addprefix user/agent/,process/deferred_close.c metrics/now.c metrics/tables.c process/priority.c shard/call.c stats/stat.c) \
	$(addprefix user/agent/rue/,rue.c process.c) \
	user/io/netdev.c $(wildcard user/base/*.c user/crypto/*.c user/rue/*.c user/ulp/nvme/*.c) $(FUZZ_RAW)
FUZZ_CP := $(addprefix tools/cp/,session.c proto.c file.c text.c) tools/common/mailbox.c
FUZZ_HANDSHAKE := $(wildcard user/cm/*.c) user/base/log.c
FUZZ_TLS := user/cm/tls.c user/cm/tls_psk.c tools/ctl/x509.c
$(eval $(call fuzzer,fuzz_config,any,$(FUZZ_CONFIG),-ljansson -linih))
$(eval $(call fuzzer,fuzz_control,metered,$(FUZZ_CONTROL) $(FUZZ_UNMETERED),-ljansson -linih $$(CRYPTO_LIBS) \
	-luring -lisal $(FUZZ_METER)))
$(eval $(call fuzzer,fuzz_client,guarded,$(FUZZ_RAW)))
$(eval $(call fuzzer,fuzz_cp,counted,$(FUZZ_CP),-ljansson))
$(eval $(call fuzzer,fuzz_handshake,aligned,$(FUZZ_HANDSHAKE),-lssl -lcrypto -lcap -lpthread))
$(eval $(call fuzzer,fuzz_tls,any,$(FUZZ_TLS),-lssl -lcrypto))

# The RDMA layer on real cores, as its unit tests have it; its connection management without the rest.
FUZZ_RDMA := $(wildcard user/ulp/rdma/*.c user/core/*.c selftests/unit/rdma_env*.c)
$(eval $(call fuzzer,fuzz_verbs,metered,$(FUZZ_RDMA) $(FUZZ_UNMETERED),-lcmocka $(FUZZ_METER)))
$(eval $(call fuzzer,fuzz_rdma,metered,$(FUZZ_RDMA) $(FUZZ_UNMETERED),-lcmocka $(FUZZ_METER)))
$(eval $(call fuzzer,fuzz_rdma_cm,metered,$(wildcard user/ulp/rdma/cm_*.c) $(FUZZ_UNMETERED),$(FUZZ_METER)))

# Several applications of RDMA, raw and NVMe layers on one core. Every edge that is taken is counted.
FUZZ_TENANTS := $(addprefix selftests/fuzz/tenants_,verbs.c cm.c pairs.c raw.c good.c meter.c nvme.c \
	nvme_good.c nvme_bad.c nvme_host.c) selftests/unit/loop/app.c user/agent/nvme/app.c user/base/pi.c \
	$(wildcard user/ulp/*.c user/ulp/nvme/*.c) $(FUZZ_RDMA)
$(eval $(call fuzzer,fuzz_tenants,metered,$(FUZZ_TENANTS),-lcmocka -lisal $(FUZZ_METER)))

# Both ends of NVMe over Falcon, in the world of their unit tests.
FUZZ_NVME := $(wildcard user/ulp/nvme/*.c) user/base/pi.c selftests/unit/nvme_env.c
$(eval $(call fuzzer,fuzz_nvme,metered,$(FUZZ_NVME) $(FUZZ_UNMETERED),-lcmocka -lisal $(FUZZ_METER)))

# One end of a RIFL lane.
$(eval $(call fuzzer,fuzz_rifl,aligned,$(wildcard user/rifl/*.c)))

# falcon-wire, but for its loop and interfaces.
FUZZ_EMULATOR := $(addprefix tools/wire/,command.c frame.c hop.c link.c pool.c report.c settings.c \
	timeline.c wire.c) tools/common/histogram.c tools/rifl/hop.c tools/rifl/line.c $(wildcard user/rifl/*.c)
$(eval $(call fuzzer,fuzz_emulator,aligned,$(FUZZ_EMULATOR),-ljansson -lm))

$(FUZZ)/make_seeds: $(patsubst %.c,$(B)/obj/%.o,$(addprefix selftests/fuzz/,seeds.c seed_file.c) $(FUZZ_FRAMES))
$(FUZZ)/make_seeds_agent: $(patsubst %.c,$(B)/obj/%.o,$(addprefix selftests/fuzz/seed,s_agent.c s_cp.c \
	s_emulator.c s_tenants.c _file.c) tools/cp/proto.c)
$(FUZZ)/make_seeds $(FUZZ)/make_seeds_agent:
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^
$(B)/obj/selftests/fuzz/%.o $(FUZZ_FRAMES:%.c=$(B)/obj/%.o): CPPFLAGS += -Iselftests/bpf

# $(call psp_seed,target of fuzz_psp.c,files,N): the files from byte N on behind two bytes of choices.
define psp_seed
	$(Q)for f in $(2); do \
		{ printf '\$(1)\001'; tail -c +$(3) "$$f"; } \
			>$(FUZZ_SEEDS)/fuzz_psp/seed$(1)$$(echo "$$f" | tr / _); \
	done
endef

# Behind a capture's header and the packet's.
PSP_FIRST_FRAME := 41

# What each fuzzer begins with. fuzz_tls: each kind of file, behind the byte that names it. The last ones: long
# runs of steps, which they would be slow to find by themselves.
$(FUZZ_SEEDS)/made: $(FUZZ)/make_seeds $(FUZZ)/make_seeds_agent $(B)/falconctl selftests/fuzz/build.mk
	$(call say,SEEDS,$(@D))
	$(Q)rm -rf $(FUZZ_SEEDS) $(FUZZ)/ca && mkdir -p $(FUZZERS:%=$(FUZZ_SEEDS)/%)
	$(Q)$(FUZZ)/make_seeds $(FUZZ_SEEDS)
	$(Q)$(FUZZ)/make_seeds_agent $(FUZZ_SEEDS)
	$(call psp_seed,002,selftests/vectors/psp/*/encrypted.pcap,$(PSP_FIRST_FRAME))
	$(call psp_seed,003,selftests/vectors/psp/*/cleartext.pcap,$(PSP_FIRST_FRAME))
	$(call psp_seed,004,selftests/vectors/psp/*/encrypt.cfg,1)
	$(call psp_seed,005,selftests/vectors/psp/*/case.json,1)
	$(call psp_seed,006,selftests/vectors/psp/*/*.pcap,1)
	$(call psp_seed,007,selftests/vectors/psp_kdf.csv,1)
	$(Q)$(B)/falconctl ca init $(FUZZ)/ca >/dev/null
	$(Q)$(B)/falconctl ca issue a 10.0.0.1 dir=$(FUZZ)/ca >/dev/null
	$(Q)$(B)/falconctl ca revoke a dir=$(FUZZ)/ca >/dev/null
	$(Q)printf '# c\n* %064d\n10.0.0.1 %0128d\nfd00::1 %064x\n' 1 2 3 >$(FUZZ)/ca/psk
	$(Q)set -- a.crt a.key ca.crt crl.pem psk; for n in 0 1 2 3 4; do \
		{ printf "\\00$$n"; cat $(FUZZ)/ca/$$1; } >$(FUZZ_SEEDS)/fuzz_tls/seed-$$n; shift; \
	done
	$(Q)for f in fuzz_nvme fuzz_rdma fuzz_rdma_cm fuzz_handshake fuzz_rifl; do \
		for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do \
			openssl enc -aes-128-ctr -nosalt -K $$n -iv 0 -in /dev/zero 2>/dev/null | \
				head -c 1500 >$(FUZZ_SEEDS)/$$f/seed-$$n; \
		done; \
	done
	$(Q)touch $@

fuzz: $(FUZZERS:%=$(FUZZ)/%) $(FUZZ_SEEDS)/made
	$(Q)for f in $(FUZZERS); do \
		echo "$$f: $(SECONDS) s"; \
		mkdir -p $(FUZZ)/corpus/$$f; \
		selftests/fuzz/corpus.sh unpack $$f $(FUZZ)/kept/$$f || exit 1; \
		$(FUZZ)/$$f -max_total_time=$(SECONDS) -timeout=10 -max_len=16384 \
			-print_final_stats=1 -artifact_prefix=$(FUZZ)/$$f- \
			$(FUZZ)/corpus/$$f $(FUZZ)/kept/$$f $(FUZZ_SEEDS)/$$f >$(FUZZ)/$$f.log 2>&1 || \
			{ tail -n 40 $(FUZZ)/$$f.log; exit 1; }; \
		grep -E 'number_of_executed_units|new_units_added' $(FUZZ)/$$f.log; \
	done

fuzz-corpus: $(FUZZERS:%=$(FUZZ)/%) $(FUZZ_SEEDS)/made
	$(Q)for f in $(FUZZERS); do selftests/fuzz/corpus.sh merge $$f || exit 1; done

fuzz-coverage: $(FUZZ_SEEDS)/made
	@$(MAKE) --no-print-directory FUZZ=$(B)/fuzz-coverage \
		FUZZ_COVERAGE="-fprofile-instr-generate -fcoverage-mapping" fuzzers
	@selftests/fuzz/coverage.sh $(FUZZERS)

fuzzers: $(FUZZERS:%=$(FUZZ)/%)

fuzzers-tested: $(FUZZERS_TESTED:%=$(FUZZ)/%) $(FUZZ_SEEDS)/made

.PHONY: fuzzers fuzzers-tested fuzz-corpus fuzz-coverage
