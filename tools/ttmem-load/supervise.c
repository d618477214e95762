/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/output.h"
#include "json.h"
#include "process.h"
#include "progress.h"
#include "script.h"
#include "summary.h"
#include "truth.h"
#include "worker.h"

#define PROGRESS_MS 200

struct supervisor {
	const struct load_options *options;
	struct load_script *script;
	struct truth *truth;
	struct load_wires wires;
	struct load_progress progress;
	uint64_t started_ns;
	int signals; /* signalfd */
	int status;  /* to exit with */
	/* Those that wait for `go`, in the order in which they came. */
	uint32_t *waiting;
	size_t waiting_len;
	bool ready; /* all hold, and somebody was told */
	uint64_t hold_until_ns;
	/* stdin, as far as it is any of our business. */
	bool input;
	bool input_over;
	uint64_t input_lines;
};

static void document_write(struct supervisor *s, const char *phase)
{
	int r;

	if (!s->options->json)
		return;
	r = load_json_write(
		s->options, s->truth, phase, load_now_ns() - s->started_ns);
	if (r < 0) {
		ttm_error("%s: %s", s->options->json, ttm_output_error(r));
		s->status = TTM_EXIT_FAILURE;
	}
}

static void say(const char *word, const char *text)
{
	printf("%s%s%s\n", word, text[0] ? " " : "", text);
	fflush(stdout);
}

/* -- processes --------------------------------------------------------------------- */

static void process_fork(struct supervisor *s)
{
	struct truth_process *process = truth_process_new(s->truth);
	struct load_child child = { s->options, s->script, s->truth, 0,
		&s->wires };
	pid_t pid;

	if (!process) {
		ttm_error("no room for another process");
		s->status = TTM_EXIT_FAILURE;
		return;
	}
	child.process = (size_t)(process - s->truth->processes);
	pid = fork();
	if (pid == 0) {
		ttm_word_store(&process->pid, (uint64_t)getpid());
		load_process_run(&child);
	}
	if (pid < 0) {
		ttm_error("fork: %s", strerror(errno));
		s->status = TTM_EXIT_FAILURE;
		ttm_word_store(&s->truth->stop, 1);
		return;
	}
	ttm_word_store(&process->pid, (uint64_t)pid);
}

/* Says what nobody has said: who exits with a status has spoken already. */
static void end_judge(struct supervisor *s, const struct truth_process *process)
{
	int status = (int)process->status;

	if (process->status == process->planned)
		return;
	if (WIFSIGNALED(status))
		ttm_error("process %td (pid %llu) was killed by signal %d",
			process - s->truth->processes,
			(unsigned long long)process->pid, WTERMSIG(status));
	if (s->status != TTM_EXIT_USAGE)
		s->status = WIFEXITED(status) &&
				WEXITSTATUS(status) == TTM_EXIT_USAGE ?
			TTM_EXIT_USAGE :
			TTM_EXIT_FAILURE;
}

/* False when no child is left. Those of scripts come here when orphaned. */
static bool processes_reap(struct supervisor *s)
{
	struct truth_process *process;
	int status;
	pid_t pid;
	size_t i;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (i = 0; i < truth_processes(s->truth); i++) {
			process = &s->truth->processes[i];
			if (process->pid != (uint64_t)pid || process->ended)
				continue;
			process->status = (uint64_t)status;
			process->ended = 1;
		}
	return pid == 0 || errno != ECHILD;
}

static size_t processes_living(const struct supervisor *s)
{
	size_t living = 0;
	size_t i;

	for (i = 0; i < truth_processes(s->truth); i++)
		living += s->truth->processes[i].pid != 0 &&
			!s->truth->processes[i].ended;
	return living;
}

/* -- those that wait ------------------------------------------------------------- */

static void waiting_release_first(struct supervisor *s)
{
	sem_post(&s->truth->processes[s->waiting[0]].go);
	s->waiting_len--;
	memmove(s->waiting, s->waiting + 1,
		s->waiting_len * sizeof(s->waiting[0]));
}

static void waiting_release_all(struct supervisor *s)
{
	while (s->waiting_len)
		waiting_release_first(s);
}

static void news_read(struct supervisor *s)
{
	struct load_news news;

	/* Whole, or not at all: it is shorter than PIPE_BUF. */
	if (read(s->wires.news[0], &news, sizeof(news)) != sizeof(news))
		return;
	s->waiting[s->waiting_len++] = news.process;
	if (news.kind == LOAD_NEWS_SYNC) {
		document_write(s, "sync");
		say("sync", news.text);
		/* A script on stdin decides itself what comes next. */
		if (strcmp(s->options->script, "-") == 0)
			waiting_release_all(s);
	}
}

