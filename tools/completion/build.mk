# SPDX-License-Identifier: BSD-2-Clause
# bash and fish look for a file of the command's name. Debian's zsh keeps what packages bring apart.
COMPLETED := falcond $(addprefix falcon-,cp lab perf psp rifl rue run sim wire)
ZSHDIR ?= $(DATADIR)/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)

INSTALLED += $(foreach p,$(COMPLETED),644:tools/completion/falcon.bash:$(DATADIR)/bash-completion/completions/$(p)) \
	$(foreach p,$(COMPLETED) falconctl,644:tools/completion/falcon.fish:$(DATADIR)/fish/vendor_completions.d/$(p).fish) \
	644:tools/completion/_falcon:$(ZSHDIR)/_falcon
