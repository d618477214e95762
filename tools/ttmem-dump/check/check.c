/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "common/error.h"
#include "common/process.h"
#include "ttmem-dump/catch_up.h"
#include "ttmem-dump/clock.h"
#include "ttmem-dump/command.h"
#include "ttmem-dump/out.h"
#include "ttmem-dump/place.h"
#include "ttmem-dump/proc.h"

#define POLL_NS 50000000

/* -- when ------------------------------------------------------------------------------- */

/* Judges until it is clean, or --settle has passed. As check_judge(). */
static int judge_repeatedly(const struct check_options *options,
	struct check_excuses *excuses, const struct check_scope *scope,
	struct dump_source *source, struct check_verdict *ret_verdict)
{
	uint64_t settle_ns = options->settle_ns == TTMEM_UNKNOWN ?
		0 :
		options->settle_ns;
	uint64_t end = dump_now_ns() + settle_ns;
	int status;

	for (;;) {
		status = check_judge(
			options, excuses, scope, source, ret_verdict);
		if (status || ret_verdict->status == TTM_EXIT_OK ||
			dump_now_ns() >= end)
			return status;
		check_verdict_free(ret_verdict);
		dump_pause(POLL_NS);
	}
}

/* Whether the verdict is worth a second try: ttmemd restarts, or did meanwhile. */
static bool verdict_may_improve(const struct check_verdict *verdict, bool gone)
{
	const struct dump_worth *worth = &verdict->worth;

	if (worth->status == 0)
		return gone;
	if (worth->state == TTMEM_SOURCE_DEAD && verdict->scope.alone)
		return false;
	return dump_may_come_back(verdict->snapshot, worth);
}

int check_settle(const struct check_options *options,
	struct check_excuses *excuses, const struct check_scope *scope,
	struct dump_source *source, const char *base,
	bool (*is_told_to_end)(void), struct check_verdict *ret_verdict)
{
	struct check_scope now = *scope;
	uint64_t end = 0;
	enum dump_caught_up caught_up = DUMP_CAUGHT_UP;
	int status;

	for (;;) {
		if (base)
			caught_up = dump_catch_up(source, base, scope->is_run,
				scope->run_id, is_told_to_end);
		now.behind = caught_up != DUMP_CAUGHT_UP;
		status = judge_repeatedly(
			options, excuses, &now, source, ret_verdict);
		if (status || !base ||
			!verdict_may_improve(
				ret_verdict, caught_up == DUMP_GONE))
			return status;
		if (end == 0)
			end = dump_now_ns() + DUMP_RESTART_NS;
		if (dump_now_ns() >= end ||
			(is_told_to_end && is_told_to_end()))
			return status;
		check_verdict_free(ret_verdict);
		dump_pause(POLL_NS);
	}
}

static void process_wait(uint64_t pid)
{
	uint64_t start_time = ttm_proc_start_time(pid);

	while (start_time && dump_proc_has_ended(pid, start_time) == DUMP_NO)
		dump_pause(POLL_NS);
}

/* -- what is written ---------------------------------------------------------------------- */

static int file_write(const struct check_verdict *verdict, const char *path,
	void (*write)(const struct check_verdict *verdict, FILE *file))
{
	static struct dump_out out; /* large */

	if (dump_out_open(path, &out) != 0)
		return TTM_EXIT_FAILURE;
	write(verdict, out.file);
	return dump_out_close(&out, true);
}

static void report_write(const struct check_verdict *verdict, FILE *file)
{
	if (verdict->options->format == DUMP_JSON) {
		check_write_json(verdict, file);
		return;
	}
	check_write_text(verdict, file);
	fprintf(file, "%s\n", verdict->summary);
}

/* What is known from now on is a leak no more; but only if it is all known. */
static int baseline_update(struct check_verdict *verdict)
{
	const char *path = verdict->options->baseline;

	if (verdict->worth.status || verdict->missing.len ||
		verdict->gaps.len) {
		ttm_error("%s: not updated: data are incomplete", path);
		return 0; /* the verdict says so, too */
	}
	if (check_baseline_write(path, verdict) != 0)
		return TTM_EXIT_FAILURE;
	verdict->known.bytes += verdict->leaks.bytes;
	verdict->known.objects += verdict->leaks.objects;
	dump_groups_free(&verdict->leaks);
	check_summarise(verdict);
	return 0;
}

static int files_write(struct check_verdict *verdict)
{
	const struct check_options *options = verdict->options;
	int status = 0;

	if (options->update)
		status = ttm_exit_join(status, baseline_update(verdict));
	if (options->ack && verdict->snapshot)
		status = ttm_exit_join(status, check_acked_add(verdict));
	if (options->junit)
		status = ttm_exit_join(status,
			file_write(verdict, options->junit, check_write_junit));
	return status;
}

/* What is read by a program, or is in a file, is not mixed with the rest. */
static FILE *aside(const struct check_options *options)
{
	return options->format == DUMP_JSON || options->output ||
			options->generate ?
		stderr :
		stdout;
}

int check_deliver(struct check_verdict *verdict)
{
	const struct check_options *options = verdict->options;
	int status = files_write(verdict);

	if (options->github) {
		check_write_github(verdict, aside(options));
		fflush(stdout);
	}
	status = ttm_exit_join(
		status, file_write(verdict, options->output, report_write));
	if (options->format == DUMP_JSON || options->output)
		fprintf(stderr, "%s\n", verdict->summary);
	return ttm_exit_join(status, verdict->status);
}

void check_not_checked(const struct check_options *options, const char *why)
{
	fprintf(options->format == DUMP_JSON || options->output ? stderr :
								  stdout,
		"SUMMARY: ttmem: not checked: %s\n", why);
}

/* With the source open, and the excuses read. */
static int check_with(const struct check_options *options,
	struct check_excuses *excuses, struct dump_source *source)
{
	struct check_scope scope = { .run_id = NULL };
	struct check_verdict verdict;
	const char *base;
	int status;

	if (options->wait_pid)
		process_wait(options->wait_pid);
	base = options->where.from ? NULL :
				     dump_base_choose(options->where.dir, NULL);
	status = check_settle(
		options, excuses, &scope, source, base, NULL, &verdict);
	if (status == 0)
		status = check_deliver(&verdict);
	else
		check_not_checked(options, "a failure");
	check_verdict_free(&verdict);
	return status;
}

int dump_check_main(int argc, char **argv)
{
	struct check_options options;
	struct check_excuses excuses;
	struct dump_source *source = NULL;
	int status;

	check_options_parse(argc, argv, false, &options);
	status = check_excuses_read(&options, &excuses);
	if (status == 0)
		status = dump_source_open(&options.where, &source);
	if (status == 0)
		status = check_with(&options, &excuses, source);
	else
		check_not_checked(&options, "a failure");
	dump_source_close(&source);
	check_excuses_free(&excuses);
	return status;
}
