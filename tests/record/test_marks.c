/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time with a name: the last 64 are kept. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static void test_mark_is_kept_with_time_and_thread(void)
{
	struct segment *segment;
	const struct segment_words *record;

	ttmem_mark("epoch 1");
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->marks_len);
	TEST_ASSERT_EQUAL_STRING("epoch 1", segment->marks[0].text);
	TEST_ASSERT_EQUAL_UINT64((uint64_t)gettid(), segment->marks[0].tid);
	TEST_ASSERT_TRUE(
		segment->marks[0].time - segment->clock_base < UINT64_MAX / 2);
	record = test_segment_last(segment, 0);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_MARK, record->type);
	TEST_ASSERT_EQUAL_UINT64(0, record->id);
	TEST_ASSERT_EQUAL_HEX64(0, record->members);
	segment_unref(&segment);
}

static void test_last_64_of_100_are_kept(void)
{
	struct segment *segment;
	char text[32];
	uint64_t i;

	for (i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "mark %d", (int)i);
		ttmem_mark(text);
	}
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(100, segment->marks_count);
	TEST_ASSERT_EQUAL_UINT64(64, segment->marks_len);
	for (i = 0; i < 64; i++) {
		snprintf(text, sizeof(text), "mark %d", (int)(36 + i));
		TEST_ASSERT_EQUAL_UINT64(36 + i, segment->marks[i].number);
		TEST_ASSERT_EQUAL_STRING(text, segment->marks[i].text);
	}
	TEST_ASSERT_EQUAL_UINT64(99, test_segment_last(segment, 0)->id);
	segment_unref(&segment);
}

static void test_long_text_is_cut_at_96_bytes(void)
{
	struct segment *segment;
	char text[200];
	char cut[97];

	memset(text, 'm', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(cut, 'm', 96);
	cut[96] = '\0';
	ttmem_mark(text);
	ttmem_mark("");
	ttmem_mark(NULL);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_STRING(cut, segment->marks[0].text);
	TEST_ASSERT_EQUAL_STRING("", segment->marks[1].text);
	segment_unref(&segment);
}

static void test_shorter_mark_leaves_nothing_of_a_longer_one(void)
{
	struct segment *segment;
	int i;

	for (i = 0; i < 64; i++)
		ttmem_mark("a long text that fills much of the place");
	ttmem_mark("short");
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_STRING("short", segment->marks[63].text);
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_mark_is_kept_with_time_and_thread);
	RUN_TEST(test_last_64_of_100_are_kept);
	RUN_TEST(test_long_text_is_cut_at_96_bytes);
	RUN_TEST(test_shorter_mark_leaves_nothing_of_a_longer_one);
	return UNITY_END();
}
