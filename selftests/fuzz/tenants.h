/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of fuzz_tenants.c have of one another. */
#ifndef FALCON_FUZZ_TENANTS_H
#define FALCON_FUZZ_TENANTS_H

#include "../unit/loop/app.h"
#include "../unit/rdma_env.h"
#include "check.h"

enum tenants_const {
	TENANTS = 3,			/* verbs applications that misbehave: two here, one at the peer */
	TENANT_MEMORY = 16 * 1024,
	RAW_CONNS = 2,			/* CIDs 1 and 2 */
	/* Layers beside RDMA's: numbers of env.h. */
	OTHER_RAW = 1,
	OTHER_NVME,
	OTHER_ROGUE,			/* of tenants_nvme_host.c */
};

/* ---- fuzz_tenants.c: the input ---- */

/* A number of |bytes| from what is left of it; zeros behind its end. */
uint64_t number(size_t bytes);

/* ---- tenants_meter.c ---- */

void meter_open(void);
/* Bytes of the heap in use. */
int64_t meter_heap(void);
/* struct env.turn: between the two, no more is done than a turn may take. */
void meter_turn(const char *what, bool begins);

/* ---- tenants_verbs.c: an application that misbehaves, with all that it has made ---- */

void tenants_open(void);
/* The one called |which| does what the input says. */
void tenant_act(unsigned int which);
void tenants_close(void);
/* That is long ago: nothing is charged to them any more. */
void tenants_settled(void);
/* Connection managers' messages of the peer's, for |env.host[0]|. */
void tenants_note(void);
/* Bytes of the heap that may be there for what applications have, of both hosts. */
int64_t tenants_heap(void);

/* ---- tenants_raw.c: applications of the raw layer, one a host ---- */

void raws_open(void);
void raw_act(unsigned int which);
/* Connections that an operator has taken down come up again. */
void raws_join(void);
void raws_close(void);
/* Of any application with rings of shm.h: write anything anywhere; change an index; take all completions. */
void shared_scribble(struct app *a);
void shared_index(struct app *a);
void shared_drain(struct app *a);

/* ---- tenants_good.c: the application that behaves ---- */

void good_open(void);
/* After each round: it goes on, and has not waited for too long. */
void good_go_on(void);
/* It makes no new queue pair for now. */
void good_keep(bool keep);
/* It is between two operations. */
bool good_is_idle(void);
/* No memory of its own has changed but by what it does. */
void good_check(void);
/* Whether connection |cid| of |h| is its own. */
bool good_has(struct env_host *h, uint32_t cid);
/* What others try. */
uint32_t good_qpn(void);
uint32_t good_key(void);
uint8_t *good_memory(void);
void good_close(void);

/* ---- tenants_nvme.c: agents with NVMe devices ---- */

void disks_open(void);
void disks_close(void);
/* What an operator does. */
void disks_operate(void);
/* He does it no more. */
void disks_go_well(void);
/* That is long ago: nothing is left of those that misbehave, and their devices are up. */
void disks_settled(void);
/* Bytes of the heap that may be there for those that misbehave. */
int64_t disks_heap(void);

/* ---- tenants_nvme_good.c: as tenants_good.c ---- */

void disks_go_on(void);
bool disks_are_idle(void);
void disks_check(void);
bool disks_have(const struct env_host *h, uint32_t cid);

/* ---- tenants_nvme_bad.c, tenants_nvme_host.c ---- */

void disk_tenants_open(void);
void disk_tenants_close(void);
/* The application of host |which|. */
void disk_tenant_act(unsigned int which);
void disk_host_act(void);

#endif /* FALCON_FUZZ_TENANTS_H */
