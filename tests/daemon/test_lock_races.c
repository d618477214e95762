/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody removes the lock file of a directory while a ttmemd is about to take the
 * lock: what it has then is the lock that others ask for, or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unity.h>

#include "daemon/find/watch_internal.h"
#include "support/test_dir.h"

static int directory;
static const char *moment; /* of the taking, at which the file goes ... */
static unsigned removals;  /* ... so often */
static bool another_comes;
static pid_t another;

void setUp(void)
{
	directory = open(test_dir_make(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(directory >= 0);
	moment = "lock judged";
	removals = 0;
	another_comes = false;
	another = 0;
}

void tearDown(void)
{
	if (another) {
		kill(another, SIGKILL);
		waitpid(another, NULL, 0);
	}
	close(directory);
	test_dir_remove();
}

/* Another ttmemd, which has the lock of the file there is now until it is killed. */
static void another_start(void)
{
	uint32_t holder;
	int ready[2];
	char byte;

	TEST_ASSERT_EQUAL_INT(0, pipe2(ready, O_CLOEXEC));
	fflush(NULL);
	another = fork();
	TEST_ASSERT_TRUE(another >= 0);
	if (!another) {
		another_comes = false;
		if (ttm_server_lock(directory, geteuid(), &holder) < 0 ||
			write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	TEST_ASSERT_EQUAL_INT(1, read(ready[0], &byte, 1));
	close(ready[0]);
}

void ttm_testpoint(const char *label);
void ttm_testpoint(const char *label)
{
	if (strcmp(label, moment) != 0 || !removals)
		return;
	removals--;
	TEST_ASSERT_EQUAL_INT(0, unlinkat(directory, TTM_SERVER_LOCK, 0));
	if (another_comes)
		another_start();
}

static bool lock_is_seen(pid_t by)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	int status, fd;
	pid_t asker;

	/* By a process of its own: ours has no lock in its own way. */
	asker = fork();
	TEST_ASSERT_TRUE(asker >= 0);
	if (!asker) {
		fd = openat(directory, TTM_SERVER_LOCK, O_RDWR | O_CLOEXEC);
		_exit(fd < 0 || fcntl(fd, F_GETLK, &lock) < 0 ||
			lock.l_type == F_UNLCK || lock.l_pid != by);
	}
	TEST_ASSERT_EQUAL_INT(asker, waitpid(asker, &status, 0));
	return status == 0;
}

static void lock_is_taken(const char *removed_at)
{
	uint32_t holder = 0;
	int fd;

	moment = removed_at;
	removals = 2;
	fd = ttm_server_lock(directory, geteuid(), &holder);
	TEST_ASSERT_TRUE(fd >= 0);
	TEST_ASSERT_EQUAL_UINT(0, removals);
	TEST_ASSERT_TRUE(lock_is_seen(getpid()));
	close(fd);
}

static void test_a_lock_on_a_removed_file_is_none(void)
{
	lock_is_taken("lock judged");
}

/* Nor is it refused for what it is by then, a file without a name. */
static void test_a_file_that_is_gone_is_not_judged(void)
{
	lock_is_taken("lock opened");
}

static void test_who_took_the_new_file_has_the_directory(void)
{
	uint32_t holder = 0;

	removals = 1;
	another_comes = true;
	TEST_ASSERT_EQUAL_INT(
		-EBUSY, ttm_server_lock(directory, geteuid(), &holder));
	TEST_ASSERT_EQUAL_UINT32(another, holder);
	TEST_ASSERT_TRUE(lock_is_seen(another));
}

/* It is tried again with the next look; the watch must not stay here. */
static void test_who_removes_it_all_the_time_is_not_waited_for(void)
{
	uint32_t holder = 0;

	removals = 1000000;
	TEST_ASSERT_EQUAL_INT(
		-EBUSY, ttm_server_lock(directory, geteuid(), &holder));
	TEST_ASSERT_EQUAL_UINT32(0, holder);
	TEST_ASSERT_TRUE(removals > 999000);
}

/* Renamed away and back: locked anew it is the same file, and closing the old one unlocks. */
static void test_a_lock_that_a_close_drops_is_taken_again(void)
{
	uint32_t holder = 0;
	int before = ttm_server_lock(directory, geteuid(), &holder);
	int fd = ttm_server_lock(directory, geteuid(), &holder);

	TEST_ASSERT_TRUE(before >= 0 && fd >= 0);
	close(before);
	TEST_ASSERT_FALSE(lock_is_seen(getpid()));
	TEST_ASSERT_EQUAL_INT(0, ttm_server_lock_again(fd));
	TEST_ASSERT_TRUE(lock_is_seen(getpid()));
	close(fd);
	another_start();
	fd = openat(directory, TTM_SERVER_LOCK, O_RDWR | O_CLOEXEC);
	TEST_ASSERT_EQUAL_INT(-EBUSY, ttm_server_lock_again(fd));
	close(fd);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_lock_on_a_removed_file_is_none);
	RUN_TEST(test_a_file_that_is_gone_is_not_judged);
	RUN_TEST(test_who_took_the_new_file_has_the_directory);
	RUN_TEST(test_a_lock_that_a_close_drops_is_taken_again);
	RUN_TEST(test_who_removes_it_all_the_time_is_not_waited_for);
	return UNITY_END();
}
