/* SPDX-License-Identifier: BSD-2-Clause */
/* The initiator's own structures, shared by its source files. */
#ifndef FALCON_NVME_INITIATOR_PRIV_H
#define FALCON_NVME_INITIATOR_PRIV_H

#include <endian.h>
#include <nvme/types.h>

#include "falcon/wire/nvme.h"
#include "ulp/nvme/initiator.h"

enum nvme_initiator_limits {
	INCMDS = 512,			/* nCMDs of a connection at a time: initiator tags */
	INCMD_MIN = 1024,		/* bytes of data of an nCMD that a path must carry */
	IDENTIFY_BYTES = 4096,
	BOUNCE_BYTES = FALCON_NVME_NCMD_DATA + FALCON_NVME_NCMD_MD,
	ABORTED_BY_HOST = 0x71,		/* path related status: Command Aborted By Host */
	MAX_DEVS = 4096,
};
#define REDIAL_NS 1000000000ULL		/* after a reset, or a dial that failed */
#define IDENTIFY_NS 10000000000ULL	/* that a target may take to say what it has */
#define PATH_NS 5000000000ULL		/* that a path may take to come up, if there is another one */

_Static_assert((int)NVME_PIECE_NCMDS == (int)FALCON_NVME_MAX_NCMDS, "NCNT's");

/* An nCMD: what an initiator tag stands for. */
struct nvme_incmd {
	struct nvme_iconn *conn;
	struct nvme_incmd *next;	/* in conn->free */
	struct nvme_piece *piece;	/* NULL: it has ended, or its connection was lost */
	LIST_ENTRY(nvme_incmd) of_piece;	/* piece->ncmds */
	struct nvme_piece *held;	/* the one whose data are in a response in the core */
	struct nvme_piece *pushed;	/* the one whose data are in this nCMD's request in the core */
	uint16_t index;			/* of the piece's nCMDs; combined reads: of the first, for all */
	uint16_t gen;			/* tells its uses apart: high bits of the tag */
	uint16_t refs;			/* transactions in the core */
	bool used;
};
TAILQ_HEAD(nvme_pieces, nvme_piece);

/* A row of the Falcon connection table: the connection to a target. */
struct nvme_iconn {
	struct nvme_dev *dev;
	const struct nvme_target_attr *target;
	uint32_t path;			/* of |target|: in use, or the next to be tried */
	struct fcore_conn *core;	/* NULL: not up */
	int cid;			/* -1: not dialled */
	uint64_t redial;		/* ns: not before */
	uint64_t up_by;			/* ns: then it is the next path's turn; UINT64_MAX: never */
	bool resetting;			/* was hung up, and conn_down() has not come */
	bool leaving;			/* for another path, when what is under way has ended */
	bool blocked;			/* the core said -EAGAIN; on_xon() comes */
	bool command;			/* the target knows FALCON_NVME_COMMAND */
	bool combined;			/* ... and the combined packets, which are to be used */
	bool known;			/* the target has said what the namespace is */
	bool confirmed;			/* ... and on this connection that it still is: commands may go */
	bool read_only;
	bool protect;			/* its blocks have metadata: struct nvme_md */
	bool unchecked;			/* |protect|: the target does not look at them */
	uint8_t block_shift;
	uint64_t blocks;
	uint8_t nguid[NVME_NGUID_BYTES];	/* zeros: the target says none */
	uint32_t unit;			/* bytes of data of an nCMD */
	uint32_t credit;		/* tCMDs that the target takes at a time */
	uint32_t open;			/* tCMDs that it has */
	uint64_t identify_by;		/* ns; UINT64_MAX: not under way */
	bool stale;			/* ... and what it brings may have changed since */
	char reason[160];		/* of its last failure, until it is of use; "": it is */
	bool refused;			/* ... which the target has answered, and will answer again */
	struct nvme_pieces queue;	/* pieces with nCMDs to send, in order */
	struct nvme_pieces active;	/* pieces that are sent and have not ended */
	struct nvme_incmd *free;
	uint32_t used;			/* nCMDs that are not free */
	struct nvme_incmd ncmds[INCMDS];
	struct nvme_piece identify;	/* the connection's own commands: |icmd| is NULL */
	struct nvme_piece event;	/* Asynchronous Event Request: the target holds it */
	uint8_t *bounce;		/* BOUNCE_BYTES for each nCMD: data as they travel; NULL: none */
	struct nvme_iblock *slots;	/* |protect|: for pieces that read; see nvme_ipi_begin() */
	uint8_t *free_slots;		/* indexes of those that are free */
	unsigned int nfree_slots;
	uint8_t cns;			/* of |identify| */
	uint8_t buf[IDENTIFY_BYTES];	/* its data */
};

