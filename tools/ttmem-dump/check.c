/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "common/error.h"
#include "common/process.h"
#include "out.h"
#include "proc.h"

#define POLL_NS 50000000
#define SECOND_NS 1000000000ull
/* For ttmemd to notice that a process has ended. */
#define RETIRE_NS (10 * SECOND_NS)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void pause_poll(void)
{
	static const struct timespec pause = { 0, POLL_NS };

	nanosleep(&pause, NULL);
}

/* -- when ------------------------------------------------------------------------------- */

int check_settle(const struct check_options *options,
	const struct check_scope *scope, struct dump_source *source,
	struct check_verdict *ret_verdict)
{
	uint64_t settle_ns = options->settle_ns == TTMEM_UNKNOWN ?
		0 :
		options->settle_ns;
	uint64_t end = now_ns() + settle_ns;
	int status;

	for (;;) {
		status = check_judge(options, scope, source, ret_verdict);
		if (status || ret_verdict->status == TTM_EXIT_OK ||
			now_ns() >= end)
			return status;
		check_verdict_free(ret_verdict);
		pause_poll();
	}
}

/* Whether ttmemd still believes that it runs. */
static bool process_is_listed(struct dump_source *source, uint64_t pid)
{
	struct ttmem_snapshot *snapshot;
	const struct ttmem_process_row *p;
	struct dump_worth worth;
	bool listed = false;
	size_t i;

	dump_source_take(source, 0, &snapshot, &worth);
	for (i = 0; snapshot && worth.status == 0 &&
		i < ttmem_snapshot_processes_len(snapshot);
		i++) {
		p = ttmem_snapshot_process(snapshot, i);
		if (p->pid == pid && p->state != TTMEM_PROCESS_EXITED &&
			p->state != TTMEM_PROCESS_DIED)
			listed = true;
	}
	ttmem_snapshot_free(&snapshot);
	return listed;
}

static void process_wait(struct dump_source *source, uint64_t pid)
{
	uint64_t start_time = ttm_proc_start_time(pid), end;

	while (start_time && dump_proc_is_gone(pid, start_time) == DUMP_NO)
		pause_poll();
	end = now_ns() + RETIRE_NS;
	while (process_is_listed(source, pid) && now_ns() < end)
		pause_poll();
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
	int status = verdict->worth.status;

	if (status == 0 && !verdict->missing.len && !verdict->gaps.len)
		status = check_baseline_write(
			verdict->options->baseline, verdict);
	else
		ttm_error("%s: not updated: data are incomplete",
			verdict->options->baseline);
	if (status)
		return status;
	verdict->known.bytes += verdict->leaks.bytes;
	verdict->known.objects += verdict->leaks.objects;
	if (!verdict->gaps.len && !verdict->missing.len)
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

int check_deliver(struct check_verdict *verdict)
{
	const struct check_options *options = verdict->options;
	int status = files_write(verdict);

	/* Not into a document, nor into a file. */
	if (options->github) {
		check_write_github(verdict,
			options->json || options->output ? stderr : stdout);
		fflush(stdout);
	}
	status = ttm_exit_join(
		status, file_write(verdict, options->output, report_write));
	if (options->json || options->output)
		fprintf(stderr, "%s\n", verdict->summary);
	return ttm_exit_join(status, verdict->status);
}

int dump_check_main(int argc, char **argv)
{
	static const struct check_scope everything;
	struct check_options options;
	struct check_verdict verdict;
	struct dump_source *source;
	int status;

	check_options_parse(argc, argv, false, &options);
	status = dump_source_open(&options.where, &source);
	if (status)
		return status;
	if (options.wait_pid)
		process_wait(source, options.wait_pid);
	status = check_settle(&options, &everything, source, &verdict);
	if (status == 0)
		status = check_deliver(&verdict);
	else
		puts("SUMMARY: ttmem: not checked: a failure");
	check_verdict_free(&verdict);
	dump_source_close(&source);
	return status;
}
