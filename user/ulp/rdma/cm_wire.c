// SPDX-License-Identifier: BSD-2-Clause
/* The bytes of what connection managers say: README.md has the layout. */
#include <string.h>

#include "ulp/rdma/cm.h"

_Static_assert((int)RCM_HEADER + (int)FVERBS_CM_PRIVATE_MAX <= (int)ULP_NOTE_MAX, "the longest");

static uint8_t *put(uint8_t *p, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = bytes; i-- > 0;)
		*p++ = (uint8_t)(v >> (8 * i));
	return p;
}

static uint32_t get(const uint8_t **p, unsigned int bytes)
{
	uint32_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | *(*p)++;
	return v;
}

uint16_t rcm_pack(const struct rcm_msg *m, uint8_t *out)
{
	const struct fverbs_cm_param *q = &m->param;
	uint8_t *p = out;

	p = put(p, RCM_VERSION, 1);
	p = put(p, m->type, 1);
	p = put(p, m->ps, 2);
	p = put(p, m->src_id, 4);
	p = put(p, m->dst_id, 4);
	p = put(p, m->src_port, 2);
	p = put(p, m->dst_port, 2);
	p = put(p, q->qp_num, 4);
	p = put(p, q->qkey, 4);
	p = put(p, m->qp_type, 1);
	p = put(p, q->responder_resources, 1);
	p = put(p, q->initiator_depth, 1);
	p = put(p, q->retry_count, 1);
	p = put(p, q->rnr_retry_count, 1);
	p = put(p, (uint64_t)(q->flow_control << 1 | q->srq), 1);
	p = put(p, m->reason, 1);
	p = put(p, q->private_data_len, 1);
	memcpy(p, q->private_data, q->private_data_len);
	return (uint16_t)(p + q->private_data_len - out);
}

bool rcm_unpack(const uint8_t *in, size_t len, struct rcm_msg *m)
{
	struct fverbs_cm_param *q = &m->param;
	const uint8_t *p = in + 1;
	uint8_t flags;

	memset(m, 0, sizeof(*m));
	if (len < RCM_HEADER || in[0] != RCM_VERSION)
		return false;
	m->type = (uint8_t)get(&p, 1);
	m->ps = (uint16_t)get(&p, 2);
	m->src_id = get(&p, 4);
	m->dst_id = get(&p, 4);
	m->src_port = (uint16_t)get(&p, 2);
	m->dst_port = (uint16_t)get(&p, 2);
	q->qp_num = get(&p, 4);
	q->qkey = get(&p, 4);
	m->qp_type = (uint8_t)get(&p, 1);
	q->responder_resources = (uint8_t)get(&p, 1);
	q->initiator_depth = (uint8_t)get(&p, 1);
	q->retry_count = (uint8_t)get(&p, 1);
	q->rnr_retry_count = (uint8_t)get(&p, 1);
	flags = (uint8_t)get(&p, 1);
	q->flow_control = flags >> 1;
	q->srq = flags & 1;
	m->reason = (uint16_t)get(&p, 1);
	q->private_data_len = (uint8_t)get(&p, 1);
	if (!m->type || m->type > RCM_TYPES || flags > 3 || q->qp_num >> 24 ||
	    len != RCM_HEADER + (size_t)q->private_data_len)
		return false;
	memcpy(q->private_data, p, q->private_data_len);
	return true;
}
