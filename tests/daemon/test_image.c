/* SPDX-License-Identifier: Apache-2.0 */
/* Rows keep their place, references their meaning, and only what differs is due. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unity.h>

#include "daemon/publish/image.h"
#include "daemon/publish/image_pages.h"

static struct ttm_image *image;

void setUp(void)
{
	TEST_ASSERT_EQUAL_INT(0, ttm_image_new(&image));
}

void tearDown(void)
{
	ttm_image_free(&image);
	TEST_ASSERT_NULL(image);
}

static struct ttm_table table_of(enum ttm_table_id id)
{
	struct ttm_table tables[TTM_TABLES_MAX];

	ttm_image_tables(image, tables);
	return tables[id - 1];
}

/* Takes all pages that a copy lacks; returns how many. */
static size_t pages_take(unsigned copy)
{
	size_t off = 0, pages = 0;

	while (ttm_image_take(image, copy, &off)) {
		TEST_ASSERT_EQUAL_UINT64(0, off % TTM_IMAGE_PAGE);
		TEST_ASSERT_TRUE(off >= TTM_IMAGE_PAGE);
		TEST_ASSERT_TRUE(off < ttm_image_size(image));
		pages++;
	}
	return pages;
}

static void name_set(uint64_t ref, const char *text)
{
	struct ttm_name_row row = { .length = strlen(text) };

	strncpy(row.text, text, sizeof(row.text));
	ttm_image_set(image, TTM_TABLE_NAMES, ref, &row);
}

static void test_a_new_row_is_zero_but_for_its_reference(void)
{
	static const struct ttm_process_row zero;
	struct ttm_process_row row;
	uint64_t ref = ttm_image_add(image, TTM_TABLE_PROCESSES);

	TEST_ASSERT_EQUAL_UINT64(TTM_REF(1, 0), ref);
	memcpy(&row, ttm_image_row(image, TTM_TABLE_PROCESSES, ref),
		sizeof(row));
	TEST_ASSERT_EQUAL_UINT64(ref, row.self);
	row.self = 0;
	TEST_ASSERT_EQUAL_MEMORY(&zero, &row, sizeof(row));
	TEST_ASSERT_EQUAL_UINT64(
		TTM_REF(1, 1), ttm_image_add(image, TTM_TABLE_PROCESSES));
	TEST_ASSERT_EQUAL_UINT64(2, ttm_image_len(image, TTM_TABLE_PROCESSES));
}

static void test_a_place_used_again_has_another_serial(void)
{
	uint64_t first = ttm_image_add(image, TTM_TABLE_NAMES), second;
	const struct ttm_name_row *row;

	name_set(first, "old");
	ttm_image_remove(image, TTM_TABLE_NAMES, first);
	row = ttm_image_at(image, TTM_TABLE_NAMES, 0);
	TEST_ASSERT_EQUAL_UINT64(0, row->self);
	TEST_ASSERT_EQUAL_UINT64(0, row->length);
	TEST_ASSERT_EQUAL_STRING("", row->text);
	second = ttm_image_add(image, TTM_TABLE_NAMES);
	TEST_ASSERT_EQUAL_UINT64(TTM_REF(2, 0), second);
	TEST_ASSERT_NULL(ttm_image_row(image, TTM_TABLE_NAMES, first));
	TEST_ASSERT_NOT_NULL(ttm_image_row(image, TTM_TABLE_NAMES, second));
	TEST_ASSERT_EQUAL_UINT64(1, ttm_image_len(image, TTM_TABLE_NAMES));
}

