/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which local users may use the agent, and how much of it each may hold: the [user NAME] and
 * [group NAME] sections of falcon.conf(5).
 *
 * Whatever is made on behalf of an application is charged to its user before it is made, and
 * uncharged when it is gone, by whoever makes it:
 *
 *	ret = quota_charge(q, uid, QUOTA_QPS, 1);
 *	if (ret < 0)
 *		return quota_explain(q, uid, QUOTA_QPS, err, errlen), ret;
 *
 * A user's limits are those of his own section; else of the first [group] section of one of his
 * groups; else of [user any]. Each member of a group has them for himself. Without any section
 * everybody who can connect is admitted, and has no such limits. The agent's own user and root are
 * limited by sections of their own alone.
 *
 * Kinds are chosen by what can run out. What verbs applications make is counted so, not by what each is
 * called: queue pairs and shared receive queues have a number of 16 bits; regions and windows have a key; a
 * channel keeps a descriptor open; all else (protection domains, completion queues, address handles, XRC
 * domains, areas) takes a few hundred bytes. These are not bytes of QUOTA_MEMORY: that is memory of the
 * user's own, which the agent maps, and its limits would allow millions of objects in the agent's memory.
 *
 * Of most kinds the host has one set for all users, who could take each other's: see quota_set_room(). Of
 * these nobody but root and the agent's own user may hold more than are left: whoever comes next finds some.
 *
 * Any thread may call; knows nothing of the agent.
 */
#ifndef FALCON_AGENT_TENANT_QUOTA_H
#define FALCON_AGENT_TENANT_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/config/quota.h"

/* How much a user holds. */
struct quota_usage {
	uid_t uid;
	const struct quota_section *section;	/* whose limits he has; NULL: none */
	uint64_t held[QUOTA_KINDS];
};

struct quota;

/*
 * Accounts under |sections|, which stay the caller's and must not go before quota_close(). Looks
 * names up in the host's databases, so call it before giving privileges up. 0; -ENOENT: there is no
 * such user or group; -ENOMEM. A sentence in |err|.
 */
int quota_open(struct quota **out, const struct quota_section *sections, unsigned int n, char *err,
	       size_t errlen);

/*
 * From now on |sections| apply, as with quota_open(), in place of those before, which may go. Who holds more
 * than he may keeps it, and gets no more; so does who is admitted no longer. 0; -EPERM: there would be none,
 * which would admit everybody; -ENOENT; -ENOMEM: the old ones stay. A sentence in |err|.
 */
int quota_renew(struct quota *q, const struct quota_section *sections, unsigned int n, char *err,
		size_t errlen);

/* NULL is allowed. */
void quota_close(struct quota *q);

/*
 * The host has |room| of |kind| for all users together; connections and links have one room. Until this
 * is said of a kind there is no end of it. What each of several threads has, and an application gets from the
 * thread it asks for, is to count once: the share of a user must not be all that one thread has.
 */
void quota_set_room(struct quota *q, enum quota_kind kind, uint64_t room);

/* Whether there are sections: then it is they who decide about users, not the socket's mode. */
bool quota_restricts(const struct quota *q);

/*
 * A process of |uid| with the |n| |groups| has connected: charges QUOTA_CLIENTS, and gives the user
 * the limits that these groups have. 0; -EACCES: no section is for him; -EDQUOT; -ENOMEM. A sentence
 * for the user in |err|. quota_uncharge() when he leaves.
 */
int quota_admit(struct quota *q, uid_t uid, const gid_t *groups, size_t n, char *err,
		size_t errlen);

/*
 * |uid| shall hold |amount| more. 0; -EDQUOT: that is more than he may, or than the host has; -ENOMEM.
 * Nothing is charged on failure.
 */
int quota_charge(struct quota *q, uid_t uid, enum quota_kind kind, uint64_t amount);

/* |uid| holds |amount| less, which was charged. */
void quota_uncharge(struct quota *q, uid_t uid, enum quota_kind kind, uint64_t amount);

/* A sentence about |uid|'s limit of |kind|, for the user, into |err|. */
void quota_explain(struct quota *q, uid_t uid, enum quota_kind kind, char *err,
		   size_t errlen);

/* What |uid| holds of |kind|. */
uint64_t quota_held(struct quota *q, uid_t uid, enum quota_kind kind);

/*
 * How many users hold memory: each has an application attached, or its peers may still write there. Without
 * the lock: it may be out of date when it is looked at.
 */
unsigned int quota_tenants(const struct quota *q);

/* Call |fn|, which calls nothing here, for every user who holds something. */
void quota_each(struct quota *q, void (*fn)(void *arg, const struct quota_usage *usage),
		void *arg);

/* In words, plural: "queue pairs". */
const char *quota_kind_name(enum quota_kind kind);
/* As in rows for falconctl: "qps", of which "max_qps" is the limit. */
const char *quota_kind_key(enum quota_kind kind);

#endif /* FALCON_AGENT_TENANT_QUOTA_H */
