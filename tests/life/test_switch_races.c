/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracking is turned on and off by several threads at once: whoever comes last has the
 * last word, and nothing is left running behind a switch that is off. Each story is told
 * in a child, for only once in a process is nothing decided yet.
 */
#include <glob.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_dir.h"

void ttm_testpoint(const char *label);

static const char *dir;
static __thread const char *pause_at;
static sem_t inside, go_on;
/* Another thread's paused call ends where the main thread gets to this. */
static __thread const char *end_other_at;
static pthread_t other;

void setUp(void)
{
}

void tearDown(void)
{
}

static void other_end(void)
{
	sem_post(&go_on);
	pthread_join(other, NULL);
}

void ttm_testpoint(const char *label)
{
	if (end_other_at && strcmp(label, end_other_at) == 0) {
		end_other_at = NULL;
		other_end();
	}
	if (!pause_at || strcmp(label, pause_at) != 0)
		return;
	pause_at = NULL;
	sem_post(&inside);
	sem_wait(&go_on);
}

static bool other_begin(void *(*call)(void *unused))
{
	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	if (pthread_create(&other, NULL, call, NULL) != 0)
		return false;
	sem_wait(&inside);
	return true;
}

static bool tracking_is_on(void)
{
	struct ttmem_status status = { .size = sizeof(status) };

	return ttmem_status(&status) == 0 && status.state == TTMEM_STATE_ON;
}

static size_t segments_there(void)
{
	size_t found;

	free(test_dir_segment(dir, getpid(), &found));
	return found;
}

static void *ask_and_pause(void *unused)
{
	pause_at = "switch read";
	ttmem_enabled();
	return unused;
}

/* Returns 0, or which step was wrong. */
static int start_while_another_decides(void)
{
	unsetenv("TTMEM_ENABLED");
	if (!other_begin(ask_and_pause))
		return 1;
	if (ttmem_start(NULL) != 0 || !ttmem_enabled())
		return 2;
	other_end();
	if (!ttmem_enabled())
		return 3;
	ttmem_stop();
	return ttmem_enabled() ? 4 : 0;
}

static void *allocate_and_pause(void *unused)
{
	pause_at = "process made";
	ttmem_alloc(0, TTMEM_DRAM, 1, 0x1000, 100);
	return unused;
}

static int stop_while_another_starts(void)
{
	if (!ttmem_enabled() || !other_begin(allocate_and_pause))
		return 1;
	end_other_at = "switched off";
	ttmem_stop();
	if (end_other_at)
		return 2;
	if (tracking_is_on() || ttmem_enabled() || segments_there() != 0)
		return 3;
	ttmem_start(NULL);
	return tracking_is_on() && segments_there() == 1 ? 0 : 4;
}

static size_t markers_there(void)
{
	char pattern[256];
	size_t found = 0;
	glob_t names;

	snprintf(pattern, sizeof(pattern), "%s/ttmem-*/u.%ld.*", dir,
		(long)getpid());
	if (!glob(pattern, GLOB_NOSORT, NULL, &names)) {
		found = names.gl_pathc;
		globfree(&names);
	}
	return found;
}

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = size;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* Is off, and has yet to say why. */
static void *fail_and_pause(void *unused)
{
	pause_at = "switch read";
	ttmem_start(NULL);
	return unused;
}

static int start_while_another_fails(void)
{
	struct ttmem_status status = { .size = sizeof(status) };

	limit_files(4096);
	if (!other_begin(fail_and_pause))
		return 1;
	limit_files(RLIM_INFINITY);
	if (ttmem_start(NULL) != 0 || !tracking_is_on())
		return 2;
	other_end();
	/* Whoever had the last word: who is tracked is not told to be not. */
	ttmem_status(&status);
	if (status.state == TTMEM_STATE_ON)
		return markers_there() == 0 && ttmem_enabled() ? 0 : 3;
	return markers_there() == 1 && !ttmem_enabled() ? 0 : 4;
}

static void expect_right(int (*story)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout); /* or the child says it, too */
	pid = fork();
	if (pid == 0)
		exit(story());
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	TEST_ASSERT_EQUAL_INT(0, WEXITSTATUS(status));
}

static void test_a_start_is_not_hidden_by_who_decided_before(void)
{
	expect_right(start_while_another_decides);
}

static void test_a_stop_ends_what_is_being_started(void)
{
	expect_right(stop_while_another_starts);
}

static void test_a_start_that_works_beside_one_that_does_not(void)
{
	expect_right(start_while_another_fails);
}

int main(void)
{
	int failures;

	dir = test_dir_make();
	UNITY_BEGIN();
	RUN_TEST(test_a_start_is_not_hidden_by_who_decided_before);
	RUN_TEST(test_a_stop_ends_what_is_being_started);
	RUN_TEST(test_a_start_that_works_beside_one_that_does_not);
	failures = UNITY_END();
	test_dir_remove();
	return failures;
}
