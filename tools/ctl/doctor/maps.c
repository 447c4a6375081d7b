// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include "doctor.h"
#include "io/maps.h"

void doctor_maps(struct doctor *d)
{
	const char *dir = d->configured ? d->config.agent.pin_path : NULL;
	struct maps m;
	char err[512];

	/* What others may not open says nothing to them. */
	if (geteuid() != 0)
		return;
	if (maps_open(&m, dir, err, sizeof(err)) < 0) {
		doctor_say(d, DOCTOR_FAIL, "maps", "%s", err);
		return;
	}
	doctor_say(d, DOCTOR_OK, "maps", "pinned in %s, with room for %u connections", m.dir, m.nconns - 1);
	maps_close(&m);
}
