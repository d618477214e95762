/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/options.h"
#include "common/word.h"
#include "ttmem-dump/clock.h"
#include "ttmem-dump/command.h"
#include "ttmem-dump/complete.h"
#include "ttmem-dump/out.h"
#include "group.h"

#define TOP_DEFAULT 10u

#define OPTIONS struct dump_report_options

/* clang-format off */
static const struct ttm_option options_known[] = {
	TTM_OPTION_HELP_TEXT("usage: ttmem-dump [report] [options]\n\n"
		"What is on the devices, whose it is, what went wrong, and what is missing.\n\n"),
	TTM_OPTION(WORD, format, "format", "FORMAT",
		.words = TTM_OPTION_WORDS("text", "json", "csv"),
		.help = "text (default), json or csv"),
	TTM_OPTION(FILE, output, "output", "FILE", .letter = 'o',
		.help = "replaced when the report is complete"),
	TTM_OPTION(FLAG, exact, "bytes", NULL, .help = "exact numbers of bytes"),
	TTM_OPTION(COUNT, top, "top", "N", .most = UINT32_MAX,
		.help = "objects or groups to list (default: 10 in text, else\n"
			"all); all for all"),
	TTM_OPTION(BITS, keys, "group-by", "KEY,..",
		.words = TTM_OPTION_WORDS("device", "process", "kind", "scope", "class", "size"),
		.help = "list groups of objects: device, process, kind, scope,\n"
			"class, size"),
	TTM_OPTION(BIT, tables, "table", "NAME",
		.words = TTM_OPTION_WORDS("devices", "processes", "objects"),
		.help = "csv: only devices, processes or objects"),
	TTM_OPTION(SECONDS, watch_ns, "watch", "SEC",
		.least = DUMP_SECOND_NS / 100, .most = 86400 * DUMP_SECOND_NS,
		.help = "again every SEC seconds"),
	TTM_OPTION(NUMBER, count, "count", "N", .least = 1, .most = UINT32_MAX,
		.help = "so many times"),
	TTM_OPTION_HELP_TEXT("\nOnly some:\n"),
	DUMP_OPTIONS_FILTER,
	TTM_OPTION_HELP_TEXT("\nWhere from:\n"),
	DUMP_OPTION_WHERE_FROM,
	DUMP_OPTION_WHERE_DIR,
	DUMP_OPTION_WHERE_SYSTEM("what root's ttmemd knows, whether it serves us or not"),
	TTM_OPTION_HELP_TEXT("\n"),
	DUMP_OPTIONS_END,
	TTM_OPTION_HELP_TEXT("\n"
		"Exit status: 0, 1 failure, 2 wrong use, 3 no data or none that is current\n"
		"(old data are printed), 4 data incomplete or incompatible.\n"),
	{ 0 },
};
/* clang-format on */

static void options_parse(
	int argc, char **argv, struct dump_report_options *options)
{
	struct ttm_command command = { .name = "ttmem-dump report",
		.options = options_known };
	bool top_is_set;

	memset(options, 0, sizeof(*options));
	ttm_options_parse(&command, argc, argv, options);
	top_is_set = ttm_option_is_given(&command, "top");
	dump_where_check(&options->where);
	if (options->watch_ns && options->where.from)
		ttm_error_usage("--watch: a file does not change: --from");
	if (options->count && !options->watch_ns)
		ttm_error_usage("--count goes with --watch");
	if (options->tables && options->format != DUMP_CSV)
		ttm_error_usage("--table goes with --format csv");
	if (options->format == DUMP_JSON && (options->keys || top_is_set))
		ttm_error_usage(
			"--format json has all objects, each for itself: "
			"neither --group-by nor --top goes with it");
	if (!options->tables)
		options->tables = DUMP_TABLES_ALL;
	if (!top_is_set)
		options->top = options->format == DUMP_TEXT ? TOP_DEFAULT :
							      SIZE_MAX;
	if (!options->watch_ns)
		options->count = 1;
}

/* -- one report ------------------------------------------------------------------- */

static int render(const struct dump_report *report)
{
	switch (report->options->format) {
	case DUMP_JSON:
		return dump_render_json(report);
	case DUMP_CSV:
		return dump_render_csv(report);
	case DUMP_TEXT:
	default:
		return dump_render_text(report);
	}
}

