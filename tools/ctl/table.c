// SPDX-License-Identifier: BSD-2-Clause
/* falconctl: rows of JSON as tables and lists for people. */
#include <stdio.h>
#include <string.h>

#include "ctl.h"

enum { CELL_MAX = 256, COLUMNS_MAX = 16 };

void ctl_cell(const json_t *v, char *text, size_t size)
{
	if (json_is_string(v))
		snprintf(text, size, "%s", json_string_value(v));
	else if (json_is_integer(v))
		snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_boolean(v))
		snprintf(text, size, "%s", json_is_true(v) ? "yes" : "no");
	else if (json_is_real(v))
		snprintf(text, size, "%g", json_real_value(v));
	else
		snprintf(text, size, "-");
	if (!text[0])
		snprintf(text, size, "-");
}

/* Numbers stand right, the last column is as long as it likes. */
static void print_cell(const char *text, int width, bool right, bool last)
{
	if (right)
		printf("%*s", width, text);
	else
		printf("%-*s", last ? 0 : width, text);
	fputs(last ? "\n" : "  ", stdout);
}

static void print_row(const json_t *row, const struct ctl_column *columns, const int *width,
		      const bool *right)
{
	char text[CELL_MAX];

	for (int c = 0; columns[c].key; c++) {
		ctl_cell(json_object_get(row, columns[c].key), text, sizeof(text));
		print_cell(text, width[c], right[c], !columns[c + 1].key);
	}
}

void ctl_print_json(const struct options *o, const json_t *rows)
{
	json_dumpf(rows, stdout, o->pretty ? JSON_INDENT(2) : JSON_COMPACT);
	putchar('\n');
}

void ctl_print_table(const json_t *rows, const struct ctl_column *columns)
{
	int width[COLUMNS_MAX] = {0};
	bool right[COLUMNS_MAX] = {false};
	char text[CELL_MAX];
	json_t *row;
	size_t i;

	if (json_array_size(rows) == 0)
		return;
	for (int c = 0; columns[c].key; c++)
		width[c] = (int)strlen(columns[c].title);
	json_array_foreach((json_t *)rows, i, row) {
		for (int c = 0; columns[c].key; c++) {
			const json_t *v = json_object_get(row, columns[c].key);

			ctl_cell(v, text, sizeof(text));
			if ((int)strlen(text) > width[c])
				width[c] = (int)strlen(text);
			right[c] |= json_is_number(v);
		}
	}
	for (int c = 0; columns[c].key; c++)
		print_cell(columns[c].title, width[c], right[c], !columns[c + 1].key);
	json_array_foreach((json_t *)rows, i, row)
		print_row(row, columns, width, right);
}

void ctl_print_list(const json_t *rows)
{
	char text[CELL_MAX];
	const char *key;
	json_t *row, *v;
	size_t i;

	json_array_foreach((json_t *)rows, i, row) {
		if (i > 0)
			putchar('\n');
		json_object_foreach(row, key, v) {
			ctl_cell(v, text, sizeof(text));
			printf("%s: %s\n", key, text);
		}
	}
}

bool ctl_row_is_zero(const json_t *row)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)row, key, v) {
		if (json_is_integer(v) && json_integer_value(v) != 0)
			return false;
	}
	return true;
}
