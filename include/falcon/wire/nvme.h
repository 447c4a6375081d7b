/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every packet of NVMe over Falcon 0.9, section 8: layout, pack, unpack. They are the upper-layer
 * part of Falcon's packets of protocol type FALCON_PROTO_NVME, on unordered connections.
 *
 * The structs are the wire, in network byte order. NVMe's own structures, which are little-endian,
 * travel as data alone. The specification numbers bit 0 as the most significant of a word. What it
 * leaves open is decided in README.md in this directory.
 */
#ifndef FALCON_NVME_H
#define FALCON_NVME_H

#include "../codes.h"
#include "../types.h"

enum falcon_nvme_const {
	FALCON_NVME_VERSION = 1,
	FALCON_NVME_MAGIC = 0x4e564d46,		/* of an offer */
	FALCON_NVME_TAG_MASK = 0xffffff,	/* functions, tags and identifiers: 24 bits */
	FALCON_NVME_STATUS_MASK = 0x7fff,	/* CQE status field: 15 bits */
	FALCON_NVME_MAX_NCMDS = 256,		/* of a command: NCNT Total has 8 bits (8.2) */
	FALCON_NVME_NCMD_DATA = 4096,		/* bytes of data of an nCMD, at most (6.5) */
	FALCON_NVME_NCMD_MD = 128,		/* bytes of metadata beside them, at most (8.4, 8.7) */
	FALCON_NVME_DEALLOCATE = 1,		/* |dsm| of Write Zeroes: DEAC (README.md) */
};

/* NVMe 8.1.3: sent by, as */
enum falcon_nvme_type {
	FALCON_NVME_WRITE_REQUEST = 0,		/* initiator, push */
	FALCON_NVME_WRITE_DATA_REQUEST = 1,	/* target, pull request */
	FALCON_NVME_WRITE_DATA = 2,		/* initiator, pull response */
	FALCON_NVME_WRITE_COMPLETION = 3,	/* target, push */
	FALCON_NVME_READ_REQUEST = 4,		/* initiator, push */
	FALCON_NVME_READ_RESPONSE = 5,		/* target, push */
	/* Reserved in the specification, used between ends that have agreed on it (README.md). */
	FALCON_NVME_COMMAND = 6,		/* initiator, push */
	/* Combined packets: a Write Request with its nCMD's data, */
	FALCON_NVME_WRITE_WITH_DATA = 7,	/* initiator, push */
	/* the completion of all nCMDs of a command, or its group, whose requests were such, */
	FALCON_NVME_COMMAND_COMPLETION = 8,	/* target, push */
	/* and one Read Request for all nCMDs of a command, or its group. */
	FALCON_NVME_READ_COMMAND = 9,		/* initiator, push */
};

/* NVMe 8.2, the NBTH: at the start of every packet. */
struct falcon_nvme_nbth {
	__be32 ver_type_func;	/* version(4) packet type(4) initiator function(24) */
	__be32 flags_ttag;	/* reserved(2) INV(1) S(1) NG(1) reserved(3) target tag(24) */
	__be32 total_itag;	/* NCNT total(8) initiator tag(24) */
	__be32 offset_icmd;	/* NCNT offset(8) iCMD identifier(24) */
	__be32 reserved[4];
};
_Static_assert(sizeof(struct falcon_nvme_nbth) == 32, "NVMe 8.2: 8 words");

/*
 * NVMe 8.3 and 8.5: Read Request and Write Request. FALCON_NVME_COMMAND, FALCON_NVME_WRITE_WITH_DATA and
 * FALCON_NVME_READ_COMMAND have the same layout; data follow in the second of these.
 */
