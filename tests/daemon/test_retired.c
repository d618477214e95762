/* SPDX-License-Identifier: Apache-2.0 */
/* The file of retired processes: what was committed is there, nothing else is. */
#include "daemon/retired_file.h"

/* -- commits ------------------------------------------------------------------ */

static void test_what_was_committed_is_loaded_in_its_order(void)
{
	struct stat st;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	TEST_ASSERT_EQUAL_UINT(0, pids_len);
	commit(1, 0);
	commit(2, 5);
	commit(3, 0);
	TEST_ASSERT_EQUAL_INT64(
		file_size(TTM_RETIRED_FILE), ttm_retired_bytes(file));
	file_reopen();
	pids_are("1 2 3 ");
	TEST_ASSERT_FALSE(broken);
	commit(4, 1);
	file_reopen();
	pids_are("1 2 3 4 ");
	fstatat(directory, TTM_RETIRED_FILE, &st, 0);
	TEST_ASSERT_EQUAL_UINT(0600, st.st_mode & 0777);
}

static void file_cut(off_t size)
{
	int fd = openat(directory, TTM_RETIRED_FILE, O_RDWR | O_CLOEXEC);

	TEST_ASSERT_EQUAL_INT(0, ftruncate(fd, size));
	close(fd);
}

static void test_a_torn_tail_of_any_length_is_cut_off(void)
{
	off_t first, size;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	commit(1, 0);
	first = file_size(TTM_RETIRED_FILE);
	commit(2, 1);
	size = file_size(TTM_RETIRED_FILE);
	while (--size >= first) {
		ttm_retired_close(&file);
		file_cut(size);
		TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
		TEST_ASSERT_FALSE(broken);
		pids_are("1 ");
		TEST_ASSERT_EQUAL_INT64(first, ttm_retired_bytes(file));
		TEST_ASSERT_EQUAL_INT64(first, file_size(TTM_RETIRED_FILE));
		commit(2, 1);
	}
	file_reopen();
	pids_are("1 2 ");
}

