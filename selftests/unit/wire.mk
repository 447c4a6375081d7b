# SPDX-License-Identifier: BSD-2-Clause
# Tests of headers alone, built with the sanitizers: they are about bits, shifts and bounds.

WIRE_TESTS := wire_golden wire_fields wire_validate wire_nvme wire_rdma wire_rdma_golden psp_header rue_bits \
	      codes_tables rx_contended
WIRE_BINS := $(WIRE_TESTS:%=$(B)/selftests/unit/%.t)

$(WIRE_BINS): $(B)/selftests/unit/%.t: $(B)/asan/selftests/unit/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $< -lcmocka

TESTS += $(WIRE_BINS)