static void test_stale_references_are_ignored(void)
{
	uint64_t ref = ttm_image_add(image, TTM_TABLE_NAMES), now;

	ttm_image_remove(image, TTM_TABLE_NAMES, ref);
	ttm_image_remove(image, TTM_TABLE_NAMES, ref); /* not given twice */
	now = ttm_image_add(image, TTM_TABLE_NAMES);
	TEST_ASSERT_NOT_EQUAL(now, ttm_image_add(image, TTM_TABLE_NAMES));
	name_set(ref, "stale");
	name_set(0, "none");
	name_set(TTM_REF(1, 77), "beyond");
	ttm_image_remove(image, TTM_TABLE_NAMES, ref);
	ttm_image_remove(image, TTM_TABLE_NAMES, 0);
	TEST_ASSERT_EQUAL_STRING("",
		((const struct ttm_name_row *)ttm_image_row(
			 image, TTM_TABLE_NAMES, now))
			->text);
	TEST_ASSERT_EQUAL_UINT64(0, ttm_image_add(image, TTM_TABLES));
	TEST_ASSERT_EQUAL_UINT64(0, ttm_image_add(image, 0));
	TEST_ASSERT_EQUAL_UINT64(0, ttm_image_len(image, TTM_TABLES));
	TEST_ASSERT_NULL(ttm_image_at(image, TTM_TABLE_NAMES, 2));
}

static void test_setting_a_row_keeps_its_reference(void)
{
	uint64_t ref = ttm_image_add(image, TTM_TABLE_MARKS);
	struct ttm_mark_row row = { .self = 99, .number = 5 };
	uint64_t words[3] = { 98, 7, 6 };
	const struct ttm_mark_row *now;

	ttm_image_set(image, TTM_TABLE_MARKS, ref, &row);
	ttm_image_set_part(image, TTM_TABLE_MARKS, ref, 0, words, 24);
	now = ttm_image_row(image, TTM_TABLE_MARKS, ref);
	TEST_ASSERT_EQUAL_UINT64(ref, now->self);
	TEST_ASSERT_EQUAL_UINT64(7, now->process);
	TEST_ASSERT_EQUAL_UINT64(6, now->number);
	/* Beyond the row, or within `self`: nothing happens. */
	ttm_image_set_part(image, TTM_TABLE_MARKS, ref, 4, words, 4);
	ttm_image_set_part(
		image, TTM_TABLE_MARKS, ref, sizeof(row) - 8, words, 16);
	ttm_image_set_part(image, TTM_TABLE_MARKS, ref, SIZE_MAX, words, 2);
	TEST_ASSERT_EQUAL_UINT64(ref, now->self);
	TEST_ASSERT_EQUAL_UINT8(0, (uint8_t)now->text[TTM_MARK_SIZE - 1]);
}

static void test_each_copy_lacks_what_changed_since_it_was_written(void)
{
	uint64_t ref = ttm_image_add(image, TTM_TABLE_NAMES);

	TEST_ASSERT_EQUAL_UINT64(1, pages_take(0));
	TEST_ASSERT_EQUAL_UINT64(0, pages_take(0));
	TEST_ASSERT_EQUAL_UINT64(1, pages_take(1));
	name_set(ref, "a");
	TEST_ASSERT_EQUAL_UINT64(1, pages_take(0));
	name_set(ref, "a"); /* nothing new */
	TEST_ASSERT_EQUAL_UINT64(0, pages_take(0));
	name_set(ref, "b");
	TEST_ASSERT_EQUAL_UINT64(1, pages_take(1));
	TEST_ASSERT_EQUAL_UINT64(0, pages_take(1));
	TEST_ASSERT_EQUAL_UINT64(1, pages_take(0));
}

static void test_of_a_long_row_only_the_pages_that_differ_are_due(void)
{
	size_t stride = table_of(TTM_TABLE_HISTORY_1M).stride;
	char *row = calloc(1, stride);
	uint64_t ref = ttm_image_add(image, TTM_TABLE_HISTORY_1M);

	TEST_ASSERT_EQUAL_UINT64(0x40 + 1440 * 128, stride);
	memset(row, 1, stride);
	ttm_image_set(image, TTM_TABLE_HISTORY_1M, ref, row);
	TEST_ASSERT_TRUE(pages_take(0) >= stride / TTM_IMAGE_PAGE);
	pages_take(1);
	row[stride / 2] = 2;
	ttm_image_set(image, TTM_TABLE_HISTORY_1M, ref, row);
	TEST_ASSERT_EQUAL_UINT64(1, pages_take(0));
	ttm_image_set_part(image, TTM_TABLE_HISTORY_1M, ref, 16, "\3\3", 2);
	TEST_ASSERT_EQUAL_UINT64(1, pages_take(0));
	TEST_ASSERT_EQUAL_UINT64(2, pages_take(1));
	ttm_image_remove(image, TTM_TABLE_HISTORY_1M, ref);
	TEST_ASSERT_TRUE(pages_take(0) >= stride / TTM_IMAGE_PAGE);
	memset(row, 0, stride);
	TEST_ASSERT_EQUAL_MEMORY(
		row, ttm_image_at(image, TTM_TABLE_HISTORY_1M, 0), stride);
	free(row);
}

