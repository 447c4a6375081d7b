// SPDX-License-Identifier: BSD-2-Clause
/* What is the same for all algorithms: finding one, and running it over a batch of events. */
#include "rue/rue.h"

#include <string.h>

static const struct rue_algorithm *const algorithms[] = { &rue_swift, &rue_fixed };

const struct rue_algorithm *rue_find(const char *name)
{
	for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++)
		if (!strcmp(algorithms[i]->name, name))
			return algorithms[i];
	return NULL;
}

void rue_process_batch(const struct rue_algorithm *a, void *engine,
		       const struct falcon_rue_event *e, size_t n, uint32_t now,
		       struct falcon_rue_result *r, size_t ahead)
{
	if (!a->prefetch)
		ahead = 0;
	for (size_t i = 0; i < ahead && i < n; i++)
		a->prefetch(engine, &e[i]);
	for (size_t i = 0; i < n; i++) {
		if (ahead && n - i > ahead)
			a->prefetch(engine, &e[i + ahead]);
		memset(&r[i], 0, sizeof(r[i]));
		a->process(engine, &e[i], now, &r[i]);
	}
}
