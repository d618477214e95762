/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <pwd.h>
#include <string.h>

#include "check.h"
#include "common/error.h"
#include "common/number.h"
#include "common/options.h"
#include "ttmem-dump/options.h"

#define SETTLE_MAX_S 86400.0
#define BUFFERS                                                                \
	(1u << TTMEM_FIGURE_DRAM | 1u << TTMEM_FIGURE_L1 |                     \
		1u << TTMEM_FIGURE_SYSTEM_MEMORY |                             \
		1u << TTMEM_FIGURE_L1_SMALL | 1u << TTMEM_FIGURE_TRACE)

enum {
	OPTION_ACK = DUMP_OPTION_OWN,
	OPTION_ALL_KINDS,
	OPTION_ALL_USERS,
	OPTION_BASELINE,
	OPTION_BYTES,
	OPTION_ERRORS_FOR,
	OPTION_FORMAT,
	OPTION_GEN_SUPPRESSIONS,
	OPTION_GITHUB,
	OPTION_IGNORE_KIND,
	OPTION_JUNIT,
	OPTION_MAX,
	OPTION_MAX_PEAK,
	OPTION_SETTLE,
	OPTION_SINCE,
	OPTION_STRICT,
	OPTION_SUPPRESSIONS,
	OPTION_TTMEMD,
	OPTION_UPDATE_BASELINE,
	OPTION_USER,
	OPTION_WAIT_PID,
};

/* clang-format off */
#define OPTIONS_BOTH \
	{ "ack", no_argument, NULL, OPTION_ACK }, \
	{ "all-kinds", no_argument, NULL, OPTION_ALL_KINDS }, \
	{ "all-users", no_argument, NULL, OPTION_ALL_USERS }, \
	{ "baseline", required_argument, NULL, OPTION_BASELINE }, \
	{ "bytes", no_argument, NULL, OPTION_BYTES }, \
	{ "device", required_argument, NULL, DUMP_OPTION_DEVICE }, \
	{ "dir", required_argument, NULL, DUMP_OPTION_DIR }, \
	{ "errors-for", required_argument, NULL, OPTION_ERRORS_FOR }, \
	{ "format", required_argument, NULL, OPTION_FORMAT }, \
	{ "gen-suppressions", no_argument, NULL, OPTION_GEN_SUPPRESSIONS }, \
	{ "github", no_argument, NULL, OPTION_GITHUB }, \
	{ "ignore-kind", required_argument, NULL, OPTION_IGNORE_KIND }, \
	{ "junit", required_argument, NULL, OPTION_JUNIT }, \
	{ "max", required_argument, NULL, OPTION_MAX }, \
	{ "max-peak", required_argument, NULL, OPTION_MAX_PEAK }, \
	{ "output", required_argument, NULL, 'o' }, \
	{ "scope", required_argument, NULL, DUMP_OPTION_SCOPE }, \
	{ "settle", required_argument, NULL, OPTION_SETTLE }, \
	{ "since", required_argument, NULL, OPTION_SINCE }, \
	{ "strict-suppressions", no_argument, NULL, OPTION_STRICT }, \
	{ "suppressions", required_argument, NULL, OPTION_SUPPRESSIONS }, \
	{ "update-baseline", no_argument, NULL, OPTION_UPDATE_BASELINE }

static const struct option check_known[] = {
	OPTIONS_BOTH,
	{ "from", required_argument, NULL, DUMP_OPTION_FROM },
	{ "pid", required_argument, NULL, DUMP_OPTION_PID },
	{ "system", no_argument, NULL, DUMP_OPTION_SYSTEM },
	{ "user", required_argument, NULL, OPTION_USER },
	{ "wait-pid", required_argument, NULL, OPTION_WAIT_PID },
	DUMP_OPTIONS_END,
};

static const struct option run_known[] = {
	OPTIONS_BOTH,
	{ "ttmemd", required_argument, NULL, OPTION_TTMEMD },
	DUMP_OPTIONS_END,
};

