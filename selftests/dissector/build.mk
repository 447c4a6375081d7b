# SPDX-License-Identifier: BSD-2-Clause
$(B)/selftests/dissector/make_pcap: $(B)/asan/selftests/dissector/make_pcap.o \
		$(B)/asan/selftests/dissector/pcap_frame.o $(B)/asan/selftests/dissector/pcap_nvme.o \
		$(B)/asan/selftests/dissector/pcap_rdma.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lpcap

$(B)/selftests/dissector/make_esp: $(B)/asan/selftests/dissector/make_esp.o \
		$(B)/asan/user/io/frame.o $(B)/asan/libfcrypto.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lpcap $(CRYPTO_LIBS)

TESTS += $(B)/selftests/dissector/make_pcap $(B)/selftests/dissector/make_esp