struct falcon_nvme_request {
	struct falcon_nvme_nbth nbth;
	__be16 initiator_nsid;
	__be16 target_nsid;
	__be32 slba_lo;		/* bits 31:0, which the figures send first */
	__be32 slba_hi;
	__be16 nlb;		/* blocks, less one */
	__be16 control;		/* reserved(4) DTYPE(4) reserved(2) PRINFO(4) FUA(1) LR(1) */
	__u8 dsm;		/* FALCON_NVME_COMMAND: see README.md */
	__u8 unit;		/* data of an nCMD, units of 512 bytes; 0: 4096 bytes (README.md) */
	__be16 dspec;		/* reserved in a Read Request, as DTYPE is */
	__be32 reftag;		/* (E)ILBRT; CDW10 of an admin FALCON_NVME_COMMAND */
	__be16 apptag_mask;	/* (E)LBATM */
	__be16 apptag;		/* (E)LBAT */
	__u8 opcode;		/* FALCON_NVME_COMMAND: NVMe's; else reserved */
	__u8 admin;		/* FALCON_NVME_COMMAND: 1 if |opcode| is an admin command's */
	__u8 reserved2;
	__u8 sqid;		/* target SQID */
};
_Static_assert(sizeof(struct falcon_nvme_request) == 64, "NVMe 8.3, 8.5: 16 words");
_Static_assert(offsetof(struct falcon_nvme_request, initiator_nsid) == 8 * 4, "NVMe 8.3: word 8");
_Static_assert(offsetof(struct falcon_nvme_request, nlb) == 11 * 4, "NVMe 8.3: word 11");
_Static_assert(offsetof(struct falcon_nvme_request, dsm) == 12 * 4, "NVMe 8.3: word 12");
_Static_assert(offsetof(struct falcon_nvme_request, reftag) == 13 * 4, "NVMe 8.3: word 13");
_Static_assert(offsetof(struct falcon_nvme_request, sqid) == 15 * 4 + 3, "NVMe 8.3: word 15");

/*
 * NVMe 8.4, 8.7 and 8.8: Read Response, Write Data Response and Write Completion, and
 * FALCON_NVME_COMMAND_COMPLETION. Data follow in the first two. The Write Data Request (8.6) is an NBTH
 * alone.
 */
struct falcon_nvme_response {
	struct falcon_nvme_nbth nbth;
	__be32 status;		/* reserved(17) NVMe CQE status field(15); reserved in 8.7 */
};
_Static_assert(sizeof(struct falcon_nvme_response) == 36, "NVMe 8.4, 8.7, 8.8: 9 words");

/* An NBTH in host order. */
struct falcon_nvme_hdr {
	__u8 type;		/* enum falcon_nvme_type */
	__u8 inv;		/* 1: the write's data are invalid at the initiator */
	__u8 split;		/* 1: the command was split across a stripe boundary */
	__u8 group;		/* |split|: 0 before the boundary, 1 after it */
	__u8 total;		/* nCMDs of the command, less one */
	__u8 offset;		/* which of them, from 0 */
	__u32 function;		/* initiator function, 24 bits */
	__u32 ttag;		/* the target's name for the tCMD, 24 bits */
	__u32 itag;		/* the initiator's for the nCMD, 24 bits */
	__u32 icmd;		/* of the parent iCMD, 24 bits */
};

/* A Read Request, Write Request or FALCON_NVME_COMMAND after its NBTH, in host order. */
struct falcon_nvme_cmd {
	__u16 initiator_nsid;	/* low bits of the iCMD's NSID */
	__u16 target_nsid;
	__u64 slba;		/* target LBA where the iCMD, or its group, begins */
	__u16 nlb;		/* blocks of the iCMD, or its group, less one */
	__u8 dtype;		/* 4 bits; Write Request only */
	__u8 prinfo;		/* PRACT(1) PRCHK(3) */
	__u8 fua;
	__u8 lr;		/* limited retry */
	__u8 dsm;
	__u8 unit;		/* data of an nCMD, units of 512 bytes; 0: FALCON_NVME_NCMD_DATA */
	__u16 dspec;		/* Write Request only */
	__u32 reftag;
	__u16 apptag_mask;
	__u16 apptag;
	__u8 opcode;		/* FALCON_NVME_COMMAND only */
	__u8 admin;		/* FALCON_NVME_COMMAND only */
	__u8 sqid;
};

/*
 * What each end's offer of a connection carries for the other's NVMe layer. The end that dials is the
 * initiator.
 */
struct falcon_nvme_offer {
	__be32 magic;		/* FALCON_NVME_MAGIC */
	__u8 version;		/* FALCON_NVME_VERSION */
	__u8 flags;		/* enum falcon_nvme_offer_flag */
	__be16 tcmds;		/* from the target: tCMDs that a connection may have under way */
	__u8 host[16];		/* from the initiator: the same as long as its device lives */
	__be32 device;		/* from the initiator: which of its devices */
	__be32 nsid;		/* from the initiator: which namespace it will use; 0, or not there: any */
} FALCON_PACKED;
_Static_assert(sizeof(struct falcon_nvme_offer) == 32, "fits an offer's 48 bytes");
#define FALCON_NVME_OFFER_MIN 28	/* bytes: what is always there */

