/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/number.h"
#include "common/options.h"
#include "pattern.h"
#include "truth.h"

#define OPTIONS struct load_options
#define PROCESSES_MAX 1024u
/* The library has 1,024 lanes; one is the process's main thread's. */
#define THREADS_MAX 1023u
#define LIVE_MAX 4000000u
#define EVENTS_MAX (UINT64_MAX / 2)
#define SECONDS_MAX 1000000000u
#define WORDS_MAX 32u
#define SIZE_MOST ((1ull << 46) - 1)

static ttm_option_take board_parse, crash_parse, kind_parse, lists_print,
	mesh_parse, pattern_parse, size_parse;

/* clang-format off */
static const struct ttm_option options_known[] = {
	TTM_OPTION_HELP_TEXT("usage: ttmem-load [options]\n\n"
		"Does what a runtime on Tenstorrent devices does to their memory, as far as\n"
		"ttmem can see, without a device; and says exactly what it did.\n\n"
		"Who and where:\n"),
	TTM_OPTION(NUMBER, processes, "processes", "N", .least = 1, .most = PROCESSES_MAX,
		.help = "(default: 1)"),
	TTM_OPTION(NUMBER, threads, "threads", "N", .least = 1, .most = THREADS_MAX,
		.help = "in each process (default: 1)"),
	TTM_OPTION(NUMBER, devices, "devices", "N", .least = 1, .most = TRUTH_ENTRIES_MAX,
		.help = "up to 64 (default: 1)"),
	TTM_OPTION_CALLS(mesh_parse, mesh, "mesh", "[=N]",
		.help = "use the devices as meshes of N (default: of all)"),
	TTM_OPTION_CALLS(board_parse, board, "board", "NAME",
		.help = "what they are (default: p150); see below"),
	TTM_OPTION(NUMBER, chip_offset, "chip-offset", "N", .most = UINT16_MAX,
		.help = "the first device is the board's chip N (default: 0)"),
	TTM_OPTION(NUMBER, logical_offset, "logical-offset", "N", .most = UINT16_MAX,
		.help = "and its logical id is N (default: 0)"),
	TTM_OPTION(FLAG, no_identity, "no-identity", NULL,
		.help = "opened without chip id and PCI address"),
	TTM_OPTION(FLAG, implicit, "implicit", NULL, .help = "never opened"),
	TTM_OPTION(DIR, dir, "dir", "DIR", .help = "base directory for the segments"),
	TTM_OPTION(FLAG, untracked, "untracked", NULL,
		.help = "the same calls with tracking off"),
	TTM_OPTION(STRING, fake_sysfs, "fake-sysfs", "DIR",
		.help = "no load: the driver's files for these devices, in\n"
			"DIR/sys and DIR/proc; with --seconds they move"),
	TTM_OPTION_HELP_TEXT("\nWhat:\n"),
	TTM_OPTION_CALLS(pattern_parse, pattern, "pattern", "NAME",
		.help = "(default: churn); see below"),
	TTM_OPTION(STRING, script, "script", "FILE",
		.help = "the events in FILE instead, - is stdin"),
	TTM_OPTION(NUMBER, events, "events", "N", .least = 1, .most = EVENTS_MAX,
		.help = "for each thread (default: 100000)"),
	TTM_OPTION(FRACTION, seconds, "seconds", "S", .most = SECONDS_MAX,
		.help = "for so long"),
	TTM_OPTION(FRACTION, rate, "rate", "N", .most = SECONDS_MAX,
		.help = "events per second and thread (default: flat out)"),
	TTM_OPTION(NUMBER, live, "live", "N", .least = 1, .most = LIVE_MAX,
		.help = "live buffers of each thread (default: 1000)"),
	TTM_OPTION(NUMBER, objects, "objects", "N", .most = LIVE_MAX,
		.help = "of each thread in the pattern hold (default: 1000)"),
	TTM_OPTION_CALLS(size_parse, size_min, "size", "MIN-MAX",
		.help = "of buffers (default: by kind)"),
	TTM_OPTION(FLAG, no_banks, "no-banks", NULL,
		.help = "tell only the sizes, no bank figures"),
	TTM_OPTION(NUMBER, shrink, "shrink", "P", .most = 100,
		.help = "percent of a mesh's frees made device by device"),
	TTM_OPTION(NUMBER, cross_free, "cross-free", "P", .most = 100,
		.help = "percent of frees left to another thread"),
	TTM_OPTION(NUMBER, scopes, "scopes", "N", .most = 65535,
		.help = "take turns with N scope names"),
	TTM_OPTION(FLAG, marks, "marks", NULL,
		.help = "a mark where each thread begins and ends"),
	TTM_OPTION(NUMBER, failures, "failures", "N", .most = UINT32_MAX,
		.help = "allocations of each thread that fail"),
	TTM_OPTION(NUMBER, seed, "seed", "N", .help = "(default: 1)"),
	TTM_OPTION_HELP_TEXT("\nThe end:\n"),
	TTM_OPTION(NUMBER, leak, "leak", "N", .most = LIVE_MAX,
		.help = "leave exactly N buffers, each in a scope of its own"),
	TTM_OPTION_CALLS(kind_parse, leak_kind, "leak-kind", "KIND", .help = "(default: dram)"),
	TTM_OPTION(SIZE, leak_size, "leak-size", "SIZE", .most = SIZE_MOST,
		.help = "(default: 1M)"),
	TTM_OPTION_CALLS(crash_parse, crash, "crash", "[=SIGNAL]",
		.help = "die before anything is freed: kill (default),\n"
			"abort, segv or term"),
	TTM_OPTION(NUMBER, crash_after, "crash-after", "N", .least = 1, .most = EVENTS_MAX,
		.help = "die when a thread has made N events"),
	TTM_OPTION(FLAG, hold, "hold", NULL,
		.help = "say 'ready' before anything is freed, and wait for\n"
			"SIGTERM, SIGINT or the end of stdin"),
	TTM_OPTION(FRACTION, hold_seconds, "hold-seconds", "S", .most = SECONDS_MAX,
		.help = "the same, but not longer than that"),
	TTM_OPTION(OFF, close, "no-close", NULL, .help = "leave the devices open"),
	TTM_OPTION(FLAG, close, "close", NULL),
	TTM_OPTION_HELP_TEXT("\n"),
	TTM_OPTION(STRING, json, "json", "FILE", .help = "what was done, - is stdout"),
	TTM_OPTION(FLAG, quiet, "quiet", NULL, .letter = 'q',
		.help = "neither progress nor summary"),
	{ .type = TTM_OPTION_HELP, .name = "help", .letter = 'h', .help = "this text" },
	{ .type = TTM_OPTION_VERSION, .name = "version", .letter = 'V', .help = "" },
	{ .type = TTM_OPTION_TEXT, .take = lists_print,
		.help = "\nSizes may end in K, M, G or T (powers of 1024).\n" },
	{ 0 },
};
/* clang-format on */

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

