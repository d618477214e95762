/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/error.h"
#include "ttmem-dump/catch_up.h"
#include "ttmem-dump/clock.h"
#include "ttmem-dump/command.h"
#include "ttmem-dump/complete.h"
#include "ttmem-dump/place.h"
#include "ttmem-dump/check/check.h"

#define SETTLE_NS (10 * DUMP_SECOND_NS)
/* For ttmemd to come up. */
#define PATIENCE_NS (60 * DUMP_SECOND_NS)
#define POLL_NS 5000000

struct run {
	struct check_options options;
	struct check_excuses excuses;
	struct run_guard guard;
	struct dump_source *source;
	struct ttmem_snapshot *before;
	struct run_watch *watch;
	char run_id[RUN_ID_SIZE + 1];
	const char *base;
};

/* -- before ----------------------------------------------------------------------------- */

/* Text of as many bytes as a segment has room for. */
static int run_id_make(char ret_id[RUN_ID_SIZE + 1])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
		ttm_error("random number: %s", strerror(errno));
		return TTM_EXIT_FAILURE;
	}
	snprintf(
		ret_id, RUN_ID_SIZE + 1, "%016llx", (unsigned long long)number);
	return 0;
}

/* What was there before is not ours. */
static int before_take(struct run *run, struct dump_worth *ret_worth)
{
	ttmem_snapshot_free(&run->before);
	return dump_source_take(run->source, 0, &run->before, ret_worth);
}

static int private_wait(struct run *run)
{
	uint64_t end = dump_now_ns() + PATIENCE_NS;
	struct dump_worth worth;

	while (before_take(run, &worth) != 0) {
		if (!run_guard_is_well(&run->guard))
			return TTM_EXIT_FAILURE;
		if (dump_now_ns() > end) {
			ttm_error("ttmemd does not come up in %s",
				run->guard.directory);
			return TTM_EXIT_FAILURE;
		}
		dump_pause(POLL_NS);
	}
	return 0;
}

/* Keeps the first. */
static void reason_keep(void *context, const char *text)
{
	struct dump_worth *worth = context;

	if (!worth->hint)
		snprintf(worth->reason, sizeof(worth->reason), "%s", text);
	worth->hint = "";
}

/* Why our directories are not served, as far as ttmemd says. */
static void unserved_tell(const struct run *run, struct dump_worth *worth)
{
	worth->hint = NULL;
	if (run->before)
		dump_gaps_of_run(run->before, NULL,
			(const uint8_t *)run->run_id, TTMEM_UNKNOWN,
			reason_keep, worth);
	ttm_error("%s: your directory is not served after 5 s: %s; see "
		  "\"ttmem-dump doctor\"",
		run->base, worth->reason);
}

/*
 * Root's ttmemd serves a directory some time after it was made, and COMMAND may have
 * ended by then. So the directory is made and served before COMMAND is started.
 */
static int own_wait(struct run *run)
{
	uint64_t end = dump_now_ns() + DUMP_RESTART_NS;
	struct dump_worth worth;
	int r = dump_own_make(run->base);

	if (r < 0) {
		ttm_error("cannot make a directory in %s: %s", run->base,
			strerror(-r));
		return TTM_EXIT_NO_DATA;
	}
	while (before_take(run, &worth) != 0) {
		if (dump_now_ns() >= end) {
			unserved_tell(run, &worth);
			return TTM_EXIT_NO_DATA;
		}
		dump_pause(POLL_NS);
	}
	return 0;
}

/* Where a directory can be made: the base, or else where there is always a tmpfs. */
static const char *private_base(const char *base)
{
	int fd = dump_base_open(base);

	if (fd < 0)
		return "/dev/shm";
	close(fd);
	return access(base, W_OK) == 0 ? base : "/dev/shm";
}