enum falcon_nvme_offer_flag {
	FALCON_NVME_KNOWS_COMMAND = 1,	/* target: FALCON_NVME_COMMAND is understood */
	FALCON_NVME_KNOWS_COMBINED = 2,	/* target: and so are the combined packets */
};

/* Bytes before the data of packet type |type|; 0 if the type is reserved. */
FALCON_INLINE __u32 falcon_nvme_hdr_len(__u8 type)
{
	switch (type) {
	case FALCON_NVME_WRITE_REQUEST:
	case FALCON_NVME_READ_REQUEST:
	case FALCON_NVME_COMMAND:
	case FALCON_NVME_WRITE_WITH_DATA:
	case FALCON_NVME_READ_COMMAND: return sizeof(struct falcon_nvme_request);
	case FALCON_NVME_WRITE_DATA_REQUEST: return sizeof(struct falcon_nvme_nbth);
	case FALCON_NVME_WRITE_DATA:
	case FALCON_NVME_WRITE_COMPLETION:
	case FALCON_NVME_COMMAND_COMPLETION:
	case FALCON_NVME_READ_RESPONSE: return sizeof(struct falcon_nvme_response);
	default: return 0;
	}
}

/* Whether packets of |type| end with data. */
FALCON_INLINE bool falcon_nvme_has_data(__u8 type)
{
	return type == FALCON_NVME_WRITE_DATA || type == FALCON_NVME_READ_RESPONSE ||
	       type == FALCON_NVME_WRITE_WITH_DATA;
}

/* Whether |type| has the fields of a Read Request. */
FALCON_INLINE bool falcon_nvme_reads(__u8 type)
{
	return type == FALCON_NVME_READ_REQUEST || type == FALCON_NVME_READ_COMMAND;
}

FALCON_INLINE void falcon_nvme_nbth_pack(const struct falcon_nvme_hdr *h,
					 struct falcon_nvme_nbth *w)
{
	w->ver_type_func = falcon_hton32((__u32)FALCON_NVME_VERSION << 28 |
					 (__u32)(h->type & 0xf) << 24 |
					 (h->function & FALCON_NVME_TAG_MASK));
	w->flags_ttag = falcon_hton32((__u32)(h->inv & 1) << 29 | (__u32)(h->split & 1) << 28 |
				      (__u32)(h->group & 1) << 27 |
				      (h->ttag & FALCON_NVME_TAG_MASK));
	w->total_itag = falcon_hton32((__u32)h->total << 24 | (h->itag & FALCON_NVME_TAG_MASK));
	w->offset_icmd = falcon_hton32((__u32)h->offset << 24 | (h->icmd & FALCON_NVME_TAG_MASK));
	memset(w->reserved, 0, sizeof(w->reserved));
}

/*
 * Read the NBTH of a packet of |len| bytes. False if it is too short for its type, has bytes after
 * its end, is of a reserved type or another version, or counts an nCMD beyond its total: *|h| is
 * then undefined.
 */
FALCON_INLINE bool falcon_nvme_nbth_unpack(const void *packet, __u32 len, struct falcon_nvme_hdr *h)
{
	const struct falcon_nvme_nbth *w = packet;
	__u32 word0, word1, hdr_len;

	if (len < sizeof(*w))
		return false;
	word0 = falcon_ntoh32(w->ver_type_func);
	word1 = falcon_ntoh32(w->flags_ttag);
	h->type = (word0 >> 24) & 0xf;
	h->function = word0 & FALCON_NVME_TAG_MASK;
	h->inv = (word1 >> 29) & 1;
	h->split = (word1 >> 28) & 1;
	h->group = (word1 >> 27) & 1;
	h->ttag = word1 & FALCON_NVME_TAG_MASK;
	h->total = (__u8)(falcon_ntoh32(w->total_itag) >> 24);
	h->itag = falcon_ntoh32(w->total_itag) & FALCON_NVME_TAG_MASK;
	h->offset = (__u8)(falcon_ntoh32(w->offset_icmd) >> 24);
	h->icmd = falcon_ntoh32(w->offset_icmd) & FALCON_NVME_TAG_MASK;
	hdr_len = falcon_nvme_hdr_len(h->type);
	if (word0 >> 28 != FALCON_NVME_VERSION || !hdr_len || len < hdr_len)
		return false;
	return h->offset <= h->total && (len == hdr_len || falcon_nvme_has_data(h->type));
}

