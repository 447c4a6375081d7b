# SPDX-License-Identifier: BSD-2-Clause
INSTALLED += $(call put,644,$(addprefix tools/container/,Containerfile daemonset.yaml),$(DATADIR)/falcon/container)
INSTALLED += $(call put,755,tools/container/start.sh,$(DATADIR)/falcon/container)
