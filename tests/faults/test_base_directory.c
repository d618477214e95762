/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A base directory that will not do: the program runs as without tracking, and
 * says why it is not tracked when asked.
 */
#include <grp.h>
#include <sys/vfs.h>

#include "faults/host.h"

enum {
	SOMEBODY = 65534,
	TMPFS = 0x01021994,
};

static const char *dir;
static char path[1024];
static const struct host plain = { NULL, NULL, NULL, 0 };

void setUp(void)
{
	dir = test_dir_make();
	host_set_up();
}

void tearDown(void)
{
	host_tear_down();
	test_dir_remove();
}

/* A place beside or below the good directory becomes the base. */
static const char *base_is(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	setenv("TTMEM_DIR", path, 1);
	return path;
}

static void become_somebody(void)
{
	if (geteuid() == 0 &&
		(setgroups(0, NULL) ||
			setresgid(SOMEBODY, SOMEBODY, SOMEBODY) ||
			setresuid(SOMEBODY, SOMEBODY, SOMEBODY)))
		_exit(98);
}

static void needs_root(void)
{
	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("needs root");
}

static void test_missing(void)
{
	host_is_untracked(&plain, base_is("missing"), ENOENT, false);
}

static void test_the_directory_above_missing(void)
{
	host_is_untracked(&plain, base_is("missing/too"), ENOENT, false);
}

static void test_a_file(void)
{
	base_is("file");
	TEST_ASSERT_EQUAL_INT(0, mknod(path, S_IFREG | 0600, 0));
	host_is_untracked(&plain, path, ENOTDIR, false);
}

static void test_a_link_to_nowhere(void)
{
	base_is("link");
	TEST_ASSERT_EQUAL_INT(0, symlink("nowhere", path));
	host_is_untracked(&plain, path, ENOENT, false);
}

static void test_a_link_to_itself(void)
{
	base_is("link");
	TEST_ASSERT_EQUAL_INT(0, symlink("link", path));
	host_is_untracked(&plain, path, ELOOP, false);
}

/* Who names the base is trusted with it. */
static void test_a_link_to_a_good_one_is_good(void)
{
	char target[256];

	snprintf(target, sizeof(target), "%s/target", dir);
	TEST_ASSERT_EQUAL_INT(0, mkdir(target, 0755));
	base_is("link");
	TEST_ASSERT_EQUAL_INT(0, symlink("target", path));
	host_is_tracked(&plain, target);
}

static void test_somebody_elses(void)
{
	needs_root();
	TEST_ASSERT_EQUAL_INT(0, chown(dir, 4321, 4321));
	host_is_untracked(&plain, dir, EPERM, false);
}

static void test_open_to_others_and_not_sticky(void)
{
	TEST_ASSERT_EQUAL_INT(0, chmod(dir, 0777));
	host_is_untracked(&plain, dir, EPERM, false);
	TEST_ASSERT_EQUAL_INT(0, chmod(dir, 0770));
	host_is_untracked(&plain, dir, EPERM, false);
}

static void test_open_to_others_and_sticky_is_good(void)
{
	TEST_ASSERT_EQUAL_INT(0, chmod(dir, 01777));
	host_is_tracked(&plain, dir);
}

static void test_not_on_tmpfs(void)
{
	char disk[] = "/var/tmp/ttmem-test.XXXXXX";
	struct statfs fs;

	TEST_ASSERT_NOT_NULL(mkdtemp(disk));
	TEST_ASSERT_EQUAL_INT(0, statfs(disk, &fs));
	setenv("TTMEM_DIR", disk, 1);
	if (fs.f_type != TMPFS)
		host_is_untracked(&plain, disk, EMEDIUMTYPE, false);
	/* Nothing was made there. */
	TEST_ASSERT_EQUAL_INT(0, rmdir(disk));
	if (fs.f_type == TMPFS)
		TEST_IGNORE_MESSAGE("/var/tmp is on tmpfs, too");
}

static void test_not_to_be_entered(void)
{
	const struct host other = { become_somebody, NULL, NULL, 0 };

	base_is("closed");
	TEST_ASSERT_EQUAL_INT(0, mkdir(path, geteuid() ? 0 : 0700));
	TEST_ASSERT_EQUAL_INT(0, chmod(dir, 0755));
	host_is_untracked(&other, path, EACCES, false);
	chmod(path, 0700);
}

static void test_not_to_be_written(void)
{
	const struct host other = { become_somebody, NULL, NULL, 0 };

	TEST_ASSERT_EQUAL_INT(0, chmod(dir, geteuid() ? 0555 : 0755));
	host_is_untracked(&other, dir, EACCES, false);
	chmod(dir, 0755);
}

/* Makes dir/aaa.../bbb... of that length, the base from now on. */
static void long_base_is(size_t length)
{
	size_t half = strlen(dir) + 1 + 120;

	snprintf(path, sizeof(path), "%s/", dir);
	memset(path + strlen(path), 'a', 120);
	path[half] = '\0';
	mkdir(path, 0755);
	path[half] = '/';
	memset(path + half + 1, 'b', length - half - 1);
	path[length] = '\0';
	TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0755));
	setenv("TTMEM_DIR", path, 1);
}

/* Unmarked: the tools could not look there either. */
static void test_a_path_too_long(void)
{
	long_base_is(256);
	host_is_untracked(&plain, path, ENAMETOOLONG, false);
	long_base_is(300);
	host_is_untracked(&plain, path, ENAMETOOLONG, false);
}

static void test_a_path_too_long_with_the_user_directory(void)
{
	long_base_is(255);
	host_is_untracked(&plain, path, ENAMETOOLONG, false);
}

static void test_a_long_path_is_good(void)
{
	long_base_is(200);
	host_is_tracked(&plain, path);
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(host_report->status.segment, path, 200));
}

/* Tracked, but the status has no room for its name: better none than a part. */
static void test_a_path_too_long_for_the_status(void)
{
	long_base_is(235);
	host_is_tracked(&plain, path);
	TEST_ASSERT_EQUAL_STRING("", host_report->status.segment);
}

static void test_start_returns_the_reason(void)
{
	struct ttmem_config config = { sizeof(config), NULL, 0 };
	const struct host starts = { NULL, NULL, &config, -ENOENT };

	config.dir = "/proc/no-such-directory";
	host_run(&starts);
	TEST_ASSERT_EQUAL_UINT32(
		TTMEM_STATE_UNTRACKED, host_report->status.state);
	TEST_ASSERT_EQUAL_INT(-ENOENT, host_report->status.error);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_missing);
	RUN_TEST(test_the_directory_above_missing);
	RUN_TEST(test_a_file);
	RUN_TEST(test_a_link_to_nowhere);
	RUN_TEST(test_a_link_to_itself);
	RUN_TEST(test_a_link_to_a_good_one_is_good);
	RUN_TEST(test_somebody_elses);
	RUN_TEST(test_open_to_others_and_not_sticky);
	RUN_TEST(test_open_to_others_and_sticky_is_good);
	RUN_TEST(test_not_on_tmpfs);
	RUN_TEST(test_not_to_be_entered);
	RUN_TEST(test_not_to_be_written);
	RUN_TEST(test_a_path_too_long);
	RUN_TEST(test_a_path_too_long_with_the_user_directory);
	RUN_TEST(test_a_long_path_is_good);
	RUN_TEST(test_a_path_too_long_for_the_status);
	RUN_TEST(test_start_returns_the_reason);
	return UNITY_END();
}
