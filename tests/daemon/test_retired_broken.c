/* SPDX-License-Identifier: Apache-2.0 */
/* The file of retired processes, broken or no file of ours at all. */
#include "daemon/retired_file.h"

/* -- broken files ------------------------------------------------------------- */

static void test_from_a_corrupted_entry_on_nothing_is_loaded(void)
{
	off_t first, size, off;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	commit(1, 0);
	first = file_size(TTM_RETIRED_FILE);
	commit(2, 0);
	size = file_size(TTM_RETIRED_FILE);
	commit(3, 0);
	for (off = first; off < size; off += off < first + 80 ? 1 : 41) {
		ttm_retired_close(&file);
		byte_flip(TTM_RETIRED_FILE, off);
		TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
		TEST_ASSERT_TRUE(broken);
		pids_are("1 ");
		byte_flip(TTM_RETIRED_FILE, off);
	}
	file_reopen();
	pids_are("1 2 3 ");
}

static void bytes_clear(off_t off, size_t size)
{
	static const char zeros[80];
	int fd = openat(directory, TTM_RETIRED_FILE, O_RDWR | O_CLOEXEC);

	TEST_ASSERT_EQUAL_INT64(size, pwrite(fd, zeros, size, off));
	close(fd);
}

/* Who is killed leaves nothing behind what he had begun. */
static void test_an_entry_without_magic_is_unfinished_only_at_the_end(void)
{
	off_t first, second;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	commit(1, 0);
	first = file_size(TTM_RETIRED_FILE);
	commit(2, 0);
	second = file_size(TTM_RETIRED_FILE);
	commit(3, 0);
	ttm_retired_close(&file);
	bytes_clear(second, 8);
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	TEST_ASSERT_FALSE(broken);
	pids_are("1 2 ");
	commit(3, 0);
	ttm_retired_close(&file);
	bytes_clear(first, 8);
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	TEST_ASSERT_TRUE(broken);
	pids_are("1 ");
	ttm_retired_close(&file);
	bytes_clear(first, 80); /* its size, too */
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	TEST_ASSERT_TRUE(broken);
	pids_are("1 ");
}

static void test_a_broken_file_is_put_right_by_rewriting_it(void)
{
	off_t first;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	commit(1, 0);
	first = file_size(TTM_RETIRED_FILE);
	commit(2, 0);
	ttm_retired_close(&file);
	byte_flip(TTM_RETIRED_FILE, first + 100);
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	TEST_ASSERT_TRUE(broken);
	/* Until that worked it has its name: nothing is lost with a retry. */
	short_writes_left = 100;
	TEST_ASSERT_EQUAL_INT(-ENOSPC, compact(7, NULL));
	short_writes_left = UINT64_MAX;
	file_reopen();
	TEST_ASSERT_TRUE(broken);
	pids_are("1 ");
	TEST_ASSERT_EQUAL_INT(0, compact(7, NULL));
	TEST_ASSERT_TRUE(file_size(TTM_RETIRED_FILE ".broken") > first);
	TEST_ASSERT_EQUAL_INT64(-1, file_size(TTM_RETIRED_FILE ".new"));
	file_reopen();
	TEST_ASSERT_FALSE(broken);
	pids_are("1 ");
	TEST_ASSERT_EQUAL_UINT64(7, dropped);
}

