/* SPDX-License-Identifier: Apache-2.0 */
/* Which copy is taken, and when none is; rows that move; files that change. */
#include "read/read.h"

static const char *base;
static char path[AGG_PATH_SIZE];
static struct ttmem_reader *reader;
static struct ttmem_snapshot *snapshot;
static struct agg agg;
static pid_t writer;
static int fd = -1;

/* A file that serves us, open for changes. */
static void file_make(void)
{
	struct agg_sample sample;
	struct stat st;

	own_directory(base, path, &st);
	strcat(path, "/aggregate");
	agg_free(&agg);
	agg_make(&agg, NULL, 32, 0);
	agg_sample(&agg, st.st_dev, st.st_ino, &sample);
	agg_write(&agg, path);
	if (fd >= 0)
		close(fd);
	fd = open(path, O_RDWR);
	TEST_ASSERT_TRUE(fd >= 0);
}

void setUp(void)
{
	base = test_dir_make();
	file_make();
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_open(NULL, &reader));
}

void tearDown(void)
{
	agg_writer_end(&writer);
	ttmem_snapshot_free(&snapshot);
	ttmem_reader_close(&reader);
	agg_free(&agg);
	close(fd);
	fd = -1;
	test_dir_remove();
}

static void word_set(uint64_t off, uint64_t value)
{
	TEST_ASSERT_EQUAL_INT(8, pwrite(fd, &value, 8, (off_t)off));
}

static int take(void)
{
	ttmem_snapshot_free(&snapshot);
	return ttmem_reader_snapshot(reader, ALL, &snapshot);
}

static uint64_t publication(void)
{
	return ttmem_snapshot_info(snapshot)->publication;
}

static void test_the_active_copy_is_taken(void)
{
	word_set(agg.copy_off[1] + 0x08, 2);
	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(1, publication());
	word_set(AGG_LIVE + 8, 1);
	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(2, publication());
}

/* Its writer was killed within: the other copy is whole and active. */
static void test_a_copy_half_written_is_not_looked_at(void)
{
	word_set(agg.copy_off[1] + 0x00, 3);
	word_set(agg.copy_off[1] + 0x40, UINT64_MAX);
	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(1, publication());
}

static void test_an_odd_copy_is_never_taken(void)
{
	word_set(agg.copy_off[0] + 0x00, 3);
	TEST_ASSERT_EQUAL_INT(-EAGAIN, take());
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_BROKEN, state_of(reader));
	word_set(agg.copy_off[0] + 0x00, 4);
	TEST_ASSERT_EQUAL_INT(0, take());
}

static void test_a_file_that_went_back_is_opened_anew(void)
{
	writer = agg_writer_start(path);
	word_set(agg.copy_off[0] + 0x08, 10);
	TEST_ASSERT_EQUAL_INT(0, take());
	word_set(AGG_LIVE + 8, 1); /* with publication 1 */
	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(1, publication());
}

static void test_objects_that_move_are_labelled(void)
{
	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(
		1, ttmem_snapshot_info(snapshot)->objects_consistent);
	/* Rows are being changed, and one of them just now. */
	word_set(AGG_LIVE + 0x18, 1);
	word_set(agg_object(&agg, 2), 3);
	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(
		0, ttmem_snapshot_info(snapshot)->objects_consistent);
	TEST_ASSERT_EQUAL_UINT64(8, ttmem_snapshot_objects_len(snapshot));
	/* Changed, but the copy that belongs to them is not there yet. */
	word_set(AGG_LIVE + 0x18, 2);
	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(
		0, ttmem_snapshot_info(snapshot)->objects_consistent);
	word_set(agg.copy_off[0] + 0x10, 2);
	word_set(agg_object(&agg, 2), 4);
	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(
		1, ttmem_snapshot_info(snapshot)->objects_consistent);
	TEST_ASSERT_EQUAL_UINT64(9, ttmem_snapshot_objects_len(snapshot));
}

static void test_a_new_file_under_the_name_is_taken(void)
{
	pid_t old = agg_writer_start(path);
	int old_fd = dup(fd);

	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(1, publication());
	file_make();
	word_set(agg.copy_off[0] + 0x08, 7);
	writer = agg_writer_start(path);
	TEST_ASSERT_EQUAL_INT(8, pwrite(old_fd, "\1\0\0\0\0\0\0", 8, 0x810));
	close(old_fd);
	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(7, publication());
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_SOURCE_OK, ttmem_snapshot_info(snapshot)->source);
	agg_writer_end(&old);
}

static void test_a_reader_recovers_when_ttmemd_comes_back(void)
{
	writer = agg_writer_start(path);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_OK, state_of(reader));
	agg_writer_end(&writer);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_DEAD, state_of(reader));
	TEST_ASSERT_EQUAL_INT(0, take());
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_SOURCE_DEAD, ttmem_snapshot_info(snapshot)->source);
	unlink(path);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_NEVER_STARTED, state_of(reader));
	TEST_ASSERT_EQUAL_INT(-ENODATA, take());
	test_dir_remove_tree(base);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_NO_BASE, state_of(reader));
	mkdir(base, 0700);
	file_make();
	writer = agg_writer_start(path);
	TEST_ASSERT_EQUAL_UINT32(TTMEM_SOURCE_OK, state_of(reader));
	TEST_ASSERT_EQUAL_INT(0, take());
}

static void test_snapshots_outlive_their_reader(void)
{
	TEST_ASSERT_EQUAL_INT(0, take());
	ttmem_reader_close(&reader);
	unlink(path);
	TEST_ASSERT_EQUAL_STRING(
		"op ttnn.matmul", ttmem_snapshot_object(snapshot, 0)->scope);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_the_active_copy_is_taken);
	RUN_TEST(test_a_copy_half_written_is_not_looked_at);
	RUN_TEST(test_an_odd_copy_is_never_taken);
	RUN_TEST(test_a_file_that_went_back_is_opened_anew);
	RUN_TEST(test_objects_that_move_are_labelled);
	RUN_TEST(test_a_new_file_under_the_name_is_taken);
	RUN_TEST(test_a_reader_recovers_when_ttmemd_comes_back);
	RUN_TEST(test_snapshots_outlive_their_reader);
	return UNITY_END();
}
