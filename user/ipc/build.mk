# SPDX-License-Identifier: BSD-2-Clause
# The client of the agent's control socket, for the libraries and tools that link it.

IPC_CLIENT_SRC := user/ipc/client.c
