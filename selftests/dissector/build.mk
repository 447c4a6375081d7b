# SPDX-License-Identifier: BSD-2-Clause
$(B)/selftests/dissector/make_pcap: $(B)/asan/selftests/dissector/make_pcap.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) -o $@ $< -lpcap

TESTS += $(B)/selftests/dissector/make_pcap
