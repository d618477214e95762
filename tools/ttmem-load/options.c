/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/choice.h"
#include "common/error.h"
#include "common/number.h"
#include "common/options.h"
#include "help.h"
#include "pattern.h"
#include "truth.h"

#define PROCESSES_MAX 1024u
/* The library has 1,024 lanes; one is the process's main thread's. */
#define THREADS_MAX 1023u
#define LIVE_MAX 4000000u
#define SECONDS_MAX 1e9

enum {
	OPTION_FIRST = 256,
	OPTION_BOARD,
	OPTION_CHIP_OFFSET,
	OPTION_CLOSE,
	OPTION_CRASH,
	OPTION_CRASH_AFTER,
	OPTION_CROSS_FREE,
	OPTION_DEVICES,
	OPTION_DIR,
	OPTION_EVENTS,
	OPTION_FAILURES,
	OPTION_FAKE_SYSFS,
	OPTION_HOLD,
	OPTION_HOLD_SECONDS,
	OPTION_IMPLICIT,
	OPTION_JSON,
	OPTION_LEAK,
	OPTION_LEAK_KIND,
	OPTION_LEAK_SIZE,
	OPTION_LIVE,
	OPTION_LOGICAL_OFFSET,
	OPTION_MARKS,
	OPTION_MESH,
	OPTION_NO_BANKS,
	OPTION_NO_CLOSE,
	OPTION_NO_IDENTITY,
	OPTION_OBJECTS,
	OPTION_PATTERN,
	OPTION_PROCESSES,
	OPTION_RATE,
	OPTION_SCOPES,
	OPTION_SCRIPT,
	OPTION_SECONDS,
	OPTION_SEED,
	OPTION_SHRINK,
	OPTION_SIZE,
	OPTION_THREADS,
	OPTION_UNTRACKED,
};

static const struct option options_known[] = {
	{ "board", required_argument, NULL, OPTION_BOARD },
	{ "chip-offset", required_argument, NULL, OPTION_CHIP_OFFSET },
	{ "close", no_argument, NULL, OPTION_CLOSE },
	{ "crash", optional_argument, NULL, OPTION_CRASH },
	{ "crash-after", required_argument, NULL, OPTION_CRASH_AFTER },
	{ "cross-free", required_argument, NULL, OPTION_CROSS_FREE },
	{ "devices", required_argument, NULL, OPTION_DEVICES },
	{ "dir", required_argument, NULL, OPTION_DIR },
	{ "events", required_argument, NULL, OPTION_EVENTS },
	{ "failures", required_argument, NULL, OPTION_FAILURES },
	{ "fake-sysfs", required_argument, NULL, OPTION_FAKE_SYSFS },
	{ "help", no_argument, NULL, 'h' },
	{ "hold", no_argument, NULL, OPTION_HOLD },
	{ "hold-seconds", required_argument, NULL, OPTION_HOLD_SECONDS },
	{ "implicit", no_argument, NULL, OPTION_IMPLICIT },
	{ "json", required_argument, NULL, OPTION_JSON },
	{ "leak", required_argument, NULL, OPTION_LEAK },
	{ "leak-kind", required_argument, NULL, OPTION_LEAK_KIND },
	{ "leak-size", required_argument, NULL, OPTION_LEAK_SIZE },
	{ "live", required_argument, NULL, OPTION_LIVE },
	{ "logical-offset", required_argument, NULL, OPTION_LOGICAL_OFFSET },
	{ "marks", no_argument, NULL, OPTION_MARKS },
	{ "mesh", optional_argument, NULL, OPTION_MESH },
	{ "no-banks", no_argument, NULL, OPTION_NO_BANKS },
	{ "no-close", no_argument, NULL, OPTION_NO_CLOSE },
	{ "no-identity", no_argument, NULL, OPTION_NO_IDENTITY },
	{ "objects", required_argument, NULL, OPTION_OBJECTS },
	{ "pattern", required_argument, NULL, OPTION_PATTERN },
	{ "processes", required_argument, NULL, OPTION_PROCESSES },
	{ "quiet", no_argument, NULL, 'q' },
	{ "rate", required_argument, NULL, OPTION_RATE },
	{ "scopes", required_argument, NULL, OPTION_SCOPES },
	{ "script", required_argument, NULL, OPTION_SCRIPT },
	{ "seconds", required_argument, NULL, OPTION_SECONDS },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "shrink", required_argument, NULL, OPTION_SHRINK },
	{ "size", required_argument, NULL, OPTION_SIZE },
	{ "threads", required_argument, NULL, OPTION_THREADS },
	{ "untracked", no_argument, NULL, OPTION_UNTRACKED },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

const char *const load_figure_names[TTMEM_FIGURES] = { "dram", "l1",
	"system_memory", "l1_small", "trace", "cb", "kernel_application",
	"kernel_fabric", "kernel_dispatch" };

