/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/number.h"
#include "common/options.h"

#define OPTIONS struct options
#define FILE_MODE_UNSET UINT32_MAX

static ttm_option_take file_mode_parse, group_parse;

/* clang-format off */
static const struct ttm_option options_known[] = {
	TTM_OPTION_HELP_TEXT("usage: ttmemd [options]\n\n"
		"Collects what programs with libttmem have on their devices and publishes\n"
		"it for ttmem-top, ttmem-dump and others. Runs until it gets SIGTERM.\n\n"),
	TTM_OPTION(DIR, dir, "dir", "DIR",
		.help = "base directory, on tmpfs (default: $TTMEM_DIR, else\n"
			"/run/ttmem, else /dev/shm)"),
	TTM_OPTION(WORD, mode, "mode", "user|system",
		.words = TTM_OPTION_WORDS("user", "system"),
		.help = "serve the own programs, or everybody's (default:\nsystem for root)"),
	TTM_OPTION(NUMBER, max_processes, "max-processes", "N", .least = 1,
		.help = "programs of a user at a time (default: 4096)"),
	TTM_OPTION(SIZE, max_bytes, "max-bytes", "SIZE", .least = 1,
		.help = "memory for the programs of a directory"),
	TTM_OPTION_CALLS(group_parse, group, "group", "NAME",
		.help = "group of the aggregate"),
	TTM_OPTION_CALLS(file_mode_parse, file_mode, "file-mode", "MODE",
		.help = "0600, 0640 or 0644 (default: 0644 in system mode,\n"
			"0640 with --group, else 0600)"),
	TTM_OPTION(FLAG, log_events, "log-events", NULL, .help = "print every event"),
	TTM_OPTION(FLAG, notify, "notify", NULL,
		.help = "fail if the service manager cannot be told"),
	TTM_OPTION(DIR, sysfs_root, "sysfs-root", "DIR",
		.help = "telemetry from there (default: $TTMEM_SYSFS_ROOT, /sys)"),
	TTM_OPTION(DIR, proc_root, "proc-root", "DIR",
		.help = "the driver's list of who has a device open (default:\n"
			"$TTMEM_PROC_ROOT, /proc)"),
	TTM_OPTION(FLAG, verbose, "verbose", NULL, .letter = 'v', .help = "say more"),
	{ .type = TTM_OPTION_VERSION, .name = "version", .help = "print the version" },
	{ .type = TTM_OPTION_HELP, .name = "help", .letter = 'h', .help = "this text" },
	TTM_OPTION_HELP_TEXT("\n"
		"Sizes: K, M, G, T are powers of 1024. Exit status: 0 stopped, 1 failure,\n"
		"2 wrong use. See ttmemd(8).\n"),
	{ 0 },
};
/* clang-format on */

static void group_parse(void *at, const char *option, const char *value)
{
	const struct group *group = getgrnam(value);
	uint64_t number;

	if (group)
		number = group->gr_gid;
	else if (ttm_number_parse(value, &number) < 0 || number >= UINT32_MAX)
		ttm_error_usage("--%s: neither the name nor the number of a "
				"group: %s",
			option, value);
	*(uint32_t *)at = (uint32_t)number;
}

static void file_mode_parse(void *at, const char *option, const char *value)
{
	static const struct {
		const char *text;
		uint32_t mode;
	} modes[] = { { "600", 0600 }, { "640", 0640 }, { "644", 0644 } };
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(value + strspn(value, "0"), modes[i].text) == 0) {
			*(uint32_t *)at = modes[i].mode;
			return;
		}
	ttm_error_usage("--%s: not 0600, 0640 or 0644: %s", option, value);
}

/* Only an absolute path: others depend on where it was started. */
static const char *root_default(const char *variable)
{
	const char *root = getenv(variable);

	return root && root[0] == '/' ? root : NULL;
}

static void options_default(struct options *options)
{
	if (!options->sysfs_root)
		options->sysfs_root = root_default("TTMEM_SYSFS_ROOT");
	if (!options->proc_root)
		options->proc_root = root_default("TTMEM_PROC_ROOT");
	if (options->file_mode != FILE_MODE_UNSET)
		return;
	if (options->group != UINT32_MAX)
		options->file_mode = 0640;
	else
		options->file_mode = options->mode == TTM_MODE_SYSTEM ? 0644 :
									0600;
}

void options_parse(int argc, char **argv, struct options *ret_options)
{
	struct ttm_command command = { .name = "ttmemd",
		.options = options_known };

	memset(ret_options, 0, sizeof(*ret_options));
	ret_options->file_mode = FILE_MODE_UNSET;
	ret_options->group = UINT32_MAX;
	ttm_error_name("ttmemd");
	ttm_options_parse(&command, argc, argv, ret_options);
	if (ttm_option_is_given(&command, "mode"))
		ret_options->mode += TTM_MODE_USER; /* --mode counts from 0 */
	else
		ret_options->mode = geteuid() == 0 ? TTM_MODE_SYSTEM :
						     TTM_MODE_USER;
	options_default(ret_options);
}
