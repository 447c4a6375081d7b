// SPDX-License-Identifier: BSD-2-Clause
/*
 * Whose a link is. A host has one set of connection identifiers, so each link is charged to users: to each
 * whose queue pair or address handles use it. A datagrams' link that outlives its last address handle stays
 * charged to the last of them until somebody else has use for it, or it goes: who makes one after the other,
 * and leaves them, gets no more that way. Links that peers have dialled, and nobody here uses, are the peers'
 * (falcon.conf(5), max_connections in [peer]).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ulp/rdma/link.h"
#include "ulp/rdma/objects.h"

struct link_payer {
	struct link_payer *next;
	uint32_t uid;
	uint32_t uses;		/* queue pairs and address handles; 0: of none, it is kept */
};

/* Connection identifiers that |link| takes: two if both ends are here. */
static uint64_t price(const struct rdma_link *link)
{
	return link_to_itself(link) ? 2 : 1;
}

static struct link_payer **find(struct rdma_link *link, uint32_t uid)
{
	struct link_payer **p = &link->payers;

	while (*p && (*p)->uid != uid)
		p = &(*p)->next;
	return p;
}

static void drop(struct rdma_link *link, struct link_payer **p)
{
	const struct rdma_host *h = &link->r->host;
	struct link_payer *gone = *p;

	*p = gone->next;
	if (h->charge)
		h->uncharge(h->arg, gone->uid, RDMA_CHARGE_LINKS, price(link));
	free(gone);
}

/* Payers without use for it. */
static void drop_idle(struct rdma_link *link)
{
	struct link_payer **p = &link->payers;

	while (*p) {
		if ((*p)->uses)
			p = &(*p)->next;
		else
			drop(link, p);
	}
}

int link_pay(struct rdma_link *link, uint32_t uid, char *err, size_t errlen)
{
	const struct rdma_host *h = &link->r->host;
	struct link_payer *payer = *find(link, uid);
	int rc = 0;

	if (!payer) {
		payer = calloc(1, sizeof(*payer));
		rc = payer ? 0 : -ENOMEM;
		snprintf(err, errlen, "out of memory");
		if (payer && h->charge)
			rc = h->charge(h->arg, uid, RDMA_CHARGE_LINKS, price(link), err, errlen);
		if (rc < 0) {
			free(payer);
			return rc;
		}
		payer->uid = uid;
		payer->next = link->payers;
		link->payers = payer;
	}
	payer->uses++;
	drop_idle(link);
	return 0;
}

void link_unpay(struct rdma_link *link, uint32_t uid)
{
	const struct link_payer *other = link->payers;

	(*find(link, uid))->uses--;
	while (other && !other->uses)
		other = other->next;
	if (other || !link->dialled)
		drop_idle(link);
}

uint32_t link_payer(const struct rdma_link *link)
{
	return link->payers ? link->payers->uid : 0;
}

void link_unpay_all(struct rdma_link *link)
{
	while (link->payers)
		drop(link, &link->payers);
}
