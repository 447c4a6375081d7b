// SPDX-License-Identifier: BSD-2-Clause
/* Users' accounts, by uid. An account exists while something is charged to it. */
#include "agent/tenant/quota.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A failed allocation is reported, not fatal. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "agent/config/policy.h"

struct account {
	struct quota_usage use;
	gid_t *groups;		/* of the process that connected last; NULL: unknown */
	size_t ngroups;
	UT_hash_handle hh;	/* by use.uid */
};

struct quota {
	pthread_mutex_t lock;	/* of all below */
	const struct quota_section *sections;
	unsigned int nsections;
	uint32_t *id;		/* of each section: uid or gid */
	const struct quota_section *any;	/* [user any], or NULL */
	struct account *accounts;
	/* By pool_of(). */
	uint64_t room[QUOTA_KINDS];	/* that the host has; UINT64_MAX: there is no end of it */
	uint64_t taken[QUOTA_KINDS];	/* that all users hold */
	unsigned int tenants;	/* who hold memory; read without the lock, too */
};

/* Of those whom a section was for, and none is any more: they keep what they hold. */
static const struct quota_section nobody = { .name = "" };

static const struct kind_words {
	const char *name, *key;
} kinds[QUOTA_KINDS] = {
	[QUOTA_CLIENTS] = { "clients", "clients" },
	[QUOTA_CONNECTIONS] = { "connections", "connections" },
	[QUOTA_LINKS] = { "connections of queue pairs and address handles", "links" },
	[QUOTA_QPS] = { "queue pairs and shared receive queues", "qps" },
	[QUOTA_MRS] = { "memory regions and windows", "mrs" },
	[QUOTA_CM_IDS] = { "rdma_cm ids", "cm_ids" },
	[QUOTA_MEMORY] = { "bytes of memory", "memory" },
	[QUOTA_CHANNELS] = { "channels", "channels" },
	[QUOTA_OBJECTS] = { "verbs objects", "objects" },
};
_Static_assert(QUOTA_KINDS == 9, "each kind has its words");

const char *quota_kind_name(enum quota_kind kind)
{
	return kinds[kind].name;
}

const char *quota_kind_key(enum quota_kind kind)
{
	return kinds[kind].key;
}

/* Kinds that have one room have one pool. */
static enum quota_kind pool_of(enum quota_kind kind)
{
	return kind == QUOTA_LINKS ? QUOTA_CONNECTIONS : kind;
}

/* 0 and the number in |*id|, or negative: neither a number nor a name that the host knows. */
static int resolve(const struct quota_section *s, uint32_t *id)
{
	char *end;
	unsigned long number = strtoul(s->name, &end, 10);
	const struct passwd *pw;
	const struct group *gr;

	if (!*end && number < UINT32_MAX) {
		*id = (uint32_t)number;
		return 0;
	}
	if (s->group) {
		gr = getgrnam(s->name);
		*id = gr ? gr->gr_gid : 0;
		return gr ? 0 : -ENOENT;
	}
	pw = getpwnam(s->name);
	*id = pw ? pw->pw_uid : 0;
	return pw ? 0 : -ENOENT;
}

static int resolve_all(struct quota *q, char *err, size_t errlen)
{
	for (unsigned int i = 0; i < q->nsections; i++) {
		const struct quota_section *s = &q->sections[i];

		if (!s->group && strcmp(s->name, POLICY_ANY) == 0) {
			q->any = s;
			continue;
		}
		if (resolve(s, &q->id[i]) == 0)
			continue;
		snprintf(err, errlen, "[%s %s]: this host has no %s of that name",
			 s->group ? "group" : "user", s->name, s->group ? "group" : "user");
		return -ENOENT;
	}
	return 0;
}

int quota_open(struct quota **out, const struct quota_section *sections, unsigned int n, char *err,
	       size_t errlen)
{
	struct quota *q = calloc(1, sizeof(*q));
	int ret = -ENOMEM;

	*out = NULL;
	snprintf(err, errlen, "out of memory");
	if (q) {
		pthread_mutex_init(&q->lock, NULL);
		for (int k = 0; k < QUOTA_KINDS; k++)
			q->room[k] = UINT64_MAX;
		q->sections = sections;
		q->nsections = n;
		q->id = calloc(n + 1, sizeof(*q->id));
	}
	if (q && q->id)
		ret = resolve_all(q, err, errlen);
	if (ret == 0)
		*out = q;
	else
		quota_close(q);
	return ret;
}

static void account_free(struct account *a)
{
	free(a->groups);
	free(a);
}

void quota_close(struct quota *q)
{
	struct account *a, *next;

	if (!q)
		return;
	HASH_ITER(hh, q->accounts, a, next) {
		HASH_DEL(q->accounts, a);
		account_free(a);
	}
	pthread_mutex_destroy(&q->lock);
	free(q->id);
	free(q);
}

