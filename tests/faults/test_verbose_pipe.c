/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line that TTMEM_VERBOSE asks for costs the program nothing, wherever its
 * standard error goes: into a pipe that nobody reads any more, or a full one, or a file
 * that may not grow.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"

void setUp(void)
{
	test_dir_make();
	setenv("TTMEM_DIR", "/nowhere", 1);
	setenv("TTMEM_VERBOSE", "1", 1);
}

void tearDown(void)
{
	unsetenv("TTMEM_VERBOSE");
	test_dir_remove();
}

/* The status of a child whose first event fails to start, stderr being `fd`. */
static int untracked_with(int fd, void (*prepare)(void))
{
	struct ttmem_status status = { .size = sizeof(status) };
	sigset_t pending;
	int how;
	pid_t pid = fork();

	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		prepare();
		dup2(fd, STDERR_FILENO);
		ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
		if (ttmem_status(&status) || status.error != -ENOENT)
			_exit(1);
		sigpending(&pending);
		_exit(sigismember(&pending, SIGPIPE) ? 2 : 0);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &how, 0));
	return how;
}

static void nothing(void)
{
}

static void hold_sigpipe(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void raise_sigpipe_held(void)
{
	hold_sigpipe();
	raise(SIGPIPE);
}

static void test_nobody_reads_the_pipe(void)
{
	int ends[2];

	TEST_ASSERT_EQUAL_INT(0, pipe(ends));
	close(ends[0]);
	TEST_ASSERT_EQUAL_INT(0, untracked_with(ends[1], nothing));
	TEST_ASSERT_EQUAL_INT(0, untracked_with(ends[1], hold_sigpipe));
	/* The program's own one is not taken away. */
	TEST_ASSERT_EQUAL_INT(
		2, WEXITSTATUS(untracked_with(ends[1], raise_sigpipe_held)));
	close(ends[1]);
}

/* Blocks for good if it writes; the test's time limit would tell. */
static void test_pipe_is_full(void)
{
	char bytes[4096];
	int ends[2];

	memset(bytes, 'x', sizeof(bytes));
	TEST_ASSERT_EQUAL_INT(0, pipe(ends));
	TEST_ASSERT_EQUAL_INT(0, fcntl(ends[1], F_SETFL, O_NONBLOCK));
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		;
	TEST_ASSERT_EQUAL_INT(0, fcntl(ends[1], F_SETFL, 0));
	TEST_ASSERT_EQUAL_INT(0, untracked_with(ends[1], nothing));
	close(ends[0]);
	close(ends[1]);
}

static void hold_files_as_they_are(void)
{
	const struct rlimit nothing = { 0, 0 };

	setrlimit(RLIMIT_FSIZE, &nothing);
}

/* A byte more would be SIGXFSZ. */
static void test_file_is_at_its_limit(void)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC);

	TEST_ASSERT_TRUE(fd >= 0);
	TEST_ASSERT_EQUAL_INT(0, untracked_with(fd, hold_files_as_they_are));
	close(fd);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_nobody_reads_the_pipe);
	RUN_TEST(test_pipe_is_full);
	RUN_TEST(test_file_is_at_its_limit);
	return UNITY_END();
}
