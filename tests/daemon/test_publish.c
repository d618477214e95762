/* SPDX-License-Identifier: Apache-2.0 */
/* The file of the aggregate: complete before it is seen, replaced, never lost. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unity.h>

#include "daemon/publish_story.h"
#include "support/test_dir.h"

static const char *dir;
static char path[128];
static int directory;
static struct story story;

void setUp(void)
{
	dir = test_dir_make();
	snprintf(path, sizeof(path), "%s/aggregate", dir);
	directory = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	TEST_ASSERT_TRUE(directory >= 0);
	story_begin(&story, directory, 0, 1);
}

void tearDown(void)
{
	story_end(&story);
	close(directory);
	test_dir_remove();
}

static void expect_story(uint64_t publication)
{
	struct snapshot s;
	struct reader r;
	const char *why;

	TEST_ASSERT_TRUE_MESSAGE(reader_open(&r, path), r.why);
	TEST_ASSERT_TRUE(reader_read(&r, 1, &s));
	TEST_ASSERT_EQUAL_UINT64(publication, s.publication);
	why = story_copy_fault(&r, &s);
	TEST_ASSERT_NULL_MESSAGE(why, why);
	TEST_ASSERT_TRUE(reader_rows(&r, &s));
	why = story_objects_fault(&r, &s);
	TEST_ASSERT_NULL_MESSAGE(why, why);
	TEST_ASSERT_EQUAL_UINT64(0, reader_load(&r, READER_SUPERSEDED));
	snapshot_free(&s);
	close(r.fd);
}

static void expect_files(size_t files)
{
	char pattern[160];
	size_t found = 0;
	glob_t all;

	snprintf(pattern, sizeof(pattern), "%s/{.[!.]*,*}", dir);
	if (!glob(pattern, GLOB_BRACE | GLOB_NOSORT, NULL, &all)) {
		found = all.gl_pathc;
		globfree(&all);
	}
	TEST_ASSERT_EQUAL_UINT64(files, found);
}

static void test_there_is_no_file_before_the_first_publication(void)
{
	ttm_publisher_heartbeat(story.publisher);
	expect_files(0);
}

static void test_the_first_file_has_the_first_publication(void)
{
	struct reader r;

	story_names(&story, 10);
	story_objects(&story, 20);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_files(1);
	expect_story(1);
	TEST_ASSERT_TRUE(reader_open(&r, path));
	TEST_ASSERT_EQUAL_UINT32(getpid(), reader_half(r.header, 0x38));
	TEST_ASSERT_EQUAL_UINT32(geteuid(), reader_half(r.header, 0x3c));
	TEST_ASSERT_EQUAL_UINT64(1, reader_word(r.header, 0x50));
	TEST_ASSERT_TRUE(reader_word(r.header, 0x48) > 0);
	TEST_ASSERT_TRUE(reader_load(&r, READER_HEARTBEAT) >=
		reader_word(r.header, 0x60));
	close(r.fd);
}

static void test_publications_follow_each_other_in_one_file(void)
{
	uint64_t inode, i;
	struct stat st;

	for (i = 1; i <= 50; i++) {
		story_names(&story, (unsigned)(i * 7 % 30));
		story_objects(&story, (unsigned)(i * 11 % 300));
		TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
		expect_story(i);
		TEST_ASSERT_EQUAL_INT(0, stat(path, &st));
		if (i > 1)
			TEST_ASSERT_EQUAL_UINT64(inode, st.st_ino);
		inode = st.st_ino;
	}
}

static void test_numbers_go_on_where_the_predecessor_was(void)
{
	story_end(&story);
	story_begin(&story, directory, 41, 1);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(42);
}

/* What has outgrown the file is in a new one; the old one says so. */
static void expect_growth(void (*grow)(void))
{
	struct snapshot s;
	struct reader r;
	struct stat st;

	story_objects(&story, 100);
	story_names(&story, 10);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_TRUE(reader_open(&r, path));
	grow();
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_EQUAL_INT(0, stat(path, &st));
	TEST_ASSERT_NOT_EQUAL(r.inode, st.st_ino);
	expect_files(1);
	expect_story(2);
	/* The old one is whole all the same. */
	TEST_ASSERT_EQUAL_UINT64(1, reader_load(&r, READER_SUPERSEDED));
	TEST_ASSERT_TRUE(reader_read(&r, 1, &s));
	TEST_ASSERT_EQUAL_UINT64(1, s.publication);
	TEST_ASSERT_NULL(story_copy_fault(&r, &s));
	TEST_ASSERT_TRUE(reader_rows(&r, &s));
	TEST_ASSERT_NULL(story_objects_fault(&r, &s));
	snapshot_free(&s);
	close(r.fd);
	story_objects(&story, story.objects_len - 50);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(3);
	story_names(&story, story.names_len - 5);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(4);
}

