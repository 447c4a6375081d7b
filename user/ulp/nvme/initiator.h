/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initiator of NVMe over Falcon: virtual devices, each one namespace made of chunks of one
 * target's namespace or of several, striped (NVMe 6.4, 6.6); to each of them there may be several paths.
 *
 * A command is cut at stripe boundaries into pieces, each for one target; a piece is sent as nCMDs
 * (NVMe 6.5) on the connection to that target. A lost connection is dialled again, and what was
 * under way on it is sent again: until that has ended the command's application has seen nothing of
 * it, and the target begins nothing new in a namespace before what the lost connection left behind there has
 * ended.
 * What does not end within the device's timeout ends with an error, and its connection is reset.
 *
 * One thread, no clock: time comes in as an argument, ns. The on_*() functions are called from
 * within fcore_*(), the others never are. Nothing is allocated for a command.
 */
#ifndef FALCON_NVME_INITIATOR_H
#define FALCON_NVME_INITIATOR_H

#include <sys/queue.h>

#include "falcon/abi/stats.h"
#include "falcon/nvme_api.h"
#include "ulp/nvme/lba.h"
#include "base/pi.h"
#include "ulp/ulp.h"

enum nvme_initiator_const {
	NVME_MAX_TARGETS = 16,	/* of a device */
	NVME_MAX_PATHS = 4,	/* to a target's namespace */
	NVME_NGUID_BYTES = 16,
	NVME_NAME_MAX = 64,
	NVME_PIECE_NCMDS = 256,	/* of a command, and so of its part for one target (NVMe 8.2) */
};

struct nvme_initiator;
struct nvme_dev;
struct nvme_iconn;
struct nvme_icmd;
struct nvme_iblock;
struct nvme_incmd;

/* The part of a command that goes to one target. Private to the initiator. */
struct nvme_piece {
	struct nvme_icmd *icmd;		/* NULL: the connection's own Identify */
	struct nvme_iconn *conn;
	TAILQ_ENTRY(nvme_piece) link;	/* conn->queue or conn->active */
	uint64_t lba;			/* the target's */
	uint64_t dev_lba;		/* the device's, where it begins */
	uint32_t blocks, bytes;		/* bytes of data that travel */
	uint32_t id;			/* iCMD identifier, 24 bits */
	uint8_t *data;
	struct nvme_pi *md;		/* the host's, one a block; NULL: none */
	struct nvme_iblock *got;	/* what has been read of protected blocks; NULL: nothing */
	LIST_HEAD(, nvme_incmd) ncmds;	/* those that have been sent and not answered */
	uint16_t n, next, done;		/* nCMDs: all, sent, ended */
	uint16_t busy;			/* pushes and responses in the core that hold |data| */
	uint16_t status;
	uint16_t first, total;		/* NCNT offset of the first nCMD, and of all less one */
	uint8_t sqid;
	uint32_t nsid;
	bool open;			/* on one of the lists */
	bool group, split;
	bool combined;			/* is sent in combined packets */
	uint8_t come[(NVME_PIECE_NCMDS + 7) / 8];	/* nCMDs whose data have come, a bit each */
};

/* A command; the caller's from nvme_dev_submit() until |done|. */
struct nvme_icmd {
	struct falcon_nvme_sqe sqe;
	void *data;			/* as much as nvme_sqe_bytes() says */
	void *md;			/* metadata, as much as nvme_sqe_md_bytes() says; NULL: none */
	void (*done)(struct nvme_icmd *icmd, uint16_t status, uint32_t result);
	/* Private. */
	struct nvme_dev *dev;
	TAILQ_ENTRY(nvme_icmd) link;	/* dev->waiting or dev->running */
	uint64_t deadline;
	uint64_t lba, left;		/* what no piece has been made of yet, blocks */
	uint32_t step;			/* next range or target */
	uint16_t open;			/* pieces that have not ended */
	uint16_t status;		/* the first that is not 0 */
	bool running, expired;
	bool cancelled;			/* its application has gone: see nvme_dev_cancel() */
	bool event;			/* on dev->events */
	struct nvme_piece pieces[2];
};
TAILQ_HEAD(nvme_icmds, nvme_icmd);

/* A path to a namespace: an address of who has it. */
struct nvme_path_attr {
	struct ulp_ends ends;
	char peer[NVME_NAME_MAX];	/* name it must prove; "": that of its address */
	uint32_t nsid;			/* there */
};

/*
 * One namespace. One path is in use at a time, the first one to begin with; when it is of no use any more the
 * next one is taken. They may lead to one agent by several networks, or to several agents with one medium.
 */
struct nvme_target_attr {
	uint32_t npaths;		/* at least 1 */
	struct nvme_path_attr paths[NVME_MAX_PATHS];
};