struct nvme_dev {
	struct nvme_initiator *in;
	TAILQ_ENTRY(nvme_dev) link;	/* in->devs */
	struct nvme_dev_attr attr;
	uint32_t number;		/* towards targets: 24 bits, never used again */
	uint32_t refs;			/* of nvme_dev_hold() */
	bool removed;			/* given up; freed when nothing refers to it */
	struct nvme_discovery *discovery;	/* attr.discovers: what the target has; else NULL */
	struct nvme_dev_info info;
	struct nvme_nsid_row ns;
	struct nvme_map_row *map;
	uint64_t nmap;
	struct nvme_icmds waiting;	/* until the device is ready, in order */
	struct nvme_icmds running;	/* in order: the first has the earliest deadline */
	struct nvme_icmds events;	/* Asynchronous Event Requests, until there is something to tell */
	bool changed;			/* its attributes, since the log of that was read */
	bool untold;			/* one of its controller's has changed when no such request waited */
	struct nvme_iconn *conns;	/* |attr.ntargets| */
};

struct nvme_initiator {
	const struct ulp_host *host;
	void *agent;
	uint8_t id[16];
	TAILQ_HEAD(, nvme_dev) devs;	/* in the order in which they were added */
	unsigned int ndevs;
	uint32_t next_number, nshards;	/* of devices: every |nshards|th is this one's */
	uint32_t next_id;		/* iCMD identifiers */
	uint64_t now;			/* of the latest call, ns */
	uint32_t ready;			/* things that the next round has to look at */
	struct nvme_iconn *by_cid[FALCON_MAX_CONNS];
};

/* initiator_cmd.c: commands and their pieces. */

/* Where the command begins on the device. */
uint64_t nvme_icmd_slba(const struct nvme_icmd *icmd);
/* Begin |icmd|, whose device is ready. */
void nvme_icmd_begin(struct nvme_icmd *icmd);
/* Piece |i| of |icmd| is for |c|; what it is about is to be filled in. */
void nvme_piece_open(struct nvme_icmd *icmd, unsigned int i, struct nvme_iconn *c);
/* |icmd| ends now, nothing of it being under way. */
void nvme_icmd_end(struct nvme_icmd *icmd, uint16_t status, uint32_t result);
/* All nCMDs of |p| have ended. */
void nvme_piece_end(struct nvme_piece *p);

/* initiator_status.c: Get LBA Status, the one admin command that goes to targets. */

/* 0 and the range in icmd->lba and icmd->left, or the status that it ends with at once. */
uint16_t nvme_istatus_check(struct nvme_icmd *icmd);
/* Take what its piece has brought, if there was one; make the next. False: no such place. */
bool nvme_istatus_next(struct nvme_icmd *icmd);

/* initiator_ncmd.c: an nCMD's numbers, its request, and the data that it sends. */

uint32_t nvme_incmd_tag(const struct nvme_incmd *n);
/* Whether the opcode of |p| has its data pulled, or sent to it. */
bool nvme_piece_pulls(const struct nvme_piece *p);
bool nvme_piece_reads(const struct nvme_piece *p);
/* What of |p| depends on the paths, which may have changed since it was last sent. */
void nvme_piece_number(struct nvme_piece *p);
/* Where the data of nCMD |i| are in the piece's, and how many bytes. */
uint32_t nvme_piece_part(const struct nvme_piece *p, uint16_t i, uint32_t *len);
/* Number of the 512 bytes of the device that are |at| bytes into |p|. */
uint64_t nvme_piece_unit(const struct nvme_piece *p, uint32_t at);
/* The request for |n|; |inv|: the data that go with it are invalid. */
void nvme_incmd_request(const struct nvme_incmd *n, uint8_t inv, struct falcon_nvme_request *out);
/* What is sent of |n|'s data, |len| bytes; *|inv|: they are not what the host says, or not encrypted. */
const uint8_t *nvme_incmd_data(struct nvme_incmd *n, uint32_t at, uint32_t len, uint8_t *inv);

/* initiator_conn.c: requests sent, data pulled, answers taken. */

/* The path that |c| takes. */
static inline const struct nvme_path_attr *nvme_iconn_path(const struct nvme_iconn *c)
{
	return &c->target->paths[c->path];
}

