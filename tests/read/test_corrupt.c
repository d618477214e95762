/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a word of an aggregate says, a reader neither crashes nor asks for
 * memory that the file could not fill.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "read/read.h"

static char path[AGG_PATH_SIZE];
static struct agg agg;
static uint64_t good, refused;
static int fd;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#endif

void setUp(void)
{
	struct agg_sample sample;
	struct stat st;

	own_directory(test_dir_make(), path, &st);
	strcat(path, "/aggregate");
	agg_make(&agg, NULL, 32, 0);
	agg_sample(&agg, st.st_dev, st.st_ino, &sample);
	agg_write(&agg, path);
	fd = open(path, O_RDWR);
	TEST_ASSERT_TRUE(fd >= 0);
	good = refused = 0;
}

void tearDown(void)
{
	close(fd);
	agg_free(&agg);
	test_dir_remove();
}

/* Every row of a snapshot is asked for, and what it refers to. */
static void snapshot_walk(const struct ttmem_snapshot *s)
{
	uint64_t i, total = 0;

	for (i = 0; i < ttmem_snapshot_objects_len(s); i++) {
		const struct ttmem_object_row *o = ttmem_snapshot_object(s, i);
		const struct ttmem_process_row *p = ttmem_snapshot_process(
			s, o->process);

		total += p ? p->pid : 0;
		total += o->scope ? strlen(o->scope) : 0;
	}
	for (i = 0; i < ttmem_snapshot_histories_len(s); i++) {
		const struct ttmem_history_row *h = ttmem_snapshot_history(
			s, i);

		if (h->points_len)
			total += h->points[h->points_len - 1].time_ns;
	}
	TEST_ASSERT_TRUE(total < UINT64_MAX);
}

static void reading_is_harmless(void)
{
	struct ttmem_snapshot *snapshot = NULL;
	struct ttmem_reader *reader = reader_of(path);
	int r = ttmem_reader_snapshot(reader, ALL, &snapshot);

	if (r == 0) {
		good++;
		snapshot_walk(snapshot);
	} else {
		refused++;
		TEST_ASSERT_TRUE(r == -EPROTO || r == -EAGAIN || r == -ENODATA);
	}
	ttmem_snapshot_free(&snapshot);
	ttmem_reader_close(&reader);
}

static const uint64_t values[] = { 0, 1, 2, 7, 8, AGG_COPY_SIZE, 4095, 4096,
	1u << 20, 1u << 26, UINT32_MAX, 1ull << 32, 1ull << 40, INT64_MAX,
	1ull << 63, UINT64_MAX, UINT64_MAX - 7 };

#define VALUES (sizeof(values) / sizeof(values[0]))

/* Brings the bytes from here on, and the checksum, into the file. */
static void bytes_put(uint64_t off, size_t size)
{
	TEST_ASSERT_EQUAL_INT64(
		size, pwrite(fd, agg.bytes + off, size, (off_t)off));
	TEST_ASSERT_EQUAL_INT64(
		8, pwrite(fd, agg.bytes + 0x7f8, 8, (off_t)0x7f8));
}

static void word_try(uint64_t off, uint64_t value, int sealed)
{
	uint64_t kept = agg_get64(&agg, off);

	agg_put64(&agg, off, value);
	if (sealed)
		agg_seal(&agg);
	bytes_put(off, 8);
	reading_is_harmless();
	agg_put64(&agg, off, kept);
	if (sealed)
		agg_seal(&agg);
	bytes_put(off, 8);
}

static void words_try(uint64_t from, uint64_t to, int sealed)
{
	uint64_t off, kept;
	size_t i;

	for (off = from; off < to; off += 8) {
		kept = agg_get64(&agg, off);
		for (i = 0; i < VALUES; i++)
			word_try(off, values[i], sealed);
		word_try(off, kept + 1, sealed);
		word_try(off, kept - 1, sealed);
		word_try(off, kept + 8, sealed);
		word_try(off, kept * 2, sealed);
		word_try(off, kept ^ 1ull << 35, sealed);
	}
	TEST_ASSERT_TRUE(good > 0);
}

static void test_the_sample_is_good(void)
{
	reading_is_harmless();
	TEST_ASSERT_EQUAL_UINT64(1, good);
}

static void test_every_word_of_the_header(void)
{
	words_try(0, 0xc0, 1);
	TEST_ASSERT_TRUE(refused > 0);
	words_try(AGG_LIVE, AGG_LIVE + 0x20, 0);
}

static void test_every_byte_of_the_header_is_sealed(void)
{
	unsigned at;

	for (at = 0; at < 0x800; at++) {
		agg.bytes[at] ^= 0x10;
		bytes_put(at, 1);
		reading_is_harmless();
		agg.bytes[at] ^= 0x10;
		bytes_put(at, 1);
	}
	TEST_ASSERT_EQUAL_UINT64(0, good);
}

static void test_every_word_of_a_copy_s_directory(void)
{
	words_try(agg.copy_off[0],
		agg.copy_off[0] + AGG_COPY_TABLES + 32 * AGG_TABLES, 0);
	TEST_ASSERT_TRUE(refused > 0);
}

static void test_every_word_of_the_rows(void)
{
	uint64_t end = agg.table_off[AGG_DISTRIBUTIONS] + 0x60;
	uint64_t step = 1 + 99 / test_scale(100), off, n = 0;

	for (off = AGG_COPY_SIZE; off < end; off += 8 * step) {
		word_try(agg.copy_off[0] + off, values[n++ % VALUES], 0);
		word_try(agg.copy_off[0] + off, values[n++ % VALUES], 0);
	}
	for (off = agg.objects_off; off < agg.size; off += 8)
		word_try(off, values[n++ % VALUES], 0);
}

static void test_every_length(void)
{
	size_t size = agg.size;

	for (agg.size = 0; agg.size < size; agg.size += size / 300 + 1) {
		agg_write(&agg, path);
		reading_is_harmless();
	}
	agg.size = size;
	TEST_ASSERT_EQUAL_UINT64(0, good);
}

/* The file shrinks under a reader that has it open. */
static void test_truncated_while_open(void)
{
	struct ttmem_snapshot *snapshot = NULL;
	struct ttmem_reader *reader;
	off_t size;

	reader = reader_of(path);
	TEST_ASSERT_EQUAL_INT(0, ttmem_reader_snapshot(reader, ALL, &snapshot));
	ttmem_snapshot_free(&snapshot);
	for (size = (off_t)agg.size - 8; size > 0; size -= 4001) {
		int r;

		TEST_ASSERT_EQUAL_INT(0, truncate(path, size));
		r = ttmem_reader_snapshot(reader, ALL, &snapshot);
		TEST_ASSERT_TRUE(r == -EPROTO || r == -ENODATA);
	}
	ttmem_reader_close(&reader);
}

int main(void)
{
#if !defined(IS_SANITIZED)
	struct rlimit limit = { 256u << 20, 256u << 20 };

	setrlimit(RLIMIT_AS, &limit);
#endif
	UNITY_BEGIN();
	RUN_TEST(test_the_sample_is_good);
	RUN_TEST(test_every_word_of_the_header);
	RUN_TEST(test_every_byte_of_the_header_is_sealed);
	RUN_TEST(test_every_word_of_a_copy_s_directory);
	RUN_TEST(test_every_word_of_the_rows);
	RUN_TEST(test_every_length);
	RUN_TEST(test_truncated_while_open);
	return UNITY_END();
}
