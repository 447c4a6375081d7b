// SPDX-License-Identifier: BSD-2-Clause
/* Reading, checking and writing Swift's parameters. */
#include "rue/params.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rue/params_table.h"

enum { PARAMS = sizeof(table) / sizeof(table[0]) };

const struct swift_param *swift_params_table(size_t *n)
{
	*n = PARAMS;
	return table;
}

static bool is_name(const char *candidate, const char *name, size_t len)
{
	return candidate && strlen(candidate) == len && !memcmp(candidate, name, len);
}

const struct swift_param *swift_params_find(const char *name, size_t len)
{
	for (size_t i = 0; i < PARAMS; i++)
		if (is_name(table[i].name, name, len) || is_name(table[i].spec, name, len))
			return &table[i];
	return NULL;
}

static void store(struct swift_params *p, const struct swift_param *param, double value)
{
	char *at = (char *)p + param->offset;

	switch (param->type) {
	case SWIFT_REAL: *(double *)at = value; break;
	case SWIFT_UINT: *(uint32_t *)at = (uint32_t)value; break;
	case SWIFT_BOOL: *(bool *)at = value != 0; break;
	}
}

double swift_params_get(const struct swift_params *p, const struct swift_param *param)
{
	const char *at = (const char *)p + param->offset;

	switch (param->type) {
	case SWIFT_REAL: return *(const double *)at;
	case SWIFT_UINT: return *(const uint32_t *)at;
	case SWIFT_BOOL: return *(const bool *)at;
	}
	return 0;
}

void swift_params_default(struct swift_params *p)
{
	memset(p, 0, sizeof(*p));
	for (size_t i = 0; i < PARAMS; i++)
		store(p, &table[i], table[i].def);
}

static int __attribute__((format(printf, 3, 4))) fail(char *err, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, size, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool in_range(const struct swift_param *param, double v)
{
	/* Written so that no comparison with a NaN is true. */
	return (param->above_min ? v > param->min : v >= param->min) &&
	       (param->below_max ? v < param->max : v <= param->max);
}

static const char *format_number(double v, char *text)
{
	snprintf(text, SWIFT_PARAM_TEXT, "%.15g", v);
	if (strtod(text, NULL) != v)
		snprintf(text, SWIFT_PARAM_TEXT, "%.17g", v);
	return text;
}

const char *swift_params_format(const struct swift_param *param, double value,
				char text[SWIFT_PARAM_TEXT])
{
	if (param->type == SWIFT_BOOL)
		return strcpy(text, value != 0 ? "on" : "off");
	return format_number(value, text);
}

const char *swift_params_range(const struct swift_param *param, char text[SWIFT_PARAM_TEXT])
{
	char lo[SWIFT_PARAM_TEXT], hi[SWIFT_PARAM_TEXT];

	if (param->type == SWIFT_BOOL)
		return strcpy(text, "on, off");
	snprintf(text, SWIFT_PARAM_TEXT, "%c%.24s, %.24s%c", param->above_min ? '(' : '[',
		 format_number(param->min, lo), format_number(param->max, hi),
		 param->below_max ? ')' : ']');
	return text;
}

static int bad_range(const struct swift_param *param, const char *value, char *err, size_t size)
{
	char range[SWIFT_PARAM_TEXT];

	return fail(err, size, "%s is %s%s%s, not %.40s", param->name,
		    swift_params_range(param, range), *param->unit ? " " : "", param->unit, value);
}

/* The value of a switch; -1 if |text| is none. */
static int switch_value(const char *text)
{
	static const char *const names[][2] = {
		{ "off", "on" },
		{ "false", "true" },
		{ "0", "1" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (int v = 0; v < 2; v++)
			if (!strcmp(text, names[i][v]))
				return v;
	return -1;
}

/* A whole decimal number, or if |real| anything strtod() takes; false if |text| is more or less. */
static bool number_value(const char *text, bool real, double *v)
{
	char *end;

	if (!*text || strspn(text, "0123456789") != strlen(text)) {
		if (!real || strchr(" \t\n\v\f\r", *text))
			return false;
	}
	*v = strtod(text, &end);
	return end != text && !*end && isfinite(*v);
}

int swift_params_set(struct swift_params *p, const struct swift_param *param, const char *text,
		     char *err, size_t size)
{
	double v;

	if (param->type == SWIFT_BOOL) {
		v = switch_value(text);
		if (v < 0)
			return bad_range(param, text, err, size);
	} else if (!number_value(text, param->type == SWIFT_REAL, &v)) {
		return fail(err, size, "%s is a %snumber, not \"%.40s\"", param->name,
			    param->type == SWIFT_REAL ? "" : "whole ", text);
	}
	if (!in_range(param, v))
		return bad_range(param, text, err, size);
	store(p, param, v);
	return 0;
}

int swift_params_set_pair(struct swift_params *p, const char *pair, char *err, size_t size)
{
	const char *eq = strchr(pair, '=');
	const struct swift_param *param;

	if (!eq)
		return fail(err, size, "\"%.60s\" is not NAME=VALUE", pair);
	param = swift_params_find(pair, (size_t)(eq - pair));
	if (!param)
		return fail(err, size, "there is no parameter \"%.*s\"",
			    (int)(eq - pair > 60 ? 60 : eq - pair), pair);
	return swift_params_set(p, param, eq + 1, err, size);
}

static int check_order(double lo, double hi, bool equal, const char *what, char *err, size_t size)
{
	if (lo < hi || (equal && lo == hi))
		return 0;
	return fail(err, size, "min_%s must be %s max_%s: %g, %g", what,
		    equal ? "at most" : "below", what, lo, hi);
}

/* PLB counts packets in ten bits, and judges each by its own delay. */
static int check_plb(const struct swift_params *p, char *err, size_t size)
{
	const double most = 1024;

	if (!p->randomize_path)
		return 0;
	if (p->max_fabric_congestion_window > most || p->max_nic_congestion_window > most)
		return fail(err, size,
			    "with randomize_path, max_fabric_congestion_window and "
			    "max_nic_congestion_window are at most %g", most);
	if (p->delay_smoothing_alpha != 0)
		return fail(err, size, "with randomize_path, delay_smoothing_alpha is 0");
	return 0;
}

int swift_params_check(const struct swift_params *p, char *err, size_t size)
{
	char text[SWIFT_PARAM_TEXT];
	int rc;

	for (size_t i = 0; i < PARAMS; i++) {
		double v = swift_params_get(p, &table[i]);

		if (!in_range(&table[i], v))
			return bad_range(&table[i], format_number(v, text), err, size);
	}
	rc = check_order(p->min_fabric_congestion_window, p->max_fabric_congestion_window, true,
			 "fabric_congestion_window", err, size);
	if (!rc)
		rc = check_order(p->min_nic_congestion_window, p->max_nic_congestion_window, true,
				 "nic_congestion_window", err, size);
	if (!rc)
		rc = check_order(p->min_flow_scaling_window, p->max_flow_scaling_window, false,
				 "flow_scaling_window", err, size);
	return rc ? rc : check_plb(p, err, size);
}
