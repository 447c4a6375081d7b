// SPDX-License-Identifier: BSD-2-Clause
#include "agent/shard/cpu_pressure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Of "RUNNING WAITING SLICES" the second number. */
static uint64_t read_waited(int fd)
{
	char text[80] = "", *at;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	strtoull(text, &at, 10);
	return strtoull(at, NULL, 10);
}

void cpu_pressure_open(struct cpu_pressure *c, const char *path, uint64_t now)
{
	*c = (struct cpu_pressure){ .fd = open(path, O_RDONLY | O_CLOEXEC), .looked_at = now };
	if (c->fd >= 0)
		c->waited = read_waited(c->fd);
}

void cpu_pressure_close(struct cpu_pressure *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

bool cpu_pressure_look(struct cpu_pressure *c, uint64_t now)
{
	uint64_t waited;

	if (c->fd < 0)
		return false;
	if (now - c->looked_at < CPU_PRESSURE_LOOK_NS)
		return now < c->hold_until;
	waited = read_waited(c->fd);
	if ((waited - c->waited) * 100 >= (now - c->looked_at) * CPU_PRESSURE_PERCENT)
		c->hold_until = now + CPU_PRESSURE_HOLD_NS;
	c->waited = waited;
	c->looked_at = now;
	return now < c->hold_until;
}
