// SPDX-License-Identifier: BSD-2-Clause
#include "keys.h"

#include <string.h>

void sim_cfg_init(struct sim_cfg *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->seed = 1;
	cfg->hosts = 2;
	cfg->data = cfg->checks = 1;
	for (int i = 0; i < SIM_MAX_HOSTS; i++) {
		cfg->link[i] = link_defaults;
		cfg->host[i] = host_defaults;
	}
	for (int i = 0; i < SIM_MAX_TRUNKS; i++)
		cfg->trunk[i] = link_defaults;
}

struct sim_conn_cfg *sim_cfg_add_conn(struct sim_cfg *cfg)
{
	if (cfg->nconns == SIM_MAX_CONNS)
		return NULL;
	cfg->conn[cfg->nconns] = conn_defaults;
	return &cfg->conn[cfg->nconns++];
}

/* Print the values of |base| that differ from |defaults|. */
static void print_section(enum key_section s, const void *base, const void *defaults, FILE *out)
{
	const struct key *k;

	for (uint32_t i = 0; (k = key_at(i)); i++) {
		uint64_t v, d;

		if (k->section != s)
			continue;
		v = *(const uint64_t *)((const char *)base + k->offset);
		d = *(const uint64_t *)((const char *)defaults + k->offset);
		if (v != d)
			key_print(k, v, out);
	}
}

static void print_links(const struct sim_cfg *cfg, FILE *out)
{
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		fprintf(out, "\n[link %llu]\n", (unsigned long long)i);
		print_section(S_LINK, &cfg->link[i], &link_defaults, out);
	}
	for (uint64_t i = 0; i < cfg->leaves * cfg->spines; i++) {
		fprintf(out, "\n[trunk %llu-%llu]\n", (unsigned long long)(i / cfg->spines),
			(unsigned long long)(i % cfg->spines));
		print_section(S_LINK, &cfg->trunk[i], &link_defaults, out);
	}
}

void sim_cfg_print(const struct sim_cfg *cfg, FILE *out)
{
	static const struct sim_cfg none;

	fprintf(out, "[run]\n");
	print_section(S_RUN, cfg, &none, out);
	if (!cfg->data)
		fprintf(out, "data = no\n");
	if (!cfg->checks)
		fprintf(out, "checks = no\n");
	print_links(cfg, out);
	for (uint64_t i = 0; i < cfg->hosts; i++) {
		fprintf(out, "\n[host %llu]\n", (unsigned long long)i);
		print_section(S_HOST, &cfg->host[i], &host_defaults, out);
	}
	if (*cfg->swift[0])
		fprintf(out, "\n[swift]\n");
	for (int i = 0; i < SIM_MAX_SWIFT && *cfg->swift[i]; i++)
		fprintf(out, "%s\n", cfg->swift[i]);
	for (uint64_t i = 0; i < cfg->nconns; i++) {
		const struct sim_conn_cfg *c = &cfg->conn[i];

		/* A section without a line is none. */
		fprintf(out, "\n[connection %llu]\n%s", (unsigned long long)i,
			c->from ? "" : "from = 0\n");
		print_section(S_CONNECTION, c, &conn_defaults, out);
	}
}

/* Set one value to its default; true if it was another. */
static bool reset(void *base, const void *defaults, size_t offset)
{
	uint64_t *v = (uint64_t *)((char *)base + offset);
	uint64_t d = *(const uint64_t *)((const char *)defaults + offset);
	bool other = *v != d;

	*v = d;
	return other;
}

/* Key |k| back to its default wherever it is. */
static bool reset_all(struct sim_cfg *cfg, const struct key *k)
{
	bool changed = false;

	for (uint64_t i = 0; i < cfg->hosts && k->section == S_LINK; i++)
		changed |= reset(&cfg->link[i], &link_defaults, k->offset);
	for (uint64_t i = 0; i < cfg->leaves * cfg->spines && k->section == S_LINK; i++)
		changed |= reset(&cfg->trunk[i], &link_defaults, k->offset);
	for (uint64_t i = 0; i < cfg->hosts && k->section == S_HOST; i++)
		changed |= reset(&cfg->host[i], &host_defaults, k->offset);
	for (uint64_t i = 0; i < cfg->nconns && k->section == S_CONNECTION; i++)
		changed |= reset(&cfg->conn[i], &conn_defaults, k->offset);
	return changed;
}

bool sim_cfg_remove_fault(struct sim_cfg *cfg, uint32_t n, bool *changed)
{
	const struct key *k;

	for (uint32_t i = 0; (k = key_at(i)); i++) {
		if (!k->fault || n--)
			continue;
		*changed = reset_all(cfg, k);
		return true;
	}
	return false;
}
