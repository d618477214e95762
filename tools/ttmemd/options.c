/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <getopt.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"

#define FILE_MODE_UNSET UINT32_MAX

enum {
	OPTION_DIR = 256,
	OPTION_MODE,
	OPTION_MAX_PROCESSES,
	OPTION_MAX_BYTES,
	OPTION_LOG_EVENTS,
	OPTION_GROUP,
	OPTION_FILE_MODE,
	OPTION_NOTIFY,
	OPTION_PROC_ROOT,
	OPTION_SYSFS_ROOT,
	OPTION_VERSION,
};

static const struct option table[] = {
	{ "dir", required_argument, NULL, OPTION_DIR },
	{ "file-mode", required_argument, NULL, OPTION_FILE_MODE },
	{ "group", required_argument, NULL, OPTION_GROUP },
	{ "help", no_argument, NULL, 'h' },
	{ "log-events", no_argument, NULL, OPTION_LOG_EVENTS },
	{ "max-bytes", required_argument, NULL, OPTION_MAX_BYTES },
	{ "max-processes", required_argument, NULL, OPTION_MAX_PROCESSES },
	{ "mode", required_argument, NULL, OPTION_MODE },
	{ "notify", no_argument, NULL, OPTION_NOTIFY },
	{ "proc-root", required_argument, NULL, OPTION_PROC_ROOT },
	{ "sysfs-root", required_argument, NULL, OPTION_SYSFS_ROOT },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

/* clang-format off */
static const char help[] =
	"usage: ttmemd [options]\n"
	"\n"
	"Collects what programs with libttmem have on their devices and publishes\n"
	"it for ttmem-top, ttmem-dump and others. Runs until it gets SIGTERM.\n"
	"\n"
	"  --dir DIR           base directory, on tmpfs (default: $TTMEM_DIR, else\n"
	"                      /run/ttmem, else /dev/shm)\n"
	"  --mode user|system  serve the own programs, or everybody's (default:\n"
	"                      system for root)\n"
	"  --max-processes N   programs of a user at a time (default: 4096)\n"
	"  --max-bytes SIZE    memory for the programs of a directory\n"
	"  --group NAME        group of the aggregate\n"
	"  --file-mode MODE    0600, 0640 or 0644 (default: 0644 in system mode,\n"
	"                      0640 with --group, else 0600)\n"
	"  --log-events        print every event\n"
	"  --notify            fail if the service manager cannot be told\n"
	"  --sysfs-root DIR    telemetry from there (default: $TTMEM_SYSFS_ROOT, /sys)\n"
	"  --proc-root DIR     the driver's list of who has a device open (default:\n"
	"                      $TTMEM_PROC_ROOT, /proc)\n"
	"  -v, --verbose       say more\n"
	"      --version       print the version\n"
	"  -h, --help          this text\n"
	"\n"
	"Sizes: K, M, G, T are powers of 1024. Exit status: 0 stopped, 1 failure,\n"
	"2 wrong use. See ttmemd(8).\n";
/* clang-format on */

static bool number_parse(const char *text, int base, uint64_t *ret_number)
{
	unsigned long long number;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	number = strtoull(text, &end, base);
	if (*end || number == UINT64_MAX)
		return false;
	*ret_number = number;
	return true;
}

bool size_parse(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KMGT";
	const char *unit;
	char digits[24];
	size_t length = strlen(text);
	uint64_t number;
	unsigned shift = 0;

	if (length == 0 || length >= sizeof(digits))
		return false;
	memcpy(digits, text, length + 1);
	unit = strchr(units, digits[length - 1]);
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		digits[length - 1] = '\0';
	}
	if (!number_parse(digits, 10, &number) || number > UINT64_MAX >> shift)
		return false;
	*ret_bytes = number << shift;
	return true;
}

static bool mode_parse(const char *text, enum ttm_aggregate_mode *ret_mode)
{
	if (strcmp(text, "user") == 0)
		*ret_mode = TTM_MODE_USER;
	else if (strcmp(text, "system") == 0)
		*ret_mode = TTM_MODE_SYSTEM;
	else
		return false;
	return true;
}

static bool group_parse(const char *text, uint32_t *ret_group)
{
	const struct group *group = getgrnam(text);
	uint64_t number;

	if (group) {
		*ret_group = group->gr_gid;
		return true;
	}
	if (!number_parse(text, 10, &number) || number >= UINT32_MAX)
		return false;
	*ret_group = (uint32_t)number;
	return true;
}