int load_kind_find(const char *name)
{
	int i;

	for (i = 0; i < TRUTH_KINDS; i++)
		if (strcmp(name, load_figure_names[i]) == 0)
			return i;
	return -1;
}

int load_signal_find(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} known[] = { { "kill", SIGKILL }, { "abort", SIGABRT },
		{ "segv", SIGSEGV }, { "term", SIGTERM } };
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].number;
	return 0;
}

static const char *option_name(int option)
{
	size_t i;

	for (i = 0; options_known[i].name; i++)
		if (options_known[i].val == option)
			return options_known[i].name;
	return "?";
}

static uint64_t number_get(int option, uint64_t least, uint64_t most)
{
	uint64_t value = 0;
	int r = ttm_number_parse(optarg, &value);

	if (r == -EINVAL)
		ttm_error_usage(
			"--%s: not a number: %s", option_name(option), optarg);
	if (r < 0 || value < least || value > most)
		ttm_error_usage("--%s: %s is not from %llu to %llu",
			option_name(option), optarg, (unsigned long long)least,
			(unsigned long long)most);
	return value;
}

static uint64_t size_get(int option, const char *text)
{
	uint64_t bytes;

	if (ttm_size_parse(text, &bytes) < 0 || bytes >= 1ull << 46)
		ttm_error_usage("--%s: not a size below 64T: %s",
			option_name(option), text);
	return bytes;
}

static double fraction_get(int option)
{
	double value = 0;

	if (ttm_fraction_parse(optarg, &value) < 0 || value <= 0 ||
		value > SECONDS_MAX)
		ttm_error_usage("--%s: not a number above 0 and up to 1e9: %s",
			option_name(option), optarg);
	return value;
}

static void size_range_set(struct load_options *options)
{
	char *least = strdup(optarg);
	char *most;

	if (!least)
		ttm_error_usage("no memory");
	most = strchr(least, '-');
	if (most)
		*most++ = '\0';
	options->size_given = true;
	options->size_min = size_get(OPTION_SIZE, least);
	options->size_max = most ? size_get(OPTION_SIZE, most) :
				   options->size_min;
	if (options->size_min > options->size_max || options->size_min == 0)
		ttm_error_usage("--size: not a range of sizes: %s", optarg);
	free(least);
}

static int crash_get(void)
{
	int number = optarg ? load_signal_find(optarg) : SIGKILL;

	if (number == 0)
		ttm_error_usage(
			"--crash is kill, abort, segv or term: %s", optarg);
	return number;
}

/* A script says itself what happens where; an option would be for nothing. */
static bool is_for_scripts(int option)
{
	return option == OPTION_SCRIPT || option == OPTION_DIR ||
		option == OPTION_UNTRACKED || option == OPTION_JSON ||
		option == 'q';
}

/* -- one option each, in groups ------------------------------------------------ */

__attribute__((noreturn)) static void board_refuse(const char *name)
{
	struct ttm_choice choice;
	size_t i;

	ttm_choice_begin(&choice, name);
	for (i = 0; i < load_boards_len; i++)
		ttm_choice_add(&choice, load_boards[i].name);
	ttm_error_usage("--board: unknown board: %s %s", name,
		ttm_choice_text(&choice));
}

__attribute__((noreturn)) static void pattern_refuse(const char *name)
{
	struct ttm_choice choice;
	size_t i;

	ttm_choice_begin(&choice, name);
	for (i = 0; i < load_patterns_len; i++)
		ttm_choice_add(&choice, load_patterns[i]->name);
	ttm_error_usage("--pattern: unknown pattern: %s %s", name,
		ttm_choice_text(&choice));
}

static bool where_parse(struct load_options *o, int option)
{
	switch (option) {
	case OPTION_PROCESSES:
		o->processes = number_get(option, 1, PROCESSES_MAX);
		return true;
	case OPTION_THREADS:
		o->threads = number_get(option, 1, THREADS_MAX);
		return true;
	case OPTION_DEVICES:
		o->devices = number_get(option, 1, TRUTH_ENTRIES_MAX);
		o->devices_given = true;
		return true;
	case OPTION_MESH:
		o->mesh = optarg ? number_get(option, 1, TRUTH_ENTRIES_MAX) :
				   TRUTH_ENTRIES_MAX;
		return true;
	case OPTION_BOARD:
		o->board = load_board_find(optarg);
		if (!o->board)
			board_refuse(optarg);
		return true;
	case OPTION_CHIP_OFFSET:
		o->chip_offset = number_get(option, 0, UINT16_MAX);
		return true;
	case OPTION_LOGICAL_OFFSET:
		o->logical_offset = number_get(option, 0, UINT16_MAX);
		return true;
	case OPTION_NO_IDENTITY:
		o->no_identity = true;
		return true;
	case OPTION_IMPLICIT:
		o->implicit = true;
		return true;
	case OPTION_DIR:
		o->dir = ttm_option_dir(optarg);
		return true;
	case OPTION_UNTRACKED:
		o->untracked = true;
		return true;
	case OPTION_FAKE_SYSFS:
		o->fake_sysfs = optarg;
		return true;
	default:
		return false;
	}
}

