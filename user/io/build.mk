# SPDX-License-Identifier: BSD-2-Clause
# Compiled into falcond by user/agent/build.mk.