static void grow_tables(void)
{
	story_names(&story, 700);
	story_objects(&story, 90);
}

static void grow_objects(void)
{
	story_objects(&story, 50);
	story_objects(&story, 3000);
}

static void grow_both(void)
{
	grow_tables();
	grow_objects();
}

static void test_a_table_that_grows_gets_a_new_file(void)
{
	expect_growth(grow_tables);
}

static void test_objects_that_grow_get_a_new_file(void)
{
	expect_growth(grow_objects);
}

static void test_both_grow_at_once(void)
{
	expect_growth(grow_both);
}

static void test_what_is_expected_needs_no_further_file(void)
{
	struct stat before, after;
	unsigned i;

	ttm_objects_expect(story.publisher, 5000);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_EQUAL_INT(0, stat(path, &before));
	for (i = 500; i <= 5000; i += 500) {
		story_objects(&story, i);
		TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	}
	TEST_ASSERT_EQUAL_INT(0, stat(path, &after));
	TEST_ASSERT_EQUAL_UINT64(before.st_ino, after.st_ino);
	expect_story(11);
	ttm_objects_expect(story.publisher, UINT64_MAX); /* only asked for */
}

static void test_a_row_given_back_is_not_used_before_the_publication(void)
{
	struct ttm_object_row row = { .process = 1 };
	ttm_object_ref a, b, c;

	a = ttm_objects_add(story.publisher, &row);
	TEST_ASSERT_EQUAL_UINT32(1, a);
	ttm_objects_remove(story.publisher, a);
	ttm_objects_remove(story.publisher, a);
	ttm_objects_remove(story.publisher, 0);
	ttm_objects_remove(story.publisher, 77);
	b = ttm_objects_add(story.publisher, &row);
	TEST_ASSERT_EQUAL_UINT32(2, b);
	TEST_ASSERT_EQUAL_UINT64(1, ttm_objects_used(story.publisher));
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	c = ttm_objects_add(story.publisher, &row);
	TEST_ASSERT_EQUAL_UINT32(1, c);
	TEST_ASSERT_EQUAL_UINT64(2, ttm_objects_used(story.publisher));
}

static void test_the_table_of_objects_shrinks_with_its_end(void)
{
	struct snapshot s;
	struct reader r;

	story_objects(&story, 1000);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	story_objects(&story, 0);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(2);
	TEST_ASSERT_TRUE(reader_open(&r, path));
	TEST_ASSERT_TRUE(reader_read(&r, 1, &s));
	TEST_ASSERT_EQUAL_UINT64(0, s.objects_len);
	snapshot_free(&s);
	close(r.fd);
	story_objects(&story, 500);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(3);
}

static void test_nothing_new_leaves_the_objects_alone(void)
{
	struct reader r;
	uint64_t seq;

	story_objects(&story, 10);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_TRUE(reader_open(&r, path));
	seq = reader_load(&r, READER_OBJECTS_SEQ);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_EQUAL_UINT64(seq, reader_load(&r, READER_OBJECTS_SEQ));
	close(r.fd);
	expect_story(2);
}

