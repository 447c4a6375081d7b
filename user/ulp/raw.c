// SPDX-License-Identifier: BSD-2-Clause
/* The raw upper layer's life: attached applications, connections, and the round of the loop. */
#include "ulp/raw_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct raw_ulp *raw_create(const struct raw_ops *ops, void *arg, uint32_t max_conns)
{
	struct raw_ulp *ulp = calloc(1, sizeof(*ulp) + max_conns * sizeof(ulp->conns[0]));

	if (!ulp)
		return NULL;
	ulp->ops = ops;
	ulp->arg = arg;
	ulp->max_conns = max_conns;
	ulp->next_service = RAW_FIRST_FREE_SERVICE;
	ulp->ready_tail = &ulp->ready;
	return ulp;
}

void raw_client_put(struct raw_client *rc)
{
	if (--rc->refs)
		return;
	LIST_REMOVE(rc, link);
	client_free(rc->cl);
	if (rc->freed)
		rc->freed(rc->freed_arg);
	free(rc);
}

static unsigned int lingering(const struct raw_ulp *ulp, uint32_t uid)
{
	const struct raw_client *rc;
	unsigned int n = 0;

	LIST_FOREACH(rc, &ulp->gone, link)
		n += rc->uid == uid;
	return n;
}

/* A service from the free range that nobody has, or 0. */
static uint16_t pick_service(struct raw_ulp *ulp)
{
	for (int i = 0; i < 65536 - RAW_FIRST_FREE_SERVICE; i++) {
		uint16_t s = ulp->next_service++;

		if (ulp->next_service < RAW_FIRST_FREE_SERVICE)
			ulp->next_service = RAW_FIRST_FREE_SERVICE;
		if (!ulp->services[s])
			return s;
	}
	return 0;
}

static int free_slot(struct raw_ulp *ulp)
{
	for (int i = 0; i < RAW_MAX_CLIENTS; i++)
		if (!ulp->clients[i])
			return i;
	return -EUSERS;
}

static struct raw_client *new_client(struct raw_ulp *ulp)
{
	struct raw_client *rc = calloc(1, sizeof(*rc));

	if (!rc)
		return NULL;
	rc->ulp = ulp;
	rc->refs = 1;
	for (int i = FALCON_CQ_ENTRIES - 1; i >= 0; i--) {
		rc->ops[i].rc = rc;
		rc->ops[i].next = rc->free_ops;
		rc->free_ops = &rc->ops[i];
	}
	return rc;
}

int raw_attach(struct raw_ulp *ulp, const struct client_ends *ends, uint16_t service,
	       struct client **out, char *err, size_t err_len)
{
	int slot = free_slot(ulp);
	struct raw_client *rc;

	if (!service)
		service = pick_service(ulp);
	if (!service || slot < 0) {
		snprintf(err, err_len, "%d applications are attached, the most there can be",
			 RAW_MAX_CLIENTS);
		return -EUSERS;
	}
	if (ulp->services[service]) {
		snprintf(err, err_len, "service %u is taken by another application", service);
		return -EADDRINUSE;
	}
	if (lingering(ulp, ends->uid) >= RAW_CLIENTS_LINGER) {
		snprintf(err, err_len, "%d applications of yours that have gone have operations under way",
			 RAW_CLIENTS_LINGER);
		return -EBUSY;
	}
	rc = new_client(ulp);
	if (!rc) {
		snprintf(err, err_len, "out of memory");
		return -ENOMEM;
	}
	rc->cl = client_attach(ends, service, err, err_len);
	if (!rc->cl) {
		free(rc);
		return -EINVAL;
	}
	rc->uid = ends->uid;
	ulp->services[service] = rc;
	ulp->clients[slot] = rc;
	if ((uint32_t)slot >= ulp->clients_used)
		ulp->clients_used = (uint32_t)slot + 1;
	*out = rc->cl;
	return 0;
}

void raw_detach(struct raw_ulp *ulp, struct client *cl)
{
	uint16_t service = client_service(cl);
	struct raw_client *rc = ulp->services[service];

	ulp->services[service] = NULL;
	for (uint32_t i = 0; i < ulp->clients_used; i++)
		if (ulp->clients[i] == rc)
			ulp->clients[i] = NULL;
	client_publish(cl);
	client_shutdown(cl);
	rc->detached = true;
	LIST_INSERT_HEAD(&ulp->gone, rc, link);
	for (uint32_t i = 0; i < ulp->max_conns; i++)
		if (ulp->conns[i])
			raw_conn_flush(ulp->conns[i], rc);
	raw_client_put(rc);
}

void raw_on_free(struct raw_ulp *ulp, const struct client *cl, void (*freed)(void *arg), void *arg)
{
	struct raw_client *rc = ulp->services[client_service(cl)];

	rc->freed = freed;
	rc->freed_arg = arg;
}

