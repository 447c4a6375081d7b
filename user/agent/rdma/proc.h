/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a verbs application's process, read and written from outside.
 *
 * An application shall get no more by the agent than it could do itself: its own memory, never that of
 * a process that has taken its number, nor of a program with more privileges that it has turned into
 * by exec. process_vm_readv() and process_vm_writev() name a process, not its memory, so they are for
 * those of root, who may look everywhere anyway, and for an agent without CAP_SYS_PTRACE, of whom the
 * kernel asks the same as of the application. All others hand over a descriptor of their
 * /proc/self/mem: it means the address space that they had when they opened it, whatever becomes of
 * the process, and the kernel has asked whether they may. So do processes that the agent does not see
 * since their PID namespace is neither the agent's nor below that; they have the number 0.
 */
#ifndef FALCON_AGENT_RDMA_PROC_H
#define FALCON_AGENT_RDMA_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct rdma_proc;

/*
 * Process |pid| (0: one that the agent does not see) of user |uid|, which has made the socket pair that
 * |sock| is an end of. 0 and *|out| to be freed by rdma_proc_close(); or a negative errno with a sentence in
 * |err|: -EPERM, somebody else made the socket, or the agent does not see the process and the kernel cannot
 * tell when that ends (before Linux 6.5); -ESRCH, it has ended.
 */
int rdma_proc_open(struct rdma_proc **out, pid_t pid, uid_t uid, int sock, char *err,
		   size_t errlen);
/*
 * The application has said how to reach its memory: |fd| or -1. 0, it is taken over; 1, it is not needed;
 * or -EACCES with a sentence: not at all, then.
 */
int rdma_proc_memory(struct rdma_proc *p, int fd, char *err, size_t errlen);
void rdma_proc_close(struct rdma_proc *p);

/* A descriptor that is readable when the process has ended. */
int rdma_proc_fd(const struct rdma_proc *p);

/* As read() and write() of struct rdma_host (ulp/rdma/rdma.h). */
ssize_t rdma_proc_read(struct rdma_proc *p, const struct iovec *local, unsigned int nlocal,
		       const struct iovec *remote, unsigned int nremote);
ssize_t rdma_proc_write(struct rdma_proc *p, const struct iovec *local, unsigned int nlocal,
			const struct iovec *remote, unsigned int nremote);

/* For tests: treat it as that of a user like any other. */
void rdma_proc_distrust(struct rdma_proc *p);

#endif /* FALCON_AGENT_RDMA_PROC_H */