/* What encrypts a device's data before they leave it (NVMe 6.7), in units of 512 bytes. */
struct nvme_cipher {
	/*
	 * |len| bytes from |in| to |out|; the first unit is the device's |unit|th. |pi| is part of
	 * the last one and is changed in place; NULL: none. False: it has failed, and the command
	 * ends with an error.
	 */
	bool (*crypt)(const struct nvme_cipher *cipher, bool encrypt, uint64_t unit,
		      const void *in, void *out, uint32_t len, struct nvme_pi *pi);
	/* The device that had it is no more; NULL: nothing is to be done then. */
	void (*release)(struct nvme_cipher *cipher);
};

struct nvme_dev_attr {
	char name[NVME_NAME_MAX];
	char controller[NVME_NAME_MAX];	/* whose namespace it is; "": of one that has its name */
	uint32_t nsid;			/* of the virtual namespace: what applications say */
	uint32_t ntargets;		/* a power of two; more than 1: striped */
	uint8_t stripe_shift;		/* NVMe 6.6.2 */
	uint8_t chunk_shift;
	bool read_only;
	bool discovers;			/* nvme_initiator_discover() */
	bool standard;			/* no combined packets, even if the target knows them */
	/*
	 * Type of protection information that the host sees, 1 to 3; 0: none. What targets store has
	 * it all the same, if they have room for it.
	 */
	uint8_t protection;
	uint64_t timeout_ns;
	struct nvme_cipher *cipher;	/* the device's once it has been made; NULL: data are not encrypted */
	struct nvme_target_attr targets[NVME_MAX_TARGETS];
};

/* Of a device (stats.h). */
#define NVME_DEV_STATS(V)										\
	V(counter, reads, none, "commands that have ended and read")					\
	V(counter, writes, none, "commands that have ended and write")					\
	V(counter, others, none, "other commands that have ended")					\
	V(counter, errors, none, "commands that ended in error")					\
	V(counter, read_bytes, bytes, "data read")							\
	V(counter, written_bytes, bytes, "data written")						\
	V(counter, retried, none, "pieces sent again after a connection was lost")			\
	V(counter, resets, none, "connections hung up for a timeout, or for another path")		\
	V(counter, failovers, none, "times that another path to a target was taken")			\
	V(counter, malformed, none, "packets refused")							\
	V(counter, resized, none, "times that the capacity of the device has changed")			\
	V(counter, damaged, none, "commands that ended with a check error: see pi.h")

/* What a device is and has done. */
struct nvme_dev_info {
	bool ready;			/* all targets have said what they have */
	bool read_only;
	bool protected;			/* its blocks have protection information */
	uint8_t block_shift;
	uint64_t blocks;
	uint32_t up;			/* connections that are up */
	bool refused;			/* one of them has answered that it will not serve this device */
	char reason[160];		/* why one of them is of no use yet, that one first; "": all are */
	NVME_DEV_STATS(STAT_MEMBER)
};

/*
 * An initiator that calls itself |id| (16 bytes, random) towards targets: that of |shard|, below |nshards|,
 * all of whose initiators have the same. NULL: no memory.
 */
struct nvme_initiator *nvme_initiator_create(const uint8_t *id, uint32_t shard, uint32_t nshards);
/* Free; connections are down. Commands that have not ended end. */
void nvme_initiator_destroy(struct nvme_initiator *in);
void nvme_initiator_set_host(struct nvme_initiator *in, const struct ulp_host *host, void *agent);

/* Add a device; it is dialled from nvme_initiator_pump(). 0, or an errno with |err|. */
int nvme_initiator_add(struct nvme_initiator *in, const struct nvme_dev_attr *attr, char *err,
		       size_t errlen);
/*
 * Ask the first target of |attr| what it has for this host: *|out|, to be removed by the caller, is no
 * device, but nvme_dev_discovered() has the answer. 0, or an errno with |err|.
 */
int nvme_initiator_discover(struct nvme_initiator *in, const struct nvme_dev_attr *attr,
			    struct nvme_dev **out, char *err, size_t errlen);
/*
 * Give |dev| up: it is found no more, its connections are hung up, its commands end. Its object stays as long
 * as it is held.
 */
void nvme_initiator_remove(struct nvme_dev *dev);
/* |dev| is referred to, or not any more. */
void nvme_dev_hold(struct nvme_dev *dev);
void nvme_dev_release(struct nvme_dev *dev);

/* A namespace that a target has for this host. */
struct nvme_found {
	uint32_t nsid;
	uint8_t block_shift;
	bool read_only;
	bool protected;			/* its blocks have protection information */
	uint64_t blocks;
};

/*
 * What the target of |dev|, of nvme_initiator_discover(), has: 0 with the namespaces in *|found|, ascending,
 * which stay as long as |dev|, and their number in *|n|; -EAGAIN: it has not answered yet, nvme_dev_info()
 * says why; -EIO: it has refused.
 */
