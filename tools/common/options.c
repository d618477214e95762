/* SPDX-License-Identifier: Apache-2.0 */
#include "common/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <ttmem/version.h>

#include "common/error.h"

void ttm_print_and_exit(const char *text)
{
	bool good = fputs(text, stdout) != EOF && fflush(stdout) == 0 &&
		!ferror(stdout);

	exit(good ? TTM_EXIT_OK : TTM_EXIT_FAILURE);
}

void ttm_version_exit(const char *name)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %d.%d.%d\n", name, TTMEM_VERSION_MAJOR,
		TTMEM_VERSION_MINOR, TTMEM_VERSION_PATCH);
	ttm_print_and_exit(text);
}

int ttm_option_next(
	int argc, char **argv, const char *shorts, const struct option *table)
{
	bool in_order = shorts[0] == '+';
	char all[32];
	int option;

	snprintf(all, sizeof(all), "%s:hV%s", in_order ? "+" : "",
		shorts + in_order);
	opterr = 0; /* we speak, and once */
	option = getopt_long(argc, argv, all, table, NULL);
	if (option == ':')
		ttm_error_usage("%s needs a value", argv[optind - 1]);
	if (option == '?')
		ttm_error_usage("no such option, or with a value that it does "
				"not take: %s",
			argv[optind - 1]);
	return option;
}

const char *ttm_option_dir(const char *value)
{
	if (value[0] != '/')
		ttm_error_usage("--dir: not an absolute path: %s", value);
	return value;
}
