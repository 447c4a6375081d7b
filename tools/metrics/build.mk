# SPDX-License-Identifier: BSD-2-Clause
INSTALLED += $(call put,644,$(addprefix tools/metrics/,dashboard.json alerts.yml),$(DATADIR)/falcon)
