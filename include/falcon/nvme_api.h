/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Submission and completion queue entries of NVMe, as applications and their agent exchange them
 * through the rings of shm.h. Opcodes, status codes and data structures are those of NVMe: take them
 * from <nvme/types.h> of libnvme. Everything is little-endian, as NVMe has it.
 */
#ifndef FALCON_NVME_API_H
#define FALCON_NVME_API_H

#include <linux/types.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

/*
 * A submission queue entry. Data are where |prp1| says: bytes into the application's arena, not a
 * page's address; their length follows from the command. |prp2| is 0. So is |mptr|, unless the device
 * has protection information and the command moves data with PRACT 0: then it says likewise, in whole
 * dwords, where the 8 bytes of each block are.
 */
struct falcon_nvme_sqe {
	__u8 opcode;
	__u8 flags;		/* 0: neither fused nor SGLs */
	__le16 cid;		/* returned in the completion */
	__le32 nsid;
	__le32 qid;		/* NVMe's CDW2: 0 admin queue, 1 and up I/O queues */
	__le32 cdw3;
	__le64 mptr;
	__le64 prp1;
	__le64 prp2;
	__le32 cdw10;
	__le32 cdw11;
	__le32 cdw12;
	__le32 cdw13;
	__le32 cdw14;
	__le32 cdw15;
};
_Static_assert(sizeof(struct falcon_nvme_sqe) == 64, "an NVMe SQE");

/* A completion queue entry. */
struct falcon_nvme_cqe {
	__le32 result;		/* command specific: DW0 */
	__le32 reserved;
	__le16 sqhd;		/* 0: rings of shm.h have their own */
	__le16 sqid;		/* the command's |qid| */
	__le16 cid;
	__le16 status;		/* status field in bits 15:1; bit 0 is 0 */
};
_Static_assert(sizeof(struct falcon_nvme_cqe) == 16, "an NVMe CQE");

enum falcon_nvme_api_const {
	FALCON_NVME_MDTS = 128 * 1024,	/* bytes of data that a command may have */
};

#ifdef __cplusplus
extern "C" {
#endif

struct falcon;
struct falcon_attr;

/* What a device is. */
struct falcon_nvme_info {
	int ready;		/* its targets have been reached; 0: the rest is not known yet */
	int read_only;
	__u64 bytes;
	__u32 block_size;	/* bytes */
	__u32 nsid;
	__u32 protection;	/* type of the protection information, 1 to 3; 0: none */
	__u32 metadata;		/* bytes of a block's, beside its data: 8, or 0 */
};

/*
 * Attach to the controller of the agent's device |device|, a [nvme] section of falcon.conf(5), and to all
 * namespaces of it: as falcon_open() of falcon.h, whose |service| and remote range are not used here. Each
 * handle has queues of its own; within it |qid| tells commands apart for Abort. It works with
 * falcon_arena(), falcon_flush(), falcon_wait(), falcon_fd(), falcon_arm(), falcon_error() and
 * falcon_close(). Also -ENOENT: no such device.
 */
int falcon_nvme_open(const struct falcon_attr *attr, const char *device, struct falcon **out);

/*
 * 0, or a negative errno value; if it is not ready, falcon_error() says why. -ENOENT: it is gone. -ENXIO: a
 * target has answered that it has no such namespace for this host, or none that can be used; the agent goes
 * on asking, and when the answer has become another so does this function's.
 */
int falcon_nvme_info(struct falcon *f, const char *device, struct falcon_nvme_info *info);

/*
 * Start a command; its data must stay untouched until its completion. -EAGAIN: the submission ring
 * is full, take completions first; -EPIPE: the agent is gone. What is wrong with the command itself
 * comes as the status of its completion. Before the device is ready that is Namespace Not Ready.
 */
int falcon_nvme_submit(struct falcon *f, const struct falcon_nvme_sqe *sqe);

/* Take up to |n| completions. Returns how many; 0 if there are none yet; -EPIPE: agent gone. */
int falcon_nvme_poll(struct falcon *f, struct falcon_nvme_cqe *cqes, int n);

/*
 * Reset |device|'s controller, to which |f| is attached: every command under way ends with the status
 * Command Aborted By Host, of other applications as well. 0, or a negative errno value.
 */
int falcon_nvme_reset(struct falcon *f, const char *device);

#ifdef __cplusplus
}
#endif

#endif /* FALCON_NVME_API_H */
