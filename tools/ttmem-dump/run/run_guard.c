/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "run.h"

#define END_TRIES 200
#define END_MS 25
#define LOG_NAME "ttmemd.log"
#define DONE 'd'

/* -- ttmemd ---------------------------------------------------------------------------- */

/* Root's serves also descendants that have become other users. */
static const char *ttmemd_mode(void)
{
	return geteuid() == 0 ? "system" : "user";
}

static void ttmemd_try(const char *program)
{
	execl(program, "ttmemd", "--mode", ttmemd_mode(), (char *)NULL);
}

/* Runs the ttmemd that is installed or built beside us, else that of the PATH. */
static void ttmemd_search(void)
{
	static const char *const places[] = { "ttmemd", "../ttmemd/ttmemd" };
	char self[PATH_MAX], path[PATH_MAX + 32];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	size_t i;

	self[length > 0 ? length : 0] = '\0';
	slash = strrchr(self, '/');
	for (i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		slash[1] = '\0';
		snprintf(path, sizeof(path), "%s%s", self, places[i]);
		ttmemd_try(path);
	}
	execlp("ttmemd", "ttmemd", "--mode", ttmemd_mode(), (char *)NULL);
}

static void log_open(const char *outer)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/" LOG_NAME, outer);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
		0600);
	if (fd >= 0) {
		dup2(fd, STDERR_FILENO);
		dup2(fd, STDOUT_FILENO);
	}
}

/* It keeps `told` open, so that its end can be seen. */
static pid_t ttmemd_start(const struct run_guard *guard, const char *program)
{
	pid_t self = getpid(), pid = fork();
	sigset_t none;

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != self)
		_exit(TTM_EXIT_FAILURE);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	log_open(guard->outer);
	fcntl(guard->told, F_SETFD, 0);
	unsetenv("NOTIFY_SOCKET"); /* not the service that we may be part of */
	unsetenv("TTMEM_RUN_ID");
	/* Not as an argument: all users can read those. */
	setenv("TTMEM_DIR", guard->directory, 1);
	if (program)
		ttmemd_try(program);
	else
		ttmemd_search();
	/* Into the log, of which run_guard_is_well() tells, with our name. */
	fprintf(stderr, "cannot start ttmemd%s%s: %s\n", program ? ": " : "",
		program ? program : "", strerror(errno));
	_exit(127);
}

static void ttmemd_end(pid_t pid)
{
	int tries;

	if (pid <= 0)
		return;
	kill(pid, SIGTERM);
	for (tries = 0; tries < END_TRIES; tries++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		poll(NULL, 0, END_MS);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* -- the guard ------------------------------------------------------------------------- */

/* True: we were told that all is done; false: whoever started us is gone. */
static bool end_wait(int hold)
{
	char byte = 0;
	ssize_t n;

	do
		n = read(hold, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 && byte == DONE;
}

/* What the guard tells: an error, and where. In one write. */
struct tale {
	int error;
	char outer[RUN_PATH_SIZE];
	char directory[RUN_PATH_SIZE];
};

static void guard_detach(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char *outer = getenv("TTMEM_RUN_ID");
	sigset_t all;

	/* Inside of another run: its guard must not end us before we are done. */
	if (outer)
		memset(outer, 0, strlen(outer));

	/* The terminal's signals are for COMMAND; nothing but the end of the
	 * pipe ends us. */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* Whoever reads our output must not wait for the guard. */
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
}

__attribute__((noreturn)) static void guard_main(struct run_guard *guard,
	const char *base, const char *ttmemd, const char *run_id)
{
	struct tale tale;
	pid_t pid = 0;
	bool told;

	guard_detach();
	memset(&tale, 0, sizeof(tale));
	/* The guard's own: whenever we are killed, somebody knows of it. */
	if (base)
		tale.error = run_directory_make(base, guard->outer,
			guard->directory, sizeof(guard->directory));
	if (base && tale.error == 0)
		pid = ttmemd_start(guard, ttmemd);
	if (pid < 0)
		tale.error = -errno;
	memcpy(tale.outer, guard->outer, sizeof(tale.outer));
	memcpy(tale.directory, guard->directory, sizeof(tale.directory));
	told = write(guard->told, &tale, sizeof(tale)) == sizeof(tale);
	close(guard->told);
	if (!told || !end_wait(guard->hold))
		run_descendants_end(run_id);
	ttmemd_end(pid);
	if (guard->outer[0])
		run_directory_remove(guard->outer);
	_exit(0);
}

/*
 * A child whose end sends no signal and that a plain wait does not see: so that "no
 * child is left" means no descendant of COMMAND. There is but one thread.
 */
static pid_t guard_fork(void)
{
	return (pid_t)syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
}

static int tale_hear(struct run_guard *guard, const char *base)
{
	struct tale tale;
	ssize_t n = -1;

	if (guard->pid > 0)
		n = read(guard->told, &tale, sizeof(tale));
	if (n == (ssize_t)sizeof(tale) && tale.error == 0) {
		memcpy(guard->outer, tale.outer, sizeof(tale.outer));
		memcpy(guard->directory, tale.directory,
			sizeof(tale.directory));
		return 0;
	}
	ttm_error("cannot guard the command%s%s: %s", base ? " in " : "",
		base ? base : "",
		strerror(n == (ssize_t)sizeof(tale) ? -tale.error : errno));
	return -1;
}

int run_guard_start(struct run_guard *guard, const char *base,
	const char *ttmemd, const char run_id[RUN_ID_SIZE + 1])
{
	int hold[2], told[2];

	memset(guard, 0, sizeof(*guard));
	guard->hold = guard->told = -1;
	if (pipe2(hold, O_CLOEXEC) < 0 || pipe2(told, O_CLOEXEC) < 0) {
		ttm_error("pipe: %s", strerror(errno));
		return -1;
	}
	guard->pid = guard_fork();
	if (guard->pid == 0) {
		close(hold[1]);
		close(told[0]);
		guard->hold = hold[0];
		guard->told = told[1];
		guard_main(guard, base, ttmemd, run_id);
	}
	close(hold[0]);
	close(told[1]);
	guard->hold = hold[1];
	guard->told = told[0];
	if (tale_hear(guard, base) == 0)
		return 0;
	run_guard_end(guard);
	return -1;
}

bool run_guard_is_well(const struct run_guard *guard)
{
	struct pollfd fd = { guard->told, POLLIN, 0 };
	char path[PATH_MAX + 32], text[512] = "";
	FILE *file;

	if (poll(&fd, 1, 0) == 0)
		return true;
	snprintf(path, sizeof(path), "%s/" LOG_NAME, guard->outer);
	file = fopen(path, "re");
	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	text[strcspn(text, "\n")] = '\0';
	ttm_error("%s", text[0] ? text : "ttmemd ended");
	return false;
}

void run_guard_end(struct run_guard *guard)
{
	static const char done = DONE;

	if (guard->hold >= 0) {
		if (write(guard->hold, &done, 1) != 1 && guard->outer[0])
			run_directory_remove(guard->outer); /* it was killed */
		close(guard->hold);
	}
	if (guard->told >= 0)
		close(guard->told);
	if (guard->pid > 0)
		waitpid(guard->pid, NULL, __WALL);
	guard->hold = guard->told = -1;
	guard->pid = 0;
}
