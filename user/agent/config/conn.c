// SPDX-License-Identifier: BSD-2-Clause
/* One connection's configuration: its name, what it inherits, and the checks over several keys. */
#include "agent/config/config.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/config/keys.h"
#include "falcon/wire/encap.h"

bool config_name_valid(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len >= CONFIG_NAME_MAX)
		return false;
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && !strchr("._-", *name))
			return false;
	}
	return true;
}

int config_conn_name_check(const char *name, char *err, size_t errlen)
{
	struct in_addr addr;

	if (!config_name_valid(name)) {
		snprintf(err, errlen, "a connection needs a name of at most %d letters, digits, "
			 "'.', '_' and '-'", CONFIG_NAME_MAX - 1);
		return -EINVAL;
	}
	/* By an address programs find the connections that lead there. Those of IPv6 have colons. */
	if (inet_pton(AF_INET, name, &addr) == 1) {
		snprintf(err, errlen, "%s is an address, and no name of a connection: choose another", name);
		return -EINVAL;
	}
	return 0;
}

void config_conn_init(struct conn_config *c, const char *name)
{
	*c = (struct conn_config){0};
	snprintf(c->name, sizeof(c->name), "%s", name);
	fcore_params_default(&c->params);
	config_section_defaults(&config_sections[CONFIG_CONNECTION], c);
}

/* Keys that both kinds of section have, by name: |c|'s value is [agent]'s. */
static void inherit_keys(struct conn_config *c, const struct agent_options *a)
{
	const struct config_section *from = &config_sections[CONFIG_AGENT];
	const struct config_section *to = &config_sections[CONFIG_CONNECTION];

	for (unsigned int i = 0; i < to->nkeys; i++) {
		const struct config_key *k = &to->keys[i];

		if (k->inherited && !config_set_has(&c->set, i))
			memcpy((char *)c + k->offset,
			       (const char *)a + from->keys[config_key_find(from, k->name)].offset,
			       k->size);
	}
}

/* What |c| does not set and may come from [agent] does. */
void config_conn_inherit(struct conn_config *c, const struct agent_options *a)
{
	const struct config_section *s = &config_sections[CONFIG_CONNECTION];

	inherit_keys(c, a);
	for (unsigned int i = 0; i < s->nparams; i++) {
		const struct config_key *k = &s->params[i];

		if (!config_set_has(&c->set, s->nkeys + i))
			memcpy((char *)&c->params + k->offset,
			       (const char *)&a->params + k->offset, k->size);
	}
}

static const char *missing_key(const struct conn_config *c)
{
	static const char *const required[] = {"local", "remote"};
	const struct config_section *s = &config_sections[CONFIG_CONNECTION];

	for (unsigned int i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
		if (!config_set_has(&c->set, (unsigned int)config_key_find(s, required[i])))
			return required[i];
	}
	return NULL;
}

static const uint8_t encaps[] = {
	[CONFIG_SECURITY_CLEAR] = FALCON_PSP_CLEAR,
	[CONFIG_SECURITY_PSP] = FALCON_PSP_AES_GCM_128,
	[CONFIG_SECURITY_AES_GCM_128] = FALCON_PSP_AES_GCM_128,
	[CONFIG_SECURITY_AES_GCM_256] = FALCON_PSP_AES_GCM_256,
	[CONFIG_SECURITY_GMAC_128] = FALCON_PSP_GMAC_128,
	[CONFIG_SECURITY_GMAC_256] = FALCON_PSP_GMAC_256,
	[CONFIG_SECURITY_ESP_128] = FALCON_ESP_AES_GCM_128,
	[CONFIG_SECURITY_ESP_256] = FALCON_ESP_AES_GCM_256,
};

uint8_t config_encap(enum config_security security)
{
	return encaps[security];
}

enum config_security config_security(uint8_t encap)
{
	enum config_security s = CONFIG_SECURITY_ESP_256;

	while (s != CONFIG_SECURITY_CLEAR && encaps[s] != encap)
		s--;
	return s;
}

static const char *tunnel_problem(const struct conn_config *c)
{
	bool local = !falcon_addr_is_none(&c->inner_local);
	bool remote = !falcon_addr_is_none(&c->inner_remote);

	if (c->mode == CONFIG_MODE_TRANSPORT)
		return local || remote ? "inner_local and inner_remote go with mode = tunnel" : NULL;
	if (!local || !remote)
		return "mode = tunnel needs inner_local and inner_remote";
	if (c->security == CONFIG_SECURITY_CLEAR)
		return "clear packets are not tunneled; set mode = transport";
	return NULL;
}

/* The checks of one connection that involve several keys. A sentence, or NULL if all is well. */
static const char *conn_problem(const struct conn_config *c)
{
	if (c->local_cid && !falcon_addr_is_none(&c->local) && falcon_addr_equal(&c->local, &c->remote))
		return "local and remote are the same address, which goes without local_cid only";
	if (c->security != CONFIG_SECURITY_CLEAR && !c->handshake)
		return "handshake = off exchanges no keys; set security = clear on both ends";
	if (!c->local_cid != !c->remote_cid)
		return "local_cid and remote_cid go together; without both the peer is dialled";
	if (!c->local_cid && !c->handshake)
		return "handshake = off needs local_cid and remote_cid";
	if (c->handshake && (c->local_spi || c->remote_spi))
		return "local_spi and remote_spi go with handshake = off; the handshake picks them";
	if (!c->handshake && (!c->local_spi || !c->remote_spi))
		return "handshake = off needs local_spi and remote_spi, both other than 0";
	return tunnel_problem(c);
}

int config_conn_finish(struct conn_config *c, const struct agent_options *agent, char *err,
		       size_t errlen)
{
	const char *problem, *missing = missing_key(c);

	config_conn_inherit(c, agent);
	if (missing) {
		snprintf(err, errlen, "connection %s: %s is missing", c->name, missing);
		return -EINVAL;
	}
	problem = conn_problem(c);
	if (problem) {
		snprintf(err, errlen, "connection %s: %s", c->name, problem);
		return -EINVAL;
	}
	return 0;
}

int config_conn_conflict(const struct conn_config *a, const struct conn_config *b, char *err,
			 size_t errlen)
{
	if (strcmp(a->name, b->name) == 0) {
		snprintf(err, errlen, "there is a connection named %s already", a->name);
		return -EEXIST;
	}
	if (a->local_cid && a->local_cid == b->local_cid) {
		snprintf(err, errlen, "connection %s: local_cid %u is connection %s's already",
			 a->name, a->local_cid, b->name);
		return -EEXIST;
	}
	return 0;
}
