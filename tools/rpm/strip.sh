#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# strip.sh OPTION... FILE: strip, but for BPF objects, which it does not know, and which keep what the kernel
# and bpftool read in them.
case $* in
*.bpf.o) ;;
*) exec strip "$@" ;;
esac
