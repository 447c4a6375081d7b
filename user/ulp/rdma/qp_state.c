// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which transitions a queue pair may make, and which attributes go with them (InfiniBand 10.3.1,
 * 11.2.5.2): table of what is required and what may come along, by transport.
 */
#include "ulp/rdma/qp.h"

enum kind {
	KIND_RC,
	KIND_UD,
	KIND_INI,		/* XRC, the sending side */
	KIND_TGT,		/* XRC, the receiving side */
	KINDS,
};

#define PATH (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RESPONDER (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define TIMERS (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT)
#define REQUESTER (IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define MIGRATION (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)
#define CONNECTED (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define SQD_CONNECTED                                                                              \
	(CONNECTED | IBV_QP_AV | MIGRATION)

struct transition {
	uint8_t from, to;
	struct {
		uint32_t required, optional;
	} mask[KINDS];
};

static const struct transition transitions[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, {
		[KIND_RC] = { CONNECTED, 0 },
		[KIND_UD] = { IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0 },
		[KIND_INI] = { CONNECTED, 0 },
		[KIND_TGT] = { CONNECTED, 0 },
	} },
	{ IBV_QPS_INIT, IBV_QPS_INIT, {
		[KIND_RC] = { 0, CONNECTED },
		[KIND_UD] = { 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY },
		[KIND_INI] = { 0, CONNECTED },
		[KIND_TGT] = { 0, CONNECTED },
	} },
	{ IBV_QPS_INIT, IBV_QPS_RTR, {
		[KIND_RC] = { PATH | RESPONDER,
			      IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
		[KIND_UD] = { 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
		[KIND_INI] = { PATH, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
		[KIND_TGT] = { PATH | RESPONDER,
			       IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	} },
	{ IBV_QPS_RTR, IBV_QPS_RTS, {
		[KIND_RC] = { TIMERS | REQUESTER | IBV_QP_SQ_PSN,
			      IBV_QP_CUR_STATE | MIGRATION | IBV_QP_ACCESS_FLAGS |
			      IBV_QP_MIN_RNR_TIMER | IBV_QP_RATE_LIMIT },
		[KIND_UD] = { IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY | IBV_QP_RATE_LIMIT },
		[KIND_INI] = { TIMERS | REQUESTER | IBV_QP_SQ_PSN,
			       IBV_QP_CUR_STATE | MIGRATION | IBV_QP_ACCESS_FLAGS },
		[KIND_TGT] = { IBV_QP_TIMEOUT | IBV_QP_SQ_PSN,
			       IBV_QP_CUR_STATE | MIGRATION | IBV_QP_ACCESS_FLAGS |
			       IBV_QP_MIN_RNR_TIMER },
	} },
	{ IBV_QPS_RTS, IBV_QPS_RTS, {
		[KIND_RC] = { 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | MIGRATION |
				 IBV_QP_MIN_RNR_TIMER | IBV_QP_RATE_LIMIT },
		[KIND_UD] = { 0, IBV_QP_CUR_STATE | IBV_QP_QKEY | IBV_QP_RATE_LIMIT },
		[KIND_INI] = { 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | MIGRATION },
		[KIND_TGT] = { 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | MIGRATION |
				  IBV_QP_MIN_RNR_TIMER },
	} },
	{ IBV_QPS_RTS, IBV_QPS_SQD, {
		[KIND_RC] = { 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
		[KIND_UD] = { 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
		[KIND_INI] = { 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
		[KIND_TGT] = { 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	} },
	{ IBV_QPS_SQD, IBV_QPS_SQD, {
		[KIND_RC] = { 0, SQD_CONNECTED | TIMERS | REQUESTER | RESPONDER },
		[KIND_UD] = { 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
		[KIND_INI] = { 0, SQD_CONNECTED | TIMERS | REQUESTER },
		[KIND_TGT] = { 0, SQD_CONNECTED | IBV_QP_TIMEOUT | RESPONDER },
	} },
	{ IBV_QPS_SQD, IBV_QPS_RTS, {
		[KIND_RC] = { 0, IBV_QP_CUR_STATE | MIGRATION | IBV_QP_ACCESS_FLAGS |
				 IBV_QP_MIN_RNR_TIMER },
		[KIND_UD] = { 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
		[KIND_INI] = { 0, IBV_QP_CUR_STATE | MIGRATION | IBV_QP_ACCESS_FLAGS },
		[KIND_TGT] = { 0, IBV_QP_CUR_STATE | MIGRATION | IBV_QP_ACCESS_FLAGS |
				  IBV_QP_MIN_RNR_TIMER },
	} },
	{ IBV_QPS_SQE, IBV_QPS_RTS, {
		[KIND_UD] = { 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	} },
};

static enum kind kind_of(uint8_t type)
{
	switch (type) {
	case IBV_QPT_UD: return KIND_UD;
	case IBV_QPT_XRC_SEND: return KIND_INI;
	case IBV_QPT_XRC_RECV: return KIND_TGT;
	default: return KIND_RC;
	}
}

const char *rdma_qp_transition(uint8_t type, uint8_t from, uint8_t to, uint32_t mask)
{
	enum kind k = kind_of(type);

	mask &= ~(uint32_t)IBV_QP_STATE;
	/* From anywhere: to where it began, and to its end. */
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return mask & ~(uint32_t)IBV_QP_CUR_STATE ?
			       "no attributes go with the states RESET and ERR" : NULL;
	for (unsigned int i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *t = &transitions[i];

		if (t->from != from || t->to != to)
			continue;
		if (from == IBV_QPS_SQE && k != KIND_UD)
			break;
		if (t->mask[k].required & ~mask)
			return "an attribute that this transition requires is missing";
		if (mask & ~(t->mask[k].required | t->mask[k].optional | IBV_QP_CUR_STATE))
			return "an attribute is given that this transition does not allow";
		return NULL;
	}
	return "that is no transition of a queue pair";
}
