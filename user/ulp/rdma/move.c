// SPDX-License-Identifier: BSD-2-Clause
/* Several copies of the mover that end together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/rdma/qp.h"

void rdma_move_init(struct rdma_move *m, struct rdma_qps *qps, void (*done)(struct rdma_move *m))
{
	m->qps = qps;
	m->done = done;
	m->pending = 0;
	m->error = 0;
	m->pieces = NULL;
	m->kept = NULL;
}

static void free_pieces(struct rdma_move *m)
{
	struct rdma_piece *p = m->pieces;

	m->pieces = NULL;
	while (p) {
		struct rdma_piece *next = p->next;

		if (p != &m->first)
			rdma_slab_put(&m->qps->pieces, p);
		p = next;
	}
	free(m->kept);
	m->kept = NULL;
}

static void piece_done(struct rdma_copy *copy, int error)
{
	struct rdma_piece *p = (struct rdma_piece *)copy;
	struct rdma_move *m = p->move;

	if (error && !m->error)
		m->error = error;
	if (--m->pending)
		return;
	free_pieces(m);
	m->done(m);
}
_Static_assert(offsetof(struct rdma_piece, copy) == 0, "a piece is its copy");

int rdma_move_add(struct rdma_move *m, enum rdma_copy_kind kind, struct rdma_span *span,
		  void *local)
{
	struct rdma_piece *p = m->pieces ? rdma_slab_get(&m->qps->pieces, 0) : &m->first;

	if (!p) {
		rdma_span_put(span);
		return -ENOMEM;
	}
	p->move = m;
	p->next = m->pieces;
	m->pieces = p;
	p->copy = (struct rdma_copy){ .kind = kind, .span = *span, .local = local,
				      .done = piece_done };
	*span = (struct rdma_span){ 0 };
	m->pending++;
	rdma_copy_queue(m->qps->r, &p->copy);
	return 0;
}

void rdma_move_cancel(struct rdma_move *m)
{
	if (!m->pending)
		return;
	if (!m->error)
		m->error = -ECANCELED;
	for (struct rdma_piece *p = m->pieces; p; p = p->next)
		rdma_span_put(&p->copy.span);
}

/* Of a piece that has ended, nothing is copied any more. */
static bool is_pending(const struct rdma_piece *p)
{
	return p->copy.span.mr != NULL;
}

void rdma_move_keep(struct rdma_move *m)
{
	uint8_t *from = NULL, *to = NULL;
	struct rdma_piece *p;

	if (m->kept)
		return;
	for (p = m->pieces; p; p = p->next) {
		uint8_t *at = p->copy.local;

		if (!is_pending(p))
			continue;
		from = !from || at < from ? at : from;
		to = !to || at + p->copy.span.len > to ? at + p->copy.span.len : to;
	}
	if (!from)
		return;
	m->kept = malloc((size_t)(to - from));
	if (!m->kept) {
		rdma_move_cancel(m);
		return;
	}
	memcpy(m->kept, from, (size_t)(to - from));
	for (p = m->pieces; p; p = p->next)
		if (is_pending(p))
			p->copy.local = (uint8_t *)m->kept + ((uint8_t *)p->copy.local - from);
}