/* Older or newer: nobody here can read it, and processes go on to end. */
static void test_what_another_version_wrote_is_kept_aside(void)
{
	static const uint32_t versions[] = { TTM_RETIRED_VERSION - 1,
		TTM_RETIRED_VERSION + 1 };
	unsigned i;
	off_t size;
	int fd;

	for (i = 0; i < 2; i++) {
		TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
		commit(1, i);
		ttm_retired_close(&file);
		fd = openat(directory, TTM_RETIRED_FILE, O_RDWR | O_CLOEXEC);
		TEST_ASSERT_EQUAL_INT64(sizeof(versions[i]),
			pwrite(fd, &versions[i], sizeof(versions[i]),
				offsetof(struct ttm_retired_head, version)));
		close(fd);
		size = file_size(TTM_RETIRED_FILE);
		TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
		TEST_ASSERT_TRUE(broken);
		pids_are("");
		TEST_ASSERT_EQUAL_INT(0, compact(1, NULL));
		TEST_ASSERT_EQUAL_INT64(
			size, file_size(TTM_RETIRED_FILE ".broken"));
		commit(2, 0);
		file_reopen();
		TEST_ASSERT_FALSE(broken);
		pids_are("2 ");
		TEST_ASSERT_EQUAL_UINT64(1, dropped);
		ttm_retired_close(&file);
		TEST_ASSERT_EQUAL_INT(
			0, unlinkat(directory, TTM_RETIRED_FILE, 0));
	}
}

/* A head that tells of more than there is costs no memory. */
static void test_lengths_that_cannot_be_are_refused(void)
{
	struct ttm_retired_head head = { .magic = TTM_RETIRED_MAGIC,
		.version = TTM_RETIRED_VERSION,
		.kind = TTM_RETIRED_PROCESS };
	int fd = openat(directory, TTM_RETIRED_FILE,
		O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	head.objects_len = UINT64_MAX;
	head.names_len = UINT32_MAX;
	head.size = UINT64_MAX;
	TEST_ASSERT_EQUAL_INT64(sizeof(head), write(fd, &head, sizeof(head)));
	close(fd);
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	TEST_ASSERT_TRUE(broken);
	pids_are("");
}

/* What a retirement can have at most. */
static const struct ttm_retired_head most = {
	.kind = TTM_RETIRED_PROCESS,
	.shares_len = TTM_DEVICES_MAX,
	.names_len = TTM_NAMES_MAX,
	.marks_len = TTM_MARKS_KEPT,
	.failures_len = TTM_FAILURES_KEPT,
	.objects_len = TTM_SURVIVORS_MAX,
};

/* As the only entry of a file: whether it is taken for one. */
static bool is_taken(const struct ttm_retired_head *lens)
{
	struct ttm_retired_entry entry;

	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
	TEST_ASSERT_EQUAL_INT(0, ttm_retired_entry_new(lens, &entry));
	TEST_ASSERT_EQUAL_INT(0, ttm_retired_commit(file, &entry));
	ttm_retired_entry_free(&entry);
	file_reopen();
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, unlinkat(directory, TTM_RETIRED_FILE, 0));
	return !broken;
}

static void test_the_largest_retirement_is_loaded_and_no_larger_one(void)
{
	struct ttm_retired_head lens = most;

	TEST_ASSERT_TRUE(is_taken(&lens));
	TEST_ASSERT_EQUAL_UINT(1, pids_len);
	lens.shares_len++;
	TEST_ASSERT_FALSE(is_taken(&lens));
	lens = most;
	lens.names_len++;
	TEST_ASSERT_FALSE(is_taken(&lens));
	lens = most;
	lens.marks_len++;
	TEST_ASSERT_FALSE(is_taken(&lens));
	lens = most;
	lens.failures_len++;
	TEST_ASSERT_FALSE(is_taken(&lens));
	lens = most;
	lens.objects_len++;
	TEST_ASSERT_FALSE(is_taken(&lens));
}

/* Of all the chips that dropped ones were on. */
static void test_a_base_has_any_number_of_shares_and_nothing_else(void)
{
	struct ttm_retired_head lens = { .kind = TTM_RETIRED_BASE,
		.shares_len = 10 * TTM_DEVICES_MAX };

	TEST_ASSERT_TRUE(is_taken(&lens));
	lens.names_len = 1;
	TEST_ASSERT_FALSE(is_taken(&lens));
	lens.names_len = 0;
	lens.marks_len = 1;
	TEST_ASSERT_FALSE(is_taken(&lens));
	lens.marks_len = 0;
	lens.failures_len = 1;
	TEST_ASSERT_FALSE(is_taken(&lens));
	lens.failures_len = 0;
	lens.objects_len = 1;
	TEST_ASSERT_FALSE(is_taken(&lens));
}

