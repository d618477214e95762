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

/* Ends the program because of an option that getopt_long() refused. */
__attribute__((noreturn)) static void option_refuse(
	const char *given, const struct option *table)
{
	struct ttm_choice choice;
	char name[64];

	if (strncmp(given, "--", 2) != 0)
		ttm_error_usage("unknown option: %s", given);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(given, "="), given);
	ttm_choice_begin(&choice, name + 2);
	for (; table->name; table++) {
		if (strcmp(name + 2, table->name) == 0)
			ttm_error_usage("%s takes no value: %s", name, given);
		ttm_choice_add(&choice, table->name);
	}
	ttm_choice_text(&choice);
	if (strncmp(choice.text, "(did", 4) == 0)
		ttm_error_usage("unknown option: %s (did you mean --%s?)",
			given, choice.closest);
	ttm_error_usage("unknown option: %s", given);
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
		option_refuse(argv[optind - 1], table);
	return option;
}

const char *ttm_option_dir(const char *value)
{
	if (value[0] != '/')
		ttm_error_usage("--dir: not an absolute path: %s", value);
	return value;
}