static int private_start(struct run *run)
{
	dump_source_close(&run->source);
	ttmem_snapshot_free(&run->before);
	if (run_guard_start(&run->guard, private_base(run->base),
		    run->options.ttmemd, run->run_id) < 0)
		return TTM_EXIT_FAILURE;
	run->options.where.dir = run->guard.directory;
	run->base = run->guard.directory;
	if (dump_source_open(&run->options.where, &run->source) != 0)
		return TTM_EXIT_FAILURE;
	return private_wait(run) == 0 ? own_wait(run) : TTM_EXIT_FAILURE;
}

static int serve(struct run *run)
{
	struct dump_worth worth;
	int status;

	run->base = dump_base_choose(run->options.where.dir, NULL);
	if (dump_source_open(&run->options.where, &run->source) != 0)
		return TTM_EXIT_FAILURE;
	if (before_take(run, &worth) != 0 &&
		worth.state != TTMEM_SOURCE_NOT_SERVING)
		return private_start(run);
	status = own_wait(run);
	if (status)
		return status;
	return run_guard_start(&run->guard, NULL, NULL, run->run_id) < 0 ?
		TTM_EXIT_FAILURE :
		0;
}

/* Descendants that do not record where we look make the data incomplete. */
static int watch_make(struct run *run)
{
	const char *directory = run->options.where.dir ?
		run->options.where.dir :
		getenv("TTMEM_DIR");
	bool system = ttmem_snapshot_info(run->before)->mode ==
		TTMEM_MODE_SYSTEM;

	if (run_watch_make(run->base,
		    directory && *directory ? directory : NULL, system,
		    &run->watch) == 0)
		return 0;
	ttm_error("%s", strerror(ENOMEM));
	return TTM_EXIT_FAILURE;
}

/* -- after ------------------------------------------------------------------------------- */

/* Who is checked: in a directory of our own everybody is COMMAND's. */
static const uint8_t *checked_id(const struct run *run)
{
	return run->guard.directory[0] ? NULL : (const uint8_t *)run->run_id;
}

/* They are held back since the command was started. */
static bool is_told_to_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
		(sigismember(&pending, SIGINT) ||
			sigismember(&pending, SIGTERM));
}

static int run_check(struct run *run, bool left)
{
	struct check_scope scope = {
		.run_id = checked_id(run),
		.before = run->before,
		.watch = run->watch,
		.is_run = true,
		.alone = run->guard.directory[0] != '\0',
	};
	struct check_verdict verdict;
	int status;

	if (left)
		ttm_error("descendants of the command are still running");
	/* What still runs has had its time. */
	run->options.settle_ns = 0;
	status = check_settle(&run->options, &run->excuses, &scope, run->source,
		run->base, is_told_to_end, &verdict);
	if (status == 0)
		status = check_deliver(&verdict);
	else
		check_not_checked(&run->options, "a failure");
	check_verdict_free(&verdict);
	return status;
}

static int run_all(struct run *run, struct run_command *command)
{
	int status = check_excuses_read(&run->options, &run->excuses), checked;
	bool left;

	if (status == 0)
		status = run_id_make(run->run_id);
	if (status == 0)
		status = serve(run);
	if (status == 0)
		status = watch_make(run);
	if (status) {
		check_not_checked(&run->options, "the command was not run");
		return status;
	}
	command->watch = run->watch;
	command->directory = run->options.where.dir;
	status = run_command(command, &left);
	checked = run_check(run, left);
	return status ? status : checked;
}

int dump_run_main(int argc, char **argv)
{
	struct run run = { .guard = { .hold = -1, .told = -1 } };
	struct run_command command = { .run_id = run.run_id };
	int status;

	command.argv = argv +
		check_options_parse(argc, argv, true, &run.options);
	command.settle_ns = run.options.settle_ns == TTMEM_UNKNOWN ?
		SETTLE_NS :
		run.options.settle_ns;
	/* What reads our report may go: that is no reason to leave the rest. */
	command.pipe = signal(SIGPIPE, SIG_IGN);
	status = run_all(&run, &command);
	fflush(stdout);
	dump_source_close(&run.source);
	ttmem_snapshot_free(&run.before);
	run_watch_free(&run.watch);
	check_excuses_free(&run.excuses);
	run_guard_end(&run.guard);
	return status;
}
