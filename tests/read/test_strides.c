/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of an older or a newer ttmemd, and tables that only one of us knows. */
#include "read/read.h"

static char path[AGG_PATH_SIZE];
static struct ttmem_snapshot *snapshot;
static struct agg agg;
static struct stat st;

void setUp(void)
{
	own_directory(test_dir_make(), path, &st);
	strcat(path, "/aggregate");
}

void tearDown(void)
{
	ttmem_snapshot_free(&snapshot);
	agg_free(&agg);
	test_dir_remove();
}

static int snapshot_take(void)
{
	struct ttmem_reader *reader = reader_of(path);
	int r;

	agg_write(&agg, path);
	ttmem_snapshot_free(&snapshot);
	r = ttmem_reader_snapshot(reader, ALL, &snapshot);
	ttmem_reader_close(&reader);
	return r;
}

/* The sample with all rows `more` bytes longer. */
static void sample_make(int more, uint64_t object_stride)
{
	struct agg_table tables[AGG_TABLES] = { { 0, 0 } };
	struct agg_sample sample;
	unsigned i;

	for (i = 1; i < AGG_TABLES; i++) {
		tables[i].capacity = 4;
		tables[i].stride = agg_stride(i) + (uint32_t)more;
	}
	agg_make(&agg, tables, 32, object_stride);
	agg_sample(&agg, st.st_dev, st.st_ino, &sample);
}

static void test_longer_rows_are_cut(void)
{
	sample_make(72, 96);
	TEST_ASSERT_EQUAL_INT(0, snapshot_take());
	TEST_ASSERT_EQUAL_UINT64(2, ttmem_snapshot_devices_len(snapshot));
	TEST_ASSERT_EQUAL_UINT64(agg_sample_number(AGG_DEVICES, 1, 0x3c8),
		ttmem_snapshot_device(snapshot, 1)->figures[8].free_bytes);
	TEST_ASSERT_EQUAL_STRING("/user.slice/x.scope",
		ttmem_snapshot_process(snapshot, 2)->cgroup);
	TEST_ASSERT_EQUAL_UINT64(7, ttmem_snapshot_objects_len(snapshot));
	TEST_ASSERT_EQUAL_UINT64(
		16384, ttmem_snapshot_object(snapshot, 6)->bytes);
	TEST_ASSERT_EQUAL_UINT64(
		3, ttmem_snapshot_history(snapshot, 0)->points_len);
}

static void test_shorter_rows_end_in_zeros(void)
{
	struct agg_table tables[AGG_TABLES] = { { 0, 0 } };
	uint64_t at;

	tables[AGG_DEVICES].capacity = 4;
	tables[AGG_DEVICES].stride = 0x148; /* without the figures */
	agg_make(&agg, tables, 0, 0);
	agg_use(&agg, 0, AGG_DEVICES, 0);
	agg_use(&agg, 0, AGG_DEVICES, 1);
	at = agg_row(&agg, 0, AGG_DEVICES, 1);
	agg_put64(&agg, at + 0x80, 42);
	agg_put64(&agg, at + 0x140, 43);
	TEST_ASSERT_EQUAL_INT(0, snapshot_take());
	TEST_ASSERT_EQUAL_UINT64(2, ttmem_snapshot_devices_len(snapshot));
	TEST_ASSERT_EQUAL_UINT64(
		42, ttmem_snapshot_device(snapshot, 1)->logical);
	TEST_ASSERT_EQUAL_UINT64(
		43, ttmem_snapshot_device(snapshot, 1)->free_bytes_per_s);
	TEST_ASSERT_EQUAL_UINT64(
		0, ttmem_snapshot_device(snapshot, 1)->figures[0].live_bytes);
}

static void test_absurd_strides_are_refused(void)
{
	static const uint32_t strides[] = { 0, 4, 8, 12, 0xf0, 0x3d1, 1u << 25,
		UINT32_MAX };
	size_t i;

	for (i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
		agg_make(&agg, NULL, 0, 0);
		agg_put32(&agg, agg.copy_off[0] + AGG_COPY_TABLES + 2 * 32 + 4,
			strides[i]);
		TEST_ASSERT_EQUAL_INT(-EPROTO, snapshot_take());
		agg_free(&agg);
	}
}

static void test_unknown_tables_are_skipped(void)
{
	uint64_t at;

	sample_make(0, 0);
	at = agg.copy_off[0] + AGG_COPY_TABLES + 32 * (AGG_TABLES - 1);
	agg_put32(&agg, at, 4711);
	agg_put32(&agg, at + 4, 3);
	agg_put64(&agg, at + 8, UINT64_MAX);
	agg_put64(&agg, at + 16, UINT64_MAX);
	agg_put32(&agg, at + 32, AGG_TABLES);
	TEST_ASSERT_EQUAL_INT(0, snapshot_take());
	TEST_ASSERT_EQUAL_UINT64(2, ttmem_snapshot_devices_len(snapshot));
}

static void test_a_table_twice_is_refused(void)
{
	uint64_t at;

	sample_make(0, 0);
	at = agg.copy_off[0] + AGG_COPY_TABLES;
	memcpy(agg.bytes + at + 32 * 20, agg.bytes + at + 32, 32);
	TEST_ASSERT_EQUAL_INT(-EPROTO, snapshot_take());
}

static void test_missing_tables_are_empty(void)
{
	struct agg_table tables[AGG_TABLES] = { { 0, 0 } };

	agg_make(&agg, tables, 0, 0);
	TEST_ASSERT_EQUAL_INT(0, snapshot_take());
	TEST_ASSERT_NULL(ttmem_snapshot_health(snapshot));
	TEST_ASSERT_EQUAL_UINT64(0, ttmem_snapshot_devices_len(snapshot));
	TEST_ASSERT_EQUAL_UINT64(0, ttmem_snapshot_objects_len(snapshot));
	TEST_ASSERT_EQUAL_UINT64(
		1, ttmem_snapshot_info(snapshot)->objects_consistent);
}

static void test_stale_references_point_nowhere(void)
{
	uint64_t at;

	sample_make(0, 0);
	at = agg_row(&agg, 0, AGG_SHARES, 0);
	agg_put64(&agg, at + 0x08, (uint64_t)99 << 32); /* another serial */
	agg_put64(&agg, at + 0x10, 0);
	TEST_ASSERT_EQUAL_INT(0, snapshot_take());
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_NONE, ttmem_snapshot_share(snapshot, 0)->process);
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_NONE, ttmem_snapshot_share(snapshot, 0)->device);
	/* Nobody can tell whose its objects are. */
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_NONE, ttmem_snapshot_object(snapshot, 0)->process);
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, ttmem_snapshot_object(snapshot, 0)->leak_class);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_CLASS_PERSISTENT,
		ttmem_snapshot_object(snapshot, 4)->leak_class);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_longer_rows_are_cut);
	RUN_TEST(test_shorter_rows_end_in_zeros);
	RUN_TEST(test_absurd_strides_are_refused);
	RUN_TEST(test_unknown_tables_are_skipped);
	RUN_TEST(test_a_table_twice_is_refused);
	RUN_TEST(test_missing_tables_are_empty);
	RUN_TEST(test_stale_references_point_nowhere);
	return UNITY_END();
}
