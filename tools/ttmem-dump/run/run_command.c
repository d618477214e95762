/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "ttmem-dump/clock.h"
#include "ttmem-dump/proc.h"
#include "run.h"

#define STATUS_CANNOT_RUN 126
#define STATUS_NOT_FOUND 127
#define STATUS_SIGNAL 128
#define END_TRIES 80u
#define END_MS 25
#define QUIET_LOOKS 8u
#define TOLD_MOST 1024u
/* Between two looks at the descendants, and how many times as long as one takes. */
#define LOOK_MS 100u
#define LOOK_COST 20u

/* Passed on to COMMAND. */
static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1,
	SIGUSR2 };

struct running {
	const struct run_command *command;
	pid_t pid;  /* of COMMAND; 0: it has ended */
	int status; /* as an exit status */
	int signal_fd;
	bool hurry;      /* told to end while descendants were waited for */
	sigset_t before; /* COMMAND's mask is what ours was */
	void (*child)(int);
};

/* -- starting ---------------------------------------------------------------------------- */

static int signals_open(struct running *running)
{
	sigset_t set;
	size_t i;

	/* Who started us may ignore it: then nobody tells us of an end. */
	running->child = signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &running->before);
	running->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return running->signal_fd < 0 ? -1 : 0;
}

__attribute__((noreturn)) static void command_exec(
	const struct running *running, int tell)
{
	const struct run_command *command = running->command;
	int error = 0;

	signal(SIGPIPE, command->pipe);
	signal(SIGCHLD, running->child);
	sigprocmask(SIG_SETMASK, &running->before, NULL);
	if (setenv("TTMEM_ENABLED", "1", 1) < 0 ||
		setenv("TTMEM_RUN_ID", command->run_id, 1) < 0 ||
		(command->directory &&
			setenv("TTMEM_DIR", command->directory, 1) < 0))
		error = errno;
	if (!error) {
		execvp(command->argv[0], command->argv);
		error = errno;
	}
	if (write(tell, &error, sizeof(error)) < 0)
		error = 0; /* nobody is there to be told */
	_exit(STATUS_NOT_FOUND);
}

/* 0, or the errno with which it could not be started. */
static int command_start(struct running *running)
{
	int tell[2], error = 0;
	ssize_t n;

	if (pipe2(tell, O_CLOEXEC) < 0)
		return errno;
	running->pid = fork();
	if (running->pid == 0)
		command_exec(running, tell[1]);
	if (running->pid < 0)
		error = errno;
	close(tell[1]);
	do
		n = read(tell[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(tell[0]);
	return error;
}

/* -- waiting ------------------------------------------------------------------------------ */

/* False: nobody is left. */
static bool children_reap(struct running *running)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != running->pid)
			continue;
		running->pid = 0;
		running->status = WIFSIGNALED(status) ?
			STATUS_SIGNAL + WTERMSIG(status) :
			WEXITSTATUS(status);
	}
	return pid == 0 || errno != ECHILD;
}

/* Those that the terminal sends, COMMAND has got, too. */
static void signals_pass(struct running *running)
{
	struct signalfd_siginfo info;

	while (read(running->signal_fd, &info, sizeof(info)) ==
		(ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (running->pid == 0)
			running->hurry = true;
		else if (info.ssi_code != SI_KERNEL)
			kill(running->pid, (int)info.ssi_signo);
	}
}

/* Looks at the descendants, and returns when to look again: often, but not all the time. */
static uint64_t descendants_look(const struct running *running)
{
	uint64_t begin = dump_now_ns(), took;

	run_watch_look(running->command->watch);
	took = (dump_now_ns() - begin) / 1000000;
	return begin / 1000000 + took +
		(LOOK_COST * took > LOOK_MS ? LOOK_COST * took : LOOK_MS);
}

/* Until COMMAND has ended, and then for its descendants as long as allowed. */
static bool command_wait(struct running *running)
{
	struct pollfd fd = { running->signal_fd, POLLIN, 0 };
	uint64_t settle_ms = running->command->settle_ns / 1000000;
	uint64_t end = UINT64_MAX, look = 0, next, now;
	bool left;

	for (;;) {
		signals_pass(running);
		left = children_reap(running);
		now = dump_now_ns() / 1000000;
		if (running->pid == 0 && end == UINT64_MAX)
			end = now + settle_ms;
		if (!left)
			return false;
		if (now >= look || running->hurry || now >= end)
			look = descendants_look(running);
		if (running->hurry || now >= end)
			return true;
		now = dump_now_ns() / 1000000;
		next = look < end ? look : end;
		poll(&fd, 1, next > now ? (int)(next - now) : 0);
	}
}

int run_command(const struct run_command *command, bool *ret_left)
{
	struct running running = { .command = command };
	int error;

	*ret_left = false;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (signals_open(&running) < 0) {
		ttm_error("signals: %s", strerror(errno));
		return STATUS_CANNOT_RUN;
	}
	error = command_start(&running);
	if (error) {
		children_reap(&running);
		ttm_error("%s: %s", command->argv[0], strerror(error));
		return error == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
	}
	*ret_left = command_wait(&running);
	close(running.signal_fd);
	return running.status;
}

/* -- those that are left when we were killed ------------------------------------------------- */

/* Who is told to end; and who was, as far as is remembered: once is enough. */
struct ending {
	const char *run_id;
	int number; /* signal */
	unsigned found;
	uint64_t told[TOLD_MOST];
	unsigned told_len;
};

static bool told_add(struct ending *ending, uint64_t pid)
{
	unsigned i;

	for (i = 0; i < ending->told_len; i++)
		if (ending->told[i] == pid)
			return false;
	if (ending->told_len < TOLD_MOST)
		ending->told[ending->told_len++] = pid;
	return true;
}

static void descendant_signal(void *context, uint64_t pid)
{
	struct ending *ending = context;
	char value[64];

	if (pid <= 1 || pid == (uint64_t)getpid() ||
		dump_proc_environment(pid, "TTMEM_RUN_ID", value,
			sizeof(value)) != DUMP_YES ||
		strcmp(value, ending->run_id) != 0)
		return;
	ending->found++;
	if (told_add(ending, pid))
		kill((pid_t)pid, ending->number);
}

/*
 * Until there have been none for some time; false if there still are. A process in the
 * middle of an exec has no environment for a moment, COMMAND itself too if we were killed
 * just then: one look that finds nobody says nothing.
 */
static bool descendants_go(const char *run_id, int number)
{
	struct ending ending = { .run_id = run_id, .number = number };
	unsigned tries, quiet = 0;

	for (tries = 0; tries < END_TRIES && quiet < QUIET_LOOKS; tries++) {
		ending.found = 0;
		dump_procs_each(descendant_signal, &ending);
		quiet = ending.found ? 0 : quiet + 1;
		poll(NULL, 0, END_MS);
	}
	return quiet == QUIET_LOOKS;
}

void run_descendants_end(const char run_id[RUN_ID_SIZE + 1])
{
	if (!descendants_go(run_id, SIGTERM))
		descendants_go(run_id, SIGKILL);
}
