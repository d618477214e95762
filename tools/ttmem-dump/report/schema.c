/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "ttmem-dump/command.h"
#include "ttmem-dump/source.h"

/* docs/snapshot.schema.json, as the build put it into the program. */
extern const unsigned char schema_text[];
extern const unsigned long schema_text_size;

static const struct ttm_option options_known[] = {
	TTM_OPTION_HELP_TEXT(
		"usage: ttmem-dump schema\n\n"
		"Prints the JSON Schema of what report --format json writes.\n\n"),
	DUMP_OPTIONS_END,
	{ 0 },
};

int dump_schema_main(int argc, char **argv)
{
	struct ttm_command command = { .name = "ttmem-dump schema",
		.options = options_known };

	ttm_options_parse(&command, argc, argv, NULL);
	if (fwrite(schema_text, 1, schema_text_size, stdout) ==
			schema_text_size &&
		fflush(stdout) == 0)
		return TTM_EXIT_OK;
	ttm_error("stdout: %s", strerror(errno));
	return TTM_EXIT_FAILURE;
}
