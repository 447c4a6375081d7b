// SPDX-License-Identifier: BSD-2-Clause
/*
 * Connections whose queue pair has gone. The last that it received may not have been acknowledged, or
 * the acknowledgment may be lost on the way: the peer, whose requests have succeeded, must not see them
 * fail. So the connection stays for a while after its queue pair. What is new is not answered: an error
 * could overtake acknowledgments of what came before, on this connection or another of the same application.
 * It ends with the connection.
 */
#include <stdlib.h>

#include "ulp/rdma/link.h"

/* A connection on its way out. */
struct link_leaving {
	TAILQ_ENTRY(link_leaving) entry;	/* in the order of |at| */
	uint32_t cid[2];			/* it, and its other end if that is here too; 0: none */
	uint64_t at;				/* ns, when it is hung up */
};

static void hang_up(struct rdma *r, struct link_leaving *leaving)
{
	for (int i = 0; i < 2; i++) {
		if (leaving->cid[i])
			r->host.ulp->hangup(r->host.agent, leaving->cid[i],
					    "the queue pair has left it");
	}
	TAILQ_REMOVE(&r->links->leaving, leaving, entry);
	r->links->nleaving--;
	free(leaving);
}

void link_leave(struct rdma_link *link)
{
	struct rdma *r = link->r;
	struct rdma_links *l = r->links;
	struct link_leaving *leaving = calloc(1, sizeof(*leaving));

	if (!leaving)
		return;
	*leaving = (struct link_leaving){
		.cid = { link->cid, link->twin }, .at = r->now + LINK_LEAVE_MS * 1000000ULL,
	};
	if (link->cid)
		l->by_cid[link->cid] = NULL;
	if (link->twin)
		l->by_cid[link->twin] = NULL;
	link->cid = link->twin = 0;
	if (l->nleaving == LINK_LEAVING_MAX)
		hang_up(r, TAILQ_FIRST(&l->leaving));
	TAILQ_INSERT_TAIL(&l->leaving, leaving, entry);
	l->nleaving++;
}

void link_left(struct rdma *r, uint32_t cid)
{
	struct link_leaving *leaving;

	TAILQ_FOREACH(leaving, &r->links->leaving, entry) {
		for (int i = 0; i < 2; i++) {
			if (leaving->cid[i] != cid)
				continue;
			leaving->cid[i] = 0;
			/* One that was dialled here would be dialled again, for ever. */
			r->host.ulp->hangup(r->host.agent, cid, "the queue pair has left it");
		}
	}
}

void link_leave_run(struct rdma *r, uint64_t now)
{
	struct link_leaving *leaving;

	while ((leaving = TAILQ_FIRST(&r->links->leaving)) && leaving->at <= now)
		hang_up(r, leaving);
}

uint64_t link_leave_deadline(const struct rdma_links *l)
{
	const struct link_leaving *leaving = TAILQ_FIRST(&l->leaving);

	return leaving ? leaving->at : UINT64_MAX;
}
