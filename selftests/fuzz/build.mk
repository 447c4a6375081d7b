# SPDX-License-Identifier: BSD-2-Clause
# make fuzz SECONDS=n: each fuzzer for n seconds. What it finds, and the corpus it learns, stay
# under build/fuzz/; a second run goes on from there.

FUZZERS := fuzz_frame fuzz_wire
FUZZ := $(B)/fuzz
FUZZ_SHARED := $(addprefix selftests/bpf/,reference.c traffic.c packet.c conn.c)
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	$(WARN) $(COMMON) -DFALCON_MAX_CONNS=4096 -Iselftests/bpf

$(FUZZERS:%=$(FUZZ)/%): $(FUZZ)/%: selftests/fuzz/%.c $(FUZZ_SHARED) \
		$(wildcard selftests/bpf/*.h include/falcon/*.h)
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -o $@ $(filter %.c,$^)

$(FUZZ)/seeds: selftests/fuzz/seeds.c selftests/fuzz/seed_file.c $(FUZZ_SHARED) \
		$(wildcard selftests/bpf/*.h include/falcon/*.h)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(WARN) $(COMMON) -Iselftests/bpf -o $@ $(filter %.c,$^)

# PSP is not of the receive path: other sources, and the vectors as first corpus.
FUZZERS += fuzz_psp
FUZZ_PSP := selftests/fuzz/fuzz_psp.c $(wildcard user/crypto/*.c) \
	$(addprefix tools/falcon-psp_,config.c capture.c kdf.c)

$(FUZZ)/fuzz_psp: $(FUZZ_PSP) $(wildcard user/crypto/*.h tools/falcon-psp.h include/falcon/*.h)
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -o $@ $(filter %.c,$^) -lcrypto -ljansson -lpcap

# $(call psp_seed,target of fuzz_psp.c,files,N): the files from byte N on behind two bytes of choices.
define psp_seed
	$(Q)for f in $(2); do \
		{ printf '\$(1)\001'; tail -c +$(3) "$$f"; } \
			>$(FUZZ)/corpus/fuzz_psp/seed$(1)$$(echo "$$f" | tr / _); \
	done
endef

# Behind a capture's header and the packet's.
PSP_FIRST_FRAME := 41

fuzz-psp-seeds:
	$(Q)mkdir -p $(FUZZ)/corpus/fuzz_psp
	$(call psp_seed,002,selftests/vectors/psp/*/encrypted.pcap,$(PSP_FIRST_FRAME))
	$(call psp_seed,003,selftests/vectors/psp/*/cleartext.pcap,$(PSP_FIRST_FRAME))
	$(call psp_seed,004,selftests/vectors/psp/*/encrypt.cfg,1)
	$(call psp_seed,005,selftests/vectors/psp/*/case.json,1)
	$(call psp_seed,006,selftests/vectors/psp/*/*.pcap,1)
	$(call psp_seed,007,selftests/vectors/psp_kdf.csv,1)
.PHONY: fuzz-psp-seeds

