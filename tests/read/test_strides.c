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
	TEST_ASSERT_EQUAL_UINT64(agg_sample_number(AGG_DEVICES, 1, 0x440),
		ttmem_snapshot_device(snapshot, 1)->figures[8].free_bytes);
	TEST_ASSERT_EQUAL_STRING("/user.slice/x.scope",
		ttmem_snapshot_process(snapshot, 2)->cgroup);
	TEST_ASSERT_EQUAL_UINT64(9, ttmem_snapshot_objects_len(snapshot));
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
	tables[AGG_DEVICES].stride = 0x180; /* without the figures */
	agg_make(&agg, tables, 0, 0);
	agg_use(&agg, 0, AGG_DEVICES, 0);
	agg_use(&agg, 0, AGG_DEVICES, 1);
	at = agg_row(&agg, 0, AGG_DEVICES, 1);
	agg_put64(&agg, at + 0xa8, 42);
	agg_put64(&agg, at + 0x178, 43);
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
	static const uint32_t strides[] = { 0, 4, 8, 12, 0xf4, 0x451, 1u << 25,
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
	const struct ttmem_object_row *o;
	const struct ttmem_place_row *place;
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
	/* Nobody can tell whether the device of its object was closed. */
	o = ttmem_snapshot_object(snapshot, 0);
	TEST_ASSERT_EQUAL_UINT64(0, o->process);
	TEST_ASSERT_EQUAL_UINT64(1, o->devices);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, o->leak_class);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, o->orphaned);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, o->orphaned_devices);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, o->orphaned_place);
	place = ttmem_snapshot_place(snapshot, o->place);
	TEST_ASSERT_EQUAL_STRING("-", place->label);
	TEST_ASSERT_EQUAL_UINT64(1, place->devices_len);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, place->devices[0]);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, place->usages[0]);
	TEST_ASSERT_EQUAL_STRING("7,-",
		ttmem_snapshot_place(
			snapshot, ttmem_snapshot_object(snapshot, 7)->place)
			->label);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_CLASS_PERSISTENT,
		ttmem_snapshot_object(snapshot, 4)->leak_class);
}

static void test_objects_of_nobody_are_nowhere(void)
{
	const struct ttmem_object_row *o;

	sample_make(0, 0);
	agg_put64(&agg, agg_object(&agg, 0) + 0x08, (uint64_t)99 << 32 | 1);
	agg_put64(&agg, agg_object(&agg, 2) + 0x10, 0); /* no members */
	agg_put64(&agg, agg_object(&agg, 4) + 0x10, UINT64_MAX);
	agg_put64(&agg, agg_object(&agg, 4) + 0x30, UINT64_MAX);
	agg_put64(&agg, agg_object(&agg, 4) + 0x50, UINT64_MAX);
	TEST_ASSERT_EQUAL_INT(0, snapshot_take());
	o = ttmem_snapshot_object(snapshot, 0);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, o->process);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, o->place);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, o->leak_class);
	TEST_ASSERT_EQUAL_UINT64(1, o->devices);
	o = ttmem_snapshot_object(snapshot, 1);
	TEST_ASSERT_EQUAL_UINT64(0, o->process);
	TEST_ASSERT_EQUAL_UINT64(TTMEM_NONE, o->place);
	TEST_ASSERT_EQUAL_UINT64(0, o->devices);
	TEST_ASSERT_EQUAL_UINT64(0, o->total_bytes);
	o = ttmem_snapshot_object(snapshot, 2);
	TEST_ASSERT_EQUAL_UINT64(64, o->devices);
	TEST_ASSERT_EQUAL_UINT64(64 * o->bytes, o->total_bytes);
	TEST_ASSERT_EQUAL_UINT64(
		64, ttmem_snapshot_place(snapshot, o->place)->devices_len);
}

/* 40 scopes, each inside the one before; the first is inside the last: a cycle. */
static void scopes_make(unsigned len)
{
	struct agg_table tables[AGG_TABLES] = { { 0, 0 } };
	struct agg_sample sample;
	char text[8];
	unsigned i;

	for (i = 1; i < AGG_TABLES; i++)
		tables[i].capacity = 40;
	agg_make(&agg, tables, 32, 0);
	agg_sample(&agg, st.st_dev, st.st_ino, &sample);
	for (i = 0; i < len; i++) {
		uint64_t at = agg_row(&agg, 0, AGG_NAMES, i);

		agg_use(&agg, 0, AGG_NAMES, i);
		agg_put64(&agg, at + 0x08, sample.self[AGG_PROCESSES][0]);
		agg_put64(&agg, at + 0x10, i + 1);
		agg_put64(&agg, at + 0x18, i ? i : len);
		snprintf(text, sizeof(text), "s%u", i);
		agg_put64(&agg, at + 0x20, strlen(text));
		agg_put_text(&agg, at + 0x28, 112, text);
	}
	agg_put64(&agg, agg_object(&agg, 0) + 0x48,
		(uint64_t)(100 + len - 1) << 32 | (len - 1));
}

static void test_paths_of_scopes_are_bounded(void)
{
	const char *path_text;

	scopes_make(1); /* inside itself */
	TEST_ASSERT_EQUAL_INT(0, snapshot_take());
	TEST_ASSERT_EQUAL_STRING(
		"s0", ttmem_snapshot_object(snapshot, 0)->scope_path);
	agg_free(&agg);
	scopes_make(3);
	TEST_ASSERT_EQUAL_INT(0, snapshot_take());
	TEST_ASSERT_EQUAL_STRING(
		"s0 > s1 > s2", ttmem_snapshot_object(snapshot, 0)->scope_path);
	agg_free(&agg);
	scopes_make(40);
	TEST_ASSERT_EQUAL_INT(0, snapshot_take());
	path_text = ttmem_snapshot_object(snapshot, 0)->scope_path;
	TEST_ASSERT_EQUAL_STRING_LEN("s8 > s9 > s10 > ", path_text, 16);
	TEST_ASSERT_EQUAL_STRING(
		"s38 > s39", path_text + strlen(path_text) - 9);
	TEST_ASSERT_EQUAL_STRING(
		"s39", ttmem_snapshot_object(snapshot, 0)->scope);
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
	RUN_TEST(test_objects_of_nobody_are_nowhere);
	RUN_TEST(test_paths_of_scopes_are_bounded);
	return UNITY_END();
}