/* Write the request |h|, |c| to |w|. Fields that its type does not have are sent as 0. */
FALCON_INLINE void falcon_nvme_request_pack(const struct falcon_nvme_hdr *h,
					    const struct falcon_nvme_cmd *c,
					    struct falcon_nvme_request *w)
{
	bool read = falcon_nvme_reads(h->type), own = h->type == FALCON_NVME_COMMAND;

	falcon_nvme_nbth_pack(h, &w->nbth);
	w->initiator_nsid = falcon_hton16(c->initiator_nsid);
	w->target_nsid = falcon_hton16(c->target_nsid);
	w->slba_lo = falcon_hton32((__u32)c->slba);
	w->slba_hi = falcon_hton32((__u32)(c->slba >> 32));
	w->nlb = falcon_hton16(c->nlb);
	w->control = falcon_hton16((__u16)((read ? 0 : c->dtype & 0xf) << 8 |
					   (c->prinfo & 0xf) << 2 | (c->fua & 1) << 1 |
					   (c->lr & 1)));
	w->dsm = c->dsm;
	w->unit = c->unit;
	w->dspec = read ? 0 : falcon_hton16(c->dspec);
	w->reftag = falcon_hton32(c->reftag);
	w->apptag_mask = falcon_hton16(c->apptag_mask);
	w->apptag = falcon_hton16(c->apptag);
	w->opcode = own ? c->opcode : 0;
	w->admin = own ? c->admin & 1 : 0;
	w->reserved2 = 0;
	w->sqid = c->sqid;
}

/* Read what follows the NBTH of a request that falcon_nvme_nbth_unpack() has accepted. */
FALCON_INLINE void falcon_nvme_request_unpack(const struct falcon_nvme_request *w, __u8 type,
					      struct falcon_nvme_cmd *c)
{
	bool read = falcon_nvme_reads(type), own = type == FALCON_NVME_COMMAND;
	__u16 control = falcon_ntoh16(w->control);

	c->initiator_nsid = falcon_ntoh16(w->initiator_nsid);
	c->target_nsid = falcon_ntoh16(w->target_nsid);
	c->slba = (__u64)falcon_ntoh32(w->slba_hi) << 32 | falcon_ntoh32(w->slba_lo);
	c->nlb = falcon_ntoh16(w->nlb);
	c->dtype = read ? 0 : (control >> 8) & 0xf;
	c->prinfo = (control >> 2) & 0xf;
	c->fua = (control >> 1) & 1;
	c->lr = control & 1;
	c->dsm = w->dsm;
	c->unit = w->unit;
	c->dspec = read ? 0 : falcon_ntoh16(w->dspec);
	c->reftag = falcon_ntoh32(w->reftag);
	c->apptag_mask = falcon_ntoh16(w->apptag_mask);
	c->apptag = falcon_ntoh16(w->apptag);
	c->opcode = own ? w->opcode : 0;
	c->admin = own ? w->admin & 1 : 0;
	c->sqid = w->sqid;
}

/* Write the header of a Read Response, Write Data Response, Write Completion or Command Completion. */
FALCON_INLINE void falcon_nvme_response_pack(const struct falcon_nvme_hdr *h, __u16 status,
					     struct falcon_nvme_response *w)
{
	falcon_nvme_nbth_pack(h, &w->nbth);
	w->status = h->type == FALCON_NVME_WRITE_DATA ?
		    0 : falcon_hton32(status & FALCON_NVME_STATUS_MASK);
}

/* The CQE status field: SC(8) from the least significant bit, SCT(3), CRD(2), More, Do Not Retry. */
FALCON_INLINE __u16 falcon_nvme_status(const struct falcon_nvme_response *w)
{
	return falcon_ntoh32(w->status) & FALCON_NVME_STATUS_MASK;
}

#endif /* FALCON_NVME_H */
