/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the calls that a script of ttmem-load cannot say, one per line of standard
 * input, and answers each with "done".
 *
 *   alloc ID SIZE         of DRAM, on device 0
 *   free ID
 *   guess ID SIZE CORES   a kernel whose type only its size tells
 *   stop, start           tracking
 *   exec                  the same program again: it has no objects
 *   pid                   answers with "pid N", as it sees itself
 *   close                 all descriptors but the three, and so the lock
 *   leave                 the first thread ends, another one goes on
 *   daemon                goes on in a child, in a session of its own
 *   user REAL SAVED       other users, the effective one is the real one
 *   name HEX              of the thread, from two digits per byte
 *   exit                  at once; nothing is freed
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ttmem/ttmem.h>

static char **arguments;

static void *lines_run(void *context);

/* The first thread ends, another goes on. */
static int leader_leave(void)
{
	static int started = 1;
	pthread_t thread;

	if (pthread_create(&thread, NULL, lines_run, &started) != 0)
		return -1;
	pthread_exit(NULL);
}

static int daemon_become(void)
{
	pid_t pid = fork();

	if (pid > 0)
		_exit(0);
	return pid < 0 || setsid() < 0 ? -1 : 0;
}

static int name_set(const char *digits)
{
	char name[17] = "";
	unsigned byte, i;

	for (i = 0; i < 16 && sscanf(digits + 2 * i, "%2x", &byte) == 1; i++)
		name[i] = (char)byte;
	return prctl(PR_SET_NAME, name);
}

static int word_run(const char *line)
{
	if (strcmp(line, "stop\n") == 0)
		ttmem_stop();
	else if (strcmp(line, "start\n") == 0)
		return ttmem_start(NULL);
	else if (strcmp(line, "exec\n") == 0)
		return execl("/proc/self/exe", arguments[0], "again", NULL);
	else if (strcmp(line, "close\n") == 0)
		return (int)syscall(SYS_close_range, 3u, ~0u, 0u);
	else if (strcmp(line, "leave\n") == 0)
		return leader_leave();
	else if (strcmp(line, "daemon\n") == 0)
		return daemon_become();
	else if (strcmp(line, "exit\n") == 0)
		_exit(0);
	else
		return -1;
	return 0;
}

static int line_run(const char *line)
{
	uint64_t id, size;
	uint32_t cores, user, saved;

	if (sscanf(line, "alloc %" SCNu64 " %" SCNu64, &id, &size) == 2)
		ttmem_alloc(0, TTMEM_DRAM, id, 0x1000, size);
	else if (sscanf(line, "free %" SCNu64, &id) == 1)
		ttmem_free(0, TTMEM_DRAM, id);
	else if (sscanf(line, "guess %" SCNu64 " %" SCNu64 " %" SCNu32, &id,
			 &size, &cores) == 3)
		ttmem_kernel_load(
			0, id, ttmem_kernel_type_guess(size), size, cores, 0);
	else if (sscanf(line, "user %" SCNu32 " %" SCNu32, &user, &saved) == 2)
		return setresuid(user, user, saved);
	else if (strncmp(line, "name ", 5) == 0)
		return name_set(line + 5);
	else
		return word_run(line);
	return 0;
}

static void done(void)
{
	puts("done");
	fflush(stdout);
}

static void *lines_run(void *context)
{
	char line[256];

	if (context)
		done();
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "pid\n") == 0) {
			printf("pid %d\n", (int)getpid());
			fflush(stdout);
			continue;
		}
		if (line_run(line) < 0)
			exit(1);
		done();
	}
	exit(0);
}

int main(int argc, char **argv)
{
	static int again = 1;

	arguments = argv;
	setvbuf(stdin, NULL, _IONBF, 0); /* exec takes nothing along */
	lines_run(argc > 1 ? &again : NULL);
	return 0;
}