void quota_set_room(struct quota *q, enum quota_kind kind, uint64_t room)
{
	q->room[pool_of(kind)] = room;
}

bool quota_restricts(const struct quota *q)
{
	return q->nsections > 0;
}

static struct account *find(const struct quota *q, uid_t uid)
{
	struct account *a;

	HASH_FIND(hh, q->accounts, &uid, sizeof(uid), a);
	return a;
}

/* Those who could change the configuration are bound by it only if it names them. */
static bool privileged(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static bool among(gid_t gid, const gid_t *groups, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (groups[i] == gid)
			return true;
	}
	return false;
}

/* The section for a process, or NULL. */
static const struct quota_section *section_for(const struct quota *q, uid_t uid,
					       const gid_t *groups, size_t n)
{
	const struct quota_section *s, *by_group = NULL;

	for (unsigned int i = 0; i < q->nsections; i++) {
		s = &q->sections[i];
		if (s == q->any)
			continue;
		if (!s->group && q->id[i] == uid)
			return s;
		if (!by_group && s->group && among(q->id[i], groups, n))
			by_group = s;
	}
	if (privileged(uid))
		return NULL;
	return by_group ? by_group : q->any;
}

/* The user's account, made if there is none; NULL if memory is short. */
static struct account *obtain(struct quota *q, uid_t uid)
{
	struct account *a = find(q, uid);

	if (a)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->use.uid = uid;
	a->use.section = section_for(q, uid, NULL, 0);
	HASH_ADD(hh, q->accounts, use.uid, sizeof(a->use.uid), a);
	/* uthash leaves the handle without its table if there was no memory for it. */
	if (a->hh.tbl)
		return a;
	free(a);
	return NULL;
}

static void drop_if_empty(struct quota *q, struct account *a)
{
	for (int k = 0; k < QUOTA_KINDS; k++) {
		if (a->use.held[k])
			return;
	}
	HASH_DEL(q->accounts, a);
	account_free(a);
}

static bool within_limit(const struct account *a, enum quota_kind kind, uint64_t amount)
{
	uint64_t limit = a->use.section ? a->use.section->limit[kind] : UINT64_MAX;

	return a->use.held[kind] <= limit && amount <= limit - a->use.held[kind];
}

/* Whether as many as |a| holds then are left. */
static bool within_share(const struct quota *q, const struct account *a, enum quota_kind kind,
			 uint64_t amount)
{
	enum quota_kind pool = pool_of(kind);
	uint64_t left, held = amount;

	if (q->room[pool] == UINT64_MAX || privileged(a->use.uid))
		return true;
	if (q->taken[pool] > q->room[pool] || amount > q->room[pool] - q->taken[pool])
		return false;
	left = q->room[pool] - q->taken[pool] - amount;
	for (int k = 0; k < QUOTA_KINDS; k++)
		held += pool_of((enum quota_kind)k) == pool ? a->use.held[k] : 0;
	return held <= left;
}

/* |a| holds |held| of |kind| from now on. */
static void hold(struct quota *q, struct account *a, enum quota_kind kind, uint64_t held)
{
	q->taken[pool_of(kind)] += held - a->use.held[kind];
	if (kind == QUOTA_MEMORY)
		__atomic_store_n(&q->tenants, q->tenants + !!held - !!a->use.held[kind], __ATOMIC_RELAXED);
	a->use.held[kind] = held;
}

static int charge(struct quota *q, uid_t uid, enum quota_kind kind, uint64_t amount)
{
	struct account *a = obtain(q, uid);
	int ret = 0;

	if (!a)
		return -ENOMEM;
	if (within_limit(a, kind, amount) && within_share(q, a, kind, amount))
		hold(q, a, kind, a->use.held[kind] + amount);
	else
		ret = -EDQUOT;
	drop_if_empty(q, a);
	return ret;
}

int quota_charge(struct quota *q, uid_t uid, enum quota_kind kind, uint64_t amount)
{
	int ret;

	pthread_mutex_lock(&q->lock);
	ret = charge(q, uid, kind, amount);
	pthread_mutex_unlock(&q->lock);
	return ret;
}

void quota_uncharge(struct quota *q, uid_t uid, enum quota_kind kind, uint64_t amount)
{
	struct account *a;

	pthread_mutex_lock(&q->lock);
	a = find(q, uid);
	if (a) {
		amount = amount < a->use.held[kind] ? amount : a->use.held[kind];
		hold(q, a, kind, a->use.held[kind] - amount);
		drop_if_empty(q, a);
	}
	pthread_mutex_unlock(&q->lock);
}