static bool file_mode_parse(const char *text, uint32_t *ret_mode)
{
	uint64_t mode;

	if (!number_parse(text, 8, &mode) ||
		(mode != 0600 && mode != 0640 && mode != 0644))
		return false;
	*ret_mode = (uint32_t)mode;
	return true;
}

static bool positive_parse(const char *text, uint64_t *ret_number)
{
	return number_parse(text, 10, ret_number) && *ret_number > 0;
}

/* False: its value is wrong. */
static bool option_take(struct options *options, int option, const char *value)
{
	switch (option) {
	case OPTION_DIR:
		options->dir = value;
		return value[0] == '/';
	case OPTION_MODE:
		return mode_parse(value, &options->mode);
	case OPTION_MAX_PROCESSES:
		return positive_parse(value, &options->max_processes);
	case OPTION_MAX_BYTES:
		return size_parse(value, &options->max_bytes) &&
			options->max_bytes > 0;
	case OPTION_GROUP:
		return group_parse(value, &options->group);
	case OPTION_FILE_MODE:
		return file_mode_parse(value, &options->file_mode);
	case OPTION_LOG_EVENTS:
		options->log_events = true;
		return true;
	case OPTION_NOTIFY:
		options->notify = true;
		return true;
	case OPTION_SYSFS_ROOT:
		options->sysfs_root = value;
		return value[0] == '/';
	case OPTION_PROC_ROOT:
		options->proc_root = value;
		return value[0] == '/';
	case 'v':
		options->verbose = true;
		return true;
	default:
		return false;
	}
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

static bool usage(int *ret_status)
{
	fputs("ttmemd: see ttmemd --help\n", stderr);
	*ret_status = STATUS_USAGE;
	return false;
}

/* `given` is the option that getopt_long() refused, or whose value is missing. */
static bool refuse(const char *given, bool without_value, int *ret_status)
{
	char text[TTM_OPTION_TEXT_SIZE];

	if (without_value)
		snprintf(text, sizeof(text), "%s needs a value", given);
	else
		ttm_option_refused(given, table, text);
	fprintf(stderr, "ttmemd: %s\n", text);
	return usage(ret_status);
}

/* Ends with whether it could be printed. */
static bool print(const char *text, int *ret_status)
{
	bool good = fputs(text, stdout) != EOF && fflush(stdout) == 0;

	*ret_status = good ? STATUS_GOOD : STATUS_FAILURE;
	return false;
}

static const char *option_name(int option)
{
	const struct option *entry;

	for (entry = table; entry->name; entry++)
		if (entry->val == option)
			return entry->name;
	return "";
}

static const char *option_expects(int option)
{
	switch (option) {
	case OPTION_MODE:
		return "user or system";
	case OPTION_MAX_PROCESSES:
		return "a number above 0";
	case OPTION_MAX_BYTES:
		return "a size above 0, for example 4G";
	case OPTION_GROUP:
		return "the name or the number of a group";
	case OPTION_FILE_MODE:
		return "0600, 0640 or 0644";
	default:
		return "an absolute path";
	}
}

bool options_parse(
	int argc, char **argv, struct options *ret_options, int *ret_status)
{
	struct options options = {
		.mode = geteuid() == 0 ? TTM_MODE_SYSTEM : TTM_MODE_USER,
		.file_mode = FILE_MODE_UNSET,
		.group = UINT32_MAX,
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":hv", table, NULL)) != -1) {
		if (option == 'h')
			return print(help, ret_status);
		if (option == OPTION_VERSION)
			return print(
				"ttmemd " TTMEM_VERSION_TEXT "\n", ret_status);
		if (option == '?' || option == ':')
			return refuse(
				argv[optind - 1], option == ':', ret_status);
		if (!option_take(&options, option, optarg)) {
			fprintf(stderr,
				"ttmemd: --%s: '%s' is not valid; expected "
				"%s\n",
				option_name(option), optarg,
				option_expects(option));
			return usage(ret_status);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "ttmemd: unexpected argument: '%s'\n",
			argv[optind]);
		return usage(ret_status);
	}
	options_default(&options);
	*ret_options = options;
	return true;
}
