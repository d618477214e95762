/* SPDX-License-Identifier: Apache-2.0 */
#include "script_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"

void script_run_handles(struct script_run *run, size_t len)
{
	if (len <= run->handles_len)
		return;
	run->handles = realloc(run->handles, len * sizeof(run->handles[0]));
	if (!run->handles)
		abort();
	while (run->handles_len < len)
		run->handles[run->handles_len++] = UINT32_MAX;
}

/* Where the `end` is that belongs to the fork at `at`. */
static size_t block_end(const struct script_run *run, size_t at)
{
	const struct script_command *fork_line = script_at(
		run->child.script, at);
	unsigned line = fork_line->line;
	size_t depth = 1;

	while (depth) {
		const struct script_command *c = script_at(
			run->child.script, ++at);

		if (!c)
			script_fail(run->child.script, line,
				"a fork without an end");
		if (strcmp(c->verb->name, script_fork) == 0)
			depth++;
		if (strcmp(c->verb->name, script_end) == 0)
			depth--;
	}
	return at;
}

static void commands_run(struct script_run *run, size_t from, size_t to)
{
	const struct script_command *c;

	for (run->at = from; run->at < to; run->at++) {
		c = script_at(run->child.script, run->at);
		if (!c || ttm_word_load(&run->child.truth->stop))
			break;
		if (!c->verb->run)
			script_fail(run->child.script, c->line,
				"an end without a fork");
		c->verb->run(run, c);
	}
	script_run_wait(run, NULL);
}

/* A child owns none of its parent's objects, and starts with its first event. */
static void run_init(
	struct script_run *run, bool started, const struct model *parent)
{
	struct truth *truth = run->child.truth;

	run->process = &truth->processes[run->child.process];
	run->thread = truth_thread(truth, run->child.process, 0);
	run->model = model_new(run->process, run->thread, started, parent);
}

void script_run_fork(struct script_run *run, const struct script_command *c)
{
	size_t from = run->at + 1;
	size_t end = block_end(run, run->at);
	struct truth_process *process = truth_process_new(run->child.truth);
	struct model *parent;
	pid_t pid;

	if (!process)
		script_fail(run->child.script, c->line, "too many processes");
	pid = fork();
	if (pid < 0)
		script_fail(run->child.script, c->line, "fork: %s",
			strerror(errno));
	if (pid == 0) {
		ttm_word_store(&process->pid, (uint64_t)getpid());
		run->child.process = (size_t)(process -
			run->child.truth->processes);
		parent = run->model;
		run_init(run, false, parent);
		model_free(&parent);
		commands_run(run, from, end);
		exit(TTM_EXIT_OK);
	}
	ttm_word_store(&process->pid, (uint64_t)pid);
	run->at = end;
}

void script_run_wait(struct script_run *run, const struct script_command *c)
{
	struct truth *truth = run->child.truth;
	struct truth_process *process;
	int status;
	pid_t pid;
	size_t i;

	(void)c;
	while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
		for (i = 0; pid > 0 && i < truth_processes(truth); i++) {
			process = &truth->processes[i];
			if (process->pid != (uint64_t)pid || process->ended)
				continue;
			process->status = (uint64_t)status;
			process->ended = 1;
		}
}

void load_script_run(const struct load_child *child)
{
	struct script_run run = { .child = *child };

	run_init(&run, true, NULL);
	commands_run(&run, 0, SIZE_MAX);
	model_free(&run.model);
	free(run.handles);
}
