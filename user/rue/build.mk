# SPDX-License-Identifier: BSD-2-Clause
# The engines are part of the agent and of falcon-rue. Swift's results must be the reference's bit
# for bit: no fused multiply-add, and sqrt() as the instruction, which rounds correctly.

RUE_SRC := $(wildcard user/rue/*.c)
RUE_FP := -ffp-contract=off -fno-math-errno

$(RUE_SRC:%.c=$(B)/obj/%.o) $(RUE_SRC:%.c=$(B)/asan/%.o) $(RUE_SRC:%.c=$(B)/tsan/%.o): CFLAGS += $(RUE_FP)

# Where the compiler calls sqrt() after all.
AGENT_LIBS += -lm

include user/rue/example/build.mk
