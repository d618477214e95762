/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where /proc is not mounted a segment cannot be made without a name: it gets a
 * hidden one first. All else is the same. Needs mounts of its own.
 */
#include "faults/host.h"
#include "faults/mounts.h"

static const char *dir;
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

static size_t hidden_files(void)
{
	char pattern[256];
	size_t files = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/ttmem-*/.[!.]*", dir);
	if (!glob(pattern, GLOB_NOSORT, NULL, &found)) {
		files = found.gl_pathc;
		globfree(&found);
	}
	return files;
}

static void test_tracked_all_the_same(void)
{
	char start[300];

	host_is_tracked(&plain, dir);
	TEST_ASSERT_EQUAL_UINT64(0, hidden_files());
	/* Nobody knows when it started. */
	snprintf(start, sizeof(start), "%s/ttmem-%ld/p.%ld.0.", dir,
		(long)geteuid(), (long)host_report->pid);
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(host_report->status.segment, start, strlen(start)));
}

static void fill_all(void)
{
	static char page[4096];
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/filler", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, page, sizeof(page)) > 0)
		;
	close(fd);
}

static void test_failed_start_leaves_no_hidden_file(void)
{
	const struct host full = { fill_all, NULL, NULL, 0 };

	mounts_tmpfs(dir, "size=1m");
	host_is_untracked(&full, dir, ENOSPC, true);
	TEST_ASSERT_EQUAL_UINT64(0, hidden_files());
	umount2(dir, MNT_DETACH);
}

int main(void)
{
	mounts_begin();
	mounts_tmpfs("/dev/shm", "");
	mounts_tmpfs("/proc", "");
	UNITY_BEGIN();
	RUN_TEST(test_tracked_all_the_same);
	RUN_TEST(test_failed_start_leaves_no_hidden_file);
	return UNITY_END();
}
