/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "ttmem-dump/clock.h"
#include "ttmem-dump/command.h"
#include "common/error.h"
#include "common/number.h"
#include "common/options.h"
#include "common/word.h"
#include "ttmem-dump/complete.h"
#include "group.h"
#include "ttmem-dump/options.h"
#include "ttmem-dump/out.h"

#define WATCH_MAX_S 86400.0
#define TOP_DEFAULT 10u

enum {
	OPTION_BYTES = DUMP_OPTION_OWN,
	OPTION_COUNT,
	OPTION_FORMAT,
	OPTION_GROUP_BY,
	OPTION_TABLE,
	OPTION_TOP,
	OPTION_WATCH,
};

static const struct option options_known[] = {
	DUMP_OPTIONS_WHERE,
	DUMP_OPTIONS_FILTER,
	{ "bytes", no_argument, NULL, OPTION_BYTES },
	{ "count", required_argument, NULL, OPTION_COUNT },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "group-by", required_argument, NULL, OPTION_GROUP_BY },
	{ "output", required_argument, NULL, 'o' },
	{ "table", required_argument, NULL, OPTION_TABLE },
	{ "top", required_argument, NULL, OPTION_TOP },
	{ "watch", required_argument, NULL, OPTION_WATCH },
	DUMP_OPTIONS_END,
};

/* clang-format off */
static const char help[] =
	"usage: ttmem-dump [report] [options]\n"
	"\n"
	"What is on the devices, whose it is, what went wrong, and what is missing.\n"
	"\n"
	"  --format FORMAT       text (default), json or csv\n"
	"  -o, --output FILE     replaced when the report is complete\n"
	"  --bytes               exact numbers of bytes\n"
	"  --top N               objects or groups to list (default: 10 in text, else\n"
	"                        all); all for all\n"
	"  --group-by KEY,..     list groups of objects: device, process, kind, scope,\n"
	"                        class, size\n"
	"  --table NAME          csv: only devices, processes or objects\n"
	"  --watch SEC           again every SEC seconds\n"
	"  --count N             so many times\n"
	"\n"
	"Only some:\n"
	DUMP_HELP_FILTER
	"\n"
	"Where from:\n"
	DUMP_HELP_WHERE
	"\n"
	DUMP_HELP_END
	"\n"
	"Exit status: 0, 1 failure, 2 wrong use, 3 no data or none that is current\n"
	"(old data are printed), 4 data incomplete or incompatible.\n";
/* clang-format on */

/* -- options -------------------------------------------------------------------- */

static enum dump_format format_parse(const char *value)
{
	if (strcmp(value, "text") == 0)
		return DUMP_TEXT;
	if (strcmp(value, "json") == 0)
		return DUMP_JSON;
	if (strcmp(value, "csv") == 0)
		return DUMP_CSV;
	ttm_error_usage("--format: not text, json or csv: %s", value);
}

static unsigned table_parse(const char *value)
{
	if (strcmp(value, "devices") == 0)
		return DUMP_TABLE_DEVICES;
	if (strcmp(value, "processes") == 0)
		return DUMP_TABLE_PROCESSES;
	if (strcmp(value, "objects") == 0)
		return DUMP_TABLE_OBJECTS;
	ttm_error_usage(
		"--table: not devices, processes or objects: %s", value);
}

static uint64_t watch_parse(const char *value)
{
	double seconds;

	if (ttm_fraction_parse(value, &seconds) < 0 || seconds < 0.01 ||
		seconds > WATCH_MAX_S)
		ttm_error_usage(
			"--watch: not seconds from 0.01 to 86400: %s", value);
	return (uint64_t)(seconds * (double)DUMP_SECOND_NS);
}

static void own_take(struct dump_report_options *options, int option)
{
	switch (option) {
	case OPTION_BYTES:
		options->exact = true;
		break;
	case OPTION_COUNT:
		options->count = dump_option_number(
			"count", optarg, 1, UINT32_MAX);
		break;
	case OPTION_FORMAT:
		options->format = format_parse(optarg);
		break;
	case OPTION_GROUP_BY:
		options->keys = dump_keys_parse("group-by", optarg);
		break;
	case 'o':
		options->output = dump_option_file("output", optarg);
		break;
	case OPTION_TABLE:
		options->tables = table_parse(optarg);
		break;
	case OPTION_TOP:
		options->top_is_set = true;
		options->top = strcmp(optarg, "all") == 0 ?
			SIZE_MAX :
			dump_option_number("top", optarg, 0, UINT32_MAX);
		break;
	case OPTION_WATCH:
		options->watch = true;
		options->watch_ns = watch_parse(optarg);
		break;
	default:
		break;
	}
}

static void options_settle(struct dump_report_options *options)
{
	if (options->watch && options->where.from)
		ttm_error_usage("--watch: a file does not change: --from");
	if (options->count && !options->watch)
		ttm_error_usage("--count goes with --watch");
	if (options->tables && options->format != DUMP_CSV)
		ttm_error_usage("--table goes with --format csv");
	if (options->format == DUMP_JSON &&
		(options->keys || options->top_is_set))
		ttm_error_usage(
			"--format json has all objects, each for itself: "
			"neither --group-by nor --top goes with it");
	if (!options->tables)
		options->tables = DUMP_TABLES_ALL;
	if (!options->top_is_set)
		options->top = options->format == DUMP_TEXT ? TOP_DEFAULT :
							      SIZE_MAX;
	if (!options->watch)
		options->count = 1;
}

static void options_parse(
	int argc, char **argv, struct dump_report_options *ret_options)
{
	int option;

	memset(ret_options, 0, sizeof(*ret_options));
	while ((option = ttm_option_next(argc, argv, "o:", options_known)) !=
		-1)
		if (!dump_option_take(option, help, &ret_options->where,
			    &ret_options->filter))
			own_take(ret_options, option);
	dump_options_check(argc, argv, &ret_options->where);
	options_settle(ret_options);
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
	if (options.watch)
		stop_on_signals();
	status = dump_source_open(&options.where, &source);
	if (status == 0)
		status = report_watch(source, &options);
	dump_source_close(&source);
	return status;
}
