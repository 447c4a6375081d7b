# SPDX-License-Identifier: BSD-2-Clause
# Everything is built under build/. Each directory's build.mk adds its targets to the lists below.

# On all CPUs unless -j says otherwise; but "make clean all" in this order.
ifeq ($(MAKELEVEL)$(filter clean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

B       ?= build
CONNS   ?= 4096
PREFIX  ?= /usr/local
DESTDIR ?=
SECONDS ?= 60
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)

CC      ?= gcc
CLANG   ?= clang
CFLAGS  ?= -O2 -g
# Debian's folder for this architecture; empty elsewhere, and before "make deps".
TRIPLET := $(shell $(CC) -print-multiarch 2>/dev/null)
# A warning of a compiler that this tree has not seen stops nobody; .ci/run has WERROR=-Werror.
WERROR  ?=
WARN    := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes $(WERROR)
# What is built does not tell where.
COMMON  := -std=gnu11 -D_GNU_SOURCE -DFALCON_CONNS=$(CONNS) -Iinclude -Iuser -I$(B) -ffile-prefix-map=$(CURDIR)=.

# One place has the version. The libraries' ABI goes by its first number.
VERSION := $(shell sed -n 's/.*FALCON_VERSION_STRING "\(.*\)"/\1/p' user/base/version.h)
ABI     := $(firstword $(subst ., ,$(VERSION)))

PROGRAMS :=	# binaries and scripts, built and installed
DAEMONS  :=	# likewise, for systems and not for people
OBJECTS  :=	# BPF objects, built and installed
TESTS    :=	# what only the tests need

all:

# What "make install" puts where: MODE:SOURCE:PLACE, or link:TARGET:PLACE, a word each (tools/install.mk).
INSTALLED =

# $(call put,MODE,FILES,FOLDER)
put = $(foreach f,$(2),$(1):$(f):$(3)/$(notdir $(f)))

# $(call say,CC,file)
say = $(if $(filter 1,$(V)),,@printf '  %-8s %s\n' "$(1)" "$(2)")

# One rule per sanitizer flavour: $(B)/obj/x.o, $(B)/asan/x.o, $(B)/tsan/x.o from x.c
define c_rule
$(B)/$(1)/%.o: %.c
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$(Q)$$(CC) $$(CFLAGS) $(2) $$(WARN) $$(COMMON) $$(CPPFLAGS) -MMD -MP -c -o $$@ $$<
endef
# Headers in a frame lie at any 2-byte boundary, as in the kernel with NET_IP_ALIGN 0; the
# architectures supported (x86-64, arm64) read them in place.
# -Og takes a quarter less time to compile than -O1, -O1 than -O2, and half of what a clean test run compiles is
# this; -g1 has what a report names, functions and lines, and takes a quarter less again. xxhash.h forces functions
# inline that -Og cannot inline, unless told not to.
SANITIZED := -Og -g1 -DXXH_NO_INLINE_HINTS=1
ASAN := $(SANITIZED) -fsanitize=address,undefined -fno-sanitize=alignment -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
TSAN := $(SANITIZED) -fsanitize=thread -fno-omit-frame-pointer
# gold links the two hundred programs of the tests in about a third of the time that bfd takes.
TEST_LD := $(if $(shell command -v ld.gold),-fuse-ld=gold)
$(eval $(call c_rule,obj,))
$(eval $(call c_rule,asan,$(ASAN)))
$(eval $(call c_rule,tsan,$(TSAN)))

include bpf/build.mk
include user/build.mk
include tools/build.mk
include selftests/build.mk

all: $(OBJECTS) $(PROGRAMS) $(DAEMONS)

deps: deps-test

deps-build deps-test deps-bench: deps-%:
	@tools/deps.sh $*

demo: deps
	@$(MAKE) --no-print-directory all
	@tools/demo.sh

test: deps
	@$(MAKE) --no-print-directory all tests
	@selftests/run.sh

tests: $(TESTS)

bench: deps-bench
	@$(MAKE) --no-print-directory all tests
	@selftests/bench/run.sh
	@selftests/bench/congestion.sh
	@selftests/bench/nvme.sh
	@selftests/bench/hosts.sh
	@selftests/bench/verbs.sh
	@selftests/bench/offload.sh
	@selftests/bench/scale.sh
	@selftests/bench/tenants.sh
	@selftests/bench/rifl.sh

vmtest: all tests
	@selftests/vm/run.sh

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

.PHONY: all deps deps-build deps-test deps-bench demo test tests bench vmtest fuzz install uninstall clean
