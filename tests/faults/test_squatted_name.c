/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody took the name of the user's directory. The first process makes one
 * with a random suffix, the next ones use that, and what is under the name is
 * left alone.
 */
#include <ctype.h>
#include <sys/resource.h>

#include "faults/host.h"

static const char *dir;
static char name[256]; /* of the user's directory, as it should be */
static const struct host plain = { NULL, NULL, NULL, 0 };

void setUp(void)
{
	dir = test_dir_make();
	host_set_up();
	snprintf(name, sizeof(name), "%s/ttmem-%ld", dir, (long)geteuid());
}

void tearDown(void)
{
	host_tear_down();
	test_dir_remove();
}

/* The one directory with a suffix of 16 digits; path of `size`. */
static void suffixed(char *ret_path, size_t size)
{
	char pattern[300];
	struct stat st;
	const char *c;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s.*", name);
	TEST_ASSERT_EQUAL_INT(0, glob(pattern, 0, NULL, &found));
	TEST_ASSERT_EQUAL_UINT64(1, found.gl_pathc);
	snprintf(ret_path, size, "%s", found.gl_pathv[0]);
	globfree(&found);
	c = ret_path + strlen(name) + 1;
	TEST_ASSERT_EQUAL_UINT64(16, strlen(c));
	for (; *c; c++)
		TEST_ASSERT_TRUE(isxdigit(*c));
	TEST_ASSERT_EQUAL_INT(0, lstat(ret_path, &st));
	TEST_ASSERT_TRUE(S_ISDIR(st.st_mode));
	TEST_ASSERT_EQUAL_INT(0700, st.st_mode & 07777);
	TEST_ASSERT_TRUE(st.st_uid == geteuid());
}

static void is_tracked_beside(void)
{
	char first[300], second[300];

	host_is_tracked(&plain, dir);
	suffixed(first, sizeof(first));
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(host_report->status.segment, first, strlen(first)));
	host_is_tracked(&plain, dir);
	suffixed(second, sizeof(second));
	TEST_ASSERT_EQUAL_STRING(first, second);
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(host_report->status.segment, first, strlen(first)));
}

static void test_by_a_file(void)
{
	TEST_ASSERT_EQUAL_INT(0, mknod(name, S_IFREG | 0666, 0));
	is_tracked_beside();
}

static void test_by_a_link_to_nowhere(void)
{
	char target[300];

	TEST_ASSERT_EQUAL_INT(0, symlink("target", name));
	is_tracked_beside();
	snprintf(target, sizeof(target), "%s/target", dir);
	TEST_ASSERT_EQUAL_INT(-1, access(target, F_OK));
}

/* Even where it leads to a directory of ours. */
static void test_by_a_link_to_a_directory(void)
{
	char target[300];

	snprintf(target, sizeof(target), "%s/target", dir);
	TEST_ASSERT_EQUAL_INT(0, mkdir(target, 0700));
	TEST_ASSERT_EQUAL_INT(0, symlink("target", name));
	is_tracked_beside();
	TEST_ASSERT_EQUAL_INT(0, rmdir(target)); /* empty */
}

static void test_by_somebody_elses_directory(void)
{
	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("needs root");
	TEST_ASSERT_EQUAL_INT(0, mkdir(name, 0700));
	TEST_ASSERT_EQUAL_INT(0, chown(name, 4321, 4321));
	is_tracked_beside();
	TEST_ASSERT_EQUAL_INT(0, rmdir(name));
}

static void test_by_a_directory_that_others_may_write(void)
{
	TEST_ASSERT_EQUAL_INT(0, mkdir(name, 0700));
	TEST_ASSERT_EQUAL_INT(0, chmod(name, 0777));
	is_tracked_beside();
	TEST_ASSERT_EQUAL_INT(0, rmdir(name));
}

/* A suffix is no proof: that name can be squatted just the same. */
static void test_by_files_with_suffixes_too(void)
{
	char other[300];

	TEST_ASSERT_EQUAL_INT(0, mknod(name, S_IFREG | 0666, 0));
	snprintf(other, sizeof(other), "%s.link", name);
	TEST_ASSERT_EQUAL_INT(0, symlink(".", other));
	host_is_tracked(&plain, dir);
	TEST_ASSERT_EQUAL_INT(0, unlink(other));
	suffixed(other, sizeof(other));
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(host_report->status.segment, other, strlen(other)));
}

static void file_limit(void)
{
	struct rlimit limit = { 4096, 4096 };

	if (setrlimit(RLIMIT_FSIZE, &limit))
		_exit(98);
}

/* It is where a segment would have been. */
static void test_marker_is_in_the_suffixed_directory(void)
{
	const struct host limited = { file_limit, NULL, NULL, 0 };
	char other[300], marker[600];
	glob_t found;

	TEST_ASSERT_EQUAL_INT(0, mknod(name, S_IFREG | 0666, 0));
	host_run(&limited);
	TEST_ASSERT_EQUAL_INT(-EFBIG, host_report->status.error);
	suffixed(other, sizeof(other));
	snprintf(marker, sizeof(marker), "%s/u.%ld.*.%d.", other,
		(long)host_report->pid, EFBIG);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		0, glob(marker, 0, NULL, &found), "no marker");
	globfree(&found);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_by_a_file);
	RUN_TEST(test_by_a_link_to_nowhere);
	RUN_TEST(test_by_a_link_to_a_directory);
	RUN_TEST(test_by_somebody_elses_directory);
	RUN_TEST(test_by_a_directory_that_others_may_write);
	RUN_TEST(test_by_files_with_suffixes_too);
	RUN_TEST(test_marker_is_in_the_suffixed_directory);
	return UNITY_END();
}
