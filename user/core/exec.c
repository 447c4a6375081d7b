/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that XDP carries out in our place (falcon/exec.h): when it may, and how we go on after it. */
#include "falcon/receive/exec.h"
#include "core/parts.h"

static void set_state(struct fcore_conn *c, enum fc_exec state)
{
	c->exec = state;
	if (state == FC_EXEC_OFFERED)
		fc_list_append(&c->core->offered, &c->exec_link);
	else
		fc_list_remove(&c->exec_link);
}

void fcore_conn_pad_pulls(struct fcore_conn *c, bool on)
{
	c->pad_pulls = on;
}

bool fcore_conn_pads_pulls(const struct fcore_conn *c)
{
	return c->pad_pulls;
}

void fcore_exec_offer(struct fcore_conn *c)
{
	if (c->exec == FC_EXEC_OURS && c->ordered && !c->dead && c->core->ops.exec_give)
		set_state(c, FC_EXEC_OFFERED);
}

void fcore_exec_wait(const struct fcore_conn *c)
{
	falcon_exec_wait(&c->shared->exec);
}

void fc_exec_take(struct fcore_conn *c)
{
	struct falcon_exec *e = &c->shared->exec;
	uint32_t rsn;

	if (c->exec != FC_EXEC_GIVEN)
		return;
	rsn = falcon_exec_seize(e);
	fc_tgt_skip(c, rsn, e->pulls);
	set_state(c, FC_EXEC_OFFERED);
	c->exec_sent |= c->exec_pulls;
	c->exec_pulls = false;
	c->core->ops.exec_taken(c->core->arg, c, e);
}

void fcore_exec_recall(struct fcore_conn *c)
{
	fc_exec_take(c);
}

void fcore_exec_withdraw(struct fcore_conn *c)
{
	fc_exec_take(c);
	set_state(c, FC_EXEC_OURS);
	if (!c->exec_sent)
		fc_exec_unlend(c);
}

static void give(struct fcore_conn *c)
{
	struct falcon_exec *e = &c->shared->exec;
	enum fcore_exec answer = c->core->ops.exec_give(c->core->arg, c, e);

	if (answer == FCORE_EXEC_NEVER)
		set_state(c, FC_EXEC_OURS);
	if (answer != FCORE_EXEC_GIVE)
		return;
	e->packets = e->bytes = 0;
	fc_exec_lend(c, e);
	set_state(c, FC_EXEC_GIVEN);
	falcon_exec_release(e, c->tgt_next);
}

bool fcore_exec_chasing(const struct fcore *core)
{
	return core->exec_chasing;
}

void fcore_exec_run(struct fcore *core)
{
	struct fc_list *l = core->offered.next;

	core->exec_chasing = false;
	while (l != &core->offered) {
		struct fcore_conn *c =
			(struct fcore_conn *)((char *)l - offsetof(struct fcore_conn, exec_link));

		l = l->next;
		if (fc_tgt_is_idle(c))
			give(c);
	}
}
