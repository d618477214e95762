/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file itself: whose it is, who may read it, what it is called, that all of it
 * is really there, and that its lock tells whether the process lives.
 */
#include <ctype.h>
#include <grp.h>
#include <pthread.h>

#include "faults/leftovers.h"

enum {
	SOMEBODY = 65534,
};

void setUp(void)
{
	leftovers_set_up();
	TEST_ASSERT_EQUAL_INT(0, rmdir(leftovers_user));
}

void tearDown(void)
{
	leftovers_tear_down();
}

static int mode_of(const char *path)
{
	struct stat st;

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, lstat(path, &st), path);
	TEST_ASSERT_TRUE(st.st_uid == geteuid());
	return st.st_mode & 07777;
}

static void test_only_its_user_may_read_it(void)
{
	leftover_make(LEFTOVER_IS_KILLED, 0, 1);
	TEST_ASSERT_EQUAL_INT(0600, mode_of(leftover_shared->path));
	TEST_ASSERT_EQUAL_INT(0700, mode_of(leftovers_user));
}

static void test_umask_changes_nothing(void)
{
	static const mode_t masks[] = { 0, 077, 0777, 0277, 0400 };
	size_t i;

	for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		mode_t before = umask(masks[i]);

		leftover_make(LEFTOVER_IS_KILLED, 0, 1);
		umask(before);
		TEST_ASSERT_EQUAL_INT(0600, mode_of(leftover_shared->path));
		TEST_ASSERT_EQUAL_INT(0700, mode_of(leftovers_user));
		TEST_ASSERT_EQUAL_INT(0, unlink(leftover_shared->path));
		TEST_ASSERT_EQUAL_INT(0, rmdir(leftovers_user));
	}
}

/* Root may enter anything; others would not get into their own directory. */
static void test_umask_changes_nothing_for_others_than_root(void)
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("the test above has shown it");
	TEST_ASSERT_EQUAL_INT(0, chmod(leftovers_dir, 01777));
	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		umask(0777);
		if (setgroups(0, NULL) ||
			setresgid(SOMEBODY, SOMEBODY, SOMEBODY) ||
			setresuid(SOMEBODY, SOMEBODY, SOMEBODY))
			_exit(98);
		leftover_fill(0, 1);
		_exit(0);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, status, "not tracked");
}

/* The same for the count of what was dropped: the next one must get at it. */
static void test_umask_does_not_shut_the_count_of_losses(void)
{
	struct leftover left[64];
	mode_t before;
	char path[256];

	TEST_ASSERT_EQUAL_INT(0, mkdir(leftovers_user, 0700));
	leftovers_overfill(left, 64, 0);
	before = umask(0777);
	leftover_make(LEFTOVER_EXITS, 0, 0);
	umask(before);
	snprintf(path, sizeof(path), "%s/lost", leftovers_user);
	TEST_ASSERT_EQUAL_INT(0600, mode_of(path));
}

static const char *digits(const char *text, int (*is)(int c), size_t *ret_len)
{
	*ret_len = 0;
	while (is(*text)) {
		text++;
		++*ret_len;
	}
	return text;
}

static void test_name_tells_the_process(void)
{
	struct segment *segment = NULL;
	struct leftover_live live;
	char why[256], start[64];
	const char *name;
	size_t len;

	leftover_keep(0, 1, false, &live);
	name = strrchr(live.left.path, '/') + 1;
	TEST_ASSERT_EQUAL_INT(
		0, segment_read(live.left.path, &segment, why, sizeof(why)));
	snprintf(start, sizeof(start), "p.%ld.%llu.", (long)live.pid,
		(unsigned long long)segment->start_time);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, strncmp(name, start, strlen(start)), name);
	TEST_ASSERT_TRUE(segment->start_time != 0);
	TEST_ASSERT_TRUE(segment->pid == (uint32_t)live.pid);
	name = digits(name + strlen(start), isxdigit, &len);
	TEST_ASSERT_EQUAL_UINT64(16, len);
	TEST_ASSERT_EQUAL_INT('\0', *name);
	segment_unref(&segment);
	leftover_release(&live);
}