/* -- what is no file of ours ---------------------------------------------------- */

static void is_refused(void)
{
	TEST_ASSERT_EQUAL_INT(-EPERM, file_open(geteuid()));
	TEST_ASSERT_NULL(file);
	TEST_ASSERT_EQUAL_INT(0, unlinkat(directory, TTM_RETIRED_FILE, 0));
}

static void test_links_pipes_and_writable_files_are_refused(void)
{
	int fd;

	TEST_ASSERT_EQUAL_INT(
		0, symlinkat("elsewhere", directory, TTM_RETIRED_FILE));
	is_refused();
	TEST_ASSERT_EQUAL_INT64(-1, file_size("elsewhere"));
	TEST_ASSERT_EQUAL_INT(0, mkfifoat(directory, TTM_RETIRED_FILE, 0600));
	is_refused();
	fd = openat(directory, "other", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	TEST_ASSERT_EQUAL_INT(
		0, linkat(directory, "other", directory, TTM_RETIRED_FILE, 0));
	is_refused();
	TEST_ASSERT_EQUAL_INT(0, fchmod(fd, 0620));
	TEST_ASSERT_EQUAL_INT(
		0, renameat(directory, "other", directory, TTM_RETIRED_FILE));
	is_refused();
	close(fd);
}

/* With a link, any file of that filesystem could else be locked for a moment. */
static void test_a_file_that_is_refused_is_not_locked(void)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};
	int fd = openat(directory, "other", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	TEST_ASSERT_EQUAL_INT(
		0, linkat(directory, "other", directory, TTM_RETIRED_FILE, 0));
	/* Who tried to would find it busy. */
	TEST_ASSERT_EQUAL_INT(0, fcntl(fd, F_OFD_SETLK, &lock));
	is_refused();
	close(fd);
}

static void test_somebody_elses_file_is_refused(void)
{
	int fd;

	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("not root");
	fd = openat(directory, TTM_RETIRED_FILE, O_RDWR | O_CREAT | O_CLOEXEC,
		0600);
	TEST_ASSERT_EQUAL_INT(0, fchown(fd, 12345, (gid_t)-1));
	close(fd);
	is_refused();
}

static void owner_is(uid_t uid)
{
	struct stat st;

	TEST_ASSERT_EQUAL_INT(0, fstatat(directory, TTM_RETIRED_FILE, &st, 0));
	TEST_ASSERT_EQUAL_UINT(uid, st.st_uid);
	TEST_ASSERT_EQUAL_UINT(0600, st.st_mode & 07777);
}

static void test_root_makes_it_for_its_owner(void)
{
	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("not root");
	TEST_ASSERT_EQUAL_INT(0, file_open(12345));
	commit(1, 0);
	owner_is(12345);
	TEST_ASSERT_EQUAL_INT(0, compact(0, NULL));
	owner_is(12345);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_from_a_corrupted_entry_on_nothing_is_loaded);
	RUN_TEST(test_an_entry_without_magic_is_unfinished_only_at_the_end);
	RUN_TEST(test_a_broken_file_is_put_right_by_rewriting_it);
	RUN_TEST(test_what_another_version_wrote_is_kept_aside);
	RUN_TEST(test_lengths_that_cannot_be_are_refused);
	RUN_TEST(test_the_largest_retirement_is_loaded_and_no_larger_one);
	RUN_TEST(test_a_base_has_any_number_of_shares_and_nothing_else);
	RUN_TEST(test_links_pipes_and_writable_files_are_refused);
	RUN_TEST(test_a_file_that_is_refused_is_not_locked);
	RUN_TEST(test_somebody_elses_file_is_refused);
	RUN_TEST(test_root_makes_it_for_its_owner);
	return UNITY_END();
}