/* Put |p| among those that its connection has to send. */
void nvme_piece_queue(struct nvme_piece *p);
/* Take |p| off its connection's lists. */
void nvme_piece_unlink(struct nvme_piece *p);
/* Send what can be sent. Returns how many nCMDs were. */
uint32_t nvme_iconn_send(struct nvme_iconn *c);
/* The connection is lost: its nCMDs end, its pieces are queued again. */
void nvme_iconn_lost(struct nvme_iconn *c);
/* Give the connection up, and dial anew. */
void nvme_iconn_reset(struct nvme_iconn *c, const char *why);
/* The same, for what the target has answered and will answer again. */
void nvme_iconn_refused(struct nvme_iconn *c, const char *why);
/*
 * The target has answered |status|: if it says that the namespace cannot be reached by this path (NVMe's ANA
 * states), go another way once what is under way has ended, and return true.
 */
bool nvme_iconn_leaves(struct nvme_iconn *c, uint16_t status);
/* Leave now, if that is so. */
void nvme_iconn_leave(struct nvme_iconn *c);
/* Why the connection is of no use; "": it is of use. */
void nvme_iconn_failed(struct nvme_iconn *c, const char *why);

/* initiator_pi.c: protection information. */

/* 0, or the status of a command whose PRINFO, tags and metadata do not suit the device. */
uint16_t nvme_ipi_check(const struct nvme_icmd *icmd);
/* Memory for the protected blocks of |c|. False: there is none. */
bool nvme_ipi_open(struct nvme_iconn *c);
/* Free that, and what was for encryption. */
void nvme_ipi_close(struct nvme_iconn *c);
/* Whether metadata travel with the data of |p|. */
bool nvme_piece_protected(const struct nvme_piece *p);
/* |p| is about to be sent. False: as many as there may be are reading. */
bool nvme_ipi_begin(struct nvme_piece *p);
/* It has ended, or will be sent again; may be called at any time. */
void nvme_ipi_end(struct nvme_piece *p);
/* PRINFO and tags of a request of |p|. */
void nvme_ipi_request(const struct nvme_piece *p, struct falcon_nvme_cmd *cmd);
/* Bytes of metadata that go with |len| bytes of data from |at| on. */
uint32_t nvme_ipi_bytes(const struct nvme_piece *p, uint32_t at, uint32_t len);
/* Those data in the DIX layout to |out|, BOUNCE_BYTES. 0, or the status of data that are invalid. */
uint16_t nvme_ipi_put(const struct nvme_piece *p, uint32_t at, uint32_t len, uint8_t *out);
/* They have come in the DIF layout at |in|. */
void nvme_ipi_take(struct nvme_piece *p, uint32_t at, uint32_t len, const uint8_t *in);
/* All have come. 0, or the status of the first block that is not as it was written. */
uint16_t nvme_ipi_verify(struct nvme_piece *p);

/* Whether it is a device that applications see. */
static inline bool nvme_dev_visible(const struct nvme_dev *dev)
{
	return !dev->removed && !dev->discovery;
}

/* initiator_discover.c: what a target has for this host. */

struct nvme_discovery *nvme_discovery_new(void);
void nvme_discovery_free(struct nvme_discovery *d);
/* |c| is up: ask. */
void nvme_discovery_begin(struct nvme_iconn *c);
/* The target has answered with |status| what was asked last. */
void nvme_discovery_answered(struct nvme_iconn *c, uint16_t status);

/* initiator_admin.c: admin commands that need no target. */

/* Bytes of data of an admin command. */
uint64_t nvme_admin_bytes(const struct falcon_nvme_sqe *sqe);
/* Answer |icmd|, which is waiting, or keep it until there is an event. */
void nvme_dev_admin(struct nvme_icmd *icmd);
/* The attributes of |dev| have changed: whoever waits for that is told. */
void nvme_dev_changed(struct nvme_dev *dev);

/* initiator_identify.c: what namespaces are like, the targets' and the device's own. */

/* Whether a namespace of |blocks| of 1 << |shift| bytes can be used: a target may say anything. */
bool nvme_blocks_usable(uint8_t shift, uint64_t blocks);
/* Ask the target of |c| for the structure |cns|, about namespace |nsid|, before everything else. */
void nvme_iconn_ask(struct nvme_iconn *c, uint8_t cns, uint32_t nsid);
/* |c| is up: ask for its namespace, and to be told when that changes. */
void nvme_iconn_identify(struct nvme_iconn *c);
/* The target has answered Identify Namespace with |status|. */
void nvme_iconn_identified(struct nvme_iconn *c, uint16_t status);
/* ... has answered the Asynchronous Event Request. */
void nvme_iconn_event(struct nvme_iconn *c, uint16_t status);
/* Answer Identify of the virtual controller and its namespaces. The status. */
uint16_t nvme_dev_identify(struct nvme_icmd *icmd);

#endif /* FALCON_NVME_INITIATOR_PRIV_H */
