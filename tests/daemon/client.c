/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is tracked, and does what it is told on stdin, a word per line;
 * answers "ok" or "failed" on stdout. A program of its own, because a test that has
 * the aggregator's code in it cannot link with the library as well.
 *
 *   client [--new-pid-namespace | --uid N]
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>

static bool answer(bool good)
{
	const char *text = good ? "ok\n" : "failed\n";

	return write(STDOUT_FILENO, text, strlen(text)) > 0;
}

/* Without stdio's buffer: another image may read what comes next. */
static bool command_read(char *ret_command, size_t size)
{
	size_t length = 0;

	while (length < size - 1 &&
		read(STDIN_FILENO, &ret_command[length], 1) == 1) {
		if (ret_command[length] == '\n') {
			ret_command[length] = '\0';
			return true;
		}
		length++;
	}
	return false;
}

static bool image_replace(void)
{
	char name[] = "client", idle[] = "--idle";
	char *const arguments[] = { name, idle, NULL };

	setenv("TTMEM_ENABLED", "0", 1);
	execv("/proc/self/exe", arguments);
	return false;
}

static void *commands_serve(void *context);

/* The first thread ends, another goes on. */
static bool leader_leave(void)
{
	static char ok[] = "ok";
	pthread_t thread;

	if (pthread_create(&thread, NULL, commands_serve, ok) != 0)
		return false;
	pthread_exit(NULL);
}

static bool command_do(const char *command)
{
	if (strcmp(command, "start") == 0)
		return ttmem_start(NULL) == 0;
	if (strcmp(command, "stop") == 0) {
		ttmem_stop();
		return true;
	}
	if (strcmp(command, "alloc") == 0) {
		ttmem_alloc(0, TTMEM_DRAM, 1, 0x1000, 64);
		return true;
	}
	if (strcmp(command, "close") == 0)
		return syscall(SYS_close_range, 3u, ~0u, 0u) == 0;
	if (strcmp(command, "hide") == 0)
		return prctl(PR_SET_DUMPABLE, 0) == 0;
	if (strcmp(command, "exec") == 0)
		return image_replace();
	if (strcmp(command, "leave") == 0)
		return leader_leave();
	if (strcmp(command, "exit") == 0)
		_exit(0);
	return false;
}

static void *commands_serve(void *context)
{
	char command[32];

	if (context)
		answer(true);
	while (command_read(command, sizeof(command)))
		if (!answer(command_do(command)))
			break;
	_exit(0);
	return NULL;
}

/* The outer process stays until the inner one has ended. */
static void namespace_enter(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID) < 0)
		_exit(77);
	pid = fork();
	if (pid < 0)
		_exit(77);
	if (pid == 0)
		return;
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	waitpid(pid, &status, 0);
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--new-pid-namespace") == 0)
		namespace_enter();
	if (argc > 2 && strcmp(argv[1], "--uid") == 0 &&
		setresuid((uid_t)atoi(argv[2]), (uid_t)atoi(argv[2]),
			(uid_t)atoi(argv[2])) < 0)
		return 77;
	/* setresuid has made it invisible to its new user. */
	prctl(PR_SET_DUMPABLE, 1);
	answer(true);
	commands_serve(NULL);
	return 0;
}
