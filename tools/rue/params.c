// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rue --params: the table of Swift's parameters. */
#include <jansson.h>
#include <stdio.h>

#include "rue.h"
#include "rue/params.h"

static json_t *value_json(const struct swift_param *param, double value)
{
	switch (param->type) {
	case SWIFT_BOOL: return json_boolean(value != 0);
	case SWIFT_UINT: return json_integer((json_int_t)value);
	case SWIFT_REAL: break;
	}
	return json_real(value);
}

static json_t *param_json(const struct swift_param *param, double value)
{
	json_t *o = json_pack("{s:s, s:s?, s:s, s:s}", "name", param->name, "spec", param->spec,
			      "unit", param->unit, "help", param->help);

	json_object_set_new(o, "min", value_json(param, param->min));
	json_object_set_new(o, "max", value_json(param, param->max));
	json_object_set_new(o, "min_excluded", json_boolean(param->above_min));
	json_object_set_new(o, "max_excluded", json_boolean(param->below_max));
	json_object_set_new(o, "default", value_json(param, param->def));
	json_object_set_new(o, "value", value_json(param, value));
	return o;
}

void print_params(const struct rue_config *config, bool json)
{
	json_t *list = json ? json_array() : NULL;
	char range[SWIFT_PARAM_TEXT], value[SWIFT_PARAM_TEXT];
	const struct swift_param *table;
	size_t n;

	table = swift_params_table(&n);
	if (!json)
		printf("%-38s %-9s %-34s %-8s %s\n", "NAME", "VALUE", "RANGE", "UNIT", "MEANING");
	for (size_t i = 0; i < n; i++) {
		double v = swift_params_get(&config->params, &table[i]);

		if (json)
			json_array_append_new(list, param_json(&table[i], v));
		else
			printf("%-38s %-9s %-34s %-8s %s\n", table[i].name,
			       swift_params_format(&table[i], v, value),
			       swift_params_range(&table[i], range), table[i].unit, table[i].help);
	}
	if (!json)
		return;
	json_dumpf(list, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(list);
}
