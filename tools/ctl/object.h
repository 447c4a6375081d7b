/* SPDX-License-Identifier: BSD-2-Clause */
/* What falconctl knows to do: objects, each with actions, from which abbreviations and help are made. */
#ifndef FALCON_TOOLS_CTL_OBJECT_H
#define FALCON_TOOLS_CTL_OBJECT_H

#include "ctl.h"

enum { ACTIONS_MAX = 6 };
#define OPTIONS "[OPTION...]"

struct action {
	const char *name;
	const char *args;	/* for help; with OPTIONS: those that ctl_parse() takes */
	const char *help;
	action_fn run;
};

struct object {
	const char *name;
	const char *help;
	const struct ctl_column *columns;	/* of "show"; NULL: a list */
	struct action actions[ACTIONS_MAX];	/* the first is the default */
};

/* objects.c */
extern const struct object ctl_objects[];
extern const int ctl_nobjects;

/* show.c: what the agent has, as it says itself. */
int ctl_show_named(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_show_pool(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_show_all(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_show_counters(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_ca_show(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_key_export(const struct options *o, const struct object *obj, int argc, char **argv);
int ctl_key_rotate(const struct options *o, const struct object *obj, int argc, char **argv);

#endif /* FALCON_TOOLS_CTL_OBJECT_H */
