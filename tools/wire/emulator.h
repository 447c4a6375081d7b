/* SPDX-License-Identifier: BSD-2-Clause */
/* A falcon-wire: the emulator, its ports, and what they share. */
#ifndef FALCON_WIRE_EMULATOR_H
#define FALCON_WIRE_EMULATOR_H

#include <jansson.h>
#include <stdio.h>

#include "port.h"
#include "wire.h"

struct control;

struct emulator {
	struct pool pool;
	struct port_umem umem;
	struct wire *wire;
	unsigned int ports;
	struct port port[WIRE_MAX_PORTS];
	struct control *control;	/* NULL without a control socket */
};

/* What the command line asks for. */
struct options {
	struct wire_conf conf;
	const char *name[WIRE_MAX_PORTS];	/* of the interfaces */
	enum port_io io;
	uint64_t frames;	/* that can be under way */
	const char *control;	/* path of the socket, or NULL */
	int nice;		/* priority, as nice(1) counts it */
	bool json;		/* reports */
	bool check;		/* do nothing else */
};

/* Parse the command line of the emulator. Does not return if it is wrong, or only asks for help. */
void options_parse(struct options *o, int argc, char **argv);

/* Forward until SIGTERM or SIGINT; SIGUSR1 prints a report. Returns an exit status. */
int emulator_run(struct emulator *em, bool json);

/* Everything counted, and the settings. NULL without memory. */
json_t *report_json(struct emulator *em);
/* The same for reading. */
void report_text(const json_t *report, FILE *out);

/*
 * Run a command line as it comes through the control socket; |line| is written to. The answer is a
 * report, an empty object, or an object with the key "error".
 */
json_t *command_run(struct emulator *em, char *line);

/* "falcon-wire set|show|reset ...": ask a running one. Returns an exit status. */
int client_main(int argc, char **argv);

#endif /* FALCON_WIRE_EMULATOR_H */
