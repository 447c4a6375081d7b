# SPDX-License-Identifier: BSD-2-Clause
# Tests of the agent's control plane. $(call agent_test,NAME,objects of user/agent,libraries); an
# object of another directory is written ../DIRECTORY/NAME.

CONFIG_OBJS := $(patsubst user/agent/%.c,%,$(wildcard user/agent/config/*.c))
CM_OBJS := $(patsubst user/cm/%.c,../cm/%,$(wildcard user/cm/*.c)) ../base/log

# Without "..": by that name the object is none that the compiler has written dependencies of.
agent_objects = $(patsubst $(CURDIR)/%,%,$(abspath $(1:%=$(B)/asan/user/agent/%.o)))

define agent_test
$(B)/selftests/unit/$(1).t: $(B)/asan/selftests/unit/$(1).o $(call agent_objects,$(2)) $(B)/asan/libfcore.a
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$(Q)$$(CC) $$(CFLAGS) $$(ASAN) $$(TEST_LD) -o $$@ $$^ -lcmocka $(3)
TESTS += $(B)/selftests/unit/$(1).t
endef

$(eval $(call agent_test,config_file,$(CONFIG_OBJS) ../base/log,-ljansson -linih -lm))
$(eval $(call agent_test,config_json,$(CONFIG_OBJS) ../base/log,-ljansson -linih -lm))
$(B)/selftests/unit/config_file.t $(B)/selftests/unit/config_json.t: $(addprefix $(B)/asan/user/rue/,configs.o params.o)
$(eval $(call agent_test,log_lines,../base/log,))
$(eval $(call agent_test,loopq,shard/loopq,))
$(eval $(call agent_test,top_view,../../tools/ctl/top_view ../../tools/ctl/table,-ljansson))
$(eval $(call agent_test,cm_wire,../cm/wire,))
$(eval $(call agent_test,cm_owners,../cm/owners,))
$(eval $(call agent_test,cm_pair,$(CM_OBJS),-lssl -lcrypto -lcap -lpthread))
$(eval $(call agent_test,cm_hostile,$(CM_OBJS),-lssl -lcrypto -lcap -lpthread))
$(eval $(call agent_test,cm_dial,$(CM_OBJS) ../../tools/ctl/x509,-lssl -lcrypto -lcap -lpthread))
$(eval $(call agent_test,policy,config/policy,))
$(eval $(call agent_test,cpu_pressure,shard/cpu_pressure,))
$(eval $(call agent_test,priority,process/priority,-Xlinker --wrap=syscall))
$(eval $(call agent_test,quota,tenant/quota,))
$(eval $(call agent_test,call,shard/call,-lpthread))
$(eval $(call agent_test,grace,conn/grace,-lpthread))
$(eval $(call agent_test,stall,shard/stall,-lpthread))
$(eval $(call agent_test,rdma_rest,rdma/rest,-lpthread))
$(eval $(call agent_test,deferred_close,process/deferred_close,-lpthread))
$(eval $(call agent_test,fdpass,,))
$(eval $(call agent_test,ipc_sleep,,-lpthread))
$(eval $(call agent_test,ipc_client,../ipc/client control/msg,-ljansson))
$(eval $(call agent_test,remotes,conn/remotes,))
$(eval $(call agent_test,conn_lookup,conn/lookup conn/remotes,))
$(eval $(call agent_test,cm_keys,$(CM_OBJS) ../../tools/ctl/x509,-lssl -lcrypto -lcap -lpthread))
$(eval $(call agent_test,cm_names,$(CM_OBJS) ../../tools/ctl/x509,-lssl -lcrypto -lcap -lpthread))
$(eval $(call agent_test,cm_tls,$(CM_OBJS) ../../tools/ctl/x509,-lssl -lcrypto -lcap -lpthread))
$(eval $(call agent_test,cm_flood,$(CM_OBJS) ../../tools/ctl/x509,-lssl -lcrypto -lcap -lpthread))
$(eval $(call agent_test,cm_resume,$(CM_OBJS),-lssl -lcrypto -lcap -lpthread))
$(eval $(call agent_test,control_socket,control/control control/msg process/deferred_close ../base/log,-ljansson))
$(eval $(call agent_test,control_admission,control/control control/msg process/deferred_close ../base/log,-ljansson))
$(eval $(call agent_test,neigh_lookup,net/neigh net/neigh_msg ../base/log,-lmnl))
$(eval $(call agent_test,neigh_link,net/neigh_msg,-lmnl))
$(eval $(call agent_test,neigh_vlan,net/neigh ../base/log,-lmnl))
$(eval $(call agent_test,control_falconctl,control/control control/msg process/deferred_close ../base/log,-ljansson))
$(eval $(call agent_test,agent_rue,rue/rue rue/level rue/process config/rue ../base/log,-ljansson -lm))
$(B)/selftests/unit/agent_rue.t: $(patsubst %.c,$(B)/asan/%.o,$(wildcard user/rue/*.c))
$(B)/selftests/unit/control_falconctl.t: | $(B)/falconctl
$(eval $(call agent_test,metrics_text,metrics/metrics metrics/tables stats/stat,-ljansson))
$(eval $(call agent_test,metrics_http,config/endpoint metrics/metrics metrics/http metrics/tables stats/stat,-ljansson -lmicrohttpd))

# Not a test: what metrics.t.sh checks.
$(B)/selftests/unit/metrics_write: $(addprefix $(B)/asan/,selftests/unit/metrics_write.o $(addprefix user/agent/,metrics/metrics.o metrics/tables.o stats/stat.o))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -ljansson
TESTS += $(B)/selftests/unit/metrics_write

# The receive path for redirected frames, keys and their rotation.
SEC_OBJS := shard/call conn/security ../base/log conn/rekey keys/sec keys/sec_keys shard/steer ../io/frame
$(patsubst %,$(B)/selftests/unit/agent_%.t,attack attack_esp path rekey setup steer): $(B)/asan/libfcrypto.a
$(eval $(call agent_test,agent_attack,$(SEC_OBJS),$$(CRYPTO_LIBS) -ljansson))
$(eval $(call agent_test,agent_attack_esp,$(SEC_OBJS),$$(CRYPTO_LIBS) -ljansson))
$(eval $(call agent_test,agent_rekey,$(SEC_OBJS),$$(CRYPTO_LIBS) -ljansson))
$(eval $(call agent_test,agent_setup,conn/cid conn/conn conn/lookup conn/remotes conn/setup $(SEC_OBJS),$$(CRYPTO_LIBS) -ljansson))
$(eval $(call agent_test,agent_steer,$(SEC_OBJS),$$(CRYPTO_LIBS) -ljansson))
$(eval $(call agent_test,agent_path,shard/call conn/path ../base/log ../io/frame,$$(CRYPTO_LIBS)))

# Of the objects that the agent is made of: a sanitizer needs calls that the sandbox refuses.
$(B)/selftests/unit/sandbox.t: $(addprefix $(B)/obj/,selftests/unit/sandbox.o user/agent/process/sandbox.o user/agent/process/sandbox_calls.o)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ -lcmocka -lseccomp -lcap -lpthread
TESTS += $(B)/selftests/unit/sandbox.t