static void test_names_differ(void)
{
	char first[256];

	leftover_make(LEFTOVER_IS_KILLED, 0, 1);
	memcpy(first, leftover_shared->path, sizeof(first));
	leftover_make(LEFTOVER_IS_KILLED, 0, 1);
	TEST_ASSERT_TRUE(strcmp(strrchr(first, '.'),
				 strrchr(leftover_shared->path, '.')) != 0);
}

/* Memory behind the slots of so many objects, which all were there at one time. */
static void test_memory_is_allocated_as_it_is_used(void)
{
	static const uint64_t ballast[] = { 0, 2048, 10000, 50000 };
	struct leftover_live live;
	struct stat st;
	size_t i;

	for (i = 0; i < sizeof(ballast) / sizeof(ballast[0]); i++) {
		leftover_keep(ballast[i], 1, false, &live);
		TEST_ASSERT_EQUAL_INT(0, stat(live.left.path, &st));
		TEST_ASSERT_TRUE(st.st_size > 0);
		TEST_ASSERT_TRUE(st.st_blocks * 512 <= st.st_size);
		TEST_ASSERT_TRUE(
			(uint64_t)st.st_blocks * 512 >= 4096 + 64 * ballast[i]);
		TEST_ASSERT_TRUE(ballast[i] || st.st_blocks * 512 <= 128 << 10);
		TEST_ASSERT_EQUAL_INT(1, (int)st.st_nlink);
		leftover_release(&live);
	}
}

static void test_lock_is_held_as_long_as_it_lives(void)
{
	struct leftover_live live;

	leftover_keep(10000, 1, false, &live);
	TEST_ASSERT_EQUAL_INT(live.pid, test_dir_lock_holder(live.left.path));
	kill(live.pid, SIGKILL);
	close(live.release);
	TEST_ASSERT_EQUAL_INT(live.pid, waitpid(live.pid, NULL, 0));
	TEST_ASSERT_EQUAL_INT(0, test_dir_lock_holder(live.left.path));
}

/* The first thread is gone, the process is not. */
static void *go_on(void *argument)
{
	int *fds = argument;
	char byte;

	ttmem_alloc(0, TTMEM_DRAM, 1000, 0, 1);
	if (write(fds[0], "", 1) != 1 || read(fds[1], &byte, 1) < 0)
		_exit(1);
	_exit(0);
}

static void test_lock_outlives_the_first_thread(void)
{
	int ready[2], release[2];
	pthread_t thread;
	char byte;
	pid_t pid;

	TEST_ASSERT_EQUAL_INT(0, pipe(ready));
	TEST_ASSERT_EQUAL_INT(0, pipe(release));
	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (!pid) {
		static int fds[2];

		close(release[1]);
		fds[0] = ready[1];
		fds[1] = release[0];
		leftover_fill(0, 1);
		if (pthread_create(&thread, NULL, go_on, fds))
			_exit(1);
		pthread_exit(NULL);
	}
	close(ready[1]);
	close(release[0]);
	TEST_ASSERT_EQUAL_INT(1, (int)read(ready[0], &byte, 1));
	close(ready[0]);
	TEST_ASSERT_EQUAL_INT(pid, test_dir_lock_holder(leftover_shared->path));
	close(release[1]);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, NULL, 0));
	TEST_ASSERT_EQUAL_INT(0, test_dir_lock_holder(leftover_shared->path));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_only_its_user_may_read_it);
	RUN_TEST(test_umask_changes_nothing);
	RUN_TEST(test_umask_changes_nothing_for_others_than_root);
	RUN_TEST(test_umask_does_not_shut_the_count_of_losses);
	RUN_TEST(test_name_tells_the_process);
	RUN_TEST(test_names_differ);
	RUN_TEST(test_memory_is_allocated_as_it_is_used);
	RUN_TEST(test_lock_is_held_as_long_as_it_lives);
	RUN_TEST(test_lock_outlives_the_first_thread);
	return UNITY_END();
}
