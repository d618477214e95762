/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <pwd.h>
#include <string.h>

#include "common/error.h"
#include "common/number.h"
#include "ttmem-dump/clock.h"
#include "check.h"

#define BUFFERS                                                                \
	(1u << TTMEM_FIGURE_DRAM | 1u << TTMEM_FIGURE_L1 |                     \
		1u << TTMEM_FIGURE_SYSTEM_MEMORY |                             \
		1u << TTMEM_FIGURE_L1_SMALL | 1u << TTMEM_FIGURE_TRACE)

#define OPTIONS struct check_options

static ttm_option_take limit_add, suppressions_add, user_parse;

/* clang-format off */
#define OPTIONS_BOTH \
	TTM_OPTION_HELP_TEXT("What counts:\n"), \
	TTM_OPTION(BITS, errors_for, "errors-for", "CLASS,..", \
		.words = TTM_OPTION_WORDS("orphaned", "live", "persistent"), \
		.help = "orphaned, live, persistent (default: orphaned,live)"), \
	TTM_OPTION(FLAG, all_kinds, "all-kinds", NULL, \
		.help = "CBs and kernels, too, not only buffers"), \
	TTM_OPTION_CALLS(dump_filter_add_kinds, ignored, "ignore-kind", "K,..", \
		.help = "not these"), \
	TTM_OPTION_CALLS(suppressions_add, where, "suppressions", "FILE", \
		.help = "not what it names; may be repeated"), \
	TTM_OPTION(FLAG, strict, "strict-suppressions", NULL, \
		.help = "a suppression that was not used is an error"), \
	TTM_OPTION(FILE, baseline, "baseline", "FILE", \
		.help = "not the known leaks in FILE"), \
	TTM_OPTION(FLAG, update, "update-baseline", NULL, .help = "write FILE instead"), \
	TTM_OPTION(STRING, since, "since", "MARK", \
		.help = "only what was allocated after the mark of that text"), \
	TTM_OPTION_CALLS(dump_filter_add_devices, filter, "device", "SEL,..", \
		.help = "only there: 0, 2-3, logical:0, ..HEX, asic:HEX\nor pci:BDF"), \
	TTM_OPTION_CALLS(dump_filter_add_scope, filter, "scope", "PATTERN", \
		.help = "only objects of scopes like 'ttnn.*'"), \
	TTM_OPTION(FLAG, all_users, "all-users", NULL, \
		.help = "leaks of other users, too (default for root)"), \
	TTM_OPTION(FLAG, ack, "ack", NULL, \
		.help = "report leaks of exited processes once more, then ignore\n" \
			"them; root does so for all users"), \
	TTM_OPTION_HELP_TEXT("Limits, for each device:\n"), \
	TTM_OPTION_CALLS(limit_add, where, "max", "KIND=SIZE", \
		.help = "bytes that are there"), \
	TTM_OPTION_CALLS(limit_add, where, "max-peak", "KIND=SIZE", \
		.help = "bytes that were there at once"), \
	TTM_OPTION_HELP_TEXT("Output:\n"), \
	TTM_OPTION(WORD, format, "format", "FORMAT", \
		.words = TTM_OPTION_WORDS("text", "json"), \
		.help = "text (default) or json"), \
	TTM_OPTION(FILE, output, "output", "FILE", .letter = 'o', \
		.help = "instead of stdout"), \
	TTM_OPTION(FLAG, exact, "bytes", NULL, .help = "exact numbers of bytes"), \
	TTM_OPTION(FLAG, generate, "gen-suppressions", NULL, \
		.help = "print a suppression for each leak"), \
	TTM_OPTION(FILE, junit, "junit", "FILE", .help = "a JUnit report, too"), \
	TTM_OPTION(FLAG, github, "github", NULL, \
		.help = "annotations for GitHub Actions, too"), \
	DUMP_OPTION_WHERE_DIR
#define OPTION_SETTLE(text) \
	TTM_OPTION(SECONDS, settle_ns, "settle", "SEC", \
		.most = 86400 * DUMP_SECOND_NS, .help = text)

static const struct ttm_option check_known[] = {
	TTM_OPTION_HELP_TEXT("usage: ttmem-dump check [options]\n\n"
		"Fails if something was left on the devices, or if that cannot be told.\n\n"),
	OPTIONS_BOTH,
	DUMP_OPTION_WHERE_FROM,
	DUMP_OPTION_WHERE_SYSTEM("what root's ttmemd knows"),
	TTM_OPTION_CALLS(dump_filter_add_pids, filter, "pid", "P,..",
		.help = "only what these processes left"),
	TTM_OPTION_CALLS(user_parse, user, "user", "USER",
		.help = "only leaks of that user, by name or number"),
	TTM_OPTION_HELP_TEXT("When:\n"),
	OPTION_SETTLE("leaks may go away for so long (default: 0)"),
	TTM_OPTION(NUMBER, wait_pid, "wait-pid", "P", .least = 1, .most = INT32_MAX,
		.help = "after that process has ended"),
	DUMP_OPTIONS_END,
	{ 0 },
};

