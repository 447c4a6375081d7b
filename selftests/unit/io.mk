# SPDX-License-Identifier: BSD-2-Clause
# Tests of user/io that need no kernel.

$(B)/selftests/unit/io_frame.t: $(B)/asan/selftests/unit/io_frame.o $(B)/asan/user/io/frame.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(ASAN) -o $@ $^ -lcmocka

TESTS += $(B)/selftests/unit/io_frame.t
