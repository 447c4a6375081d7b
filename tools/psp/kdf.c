// SPDX-License-Identifier: BSD-2-Clause
/* falcon-psp --kdf: derived keys in a CSV, columns found by name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "psp.h"

enum { COL_MASTER0, COL_MASTER1, COL_SPI, COL_VERSION, COL_SELECTED, COL_DERIVED, N_COLS };

enum { FIELDS_MAX = 64 };

static const char *const col_names[N_COLS] = {
	"master_key0", "master_key1", "spi", "version", "selected_master_key", "derived_key",
};

struct kdf_file {
	FILE *in;
	const char *name;
	unsigned long show, line, keys, bad;
	char *text;		/* of the line, cut up */
	size_t size;
	unsigned int col[N_COLS];
};

static void complain(struct kdf_file *f, const char *what, const char *why)
{
	if (f->bad++ < f->show)
		fprintf(stderr, "%s: line %lu: %s%s%s\n", f->name, f->line, what, *what ? ": " : "",
			why);
}

/* The next line that is not empty. False at the end. */
static bool next_line(struct kdf_file *f)
{
	ssize_t n;

	while ((n = getline(&f->text, &f->size, f->in)) >= 0) {
		f->line++;
		while (n && (f->text[n - 1] == '\n' || f->text[n - 1] == '\r'))
			f->text[--n] = 0;
		if (n)
			return true;
	}
	return false;
}

/* Cut the line at its commas. Returns the number of fields. */
static unsigned int split(struct kdf_file *f, const char *fields[FIELDS_MAX])
{
	char *rest = f->text;
	unsigned int n = 0;

	while (rest && n < FIELDS_MAX)
		fields[n++] = strsep(&rest, ",");
	return n;
}

static bool read_header(struct kdf_file *f)
{
	const char *fields[FIELDS_MAX];
	unsigned int n, at;

	if (!next_line(f)) {
		complain(f, "", "nothing in the file");
		return false;
	}
	n = split(f, fields);
	for (unsigned int c = 0; c < N_COLS; c++) {
		for (at = 0; at < n && strcmp(fields[at], col_names[c]); at++)
			;
		if (at == n) {
			complain(f, col_names[c], "no such column");
			return false;
		}
		f->col[c] = at;
	}
	return true;
}

/* What a row says. */
struct kdf_row {
	struct psp_master_keys masters;
	uint32_t spi;
	uint8_t version;
	const char *selected, *derived;
};

static bool read_key(const char *text, uint8_t *key, size_t bytes)
{
	return hex_read(text, strlen(text), "", key, bytes);
}

/* Returns the column that is no good, or N_COLS. */
static unsigned int parse_row(const struct kdf_file *f, const char *const *fields,
			      struct kdf_row *row)
{
	const char *version = fields[f->col[COL_VERSION]], *spi = fields[f->col[COL_SPI]];
	size_t digits = strlen(spi);

	for (unsigned int i = 0; i < 2; i++)
		if (!read_key(fields[f->col[COL_MASTER0 + i]], row->masters.key[i], PSP_MASTER_KEY_LEN))
			return COL_MASTER0 + i;
	if (!digits || digits > 8 || strspn(spi, "0123456789abcdefABCDEF") != digits)
		return COL_SPI;
	if (strlen(version) != 1 || *version < '0' || *version > '3')
		return COL_VERSION;
	row->spi = (uint32_t)strtoul(spi, NULL, 16);
	row->version = (uint8_t)(*version - '0');
	row->selected = fields[f->col[COL_SELECTED]];
	row->derived = fields[f->col[COL_DERIVED]];
	return N_COLS;
}

static void check_row(struct kdf_file *f, const struct kdf_row *row)
{
	unsigned int selected = psp_master_index(row->spi);
	const char index[2] = { (char)('0' + selected), 0 };
	uint8_t want[PSP_KEY_MAX], key[PSP_KEY_MAX];
	unsigned int len = psp_key_len(row->version);

	if (strcmp(row->selected, index))
		complain(f, row->selected, "not the master key that the SPI selects");
	else if (!read_key(row->derived, want, len))
		complain(f, row->derived, "not a key of the version's length");
	else if (psp_kdf(row->masters.key[selected], row->spi, row->version, key) ||
		 memcmp(key, want, len))
		complain(f, row->derived, "not the key derived");
}

int kdf_check(FILE *in, const char *name, unsigned long show, unsigned long *n, unsigned long *bad)
{
	struct kdf_file f = { .in = in, .name = name, .show = show };
	bool ok = read_header(&f);

	while (ok && next_line(&f)) {
		const char *fields[FIELDS_MAX];
		unsigned int have = split(&f, fields), worst = 0, c;
		struct kdf_row row;

		f.keys++;
		for (c = 0; c < N_COLS; c++)
			worst = f.col[c] > worst ? f.col[c] : worst;
		if (have <= worst) {
			complain(&f, "", "too few fields");
			continue;
		}
		c = parse_row(&f, fields, &row);
		if (c < N_COLS)
			complain(&f, col_names[c], "not in the expected format");
		else
			check_row(&f, &row);
	}
	free(f.text);
	*n = f.keys;
	*bad = f.bad;
	return ok ? 0 : -1;
}

int kdf_vectors(const char *path, const struct vector_options *o)
{
	unsigned long keys, bad;
	FILE *in = fopen(path, "r");
	int rc;

	if (!in) {
		fprintf(stderr, "falcon-psp: %s: %s\n", path, strerror(errno));
		return 2;
	}
	rc = kdf_check(in, path, o->show, &keys, &bad);
	if (ferror(in)) {
		fprintf(stderr, "falcon-psp: %s: %s\n", path, strerror(EIO));
		rc = -1;
	}
	fclose(in);
	if (o->json)
		print_json(json_pack("{s:I, s:I}", "keys", (json_int_t)keys, "mismatches", (json_int_t)bad));
	else
		printf("%lu keys, %lu mismatches\n", keys, bad);
	return rc ? 2 : bad != 0;
}
