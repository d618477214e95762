/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On a filesystem that is full the old file shows what fits, and says how much does
 * not; nothing is lost. And without /proc, where a file cannot be made without a name,
 * it is the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <unity.h>

#include "daemon/publish/publish_self.h"
#include "daemon/publish_story.h"
#include "faults/mounts.h"
#include "support/test_dir.h"

static const char *dir;
static char path[128];
static struct story story;

void setUp(void)
{
}

void tearDown(void)
{
}

static void expect_story(uint64_t publication)
{
	struct snapshot s;
	struct reader r;

	TEST_ASSERT_TRUE_MESSAGE(reader_open(&r, path), r.why);
	TEST_ASSERT_TRUE(reader_read(&r, 1, &s));
	TEST_ASSERT_EQUAL_UINT64(publication, s.publication);
	TEST_ASSERT_NULL(story_copy_fault(&r, &s));
	TEST_ASSERT_TRUE(reader_rows(&r, &s));
	TEST_ASSERT_NULL(story_objects_fault(&r, &s));
	snapshot_free(&s);
	close(r.fd);
}

static uint64_t bytes_free(void)
{
	struct statvfs fs;

	TEST_ASSERT_EQUAL_INT(0, statvfs(dir, &fs));
	return fs.f_bfree * fs.f_frsize;
}

/* Leaves so many bytes; returns the path of what takes the others. */
static const char *fill(uint64_t leave)
{
	static char filler[160];
	int fd;

	snprintf(filler, sizeof(filler), "%s/filler", dir);
	fd = open(filler, O_CREAT | O_EXCL | O_WRONLY, 0600);
	TEST_ASSERT_TRUE(fd >= 0);
	TEST_ASSERT_EQUAL_INT(
		0, fallocate(fd, 0, 0, (off_t)(bytes_free() - leave)));
	close(fd);
	return filler;
}

static uint64_t objects_shown(void)
{
	struct snapshot s;
	struct reader r;
	uint64_t shown;

	TEST_ASSERT_TRUE_MESSAGE(reader_open(&r, path), r.why);
	TEST_ASSERT_TRUE(reader_read(&r, 1, &s));
	shown = s.objects_used;
	snapshot_free(&s);
	close(r.fd);
	return shown;
}

/* What the health row of the file says is left out. */
static void expect_unlisted(uint64_t rows, uint64_t objects)
{
	const uint8_t *health;
	uint64_t len, stride, unlisted[2] = { 0, 0 };
	struct snapshot s;
	struct reader r;

	TEST_ASSERT_TRUE_MESSAGE(reader_open(&r, path), r.why);
	TEST_ASSERT_TRUE(reader_read(&r, 1, &s));
	health = snapshot_table(&r, &s, 1, &len, &stride);
	if (!health || stride < 0xb0)
		TEST_FAIL_MESSAGE("no health");
	else
		memcpy(unlisted, health + 0xa0, sizeof(unlisted));
	TEST_ASSERT_EQUAL_UINT64(rows, unlisted[0]);
	TEST_ASSERT_EQUAL_UINT64(objects, unlisted[1]);
	snapshot_free(&s);
	close(r.fd);
}

static void test_a_full_filesystem_shows_what_fits(void)
{
	int directory = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *filler;
	uint64_t before;
	unsigned i;

	story_begin(&story, directory, 0, 3);
	story_names(&story, 100);
	story_objects(&story, 500);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	filler = fill(65536);
	before = bytes_free();
	/* What fits into the file that is there needs no room. */
	story_objects(&story, 700);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(2);
	expect_unlisted(0, 0);
	/* 1,024 objects and 256 names have a place. */
	for (i = 0; i < 5; i++) {
		story_objects(&story, 3000 - i * 100);
		story_names(&story, 700 + i * 10);
		TEST_ASSERT_EQUAL_INT(-ENOSPC, story_publish(&story));
		TEST_ASSERT_EQUAL_UINT64(before, bytes_free());
		expect_story(3 + i);
	}
	expect_unlisted(700 + 40 - 256, 2600 - objects_shown());
	TEST_ASSERT_EQUAL_INT(0, unlink(filler));
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(8);
	expect_unlisted(0, 0);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(9);
	story_end(&story);
	close(directory);
}

/* The tables keep their places: only the objects do not fit. */
static void test_objects_come_and_go_without_room(void)
{
	int directory = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *filler;
	unsigned i;

	unlink(path);
	story_begin(&story, directory, 0, 5);
	story_objects(&story, 500);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	filler = fill(65536);
	for (i = 0; i < 200; i++) {
		story_objects(&story, 2000 + i % 7 * 100);
		story_objects(&story, 1500);
		TEST_ASSERT_EQUAL_INT(-ENOSPC, story_publish(&story));
		expect_story(2 + i);
	}
	/* Rows are used again, and nothing grows with what came and went. */
	TEST_ASSERT_EQUAL_UINT64(1500, ttm_objects_used(story.publisher));
	TEST_ASSERT_TRUE(story.publisher->objects.len < 4000);
	story_objects(&story, 100);
	TEST_ASSERT_EQUAL_INT(-ENOSPC, story_publish(&story));
	/* Few enough again, once the last ones are gone. */
	story_objects(&story, 0);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_unlisted(0, 0);
	story_objects(&story, 800);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(204);
	TEST_ASSERT_EQUAL_INT(0, unlink(filler));
	story_objects(&story, 5000);
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(205);
	expect_unlisted(0, 0);
	story_end(&story);
	close(directory);
}

static void test_a_first_publication_without_room_comes_later(void)
{
	int directory = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *filler;
	struct stat st;

	unlink(path);
	filler = fill(65536);
	story_begin(&story, directory, 0, 4);
	story_objects(&story, 500);
	TEST_ASSERT_EQUAL_INT(-ENOSPC, story_publish(&story));
	TEST_ASSERT_EQUAL_INT(-1, stat(path, &st));
	ttm_publisher_heartbeat(story.publisher);
	TEST_ASSERT_EQUAL_INT(0, unlink(filler));
	TEST_ASSERT_EQUAL_INT(0, story_publish(&story));
	expect_story(1);
	story_end(&story);
	close(directory);
}

static size_t temporaries(void)
{
	char pattern[160];
	size_t found = 0;
	glob_t all;

	snprintf(pattern, sizeof(pattern), "%s/.aggregate.*", dir);
	if (!glob(pattern, GLOB_NOSORT, NULL, &all)) {
		found = all.gl_pathc;
		globfree(&all);
	}
	return found;
}

static void test_without_proc_it_is_the_same(void)
{
	mounts_tmpfs("/proc", "");
	test_a_full_filesystem_shows_what_fits();
	TEST_ASSERT_EQUAL_UINT64(0, temporaries());
	test_a_first_publication_without_room_comes_later();
	TEST_ASSERT_EQUAL_UINT64(0, temporaries());
	TEST_ASSERT_EQUAL_INT(0, umount("/proc"));
}

int main(void)
{
	int failed;

	dir = test_dir_make();
	snprintf(path, sizeof(path), "%s/aggregate", dir);
	mounts_begin();
	mounts_tmpfs(dir, "size=16m");
	UNITY_BEGIN();
	RUN_TEST(test_a_full_filesystem_shows_what_fits);
	RUN_TEST(test_objects_come_and_go_without_room);
	RUN_TEST(test_a_first_publication_without_room_comes_later);
	RUN_TEST(test_without_proc_it_is_the_same);
	failed = UNITY_END();
	umount(dir);
	test_dir_remove();
	return failed;
}