#define HELP_BOTH \
	"What counts:\n" \
	"  --errors-for CLASS,.. orphaned, live, persistent (default: orphaned,live)\n" \
	"  --all-kinds           CBs and kernels, too, not only buffers\n" \
	"  --ignore-kind K,..    not these\n" \
	"  --suppressions FILE   not what it names; may be repeated\n" \
	"  --strict-suppressions a suppression that was not used is an error\n" \
	"  --baseline FILE       not the known leaks in FILE\n" \
	"  --update-baseline     write FILE instead\n" \
	"  --since MARK          only what was allocated after the mark of that text\n" \
	"  --device SEL,..       only there: 0, 2-3, logical:0, ..HEX, asic:HEX\n" \
	"                        or pci:BDF\n" \
	"  --scope PATTERN       only objects of scopes like 'ttnn.*'\n" \
	"  --all-users           leaks of other users, too (default for root)\n" \
	"  --ack                 report leaks of exited processes once more, then ignore\n" \
	"                        them; root does so for all users\n" \
	"Limits, for each device:\n" \
	"  --max KIND=SIZE       bytes that are there\n" \
	"  --max-peak KIND=SIZE  bytes that were there at once\n" \
	"Output:\n" \
	"  --format FORMAT       text (default) or json\n" \
	"  -o, --output FILE     instead of stdout\n" \
	"  --bytes               exact numbers of bytes\n" \
	"  --gen-suppressions    print a suppression for each leak\n" \
	"  --junit FILE          a JUnit report, too\n" \
	"  --github              annotations for GitHub Actions, too\n" \
	"  --dir DIR             base directory (default: $TTMEM_DIR, /run/ttmem or\n" \
	"                        /dev/shm)\n"

static const char check_help[] =
	"usage: ttmem-dump check [options]\n"
	"\n"
	"Fails if something was left on the devices, or if that cannot be told.\n"
	"\n"
	HELP_BOTH
	"  --from FILE           recorded JSON lines instead, the last one; - is stdin\n"
	"  --system              what root's ttmemd knows\n"
	"  --pid P,..            only what these processes left\n"
	"  --user USER           only leaks of that user, by name or number\n"
	"When:\n"
	"  --settle SEC          leaks may go away for so long (default: 0)\n"
	"  --wait-pid P          after that process has ended\n"
	DUMP_HELP_END;

static const char run_help[] =
	"usage: ttmem-dump run [options] -- COMMAND...\n"
	"\n"
	"Runs COMMAND and checks what it and its descendants left on the devices, with\n"
	"the ttmemd that serves the directory or one of its own. Ends with COMMAND's\n"
	"status unless that is 0.\n"
	"\n"
	HELP_BOTH
	"  --settle SEC          wait so long for descendants (default: 10)\n"
	"  --ttmemd PATH         the ttmemd to start\n"
	DUMP_HELP_END;
/* clang-format on */

static unsigned classes_parse(const char *value)
{
	char text[128], *at = text, *part;
	unsigned classes = 0;
	uint64_t number;

	if (strlen(value) >= sizeof(text))
		ttm_error_usage("--errors-for: unknown classes: %s (valid: "
				"orphaned, live, persistent)",
			value);
	memcpy(text, value, strlen(value) + 1);
	while ((part = strsep(&at, ",")) != NULL) {
		if (ttmem_name_parse(TTMEM_NAMES_CLASS, part, &number) < 0)
			ttm_error_usage(
				"--errors-for: unknown class: %s (valid: "
				"orphaned, live, persistent)",
				part);
		classes |= 1u << number;
	}
	return classes;
}

static void limit_add(
	struct check_options *options, const char *option, const char *value)
{
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
	limit->figures = dump_kinds_parse(option, kind);
	limit->text = value;
	options->limits_len++;
}

static uint64_t settle_parse(const char *value)
{
	double seconds;

	if (ttm_fraction_parse(value, &seconds) < 0 || seconds > SETTLE_MAX_S)
		ttm_error_usage("--settle: not a time in seconds: %s", value);
	return (uint64_t)(seconds * 1e9);
}

static uint64_t user_parse(const char *value)
{
	const struct passwd *user = getpwnam(value);
	uint64_t uid;

	if (user)
		return user->pw_uid;
	if (ttm_number_parse(value, &uid) < 0 || uid >= UINT32_MAX)
		ttm_error_usage("--user: no such user: %s", value);
	return uid;
}