static void test_growth_keeps_every_row_and_reference(void)
{
	uint64_t layout = ttm_image_layout(image), refs[1000], device;
	const struct ttm_name_row *row;
	char text[16];
	unsigned i;

	device = ttm_image_add(image, TTM_TABLE_DEVICES);
	ttm_image_set_part(image, TTM_TABLE_DEVICES, device, 8, "device!!", 8);
	for (i = 0; i < 1000; i++) {
		refs[i] = ttm_image_add(image, TTM_TABLE_NAMES);
		TEST_ASSERT_NOT_EQUAL(0, refs[i]);
		snprintf(text, sizeof(text), "name %u", i);
		name_set(refs[i], text);
	}
	TEST_ASSERT_NOT_EQUAL(layout, ttm_image_layout(image));
	TEST_ASSERT_TRUE(table_of(TTM_TABLE_NAMES).capacity >= 1000);
	TEST_ASSERT_EQUAL_UINT64(1000, table_of(TTM_TABLE_NAMES).len);
	for (i = 0; i < 1000; i++) {
		row = ttm_image_row(image, TTM_TABLE_NAMES, refs[i]);
		snprintf(text, sizeof(text), "name %u", i);
		TEST_ASSERT_EQUAL_STRING(text, row->text);
	}
	TEST_ASSERT_EQUAL_MEMORY("device!!",
		(const char *)ttm_image_row(image, TTM_TABLE_DEVICES, device) +
			8,
		8);
	/* A new file needs it all, and no more. */
	TEST_ASSERT_TRUE(pages_take(0) <= 1000 * 144 / 4096 + 4);
	ttm_image_forget(image);
	TEST_ASSERT_TRUE(pages_take(0) >= 1000 * 144 / 4096);
}

static void test_tables_lie_apart_and_within_the_copy(void)
{
	struct ttm_table tables[TTM_TABLES_MAX];
	uint64_t end = TTM_IMAGE_PAGE;
	unsigned i;

	ttm_image_tables(image, tables);
	for (i = 0; i + 1 < TTM_TABLES; i++) {
		TEST_ASSERT_EQUAL_UINT32(i + 1, tables[i].id);
		TEST_ASSERT_TRUE(tables[i].off >= end);
		TEST_ASSERT_EQUAL_UINT64(0, tables[i].off % 64);
		TEST_ASSERT_EQUAL_UINT64(0, tables[i].stride % 8);
		end = tables[i].off + tables[i].capacity * tables[i].stride;
	}
	for (; i < TTM_TABLES_MAX; i++)
		TEST_ASSERT_EQUAL_UINT32(0, tables[i].id);
	TEST_ASSERT_TRUE(end <= ttm_image_size(image));
	TEST_ASSERT_TRUE(ttm_image_bytes(image) >= ttm_image_size(image));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_new_row_is_zero_but_for_its_reference);
	RUN_TEST(test_a_place_used_again_has_another_serial);
	RUN_TEST(test_stale_references_are_ignored);
	RUN_TEST(test_setting_a_row_keeps_its_reference);
	RUN_TEST(test_each_copy_lacks_what_changed_since_it_was_written);
	RUN_TEST(test_of_a_long_row_only_the_pages_that_differ_are_due);
	RUN_TEST(test_growth_keeps_every_row_and_reference);
	RUN_TEST(test_tables_lie_apart_and_within_the_copy);
	return UNITY_END();
}