/* A page that did not change is not written: a stain on it stays. */
static void test_only_pages_that_changed_are_written(void)
{
	uint64_t i, stained = 0, kept = 0, len = 0, stride = 0;
	const uint8_t *names;
	struct snapshot s;
	struct reader r;
	uint8_t *file;
	int fd;

	story_names(&story, 250);
	for (i = 0; i < 3; i++)
		TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_TRUE(reader_open(&r, path));
	TEST_ASSERT_TRUE(reader_read(&r, 1, &s));
	names = snapshot_table(&r, &s, 6, &len, &stride);
	i = r.copy_off[!reader_load(&r, READER_ACTIVE)] +
		(uint64_t)(names - s.copy);
	fd = open(path, O_RDWR | O_CLOEXEC);
	file = mmap(NULL, r.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	TEST_ASSERT_TRUE(file != MAP_FAILED);
	/* Twice with the same content: both copies have it. */
	TEST_ASSERT_EQUAL_INT(0, ttm_publish(story.publisher, story.image));
	file[i + 100 * stride + 40] = 'x';
	file[i + 240 * stride + 40] = 'x';
	ttm_image_set_part(
		story.image, TTM_TABLE_NAMES, story.names[100], 48, "y", 1);
	TEST_ASSERT_EQUAL_INT(0, ttm_publish(story.publisher, story.image));
	TEST_ASSERT_EQUAL_INT(0, ttm_publish(story.publisher, story.image));
	for (i = 0; i < 2; i++) {
		const uint8_t *at = file + r.copy_off[i] + (names - s.copy);

		kept += at[100 * stride + 40] == 'x';
		stained += at[240 * stride + 40] == 'x';
		TEST_ASSERT_EQUAL_UINT8('y', at[100 * stride + 48]);
	}
	TEST_ASSERT_EQUAL_UINT64(0, kept);
	TEST_ASSERT_EQUAL_UINT64(1, stained);
	munmap(file, r.size);
	close(fd);
	close(r.fd);
	snapshot_free(&s);
}

static void test_the_mode_is_not_left_to_the_umask(void)
{
	static const uint32_t modes[] = { 0644, 0640, 0600 };
	struct ttm_publisher_config config = { .directory_fd = directory,
		.mode = TTM_MODE_SYSTEM };
	struct ttm_publisher *publisher;
	mode_t umask_was = umask(0777);
	struct ttm_image *image;
	struct stat st;
	unsigned i;

	for (i = 0; i < 3; i++) {
		config.file_mode = modes[i];
		config.group = i ? getegid() : (uint32_t)-1;
		TEST_ASSERT_EQUAL_INT(0, ttm_image_new(&image));
		TEST_ASSERT_EQUAL_INT(
			0, ttm_publisher_new(&config, &publisher));
		TEST_ASSERT_EQUAL_INT(0, ttm_publish(publisher, image));
		TEST_ASSERT_EQUAL_INT(0, stat(path, &st));
		TEST_ASSERT_EQUAL_UINT32(modes[i], st.st_mode & 07777);
		TEST_ASSERT_EQUAL_UINT32(1, st.st_nlink);
		ttm_publisher_free(&publisher);
		ttm_image_free(&image);
	}
	umask(umask_was);
}

static int child_status(void (*act)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		act();
		_exit(0);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void look_at_lock(void)
{
	struct reader r;

	if (!reader_open(&r, path))
		_exit(2);
	_exit(reader_is_locked(&r) ? 1 : 0);
}

static void test_others_see_by_the_lock_whether_it_is_written(void)
{
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_EQUAL_INT(1, child_status(look_at_lock));
	story_names(&story, 700); /* another file */
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_EQUAL_INT(1, child_status(look_at_lock));
	ttm_publisher_free(&story.publisher);
	TEST_ASSERT_EQUAL_INT(0, child_status(look_at_lock));
	TEST_ASSERT_NULL(story.publisher);
}

static void test_leftovers_of_a_predecessor_are_removed(void)
{
	char name[160];
	int fd;

	snprintf(name, sizeof(name), "%s/.aggregate.0123456789abcdef", dir);
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
	TEST_ASSERT_TRUE(fd >= 0);
	close(fd);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_files(1);
	expect_story(1);
}

static void test_a_symlink_with_the_name_is_replaced_not_followed(void)
{
	char target[160];
	struct stat st;
	int fd;

	snprintf(target, sizeof(target), "%s/precious", dir);
	fd = open(target, O_CREAT | O_EXCL | O_WRONLY, 0600);
	TEST_ASSERT_EQUAL_INT(4, write(fd, "mine", 4));
	close(fd);
	TEST_ASSERT_EQUAL_INT(0, symlink("precious", path));
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_EQUAL_INT(0, lstat(path, &st));
	TEST_ASSERT_TRUE(S_ISREG(st.st_mode));
	TEST_ASSERT_EQUAL_INT(0, stat(target, &st));
	TEST_ASSERT_EQUAL_INT(4, st.st_size);
	expect_story(1);
}

static void test_a_directory_with_the_name_is_an_error_that_can_pass(void)
{
	story_objects(&story, 100);
	TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
	TEST_ASSERT_EQUAL_INT(-EISDIR, story_publish(&story));
	expect_files(1);
	story_objects(&story, 60);
	TEST_ASSERT_EQUAL_INT(-EISDIR, story_publish(&story));
	TEST_ASSERT_EQUAL_INT(0, rmdir(path));
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_files(1);
	expect_story(1);
}

/* A file that cannot be shown must not have eaten what the old one lacks. */
static void test_nothing_is_lost_when_a_new_file_cannot_be_shown(void)
{
	struct ttm_object_row row = { .process = 2 };
	char aside[160];
	ttm_object_ref refs[3000];
	unsigned i;

	story_names(&story, 100);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	snprintf(aside, sizeof(aside), "%s/aside", dir);
	TEST_ASSERT_EQUAL_INT(0, rename(path, aside));
	TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
	for (i = 0; i < 3000; i++)
		refs[i] = ttm_objects_add(story.publisher, &row);
	TEST_ASSERT_EQUAL_INT(-EISDIR, story_publish(&story));
	TEST_ASSERT_EQUAL_INT(0, rmdir(path));
	TEST_ASSERT_EQUAL_INT(0, rename(aside, path));
	expect_story(2);
	/* They are gone before they were seen: the old file will do. */
	for (i = 0; i < 3000; i++)
		ttm_objects_remove(story.publisher, refs[i]);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(3);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(4);
}

static void publish_limited(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };

	setrlimit(RLIMIT_FSIZE, &limit);
	_exit(story_publish(&story) == -EFBIG ? 0 : 1);
}

static void test_a_limit_of_file_sizes_is_an_error_not_a_signal(void)
{
	TEST_ASSERT_EQUAL_INT(0, child_status(publish_limited));
	expect_files(0);
}

static void test_a_publication_that_failed_stops_the_heartbeat(void)
{
	char aside[160];
	struct reader r;
	uint64_t before;

	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	TEST_ASSERT_TRUE(reader_open(&r, path));
	before = reader_load(&r, READER_HEARTBEAT);
	ttm_publisher_heartbeat(story.publisher);
	TEST_ASSERT_TRUE(reader_load(&r, READER_HEARTBEAT) > before);
	before = reader_load(&r, READER_HEARTBEAT);
	snprintf(aside, sizeof(aside), "%s/aside", dir);
	TEST_ASSERT_EQUAL_INT(0, rename(path, aside));
	TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
	story_names(&story, 700);
	TEST_ASSERT_EQUAL_INT(-EISDIR, story_publish(&story));
	ttm_publisher_heartbeat(story.publisher);
	TEST_ASSERT_EQUAL_UINT64(before, reader_load(&r, READER_HEARTBEAT));
	close(r.fd);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_there_is_no_file_before_the_first_publication);
	RUN_TEST(test_the_first_file_has_the_first_publication);
	RUN_TEST(test_publications_follow_each_other_in_one_file);
	RUN_TEST(test_numbers_go_on_where_the_predecessor_was);
	RUN_TEST(test_a_table_that_grows_gets_a_new_file);
	RUN_TEST(test_objects_that_grow_get_a_new_file);
	RUN_TEST(test_both_grow_at_once);
	RUN_TEST(test_what_is_expected_needs_no_further_file);
	RUN_TEST(test_a_row_given_back_is_not_used_before_the_publication);
	RUN_TEST(test_the_table_of_objects_shrinks_with_its_end);
	RUN_TEST(test_nothing_new_leaves_the_objects_alone);
	RUN_TEST(test_only_pages_that_changed_are_written);
	RUN_TEST(test_the_mode_is_not_left_to_the_umask);
	RUN_TEST(test_others_see_by_the_lock_whether_it_is_written);
	RUN_TEST(test_leftovers_of_a_predecessor_are_removed);
	RUN_TEST(test_a_symlink_with_the_name_is_replaced_not_followed);
	RUN_TEST(test_a_directory_with_the_name_is_an_error_that_can_pass);
	RUN_TEST(test_nothing_is_lost_when_a_new_file_cannot_be_shown);
	RUN_TEST(test_a_limit_of_file_sizes_is_an_error_not_a_signal);
	RUN_TEST(test_a_publication_that_failed_stops_the_heartbeat);
	return UNITY_END();
}
