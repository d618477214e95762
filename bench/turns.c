/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void descriptor_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The lines to the others would keep those from seeing the end. */
static void others_close(const struct bench_turns *turns)
{
	size_t i;

	for (i = 0; i < turns->len; i++) {
		close(turns->processes[i].from);
		close(turns->processes[i].to);
	}
}

int bench_turns_add(struct bench_turns *turns,
	bool (*body)(struct bench_turn *turn, void *argument), void *argument)
{
	int down[2] = { -1, -1 }, up[2] = { -1, -1 };
	struct bench_turn turn;
	pid_t pid = -1;
	int r = 0;

	if (turns->len == BENCH_TURNS_MAX)
		return -ENOBUFS;
	fflush(NULL);
	if (pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0 ||
		(pid = fork()) < 0)
		r = -errno;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		others_close(turns);
		close(down[1]);
		close(up[0]);
		turn = (struct bench_turn){ .from = down[0], .to = up[1] };
		exit(body(&turn, argument) ? 0 : 1);
	}
	descriptor_close(down[0]);
	descriptor_close(up[1]);
	if (r < 0) {
		descriptor_close(down[1]);
		descriptor_close(up[0]);
		return r;
	}
	turns->processes[turns->len].pid = pid;
	turns->processes[turns->len].from = up[0];
	turns->processes[turns->len].to = down[1];
	turns->len++;
	return 0;
}

/* One turn; false if the process is gone, or we are to stop. */
static bool turn_give(struct bench_turns *turns, size_t number,
	const volatile int *stop, bool *ret_enough)
{
	ssize_t n;
	char said;

	if (write(turns->processes[number].to, "", 1) != 1)
		return false;
	do
		n = read(turns->processes[number].from, &said, 1);
	while (n < 0 && errno == EINTR && !*stop);
	if (n != 1)
		return false;
	*ret_enough = said;
	return true;
}

static bool rounds_run(struct bench_turns *turns, const volatile int *stop)
{
	bool all_enough, enough = false;
	size_t i;

	do {
		all_enough = true;
		for (i = 0; i < turns->len; i++) {
			if (*stop || !turn_give(turns, i, stop, &enough))
				return false;
			all_enough &= enough;
		}
	} while (!all_enough);
	return true;
}

bool bench_turns_run(struct bench_turns *turns, const volatile int *stop)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	bool good = rounds_run(turns, stop);
	int status;
	size_t i;

	for (i = 0; i < turns->len; i++) {
		if (!good)
			kill(turns->processes[i].pid, SIGKILL);
		close(turns->processes[i].to);
		while (waitpid(turns->processes[i].pid, &status, 0) < 0 &&
			errno == EINTR)
			;
		close(turns->processes[i].from);
		good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	turns->len = 0;
	signal(SIGPIPE, before);
	return good;
}

bool bench_turn_wait(struct bench_turn *turn)
{
	ssize_t n;
	char said;

	do
		n = read(turn->from, &said, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

void bench_turn_pass(struct bench_turn *turn, bool enough)
{
	char said = enough;

	/* If nobody listens, there will be no more turn either. */
	(void)!write(turn->to, &said, 1);
}