static const struct ttm_option run_known[] = {
	TTM_OPTION_HELP_TEXT("usage: ttmem-dump run [options] -- COMMAND...\n\n"
		"Runs COMMAND and checks what it and its descendants left on the devices, with\n"
		"the ttmemd that serves the directory or one of its own. Ends with COMMAND's\n"
		"status unless that is 0.\n\n"),
	OPTIONS_BOTH,
	OPTION_SETTLE("wait so long for descendants (default: 10)"),
	TTM_OPTION(FILE, ttmemd, "ttmemd", "PATH", .help = "the ttmemd to start"),
	DUMP_OPTIONS_END,
	{ 0 },
};
/* clang-format on */

/* Of the words of --errors-for; as a set of enum ttmem_class. */
static unsigned classes_of(unsigned words)
{
	static const unsigned classes[] = { TTMEM_CLASS_ORPHANED,
		TTMEM_CLASS_LIVE, TTMEM_CLASS_PERSISTENT };
	unsigned set = 0, i;

	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		set |= (words >> i & 1) << classes[i];
	return set;
}

static void limit_add(void *at, const char *option, const char *value)
{
	struct check_options *options = at;
	struct check_limit *limit = &options->limits[options->limits_len];
	const char *equals = strchr(value, '=');
	char kind[64];

	if (options->limits_len == CHECK_LIMITS_MAX)
		ttm_error_usage("more than %u limits", CHECK_LIMITS_MAX);
	if (!equals || (size_t)(equals - value) >= sizeof(kind) ||
		ttm_size_parse(equals + 1, &limit->bytes) < 0)
		ttm_error_usage(
			"--%s: not a limit: %s (KIND=SIZE)", option, value);
	memcpy(kind, value, (size_t)(equals - value));
	kind[equals - value] = '\0';
	dump_filter_add_kinds(&limit->figures, option, kind);
	limit->text = value;
	limit->peak = strcmp(option, "max-peak") == 0;
	options->limits_len++;
}

static void user_parse(void *at, const char *option, const char *value)
{
	const struct passwd *user = getpwnam(value);
	uint64_t *uid = at;

	if (user)
		*uid = user->pw_uid;
	else if (ttm_number_parse(value, uid) < 0 || *uid >= UINT32_MAX)
		ttm_error_usage("--%s: no such user: %s", option, value);
}

static void suppressions_add(void *at, const char *option, const char *value)
{
	struct check_options *options = at;

	if (!value[0] || options->suppressions_len == CHECK_FILES_MAX)
		ttm_error_usage("--%s: an empty name, or more than %u files",
			option, CHECK_FILES_MAX);
	options->suppressions[options->suppressions_len++] = value;
}

/* A process is acknowledged as a whole: all that it left must have been told. */
static void ack_check(const struct check_options *options)
{
	if (options->filter.scopes_len || options->filter.devices_len ||
		options->since || options->ignored ||
		!(options->errors_for >> TTMEM_CLASS_ORPHANED & 1))
		ttm_error_usage("--ack is for all that a process left: none of "
				"--scope, --device, --since, --ignore-kind nor "
				"--errors-for without orphaned goes with it");
}

static void together_check(const struct check_options *options)
{
	if (options->ack)
		ack_check(options);
	if (options->update && !options->baseline)
		ttm_error_usage("--update-baseline needs --baseline");
	if (options->strict && !options->suppressions_len)
		ttm_error_usage("--strict-suppressions needs --suppressions");
	if (options->all_users && options->user != TTMEM_UNKNOWN)
		ttm_error_usage("--all-users or --user, not both");
	if (options->generate && options->format == DUMP_JSON)
		ttm_error_usage("--gen-suppressions is text");
	if (options->where.from &&
		(options->ack || options->wait_pid ||
			options->settle_ns != TTMEM_UNKNOWN))
		ttm_error_usage("--from reads a file: neither --ack nor "
				"--settle nor --wait-pid goes with it");
}

int check_options_parse(
	int argc, char **argv, bool is_run, struct check_options *ret_options)
{
	struct ttm_command run = { .name = "ttmem-dump run",
		.options = run_known,
		.arguments = TTM_ARGUMENTS_COMMAND };
	struct ttm_command check = { .name = "ttmem-dump check",
		.options = check_known };
	struct check_options *options = ret_options;
	int first;

	memset(options, 0, sizeof(*options));
	options->errors_for = 3; /* orphaned, live */
	options->settle_ns = TTMEM_UNKNOWN;
	options->user = TTMEM_UNKNOWN;
	first = ttm_options_parse(is_run ? &run : &check, argc, argv, options);
	options->errors_for = classes_of(options->errors_for);
	together_check(options);
	dump_where_check(&options->where);
	if (is_run && first == argc)
		ttm_error_usage("which command?");
	options->error_figures = (options->all_kinds ? DUMP_FIGURES_ALL :
						       BUFFERS) &
		~options->ignored;
	return first;
}
