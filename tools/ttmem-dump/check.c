/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "catch_up.h"
#include "clock.h"
#include "command.h"
#include "common/error.h"
#include "common/process.h"
#include "out.h"
#include "place.h"
#include "proc.h"

#define POLL_NS 50000000

/* -- when ------------------------------------------------------------------------------- */

int check_settle(const struct check_options *options,
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
	if (verdict->options->json) {
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
	return options->json || options->output || options->generate ? stderr :
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
	if (options->json || options->output)
		fprintf(stderr, "%s\n", verdict->summary);
	return ttm_exit_join(status, verdict->status);
}

void check_not_checked(const struct check_options *options, const char *why)
{
	fprintf(options->json || options->output ? stderr : stdout,
		"SUMMARY: ttmem: not checked: %s\n", why);
}

/* With the source open, and the excuses read. */
static int check_with(const struct check_options *options,
	struct check_excuses *excuses, struct dump_source *source)
{
	struct check_scope scope = { .run_id = NULL };
	struct check_verdict verdict;
	const char *by;
	int status;

	if (options->wait_pid)
		process_wait(options->wait_pid);
	if (!options->where.from)
		scope.behind = !dump_catch_up(source,
			dump_base_choose(options->where.dir, &by), NULL, NULL);
	status = check_settle(options, excuses, &scope, source, &verdict);
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
