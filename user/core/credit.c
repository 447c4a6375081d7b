/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who waits for resources: upper layers that were told to stop (Xoff), and connections with
 * responses for which the ULP Data region has no room.
 *
 * When something is given back, all that wait are looked at once, a few in each fcore_run(), round
 * robin. Whoever still does not fit does so because somebody holds what it needs, and will be
 * looked at again when that is given back.
 */
#include "core/parts.h"

enum { TURN = 16 };	/* waiting connections looked at in one fcore_run() */

void fc_waiters_add(struct fc_waiters *w, struct fc_list *link)
{
	if (!fc_list_empty(link))
		return;
	fc_list_append(&w->list, link);
	w->count++;
}

void fc_waiters_remove(struct fc_waiters *w, struct fc_list *link)
{
	if (fc_list_empty(link))
		return;
	fc_list_remove(link);
	w->count--;
}

/* The next that waits in |w| and is to be looked at, taken out; NULL if there is none. */
static struct fc_list *next_waiter(struct fc_waiters *w)
{
	struct fc_list *link = w->list.next;

	if (fc_list_empty(&w->list))
		w->scan = 0;
	if (!w->scan)
		return NULL;
	w->scan--;
	fc_waiters_remove(w, link);
	return link;
}

void fc_res_fund(struct fcore_conn *c)
{
	while (!c->dead && c->resp_tail != c->resp_end) {
		const struct fc_ttxn *t = fc_ttxn(c, c->resp_queue[c->resp_tail & FC_TXN_MASK]);

		if (!fc_res_take_data(c, fc_resp_len(t))) {
			fc_waiters_add(&c->core->data, &c->data_link);
			return;
		}
		c->resp_tail++;
		fc_sched_wake(c);
	}
}

void fc_res_serve(struct fcore *core)
{
	struct fc_list *l;

	for (int i = 0; i < TURN && (l = next_waiter(&core->data)); i++)
		fc_res_fund((struct fcore_conn *)((char *)l -
						  offsetof(struct fcore_conn, data_link)));
	for (int i = 0; i < TURN && (l = next_waiter(&core->xon)); i++)
		fc_init_xon((struct fcore_conn *)((char *)l -
						  offsetof(struct fcore_conn, xon_link)));
}