static bool what_parse(struct load_options *o, int option)
{
	switch (option) {
	case OPTION_PATTERN:
		o->pattern = load_pattern_find(optarg);
		if (!o->pattern)
			pattern_refuse(optarg);
		return true;
	case OPTION_SCRIPT:
		o->script = optarg;
		return true;
	case OPTION_EVENTS:
		o->events = number_get(option, 1, UINT64_MAX / 2);
		return true;
	case OPTION_SECONDS:
		o->seconds = fraction_get(option);
		return true;
	case OPTION_RATE:
		o->rate = fraction_get(option);
		return true;
	case OPTION_LIVE:
		o->live = number_get(option, 1, LIVE_MAX);
		return true;
	case OPTION_OBJECTS:
		o->objects = number_get(option, 0, LIVE_MAX);
		return true;
	case OPTION_NO_BANKS:
		o->no_banks = true;
		return true;
	case OPTION_SHRINK:
		o->shrink = number_get(option, 0, 100);
		return true;
	case OPTION_SIZE:
		size_range_set(o);
		return true;
	case OPTION_SEED:
		o->seed = number_get(option, 0, UINT64_MAX);
		return true;
	case OPTION_SCOPES:
		o->scopes = number_get(option, 0, 65535);
		return true;
	case OPTION_CROSS_FREE:
		o->cross_free = number_get(option, 0, 100);
		return true;
	case OPTION_MARKS:
		o->marks = true;
		return true;
	case OPTION_FAILURES:
		o->failures = number_get(option, 0, UINT32_MAX);
		return true;
	default:
		return false;
	}
}

static bool end_parse(struct load_options *o, int option)
{
	int kind;

	switch (option) {
	case OPTION_LEAK:
		o->leak = number_get(option, 0, LIVE_MAX);
		return true;
	case OPTION_LEAK_KIND:
		kind = load_kind_find(optarg);
		if (kind < 0)
			ttm_error_usage("--leak-kind: unknown kind: %s (valid: "
					"dram, l1, system_memory, l1_small, "
					"trace)",
				optarg);
		o->leak_kind = (enum ttmem_kind)kind;
		return true;
	case OPTION_LEAK_SIZE:
		o->leak_size = size_get(option, optarg);
		return true;
	case OPTION_CRASH:
		o->crash = crash_get();
		return true;
	case OPTION_CRASH_AFTER:
		o->crash_after = number_get(option, 1, UINT64_MAX / 2);
		return true;
	case OPTION_HOLD:
		o->hold = true;
		return true;
	case OPTION_HOLD_SECONDS:
		o->hold = true;
		o->hold_seconds = fraction_get(option);
		return true;
	case OPTION_CLOSE:
		o->close = true;
		return true;
	case OPTION_NO_CLOSE:
		o->close = false;
		return true;
	case OPTION_JSON:
		o->json = optarg;
		return true;
	case 'q':
		o->quiet = true;
		return true;
	default:
		return false;
	}
}

/* What the options mean together. */
static void options_settle(struct load_options *o)
{
	if (o->script && o->not_for_scripts)
		ttm_error_usage("--script and --%s exclude each other",
			o->not_for_scripts);
	if (!o->pattern)
		o->pattern = load_pattern_find("churn");
	if (o->mesh > o->devices)
		o->mesh = o->devices;
	if (o->crash_after && !o->crash)
		o->crash = SIGKILL;
	if (o->pattern->holds && !o->script)
		o->hold = true;
	if (o->events == 0 && o->seconds <= 0)
		o->events = 100000;
	if (o->script) {
		o->processes = 1;
		o->threads = 1;
	}
}

void load_options_parse(int argc, char **argv, struct load_options *ret_options)
{
	struct load_options *o = ret_options;
	int option;

	memset(o, 0, sizeof(*o));
	o->processes = o->threads = o->devices = 1;
	o->board = load_board_find("p150");
	o->live = 1000;
	o->objects = 1000;
	o->seed = 1;
	o->leak_kind = TTMEM_DRAM;
	o->leak_size = 1u << 20;
	o->close = true;
	while ((option = ttm_option_next(argc, argv, "q", options_known)) !=
		-1) {
		if (option == 'h') {
			load_help();
			ttm_print_and_exit("");
		}
		if (option == 'V')
			ttm_version_exit("ttmem-load");
		if (!where_parse(o, option) && !what_parse(o, option))
			end_parse(o, option);
		if (!is_for_scripts(option))
			o->not_for_scripts = option_name(option);
	}
	if (optind < argc)
		ttm_error_usage("not an option: %s", argv[optind]);
	options_settle(o);
}
