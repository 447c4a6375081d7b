# SPDX-License-Identifier: BSD-2-Clause
# Tests of user/io that need no kernel.

IO_BINS := $(B)/selftests/unit/io_frame.t $(B)/selftests/unit/io_flow.t \
	$(B)/selftests/unit/io_seal.t \
	$(B)/selftests/unit/io_spin.t

$(patsubst %,$(B)/selftests/unit/io_%.t,frame flow seal): $(B)/asan/user/io/frame.o \
	$(B)/asan/libfcrypto.a
$(IO_BINS): $(B)/selftests/unit/%.t: $(B)/asan/selftests/unit/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka $(CRYPTO_LIBS)

$(B)/selftests/unit/io_xsk.t: $(B)/asan/selftests/unit/io_xsk.o $(B)/asan/user/io/xsk.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) $(TEST_LD) -o $@ $^ -lcmocka -lxdp -lbpf

TESTS += $(IO_BINS) $(B)/selftests/unit/io_xsk.t
