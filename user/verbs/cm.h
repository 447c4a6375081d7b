/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device /dev/infiniband/rdma_cm, for librdmacm, which runs as it is: its commands are served by
 * our agent's connection manager. An open file is an event channel: a socket that is readable when
 * events wait. Its commands come by write(), as <rdma/rdma_user_cm.h> describes them.
 */
#ifndef FALCON_VERBS_CM_H
#define FALCON_VERBS_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "falcon/abi/rdmacm.h"

/* Whether |path| is the device's. */
bool fv_cm_path(const char *path);
/* A new channel, -1 with errno: there is no agent. |flags| as for open(). */
int fv_cm_open(int flags);
/* The agent's number of the channel |fd|; 0: it is another file. */
uint32_t fv_cm_channel(int fd);

/* cm_command.c: a command on channel |channel|, whose file is |fd|. |len|, or -1 with errno. */
ssize_t fv_cm_write(int fd, uint32_t channel, const void *buf, size_t len);

/* cm.c: ask the agent. 0, or -1 with errno. */
int fv_cm_ask(const struct fverbs_cm_req *req, void *answer, size_t len);
/* cm.c: the first address of |family| that a device has. False: none has one. */
bool fv_cm_own_address(uint16_t family, uint8_t addr[16]);

/* cm_addr.c: addresses as sockaddr, of 28 bytes, and back. False: neither IPv4 nor IPv6. */
bool fv_cm_addr_in(const void *sockaddr, struct fverbs_cm_addr *out);
void fv_cm_addr_out(const struct fverbs_cm_addr *addr, void *sockaddr);
void fv_cm_gid(const struct fverbs_cm_addr *addr, uint8_t gid[16]);
/* cm_addr.c: a device's address in place of the host's own, 127.0.0.1 and ::1. */
void fv_cm_addr_map(struct fverbs_cm_addr *addr);

#endif /* FALCON_VERBS_CM_H */
