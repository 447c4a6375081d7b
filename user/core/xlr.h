/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xLR drop filters (Falcon 11): transactions that must not go on. The specification names the
 * scenarios and codes, and leaves it open what a filter looks at: here, what both ends of a
 * transaction know of it.
 *
 * At the initiator a matching transaction ends with kCmplLocalXlr, when it is submitted or, for
 * those under way, when the rule is added; on an ordered connection a Resync takes its place, since
 * the target waits for its RSN. At the target a matching request is dropped before it takes
 * resources and an xLR drop NACK answers it: it ends with kCmplRemoteErr.
 */
#ifndef FALCON_CORE_XLR_H
#define FALCON_CORE_XLR_H

#include <stdint.h>

struct fcore;

enum fcore_xlr_const { FCORE_XLR_RULES = 32 };

enum fcore_xlr_where {
	FCORE_XLR_INITIATOR,
	FCORE_XLR_TARGET,
	FCORE_XLR_WHERES,
};

/* What a rule compares; a rule with none of them matches everything. */
enum fcore_xlr_field {
	FCORE_XLR_FUNCTION = 0x01,
	FCORE_XLR_CID = 0x02,
	FCORE_XLR_PROTO = 0x04,
	FCORE_XLR_TYPE = 0x08,
};

struct fcore_xlr_rule {
	uint8_t where;		/* enum fcore_xlr_where */
	uint8_t fields;		/* enum fcore_xlr_field, ORed */
	uint8_t proto;		/* enum falcon_protocol_type */
	uint8_t type;		/* FALCON_PUSH_DATA or FALCON_PULL_REQUEST */
	uint32_t function;	/* Destination Function of the packets, 24 bits */
	uint32_t cid;		/* the connection's, at this end */
};

/* Add |rule|. Its number for fcore_xlr_del(), -ENOSPC, or -EINVAL if it makes no sense. */
int fcore_xlr_add(struct fcore *core, const struct fcore_xlr_rule *rule);
/* Remove a rule. 0, or -ENOENT. */
int fcore_xlr_del(struct fcore *core, uint32_t number);
/* Rule |number| and how many transactions it has ended, or -ENOENT. */
int fcore_xlr_get(const struct fcore *core, uint32_t number, struct fcore_xlr_rule *rule,
		  uint64_t *hits);

#endif /* FALCON_CORE_XLR_H */
