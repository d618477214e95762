/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "common/error.h"
#include "fake_sysfs.h"
#include "options.h"
#include "script.h"
#include "supervise.h"

/* For the processes: also those that a script forks, which start by themselves. */
static void environment_set(const struct load_options *options)
{
	const char *enabled = getenv("TTMEM_ENABLED");

	if (options->untracked)
		setenv("TTMEM_ENABLED", "0", 1);
	else if (!enabled || enabled[0] != '0')
		setenv("TTMEM_ENABLED", "1", 1);
	if (options->dir)
		setenv("TTMEM_DIR", options->dir, 1);
}

int main(int argc, char **argv)
{
	struct load_options options;
	struct load_script *script = NULL;
	int status;

	ttm_error_name("ttmem-load");
	load_options_parse(argc, argv, &options);
	if (options.fake_sysfs)
		return load_fake_sysfs(&options);
	if (options.script)
		script = load_script_read(options.script);
	environment_set(&options);
	status = load_supervise(&options, script);
	load_script_free(&script);
	return status;
}
