# SPDX-License-Identifier: BSD-2-Clause
# falcond, plain and with AddressSanitizer, and what the unit tests link of it.

AGENT_SRCS := $(wildcard user/agent/*.c user/io/*.c user/rue/*.c user/ulp/*.c)
AGENT_PKGS := libxdp libbpf jansson libmnl inih libsystemd
AGENT_LIBS := $(shell pkg-config --libs $(AGENT_PKGS)) -ldl

$(B)/falcond: $(AGENT_SRCS:%.c=$(B)/obj/%.o) $(B)/libfcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) -rdynamic -o $@ $^ $(AGENT_LIBS)

$(B)/asan/falcond: $(AGENT_SRCS:%.c=$(B)/asan/%.o) $(B)/asan/libfcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ASAN) -rdynamic -o $@ $^ $(AGENT_LIBS)

PROGRAMS += $(B)/falcond
TESTS += $(B)/asan/falcond

AGENT_CONFIG_OBJS := $(addprefix $(B)/asan/user/agent/,config.o config_conn.o config_json.o config_keys.o)
unit_config_OBJS := $(AGENT_CONFIG_OBJS) $(B)/asan/user/agent/log.o
unit_config_LIBS := -ljansson -linih
unit_log_OBJS := $(B)/asan/user/agent/log.o
unit_cm_OBJS := $(addprefix $(B)/asan/user/agent/,cm.o cm_session.o cm_wire.o log.o)
unit_control_OBJS := $(addprefix $(B)/asan/user/agent/,control.o control_msg.o log.o)
unit_control_LIBS := -ljansson
unit_neigh_OBJS := $(addprefix $(B)/asan/user/agent/,neigh.o neigh_msg.o log.o)
unit_neigh_LIBS := -lmnl
