/* SPDX-License-Identifier: Apache-2.0 */
/* What every tool does with its options. What is wrong ends the program. */
#ifndef TTM_COMMON_OPTIONS_H
#define TTM_COMMON_OPTIONS_H

#include <getopt.h>

/* For --help: with status 1 where it, or what was before it, cannot be written. */
__attribute__((noreturn)) void ttm_print_and_exit(const char *text);

/* For --version: "NAME 1.2.3". */
__attribute__((noreturn)) void ttm_version_exit(const char *name);

/* Fits what follows, of an option that is not too long. */
#define TTM_OPTION_TEXT_SIZE 512u

/* Says why getopt_long() refused an option, and suggests the closest one. */
void ttm_option_refused(const char *given, const struct option *table,
	char text[static TTM_OPTION_TEXT_SIZE]);

/*
 * getopt_long() that speaks as we do. `shorts` are those besides -h and -V, as for
 * getopt; after a + at their start, the first argument that is no option ends
 * them. Returns the option or -1.
 */
int ttm_option_next(
	int argc, char **argv, const char *shorts, const struct option *table);

/* Returns the value of --dir, which has to be an absolute path. */
const char *ttm_option_dir(const char *value);

#endif