static struct raw_conn *new_conn(void)
{
	struct raw_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->tail = &conn->head;
	conn->owner = -1;
	return conn;
}

void raw_conn_free(struct raw_conn *conn)
{
	free(conn->segs);
	free(conn);
}

int raw_conn_up(struct raw_ulp *ulp, struct fcore_conn *c, uint32_t segment)
{
	uint32_t cid = fcore_conn_cid(c);

	if (!ulp->conns[cid])
		ulp->conns[cid] = new_conn();
	if (!ulp->conns[cid])
		return -ENOMEM;
	ulp->conns[cid]->c = c;
	ulp->conns[cid]->segment = segment;
	ulp->conns[cid]->blocked = false;
	return 0;
}

void raw_conn_resize(struct raw_ulp *ulp, uint32_t cid, uint32_t segment)
{
	ulp->conns[cid]->segment = segment;
}

void raw_conn_down(struct raw_ulp *ulp, uint32_t cid)
{
	struct raw_conn *conn = cid < ulp->max_conns ? ulp->conns[cid] : NULL;

	if (!conn)
		return;
	conn->c = NULL;
	raw_conn_flush(conn, NULL);
}

void raw_conn_own(struct raw_ulp *ulp, uint32_t cid, int64_t owner)
{
	ulp->conns[cid]->owner = owner;
}

void raw_conn_gone(struct raw_ulp *ulp, uint32_t cid)
{
	struct raw_conn *conn = cid < ulp->max_conns ? ulp->conns[cid] : NULL;

	if (!conn)
		return;
	ulp->conns[cid] = NULL;
	conn->c = NULL;
	raw_conn_flush(conn, NULL);
	conn->gone = true;
	if (!conn->ready)
		raw_conn_free(conn);
}

static uint32_t take_submissions(struct raw_ulp *ulp, struct raw_client *rc)
{
	for (uint32_t n = 0; n < RAW_TAKE_BUDGET; n++) {
		struct raw_op *op = rc->free_ops;	/* NULL: nothing will be taken either */
		struct falcon_sqe sqe;
		int r = client_take(rc->cl, &sqe);

		if (r < 0)
			rc->broken = "impossible ring indexes in the shared memory";
		if (r <= 0)
			return n;
		op->sqe = sqe;
		rc->free_ops = op->next;
		rc->refs++;
		raw_op_start(ulp, op);
	}
	return RAW_TAKE_BUDGET;
}

/* Each ready connection once; one that still has something to do comes back to the list's end. */
static uint32_t submit_ready(struct raw_ulp *ulp, uint64_t now)
{
	struct raw_conn *conn = ulp->ready;
	uint32_t n = 0;

	ulp->ready = NULL;
	ulp->ready_tail = &ulp->ready;
	while (conn) {
		struct raw_conn *next = conn->next_ready;

		conn->ready = false;
		if (conn->gone) {
			raw_conn_free(conn);
		} else {
			n += raw_conn_submit(conn, now);
			raw_conn_kick(ulp, conn);
		}
		conn = next;
	}
	return n;
}

void raw_destroy(struct raw_ulp *ulp)
{
	if (!ulp)
		return;
	for (uint32_t i = 0; i < ulp->clients_used; i++)
		if (ulp->clients[i])
			raw_detach(ulp, ulp->clients[i]->cl);
	for (uint32_t i = 0; i < ulp->max_conns; i++)
		raw_conn_gone(ulp, i);
	submit_ready(ulp, 0);
	free(ulp);
}

uint32_t raw_pump(struct raw_ulp *ulp, uint64_t now)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ulp->clients_used; i++)
		if (ulp->clients[i] && !ulp->clients[i]->broken)
			n += take_submissions(ulp, ulp->clients[i]);
	n += submit_ready(ulp, now);
	for (uint32_t i = 0; i < ulp->clients_used; i++) {
		struct raw_client *rc = ulp->clients[i];

		if (!rc)
			continue;
		client_publish(rc->cl);
		if (rc->broken && ulp->ops->client_broken)
			ulp->ops->client_broken(ulp->arg, rc->cl, rc->broken);
	}
	return n;
}

bool raw_sleep_begin(struct raw_ulp *ulp)
{
	bool sleep = !ulp->ready;

	for (uint32_t i = 0; i < ulp->clients_used; i++) {
		struct raw_client *rc = ulp->clients[i];

		if (!rc || rc->broken)
			continue;
		client_publish(rc->cl);
		sleep = client_sleep_begin(rc->cl) && sleep;
	}
	if (!sleep)
		raw_sleep_end(ulp);
	return sleep;
}

void raw_sleep_end(struct raw_ulp *ulp)
{
	for (uint32_t i = 0; i < ulp->clients_used; i++)
		if (ulp->clients[i])
			client_sleep_end(ulp->clients[i]->cl);
}
