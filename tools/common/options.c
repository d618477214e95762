/* SPDX-License-Identifier: Apache-2.0 */
#include "common/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/version.h>

#include "common/choice.h"
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

void ttm_option_refused(const char *given, const struct option *table,
	char text[static TTM_OPTION_TEXT_SIZE])
{
	struct ttm_choice choice;
	char name[64];

	snprintf(text, TTM_OPTION_TEXT_SIZE, "unknown option: %s", given);
	if (strncmp(given, "--", 2) != 0)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(given, "="), given);
	ttm_choice_begin(&choice, name + 2);
	for (; table->name; table++) {
		if (strcmp(name + 2, table->name) == 0) {
			snprintf(text, TTM_OPTION_TEXT_SIZE,
				"%s takes no value: %s", name, given);
			return;
		}
		ttm_choice_add(&choice, table->name);
	}
	if (ttm_choice_is_close(&choice))
		snprintf(text, TTM_OPTION_TEXT_SIZE,
			"unknown option: %s (did you mean --%s?)", given,
			choice.closest);
}

int ttm_option_next(
	int argc, char **argv, const char *shorts, const struct option *table)
{
	bool in_order = shorts[0] == '+';
	char all[32], text[TTM_OPTION_TEXT_SIZE];
	int option;

	snprintf(all, sizeof(all), "%s:hV%s", in_order ? "+" : "",
		shorts + in_order);
	opterr = 0; /* we speak, and once */
	option = getopt_long(argc, argv, all, table, NULL);
	if (option == ':')
		ttm_error_usage("%s needs a value", argv[optind - 1]);
	if (option == '?') {
		ttm_option_refused(argv[optind - 1], table, text);
		ttm_error_usage("%s", text);
	}
	return option;
}

const char *ttm_option_dir(const char *value)
{
	if (value[0] != '/')
		ttm_error_usage("--dir: not an absolute path: %s", value);
	return value;
}
