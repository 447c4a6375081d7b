# SPDX-License-Identifier: BSD-2-Clause
FALCONCTL_SRCS := $(wildcard tools/ctl/*.c) user/agent/config_keys.c tools/rue/columns.c \
	$(addprefix user/rue/,configs.c params.c) $(IPC_CLIENT_SRC)
PROGRAMS += $(B)/falconctl

$(B)/falconctl: $(FALCONCTL_SRCS:%.c=$(B)/obj/%.o)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -ljansson -lm -lcrypto

install: install-falconctl-completion
install-falconctl-completion:
	install -D -m 644 tools/ctl/falconctl.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/falconctl
.PHONY: install-falconctl-completion