/* Even between two pages of one write. The last one is a word: it is not divided. */
static void test_one_who_is_killed_at_any_byte_leaves_all_or_nothing(void)
{
	uint64_t bytes, size;
	int status;
	pid_t pid;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	commit(1, 0);
	bytes = ttm_retired_bytes(file);
	commit(2, 0);
	size = ttm_retired_bytes(file) - bytes;
	ttm_retired_close(&file);
	for (bytes = 0; bytes <= size - sizeof(uint64_t);
		bytes += bytes + 100 < size ? 29 : 1) {
		file_cut(size);
		TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
		pid = fork();
		if (!pid) {
			short_writes_left = bytes;
			short_writes_kill = true;
			commit(2, 0);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		TEST_ASSERT_EQUAL_INT(9, WEXITSTATUS(status));
		file_reopen();
		TEST_ASSERT_FALSE(broken);
		pids_are("1 ");
		ttm_retired_close(&file);
	}
}

static void test_a_full_filesystem_takes_nothing_away(void)
{
	uint64_t before, left;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	commit(1, 3);
	before = ttm_retired_bytes(file);
	for (left = 0; left < 2000; left += 123) {
		short_writes_left = left;
		TEST_ASSERT_EQUAL_INT(-ENOSPC, commit(2, 3));
		short_writes_left = UINT64_MAX;
		TEST_ASSERT_EQUAL_UINT64(before, ttm_retired_bytes(file));
		TEST_ASSERT_EQUAL_INT64(before, file_size(TTM_RETIRED_FILE));
	}
	TEST_ASSERT_EQUAL_INT(0, commit(3, 3));
	file_reopen();
	pids_are("1 3 ");
}

/* -- compaction ----------------------------------------------------------------- */

static void test_compaction_keeps_what_it_is_told_to_keep(void)
{
	uint32_t pid;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	for (pid = 1; pid <= 6; pid++)
		commit(pid, pid);
	TEST_ASSERT_EQUAL_INT(0, compact(3, "2456"));
	TEST_ASSERT_EQUAL_INT64(
		file_size(TTM_RETIRED_FILE), ttm_retired_bytes(file));
	commit(7, 0);
	file_reopen();
	pids_are("2 4 5 6 7 ");
	TEST_ASSERT_EQUAL_UINT64(3, dropped);
	/* The base is replaced, not kept beside the new one. */
	TEST_ASSERT_EQUAL_INT(0, compact(4, "7"));
	file_reopen();
	pids_are("7 ");
	TEST_ASSERT_EQUAL_UINT64(4, dropped);
	TEST_ASSERT_EQUAL_INT64(-1, file_size(TTM_RETIRED_FILE ".new"));
}

static void test_a_compaction_without_room_changes_nothing(void)
{
	uint64_t left;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	commit(1, 9);
	commit(2, 9);
	for (left = 0; left < 6000; left += 321) {
		short_writes_left = left;
		TEST_ASSERT_EQUAL_INT(-ENOSPC, compact(1, "12"));
		short_writes_left = UINT64_MAX;
		TEST_ASSERT_EQUAL_INT64(-1, file_size(TTM_RETIRED_FILE ".new"));
	}
	commit(3, 0);
	file_reopen();
	pids_are("1 2 3 ");
	TEST_ASSERT_EQUAL_UINT64(0, dropped);
}

static void test_what_a_killed_compaction_left_is_in_nobodys_way(void)
{
	int fd = openat(directory, TTM_RETIRED_FILE ".new",
		O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	TEST_ASSERT_EQUAL_INT64(3, write(fd, "abc", 3));
	close(fd);
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	commit(1, 0);
	TEST_ASSERT_EQUAL_INT(0, compact(1, "1"));
	file_reopen();
	pids_are("1 ");
}

/* -- a file whose owner removed it --------------------------------------------- */

static void test_a_file_that_was_removed_takes_no_more(void)
{
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	TEST_ASSERT_EQUAL_INT(0, commit(1, 0));
	TEST_ASSERT_EQUAL_INT(0, unlinkat(directory, TTM_RETIRED_FILE, 0));
	TEST_ASSERT_EQUAL_INT(-ESTALE, commit(2, 0));
	TEST_ASSERT_EQUAL_INT(-ESTALE, compact(1, NULL));
	TEST_ASSERT_EQUAL_INT64(-1, file_size(TTM_RETIRED_FILE));
	TEST_ASSERT_EQUAL_INT64(-1, file_size(TTM_RETIRED_FILE ".new"));
	file_reopen();
	TEST_ASSERT_EQUAL_INT(0, commit(2, 0));
	file_reopen();
	pids_are("2 ");
}

/* Another ttmemd serves the directory by now. */
static void test_a_file_that_another_made_meanwhile_is_not_replaced(void)
{
	struct ttm_retired *first;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	commit(1, 0);
	first = file;
	TEST_ASSERT_EQUAL_INT(0,
		renameat(directory, TTM_RETIRED_FILE, directory, "elsewhere"));
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	commit(2, 0);
	ttm_retired_close(&file);
	file = first;
	TEST_ASSERT_EQUAL_INT(-ESTALE, compact(1, NULL));
	TEST_ASSERT_EQUAL_INT(-ESTALE, commit(3, 0));
	file_reopen();
	pids_are("2 ");
}

/* Nobody could make another: who ended there is shown until the last one has. */
static void test_a_file_that_went_with_its_directory_goes_on(void)
{
	int above = directory;

	TEST_ASSERT_EQUAL_INT(0, mkdirat(above, "removed", 0700));
	directory = openat(above, "removed", O_RDONLY | O_CLOEXEC);
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	TEST_ASSERT_EQUAL_INT(0, unlinkat(directory, TTM_RETIRED_FILE, 0));
	TEST_ASSERT_EQUAL_INT(0, unlinkat(above, "removed", AT_REMOVEDIR));
	TEST_ASSERT_EQUAL_INT(0, commit(1, 0));
	ttm_retired_close(&file);
	close(directory);
	directory = above;
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_what_was_committed_is_loaded_in_its_order);
	RUN_TEST(test_a_torn_tail_of_any_length_is_cut_off);
	RUN_TEST(test_one_who_is_killed_at_any_byte_leaves_all_or_nothing);
	RUN_TEST(test_a_full_filesystem_takes_nothing_away);
	RUN_TEST(test_compaction_keeps_what_it_is_told_to_keep);
	RUN_TEST(test_a_compaction_without_room_changes_nothing);
	RUN_TEST(test_what_a_killed_compaction_left_is_in_nobodys_way);
	RUN_TEST(test_a_file_that_was_removed_takes_no_more);
	RUN_TEST(test_a_file_that_another_made_meanwhile_is_not_replaced);
	RUN_TEST(test_a_file_that_went_with_its_directory_goes_on);
	return UNITY_END();
}
