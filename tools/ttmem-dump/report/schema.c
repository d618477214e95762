/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ttmem-dump/command.h"
#include "common/error.h"
#include "common/options.h"
#include "ttmem-dump/options.h"
#include "schema_text.h"

static const struct option options_known[] = {
	DUMP_OPTIONS_END,
};

/* clang-format off */
static const char help[] =
	"usage: ttmem-dump schema\n"
	"\n"
	"Prints the JSON Schema of what report --format json writes.\n"
	"\n"
	DUMP_HELP_END;
/* clang-format on */

int dump_schema_main(int argc, char **argv)
{
	struct dump_where where = { NULL, NULL, false };
	struct dump_filter filter;
	int option;

	while ((option = ttm_option_next(argc, argv, "", options_known)) != -1)
		dump_option_take(option, help, &where, &filter);
	dump_options_check(argc, argv, &where);
	if (fwrite(schema_text, 1, schema_text_size, stdout) ==
			schema_text_size &&
		fflush(stdout) == 0)
		return TTM_EXIT_OK;
	ttm_error("stdout: %s", strerror(errno));
	return TTM_EXIT_FAILURE;
}
