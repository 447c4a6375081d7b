/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line in one manner, by argp(3). Every program knows -h and --help, --usage, -V and --version.
 * A line that is wrong ends it with argp_err_exit_status, which is 2 unless the program has set it, after a
 * sentence and the hint at --help.
 */
#ifndef FALCON_BASE_CLI_H
#define FALCON_BASE_CLI_H

#include <argp.h>
#include <stdint.h>

/* Parse the line with the options of |argp|, its parser's input being |input|. |flags|: argp_parse()'s. */
void cli_parse(const struct argp *argp, unsigned int flags, int argc, char **argv, void *input);

/*
 * The value |text| of the option |name|: a number from |min| to |max|, decimal or after 0x hexadecimal;
 * bytes, with a suffix K, M or G for powers of 1024 if need be; a real number. Anything else is an error as
 * above.
 */
uint64_t cli_number(const struct argp_state *state, const char *name, const char *text, uint64_t min,
		    uint64_t max);
uint64_t cli_size(const struct argp_state *state, const char *name, const char *text, uint64_t min,
		  uint64_t max);
double cli_real(const struct argp_state *state, const char *name, const char *text, double min, double max);

/* The number that |text| is, as above. 0 or -EINVAL. */
int cli_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif /* FALCON_BASE_CLI_H */
