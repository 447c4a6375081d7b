# SPDX-License-Identifier: BSD-2-Clause
# Wireshark loads what lies in its folder of plugins. RIFL's script takes all captures of link type USER0,
# which may be others' on another desk: it is named where it is wanted.

DISSECTOR_ASKED := tools/dissector/falcon_rifl.lua
DISSECTORS := $(filter-out $(DISSECTOR_ASKED),$(wildcard tools/dissector/*.lua))

INSTALLED += $(call put,644,$(DISSECTORS),$(WIRESHARKDIR)) \
	$(call put,644,$(DISSECTOR_ASKED),$(DATADIR)/falcon)