static void lists_print(void *at, const char *option, const char *value)
{
	size_t i;

	(void)at;
	(void)option;
	(void)value;
	puts("\nPatterns:");
	for (i = 0; i < load_patterns_len; i++)
		printf("  %-20s  %s\n", load_patterns[i]->name,
			load_patterns[i]->text);
	puts("\nBoards:");
	for (i = 0; i < load_boards_len; i++)
		printf("  %-20s  %u cores, %u chip%s\n", load_boards[i].name,
			load_boards[i].cores, load_boards[i].chips,
			load_boards[i].chips == 1 ? "" : "s");
}

static void board_parse(void *at, const char *option, const char *value)
{
	const struct load_board *board = load_board_find(value);
	const char *words[WORDS_MAX] = { NULL };
	size_t i;

	for (i = 0; i < load_boards_len; i++)
		words[i] = load_boards[i].name;
	if (!board)
		ttm_option_refuse(option, value, words);
	*(const struct load_board **)at = board;
}

static void pattern_parse(void *at, const char *option, const char *value)
{
	const struct load_pattern *pattern = load_pattern_find(value);
	const char *words[WORDS_MAX] = { NULL };
	size_t i;

	for (i = 0; i < load_patterns_len; i++)
		words[i] = load_patterns[i]->name;
	if (!pattern)
		ttm_option_refuse(option, value, words);
	*(const struct load_pattern **)at = pattern;
}

