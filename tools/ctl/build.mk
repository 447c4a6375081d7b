# SPDX-License-Identifier: BSD-2-Clause
# The doctor reads falcon.conf and looks at maps and certificates with the agent's own code.
FALCONCTL_SRCS := $(wildcard tools/ctl/*.c tools/ctl/doctor/*.c) tools/rue/columns.c user/base/cli.c \
	$(wildcard user/agent/config/*.c) \
	user/base/log.c $(addprefix user/rue/,configs.c params.c) $(addprefix user/cm/,tls.c tls_psk.c) \
	$(addprefix user/io/,maps.c memory.c netdev.c rings.c) $(IPC_CLIENT_SRC)
PROGRAMS += $(B)/falconctl
CURSES_LIBS = $(shell pkg-config --libs ncursesw)

$(B)/falconctl: $(FALCONCTL_SRCS:%.c=$(B)/obj/%.o) $(B)/libfcore.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson -lm -lcrypto -lssl -linih -lbpf $(CURSES_LIBS)

INSTALLED += 644:tools/ctl/falconctl.bash:$(DATADIR)/bash-completion/completions/falconctl