/* JSON is a recording: it has everything. The others have no use for it. */
static uint32_t flags_of(const struct dump_report_options *options)
{
	if (options->format == DUMP_JSON)
		return TTMEM_SNAPSHOT_OBJECTS | TTMEM_SNAPSHOT_HISTORIES |
			TTMEM_SNAPSHOT_DISTRIBUTIONS;
	if (options->top == 0 || !(options->tables & DUMP_TABLE_OBJECTS))
		return 0;
	return TTMEM_SNAPSHOT_OBJECTS;
}

static int report_write(struct dump_report *report)
{
	struct dump_out out;
	int r, status;

	r = dump_selection_make(
		report->snapshot, &report->options->filter, &report->selection);
	if (r < 0) {
		ttm_error("%s", strerror(-r));
		return TTM_EXIT_FAILURE;
	}
	status = dump_out_open(report->options->output, &out);
	if (status == 0) {
		report->file = out.file;
		r = render(report);
		status = dump_out_close(&out, r == 0);
	}
	if (status == 0 && r < 0) {
		ttm_error("%s", strerror(-r));
		status = TTM_EXIT_FAILURE;
	}
	dump_selection_free(&report->selection);
	return status;
}

/* Text says it in the report; and there may be no report to say it in. */
static void worth_tell(
	const struct dump_worth *worth, bool has_figures, bool is_text)
{
	if (worth->status == TTM_EXIT_FAILURE || !worth->reason[0] ||
		(has_figures && is_text))
		return;
	if (has_figures)
		ttm_error("%s", worth->reason);
	else
		ttm_error("no data: %s%s%s", worth->reason,
			worth->hint ? "; " : "",
			worth->hint ? worth->hint : "");
}

static int report_once(struct dump_source *source,
	const struct dump_report_options *options, uint64_t round)
{
	struct dump_report report = { .options = options, .round = round };
	struct ttmem_snapshot *snapshot = NULL;
	struct dump_worth worth;
	int status = dump_source_take(
		source, flags_of(options), &snapshot, &worth);

	worth_tell(&worth, snapshot != NULL, options->format == DUMP_TEXT);
	if (!snapshot)
		return status;
	report.snapshot = snapshot;
	report.worth = &worth;
	report.gaps = dump_gaps(snapshot, NULL, NULL);
	if (report.gaps)
		status = ttm_exit_join(status, TTM_EXIT_INCOMPLETE);
	status = ttm_exit_join(status, report_write(&report));
	ttmem_snapshot_free(&snapshot);
	return status;
}

/* -- again ------------------------------------------------------------------------ */

static uint64_t stopped;

static void stop(int number)
{
	(void)number;
	ttm_word_store(&stopped, 1);
}

/* A second one ends the program, whatever it waits for. */
static void stop_on_signals(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = stop;
	action.sa_flags = (int)SA_RESETHAND;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Until then or until a signal, which must not come between asking and waiting. */
static void wait_until(uint64_t then_ns)
{
	struct timespec rest;
	uint64_t now;
	sigset_t set;
	int number = -1;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (number < 0 && !ttm_word_load(&stopped) &&
		(now = dump_now_ns()) < then_ns) {
		rest.tv_sec = (time_t)((then_ns - now) / DUMP_SECOND_NS);
		rest.tv_nsec = (long)((then_ns - now) % DUMP_SECOND_NS);
		number = sigtimedwait(&set, NULL, &rest);
	}
	if (number >= 0)
		stop(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* The worst of all rounds: who watches must not be told that all was well. */
static int report_watch(
	struct dump_source *source, const struct dump_report_options *options)
{
	uint64_t next_ns = dump_now_ns(), round;
	int status = TTM_EXIT_OK;

	for (round = 0; !ttm_word_load(&stopped); round++) {
		status = ttm_exit_join(
			status, report_once(source, options, round));
		if (status == TTM_EXIT_FAILURE || round + 1 == options->count)
			break;
		/* What was missed is not caught up with. */
		next_ns += options->watch_ns;
		if (next_ns < dump_now_ns())
			next_ns = dump_now_ns();
		wait_until(next_ns);
	}
	return status;
}

int dump_report_main(int argc, char **argv)
{
	struct dump_report_options options;
	struct dump_source *source = NULL;
	int status;

	options_parse(argc, argv, &options);
	if (options.watch_ns)
		stop_on_signals();
	status = dump_source_open(&options.where, &source);
	if (status == 0)
		status = report_watch(source, &options);
	dump_source_close(&source);
	return status;
}
