/* SPDX-License-Identifier: Apache-2.0 */
/* The file of retired processes: what was committed is there, nothing else is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unity.h>

#include "aggregate/retired.h"
#include "aggregate/short_writes.h"
#include "support/test_dir.h"

static const char *path;
static int directory;
static struct ttm_retired *file;
static bool broken;

/* What was loaded: the pids, in their order. */
static uint32_t pids[64];
static unsigned pids_len;
static uint64_t dropped;

static void loaded(void *context, const struct ttm_retired_entry *entry)
{
	TEST_ASSERT_TRUE(context == &file);
	if (entry->head->kind == TTM_RETIRED_BASE)
		dropped += entry->head->dropped_processes;
	else if (pids_len < 64)
		pids[pids_len++] = entry->process->pid;
}

static int file_open(uint32_t uid)
{
	pids_len = 0;
	dropped = 0;
	broken = false;
	return ttm_retired_open(directory, uid, loaded, &file, &file, &broken);
}

static void file_reopen(void)
{
	ttm_retired_close(&file);
	TEST_ASSERT_EQUAL_INT(0, file_open(geteuid()));
}

void setUp(void)
{
	path = test_dir_make();
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(directory >= 0);
	file = NULL;
}

void tearDown(void)
{
	ttm_retired_close(&file);
	close(directory);
	test_dir_remove();
}

static struct ttm_retired_entry entry_of(uint32_t pid, uint64_t objects)
{
	struct ttm_retired_head lens = {
		.kind = TTM_RETIRED_PROCESS,
		.shares_len = 1,
		.names_len = 2,
		.marks_len = 1,
		.failures_len = 1,
		.objects_len = objects,
	};
	struct ttm_retired_entry entry;

	TEST_ASSERT_EQUAL_INT(0, ttm_retired_entry_new(&lens, &entry));
	entry.process->pid = pid;
	memcpy(entry.process->uuid, &pid, sizeof(pid));
	if (objects)
		entry.objects[objects - 1].id = pid;
	return entry;
}

static int commit(uint32_t pid, uint64_t objects)
{
	struct ttm_retired_entry entry = entry_of(pid, objects);
	int r = ttm_retired_commit(file, &entry);

	ttm_retired_entry_free(&entry);
	TEST_ASSERT_NULL(entry.head);
	return r;
}

static void pids_are(const char *expected)
{
	char found[256] = "";
	size_t at = 0;
	unsigned i;

	for (i = 0; i < pids_len; i++)
		at += (size_t)snprintf(
			found + at, sizeof(found) - at, "%u ", pids[i]);
	TEST_ASSERT_EQUAL_STRING(expected, found);
}

/* `context` is a text with the digits of the pids to keep, or NULL: all. */
static bool is_kept(void *context, const uint8_t uuid[16])
{
	return !context || strchr(context, '0' + uuid[0]);
}

static int compact(uint64_t dropped_processes, const char *kept)
{
	struct ttm_retired_head lens = {
		.kind = TTM_RETIRED_BASE,
		.shares_len = 2,
		.dropped_processes = dropped_processes,
	};
	struct ttm_retired_entry base;
	char pids_kept[16] = "";
	int r;

	if (kept)
		snprintf(pids_kept, sizeof(pids_kept), "%s", kept);
	TEST_ASSERT_EQUAL_INT(0, ttm_retired_entry_new(&lens, &base));
	r = ttm_retired_compact(file, &base, is_kept, kept ? pids_kept : NULL);
	ttm_retired_entry_free(&base);
	return r;
}

static off_t file_size(const char *name)
{
	struct stat st;

	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ?
		st.st_size :
		-1;
}

static void byte_flip(const char *name, off_t off)
{
	int fd = openat(directory, name, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	TEST_ASSERT_EQUAL_INT64(1, pread(fd, &byte, 1, off));
	byte ^= 0x41;
	TEST_ASSERT_EQUAL_INT64(1, pwrite(fd, &byte, 1, off));
	close(fd);
}

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
	RUN_TEST(test_compaction_keeps_what_it_is_told_to_keep);
	RUN_TEST(test_a_compaction_without_room_changes_nothing);
	RUN_TEST(test_what_a_killed_compaction_left_is_in_nobodys_way);
	RUN_TEST(test_a_file_that_was_removed_takes_no_more);
	RUN_TEST(test_a_file_that_another_made_meanwhile_is_not_replaced);
	RUN_TEST(test_a_file_that_went_with_its_directory_goes_on);
	return UNITY_END();
}