# What strangers give the agent and falcon-cp. Shared memory and frames may lie at any boundary.
# $(call agent_fuzzer,NAME,sources,flags)
AGENT_FUZZ_DEPS := $(wildcard user/*/*.h user/ulp/*/*.h tools/*.h selftests/unit/loop/*.h selftests/fuzz/*.h \
	include/falcon/*.h)

define agent_fuzzer
FUZZERS += $(1)
$(FUZZ)/$(1): selftests/fuzz/$(1).c $(2) $(AGENT_FUZZ_DEPS)
	$$(call say,FUZZ,$$@)
	@mkdir -p $$(@D)
	$(Q)$$(CLANG) $$(FUZZ_FLAGS) -fno-sanitize=alignment -o $$@ $$(filter %.c,$$^) $(3)
endef

FUZZ_CONFIG := $(addprefix user/agent/,config.c config_conn.c config_json.c config_keys.c \
	config_nvme.c config_rue.c policy.c log.c) user/rue/configs.c user/rue/params.c $(wildcard user/core/*.c)

FUZZ_RAW := user/agent/client.c $(wildcard user/ulp/*.c) \
	$(addprefix selftests/unit/loop/,app.c fake_core.c)
FUZZ_CONTROL := $(addprefix user/agent/,commands.c own.c show.c control.c control_msg.c drop.c config.c \
	config_conn.c config_json.c config_keys.c config_nvme.c config_rue.c nvme.c nvme_app.c \
	nvme_ns.c nvme_store.c policy.c rue.c rue_commands.c rue_process.c rue_show.c log.c quota.c sec.c sec_keys.c) \
	$(wildcard user/crypto/*.c user/rue/*.c user/ulp/nvme/*.c) $(FUZZ_RAW)
FUZZ_CP := $(addprefix tools/falcon-cp_,session.c proto.c file.c text.c) tools/mailbox.c

$(eval $(call agent_fuzzer,fuzz_config,$(FUZZ_CONFIG),-ljansson -linih))
$(eval $(call agent_fuzzer,fuzz_control,$(FUZZ_CONTROL),-ljansson -linih -lcrypto -luring -lisal))
$(eval $(call agent_fuzzer,fuzz_client,$(FUZZ_RAW),-Dmmap=guarded_mmap -Dmunmap=guarded_munmap))
# The RDMA layer on real cores, as its unit tests have it.
FUZZ_VERBS := $(wildcard user/ulp/rdma/*.c user/core/*.c selftests/unit/rdma_env*.c)
$(eval $(call agent_fuzzer,fuzz_verbs,$(FUZZ_VERBS),-Iselftests/unit -lcmocka))
$(eval $(call agent_fuzzer,fuzz_cp,$(FUZZ_CP),-Dgetrandom=counted_getrandom -ljansson))
# Connection management of RDMA, without the rest of the layer.
$(eval $(call agent_fuzzer,fuzz_rdma_cm,selftests/fuzz/fuzz_rdma_cm.c $(wildcard user/ulp/rdma/cm_*.c),))

FUZZ_RDMA := $(wildcard user/ulp/rdma/*.c user/core/*.c selftests/unit/rdma_env*.c)

FUZZERS += fuzz_rdma
$(FUZZ)/fuzz_rdma: selftests/fuzz/fuzz_rdma.c $(FUZZ_RDMA) \
		$(wildcard user/ulp/rdma/*.h user/core/*.h selftests/unit/rdma_*.h include/falcon/*.h)
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fno-sanitize=alignment -Iselftests -o $@ $(filter %.c,$^) -lcmocka

FUZZ_TLS := user/cm/tls.c user/cm/tls_psk.c tools/falconctl_x509.c
$(eval $(call agent_fuzzer,fuzz_tls,$(FUZZ_TLS),-lssl -lcrypto))

# Each kind of file, behind the byte that names it.
fuzz-tls-seeds: $(B)/falconctl
	$(Q)rm -rf $(FUZZ)/ca && mkdir -p $(FUZZ)/corpus/fuzz_tls
	$(Q)$(B)/falconctl ca init $(FUZZ)/ca >/dev/null
	$(Q)$(B)/falconctl ca issue a 10.0.0.1 dir=$(FUZZ)/ca >/dev/null
	$(Q)$(B)/falconctl ca revoke a dir=$(FUZZ)/ca >/dev/null
	$(Q)printf '# c\n* %064d\n10.0.0.1 %0128d\nfd00::1 %064x\n' 1 2 3 >$(FUZZ)/ca/psk
	$(Q)set -- a.crt a.key ca.crt crl.pem psk; for n in 0 1 2 3 4; do \
		{ printf "\\00$$n"; cat $(FUZZ)/ca/$$1; } >$(FUZZ)/corpus/fuzz_tls/seed-$$n; shift; \
	done
.PHONY: fuzz-tls-seeds

# Both ends of NVMe over Falcon, in the world of their unit tests.
FUZZ_NVME := $(wildcard user/ulp/nvme/*.c) selftests/unit/nvme_env.c

$(eval $(call agent_fuzzer,fuzz_nvme,$(FUZZ_NVME),-lcmocka -lisal))
$(FUZZ)/fuzz_nvme: $(wildcard user/ulp/nvme/*.h) selftests/unit/nvme_env.h

# Long runs of steps, which it would be slow to find by itself.
fuzz-nvme-seeds:
	$(Q)mkdir -p $(FUZZ)/corpus/fuzz_nvme
	$(Q)for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do \
		openssl enc -aes-128-ctr -nosalt -K $$n -iv 0 -in /dev/zero 2>/dev/null | \
			head -c 1500 >$(FUZZ)/corpus/fuzz_nvme/seed$$n; \
	done
fuzz: fuzz-nvme-seeds
.PHONY: fuzz-nvme-seeds

# falcon-wire, but for its loop and interfaces.
FUZZ_EMULATOR := $(addprefix tools/wire/,command.c frame.c link.c pool.c report.c settings.c \
	timeline.c wire.c) tools/histogram.c

FUZZERS += fuzz_emulator
$(FUZZ)/fuzz_emulator: selftests/fuzz/fuzz_emulator.c $(FUZZ_EMULATOR) $(wildcard tools/wire/*.h)
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -o $@ $(filter %.c,$^) -ljansson -lm

$(FUZZ)/seeds_agent: $(addprefix selftests/fuzz/seed,s_agent.c s_cp.c s_emulator.c _file.c) \
		tools/falcon-cp_proto.c $(AGENT_FUZZ_DEPS)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(WARN) $(COMMON) -o $@ $(filter %.c,$^)

fuzz: $(FUZZERS:%=$(FUZZ)/%) $(FUZZ)/seeds $(FUZZ)/seeds_agent fuzz-psp-seeds fuzz-tls-seeds
	$(Q)mkdir -p $(FUZZ)/corpus
	$(Q)$(FUZZ)/seeds $(FUZZ)/corpus
	$(Q)$(FUZZ)/seeds_agent $(FUZZ)/corpus
	$(Q)for f in $(FUZZERS); do \
		echo "$$f: $(SECONDS) s"; \
		$(FUZZ)/$$f -max_total_time=$(SECONDS) -timeout=10 -max_len=16384 \
			-print_final_stats=1 -artifact_prefix=$(FUZZ)/$$f- \
			$(FUZZ)/corpus/$$f >$(FUZZ)/$$f.log 2>&1 || \
			{ tail -n 40 $(FUZZ)/$$f.log; exit 1; }; \
		grep -E 'number_of_executed_units|new_units_added' $(FUZZ)/$$f.log; \
	done