int nvme_dev_discovered(const struct nvme_dev *dev, const struct nvme_found **found, unsigned int *n);
/* By name, or NULL; the |i|th, or NULL; those that were given up are left out. */
struct nvme_dev *nvme_dev_find(struct nvme_initiator *in, const char *name);
struct nvme_dev *nvme_dev_at(struct nvme_initiator *in, unsigned int i);
/* How many there are, of whatever kind. */
unsigned int nvme_initiator_devices(const struct nvme_initiator *in);
/* Whether one of them has the same controller as |attr|. */
bool nvme_initiator_has_controller(struct nvme_initiator *in, const struct nvme_dev_attr *attr);
const struct nvme_dev_attr *nvme_dev_attr(const struct nvme_dev *dev);
/* Whether all targets have said what they have: it stays so. */
bool nvme_dev_ready(const struct nvme_dev *dev);
/* The path to target |i|, below its |ntargets|, that is in use or being tried. */
const struct nvme_path_attr *nvme_dev_path(const struct nvme_dev *dev, uint32_t i);
void nvme_dev_info(const struct nvme_dev *dev, struct nvme_dev_info *out);

/*
 * Bytes of data of |sqe|, 0 if it has none. More than FALCON_NVME_MDTS: it will be refused. The
 * device's block size counts, which is not known before it is ready: then |sqe| has to wait.
 */
uint64_t nvme_sqe_bytes(const struct nvme_dev *dev, const struct falcon_nvme_sqe *sqe);
/* Bytes of metadata that go with them. */
uint64_t nvme_sqe_md_bytes(const struct nvme_dev *dev, const struct falcon_nvme_sqe *sqe);
/* Start |icmd|: its done() will be called, perhaps from within. */
void nvme_dev_submit(struct nvme_dev *dev, struct nvme_icmd *icmd, uint64_t now);
/* Take |icmd| back if nothing of it has been sent: true, and done() was called. */
bool nvme_dev_abort(struct nvme_icmd *icmd);
/*
 * Nobody waits for |icmd| any more: take it back, or, if something of it has been sent, send no more of its
 * data, and do not send it again. A target that has not pulled all data of a write then writes nothing.
 */
void nvme_dev_cancel(struct nvme_icmd *icmd);

/* The controller that |dev| is a namespace of; whether both have the same. */
const char *nvme_dev_controller(const struct nvme_dev *dev);
bool nvme_ctrl_same(const struct nvme_dev *a, const struct nvme_dev *b);
/* Namespace |nsid| of |dev|'s controller, or NULL; the least NSID above |above|, or 0. */
struct nvme_dev *nvme_ctrl_ns(struct nvme_dev *dev, uint32_t nsid);
uint32_t nvme_ctrl_next(const struct nvme_dev *dev, uint32_t above);
/*
 * Reset |dev|'s controller: all commands of its namespaces end with the status Command Aborted By Host,
 * and its connections are made anew. Targets carry out nothing of them once something new has begun.
 */
void nvme_ctrl_reset(struct nvme_dev *dev);

/* What nvme.c gives on of struct ulp_ops. False: |cid| is not the initiator's. */
bool nvme_initiator_owns(const struct nvme_initiator *in, uint32_t cid);
int nvme_initiator_conn_up(struct nvme_initiator *in, const struct ulp_conn *conn);
void nvme_initiator_conn_down(struct nvme_initiator *in, uint32_t cid, const char *why);
uint32_t nvme_initiator_pump(struct nvme_initiator *in, uint64_t now);
bool nvme_initiator_busy(const struct nvme_initiator *in);
uint64_t nvme_initiator_deadline(const struct nvme_initiator *in);
/* |in| has just not run for |ns|: commands and targets have so much more time until their timeouts. */
void nvme_initiator_was_away(struct nvme_initiator *in, uint64_t ns);

/* Cookies of the initiator's transactions are addresses of this, with a bit that says so. */
struct nvme_incmd;
#define NVME_COOKIE_INITIATOR 1ULL

void nvme_initiator_on_push(struct nvme_initiator *in, struct fcore_conn *c, uint32_t rsn,
			    const void *payload, uint32_t len, uint64_t now);
void nvme_initiator_on_pull(struct nvme_initiator *in, struct fcore_conn *c, uint32_t rsn,
			    const void *hdr, uint32_t hdr_len, uint16_t request_len, uint64_t now);
void nvme_initiator_on_response_done(struct nvme_incmd *n);
void nvme_initiator_on_completion(struct nvme_incmd *n, enum falcon_completion_code code);
void nvme_initiator_on_xon(struct nvme_initiator *in, uint32_t cid);

#endif /* FALCON_NVME_INITIATOR_H */