static void format_take(struct check_options *options, const char *value)
{
	if (strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
		ttm_error_usage("--format: text or json, not %s", value);
	options->json = value[0] == 'j';
}

static void suppressions_add(struct check_options *options, const char *value)
{
	if (options->suppressions_len == CHECK_FILES_MAX)
		ttm_error_usage(
			"more than %u files of suppressions", CHECK_FILES_MAX);
	options->suppressions[options->suppressions_len++] = value;
}

static void flag_take(struct check_options *options, int option)
{
	switch (option) {
	case OPTION_ACK:
		options->ack = true;
		break;
	case OPTION_ALL_KINDS:
		options->all_kinds = true;
		break;
	case OPTION_ALL_USERS:
		options->all_users = true;
		break;
	case OPTION_BYTES:
		options->exact = true;
		break;
	case OPTION_GEN_SUPPRESSIONS:
		options->generate = true;
		break;
	case OPTION_GITHUB:
		options->github = true;
		break;
	case OPTION_STRICT:
		options->strict = true;
		break;
	default:
		options->update = true;
	}
}

static void option_take(struct check_options *options, int option)
{
	switch (option) {
	case OPTION_BASELINE:
		options->baseline = dump_option_file("baseline", optarg);
		break;
	case OPTION_ERRORS_FOR:
		options->errors_for = classes_parse(optarg);
		break;
	case OPTION_FORMAT:
		format_take(options, optarg);
		break;
	case OPTION_IGNORE_KIND:
		options->ignored |= dump_kinds_parse("ignore-kind", optarg);
		break;
	case OPTION_JUNIT:
		options->junit = dump_option_file("junit", optarg);
		break;
	case OPTION_MAX:
	case OPTION_MAX_PEAK:
		limit_add(options, option == OPTION_MAX ? "max" : "max-peak",
			optarg);
		options->limits[options->limits_len - 1].peak = option ==
			OPTION_MAX_PEAK;
		break;
	case OPTION_SETTLE:
		options->settle_ns = settle_parse(optarg);
		break;
	case OPTION_SINCE:
		options->since = optarg;
		break;
	case OPTION_SUPPRESSIONS:
		suppressions_add(
			options, dump_option_file("suppressions", optarg));
		break;
	case OPTION_TTMEMD:
		options->ttmemd = dump_option_file("ttmemd", optarg);
		break;
	case OPTION_USER:
		options->user = user_parse(optarg);
		break;
	case OPTION_WAIT_PID:
		options->wait_pid = dump_option_number(
			"wait-pid", optarg, 1, INT32_MAX);
		break;
	case 'o':
		options->output = dump_option_file("output", optarg);
		break;
	default:
		flag_take(options, option);
	}
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
	if (options->generate && options->json)
		ttm_error_usage("--gen-suppressions is text");
	if (options->where.from &&
		(options->ack || options->wait_pid ||
			options->settle_ns != TTMEM_UNKNOWN))
		ttm_error_usage("--from reads a file: neither --ack nor "
				"--settle nor --wait-pid goes with it");
}

void check_options_parse(
	int argc, char **argv, bool is_run, struct check_options *ret_options)
{
	const struct option *known = is_run ? run_known : check_known;
	struct check_options *options = ret_options;
	int option;

	memset(options, 0, sizeof(*options));
	options->errors_for = 1u << TTMEM_CLASS_ORPHANED |
		1u << TTMEM_CLASS_LIVE;
	options->settle_ns = TTMEM_UNKNOWN;
	options->user = TTMEM_UNKNOWN;
	while ((option = ttm_option_next(
			argc, argv, is_run ? "+o:" : "o:", known)) != -1)
		if (!dump_option_take(option, is_run ? run_help : check_help,
			    &options->where, &options->filter))
			option_take(options, option);
	together_check(options);
	if (!is_run)
		dump_options_check(argc, argv, &options->where);
	else if (optind == argc)
		ttm_error_usage("which command?");
	options->error_figures = (options->all_kinds ? DUMP_FIGURES_ALL :
						       BUFFERS) &
		~options->ignored;
}