static void mesh_parse(void *at, const char *option, const char *value)
{
	uint64_t *members = at;

	*members = TRUTH_ENTRIES_MAX;
	if (value &&
		(ttm_number_parse(value, members) < 0 || *members < 1 ||
			*members > TRUTH_ENTRIES_MAX))
		ttm_error_usage("--%s: not a number from 1 to %u: %s", option,
			TRUTH_ENTRIES_MAX, value);
}

/* Sets the least and the most, which stand together. */
static void size_parse(void *at, const char *option, const char *value)
{
	const char *dash = strchr(value, '-');
	uint64_t *least = at, *most = least + 1;
	char text[32];

	snprintf(text, sizeof(text), "%.*s",
		(int)(dash ? (size_t)(dash - value) : strlen(value)), value);
	if (ttm_size_parse(text, least) < 0 ||
		ttm_size_parse(dash ? dash + 1 : text, most) < 0 ||
		*least == 0 || *least > *most || *most > SIZE_MOST)
		ttm_error_usage("--%s: not a range of sizes below 64T: %s",
			option, value);
}

static void kind_parse(void *at, const char *option, const char *value)
{
	const char *words[TRUTH_KINDS + 1] = { NULL };
	int kind = load_kind_find(value);

	memcpy(words, load_figure_names, TRUTH_KINDS * sizeof(*words));
	if (kind < 0)
		ttm_option_refuse(option, value, words);
	*(enum ttmem_kind *)at = (enum ttmem_kind)kind;
}

static void crash_parse(void *at, const char *option, const char *value)
{
	int number = value ? load_signal_find(value) : SIGKILL;

	if (number == 0)
		ttm_error_usage(
			"--%s is kill, abort, segv or term: %s", option, value);
	*(int *)at = number;
}

/* A script says itself what happens where; an option would be for nothing. */
static void script_check(const struct ttm_command *command)
{
	static const char *const fitting[] = { "script", "dir", "untracked",
		"json", "quiet" };
	const struct ttm_option *o;
	size_t i;

	for (o = command->options; o->type != TTM_OPTION_END; o++) {
		if (!o->name || !ttm_option_is_given(command, o->name))
			continue;
		for (i = 0; i < sizeof(fitting) / sizeof(fitting[0]); i++)
			if (strcmp(fitting[i], o->name) == 0)
				break;
		if (i == sizeof(fitting) / sizeof(fitting[0]))
			ttm_error_usage("--script and --%s exclude each other",
				o->name);
	}
}

/* What the options mean together. */
static void options_settle(struct load_options *o)
{
	if (!o->pattern)
		o->pattern = load_pattern_find("churn");
	if (o->mesh > o->devices)
		o->mesh = o->devices;
	if (o->crash_after && !o->crash)
		o->crash = SIGKILL;
	if (o->hold_seconds > 0 || (o->pattern->holds && !o->script))
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
	struct ttm_command command = { .name = "ttmem-load",
		.options = options_known };
	struct load_options *o = ret_options;

	memset(o, 0, sizeof(*o));
	o->processes = o->threads = o->devices = 1;
	o->board = load_board_find("p150");
	o->live = 1000;
	o->objects = 1000;
	o->seed = 1;
	o->leak_kind = TTMEM_DRAM;
	o->leak_size = 1u << 20;
	o->close = true;
	ttm_options_parse(&command, argc, argv, o);
	o->devices_given = ttm_option_is_given(&command, "devices");
	o->size_given = ttm_option_is_given(&command, "size");
	if (o->script)
		script_check(&command);
	options_settle(o);
}
