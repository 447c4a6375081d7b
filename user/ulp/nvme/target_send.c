// SPDX-License-Identifier: BSD-2-Clause
/* What a tCMD sends: requests for its data, and answers. */
#include <string.h>

#include "ulp/nvme/target_priv.h"

static struct falcon_nvme_hdr header(const struct nvme_tncmd *n, enum falcon_nvme_type type)
{
	const struct nvme_tcmd *cmd = n->cmd;

	return (struct falcon_nvme_hdr){
		.type = (uint8_t)type, .split = cmd->split, .group = cmd->group,
		.total = cmd->total, .offset = n->offset, .function = cmd->function,
		.ttag = (uint32_t)(cmd - cmd->conn->cmds), .itag = n->itag, .icmd = cmd->icmd,
	};
}

struct nvme_tpart nvme_tncmd_part(const struct nvme_tncmd *n)
{
	return nvme_tpi_part(n->cmd, (unsigned int)(n - n->cmd->ncmds));
}

uint32_t nvme_tpart_len(const struct nvme_tpart *p)
{
	return p->len + p->nmd * (uint32_t)sizeof(struct nvme_md);
}

static int pull(struct nvme_tncmd *n)
{
	const struct falcon_nvme_hdr h = header(n, FALCON_NVME_WRITE_DATA_REQUEST);
	const struct nvme_tpart p = nvme_tncmd_part(n);
	struct falcon_nvme_nbth w;
	struct fcore_txn txn = {
		.proto = FALCON_PROTO_NVME, .ulp_hdr = &w, .ulp_hdr_len = sizeof(w),
		.len = (uint32_t)sizeof(struct falcon_nvme_response) + nvme_tpart_len(&p),
		.cookie = (uintptr_t)n,
	};
	int rc;

	falcon_nvme_nbth_pack(&h, &w);
	n->state = TNCMD_PULLING;
	n->cmd->refs++;
	rc = fcore_pull(n->cmd->conn->core, &txn, n->cmd->conn->t->now);
	if (rc < 0) {
		n->state = TNCMD_HERE;
		n->cmd->refs--;
	}
	return rc;
}

static int reply(struct nvme_tncmd *n)
{
	const struct nvme_tcmd *cmd = n->cmd;
	bool data = nvme_exec_answers_data(cmd), with = data && !cmd->status;
	const struct falcon_nvme_hdr h = header(n, data ? FALCON_NVME_READ_RESPONSE :
						   cmd->combined ? FALCON_NVME_COMMAND_COMPLETION :
								   FALCON_NVME_WRITE_COMPLETION);
	const struct nvme_tpart p = nvme_tncmd_part(n);
	uint8_t was = n->state;
	struct falcon_nvme_response w;
	struct fcore_txn txn = {
		.proto = FALCON_PROTO_NVME, .ulp_hdr = &w, .ulp_hdr_len = sizeof(w),
		.payload = with ? cmd->buf + p.at + p.md * sizeof(struct nvme_md) : NULL,
		.len = with ? nvme_tpart_len(&p) : 0, .cookie = (uintptr_t)n,
	};
	int rc;

	falcon_nvme_response_pack(&h, cmd->status, &w);
	n->state = TNCMD_ANSWERING;
	n->cmd->refs++;
	rc = fcore_push(cmd->conn->core, &txn, cmd->conn->t->now);
	if (rc < 0) {
		n->state = was;
		n->cmd->refs--;
	}
	return rc;
}

/* Whether |cmd| is among what its connection has to send. */
static void set_sending(struct nvme_tcmd *cmd, bool sending)
{
	struct nvme_tcmds *list = &cmd->conn->send;

	if (sending)
		TAILQ_INSERT_HEAD(list, cmd, send_link);
	else
		TAILQ_REMOVE(list, cmd, send_link);
	cmd->sending = sending;
}

/* Start the transaction of |n| that the phase of its command asks for. */
static int send_one(struct nvme_tncmd *n)
{
	if (n->cmd->phase == TCMD_PULL && n->state == TNCMD_HERE)
		return pull(n);
	if (n->cmd->phase == TCMD_ANSWER && n->state < TNCMD_ANSWERING)
		return reply(n);
	return 0;
}

/*
 * A transaction may end before it has been submitted, where a filter ends it (Falcon 11). With the last
 * of them |cmd| goes on to its next phase, and may ask to be sent again, or is over: nothing looks at it
 * afterwards.
 */
bool nvme_tcmd_send(struct nvme_tcmd *cmd)
{
	for (;;) {
		struct nvme_tncmd *n = &cmd->ncmds[cmd->cursor++];
		bool last = cmd->cursor == cmd->n;

		if (last)
			set_sending(cmd, false);
		if (send_one(n) < 0) {
			cmd->cursor--;
			if (last)
				set_sending(cmd, true);
			return false;
		}
		if (last)
			return true;
	}
}