/* Some may have died instead: the others are waited for no longer than that. */
static void hold_look(struct supervisor *s)
{
	bool over;

	if (!s->options->hold || s->script || s->waiting_len == 0 ||
		s->waiting_len < processes_living(s))
		return;
	if (!s->ready) {
		s->ready = true;
		load_progress_end(&s->progress);
		s->hold_until_ns = load_now_ns() +
			(uint64_t)(s->options->hold_seconds * 1e9);
		document_write(s, "hold");
		say("ready", "");
	}
	over = s->options->hold_seconds > 0 &&
		load_now_ns() >= s->hold_until_ns;
	if (over || s->input_over)
		waiting_release_all(s);
}

static void sync_look(struct supervisor *s)
{
	if (!s->script)
		return;
	while (s->waiting_len && (s->input_lines || s->input_over)) {
		if (s->input_lines)
			s->input_lines--;
		waiting_release_first(s);
	}
}

/* -- signals and stdin ----------------------------------------------------------- */

static void signal_read(struct supervisor *s)
{
	struct signalfd_siginfo info;
	size_t i;

	if (read(s->signals, &info, sizeof(info)) != sizeof(info) ||
		info.ssi_signo == SIGCHLD)
		return;
	/* Once: end early, but in order. Twice: now. */
	if (ttm_word_load(&s->truth->stop))
		for (i = 0; i < truth_processes(s->truth); i++)
			if (!s->truth->processes[i].ended)
				kill((pid_t)s->truth->processes[i].pid,
					SIGKILL);
	ttm_word_store(&s->truth->stop, 1);
	waiting_release_all(s);
}

/*
 * For --hold only what can close: /dev/null, which a service or a test has as its
 * stdin, would end it at once.
 */
static bool input_matters(const struct supervisor *s)
{
	struct stat st;

	if (s->script)
		return strcmp(s->options->script, "-") != 0;
	return s->options->hold && fstat(STDIN_FILENO, &st) == 0 &&
		(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
			isatty(STDIN_FILENO));
}

static void input_read(struct supervisor *s)
{
	char bytes[512];
	ssize_t len = read(STDIN_FILENO, bytes, sizeof(bytes));
	ssize_t i;

	if (len <= 0)
		s->input_over = true;
	for (i = 0; i < len; i++)
		s->input_lines += bytes[i] == '\n';
}

static int timeout_ms(const struct supervisor *s)
{
	uint64_t now = load_now_ns();

	if (s->ready && s->waiting_len && s->options->hold_seconds > 0)
		return now >= s->hold_until_ns ?
			0 :
			(int)((s->hold_until_ns - now) / 1000000 % 60000) + 1;
	return s->progress.on && !s->ready ? PROGRESS_MS : -1;
}

static void watch(struct supervisor *s)
{
	struct pollfd fds[3] = {
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = s->wires.news[0], .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};

	while (processes_reap(s)) {
		hold_look(s);
		sync_look(s);
		fds[2].fd = s->input && !s->input_over ? STDIN_FILENO : -1;
		if (poll(fds, 3, timeout_ms(s)) < 0)
			continue;
		if (fds[1].revents)
			news_read(s);
		if (fds[2].revents)
			input_read(s);
		if (fds[0].revents)
			signal_read(s);
		load_progress_look(&s->progress);
	}
}

/* -- all of it ---------------------------------------------------------------------- */

static bool supervisor_init(struct supervisor *s)
{
	size_t processes = s->script ? load_script_processes(s->script) :
				       s->options->processes;
	/* The main thread of a process counts, too. */
	size_t threads = s->script ? 1 : s->options->threads + 1;
	sigset_t set;

	s->truth = truth_new(processes, threads);
	s->waiting = calloc(processes, sizeof(s->waiting[0]));
	/* Ignored by whoever started us: nobody would hear of an end. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC);
	return s->truth && s->waiting && s->signals >= 0 &&
		pipe2(s->wires.news, O_CLOEXEC) == 0 &&
		pipe2(s->wires.life, O_CLOEXEC) == 0 &&
		prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

int load_supervise(
	const struct load_options *options, struct load_script *script)
{
	struct supervisor s = { .options = options, .script = script };
	uint64_t i;

	if (!supervisor_init(&s)) {
		ttm_error("cannot begin: %s", strerror(errno));
		return TTM_EXIT_FAILURE;
	}
	s.input = input_matters(&s);
	s.started_ns = load_now_ns();
	load_progress_start(&s.progress, options, s.truth);
	for (i = 0; i < options->processes; i++)
		process_fork(&s);
	watch(&s);
	for (i = 0; i < truth_processes(s.truth); i++)
		end_judge(&s, &s.truth->processes[i]);
	load_progress_end(&s.progress);
	document_write(&s, "end");
	if (!options->json && !options->quiet)
		load_summary(options, s.truth, load_now_ns() - s.started_ns);
	free(s.waiting);
	return s.status;
}