/* Why one more of |kind| is refused to |uid|, whose section is |s|; NULL: none. */
static void explain(const struct quota *q, const struct quota_section *s, uid_t uid, enum quota_kind kind,
		    char *err, size_t errlen)
{
	const struct account *a = find(q, uid);
	struct account none = { .use = { .uid = uid, .section = s } };
	unsigned long long held;

	if (!a)
		a = &none;
	held = (unsigned long long)a->use.held[kind];
	if (s == &nobody)
		snprintf(err, errlen, "no [user] or [group] section is for user %u any more", uid);
	else if (within_limit(a, kind, 1) && !within_share(q, a, kind, 1))
		snprintf(err, errlen, "user %u holds %llu %s: one more, and fewer were left for others", uid,
			 held, kinds[kind].name);
	else if (s)
		snprintf(err, errlen, "user %u may hold %llu %s ([%s %s]), and holds %llu", uid,
			 (unsigned long long)s->limit[kind], kinds[kind].name,
			 s->group ? "group" : "user", s->name, held);
	else
		snprintf(err, errlen, "out of memory");
}

void quota_explain(struct quota *q, uid_t uid, enum quota_kind kind, char *err, size_t errlen)
{
	const struct account *a;

	pthread_mutex_lock(&q->lock);
	a = find(q, uid);
	explain(q, a ? a->use.section : section_for(q, uid, NULL, 0), uid, kind, err, errlen);
	pthread_mutex_unlock(&q->lock);
}

/* Without memory for them he is known by his uid alone. */
static void remember_groups(struct account *a, const gid_t *groups, size_t n)
{
	free(a->groups);
	a->groups = n ? malloc(n * sizeof(*groups)) : NULL;
	a->ngroups = a->groups ? n : 0;
	if (a->groups)
		memcpy(a->groups, groups, n * sizeof(*groups));
}

static int admit(struct quota *q, uid_t uid, const gid_t *groups, size_t n, char *err, size_t errlen)
{
	const struct quota_section *s = section_for(q, uid, groups, n);
	struct account *a;
	int ret;

	if (q->nsections && !s && !privileged(uid)) {
		snprintf(err, errlen,
			 "user %u may not use this agent: no [user] or [group] section of its "
			 "configuration is for him",
			 uid);
		return -EACCES;
	}
	a = obtain(q, uid);
	if (!a) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	a->use.section = s;
	remember_groups(a, groups, n);
	ret = charge(q, uid, QUOTA_CLIENTS, 1);
	if (ret < 0)
		explain(q, s, uid, QUOTA_CLIENTS, err, errlen);
	return ret;
}

int quota_admit(struct quota *q, uid_t uid, const gid_t *groups, size_t n, char *err, size_t errlen)
{
	int ret;

	pthread_mutex_lock(&q->lock);
	ret = admit(q, uid, groups, n, err, errlen);
	pthread_mutex_unlock(&q->lock);
	return ret;
}

int quota_renew(struct quota *q, const struct quota_section *sections, unsigned int n, char *err,
		size_t errlen)
{
	struct quota *new;
	struct account *a, *next;
	uint32_t *id;
	int ret;

	if (!n && q->nsections) {
		snprintf(err, errlen, "without any, all users could use the agent without limits");
		return -EPERM;
	}
	ret = quota_open(&new, sections, n, err, errlen);
	if (ret < 0)
		return ret;
	pthread_mutex_lock(&q->lock);
	id = q->id;
	q->sections = new->sections;
	q->nsections = new->nsections;
	q->id = new->id;
	q->any = new->any;
	new->id = id;
	quota_close(new);
	HASH_ITER(hh, q->accounts, a, next) {
		a->use.section = section_for(q, a->use.uid, a->groups, a->ngroups);
		if (!a->use.section && q->nsections && !privileged(a->use.uid))
			a->use.section = &nobody;
	}
	pthread_mutex_unlock(&q->lock);
	return 0;
}

uint64_t quota_held(struct quota *q, uid_t uid, enum quota_kind kind)
{
	const struct account *a;
	uint64_t held;

	pthread_mutex_lock(&q->lock);
	a = find(q, uid);
	held = a ? a->use.held[kind] : 0;
	pthread_mutex_unlock(&q->lock);
	return held;
}

unsigned int quota_tenants(const struct quota *q)
{
	return __atomic_load_n(&q->tenants, __ATOMIC_RELAXED);
}

void quota_each(struct quota *q, void (*fn)(void *arg, const struct quota_usage *usage),
		void *arg)
{
	struct account *a, *next;

	pthread_mutex_lock(&q->lock);
	HASH_ITER(hh, q->accounts, a, next)
		fn(arg, &a->use);
	pthread_mutex_unlock(&q->lock);
}
