/* SPDX-License-Identifier: Apache-2.0 */
/* The innermost scope of a thread attributes what it allocates. */
#include <stdio.h>
#include <string.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "support/test_segment.h"

#define NONE ((uint64_t[TTMEM_ANOMALIES]){ 0 })

void setUp(void)
{
	test_tracking_start();
}

void tearDown(void)
{
	test_tracking_stop();
}

static const struct segment_words *buffer(
	const struct segment *segment, uint64_t id)
{
	const struct segment_words *o = segment_object(
		segment, 0, TTMEM_FIGURE_L1, id, 0);

	TEST_ASSERT_NOT_NULL(o);
	return o;
}

static const char *scope_of(const struct segment *segment, uint64_t id)
{
	const char *name = segment_name(segment, buffer(segment, id)->scope);

	TEST_ASSERT_NOT_NULL(name);
	return name;
}

static void test_innermost_name_attributes(void)
{
	struct segment *segment;

	ttmem_alloc(0, TTMEM_L1, 0, 0, 1);
	ttmem_scope_push("outer", 0);
	ttmem_alloc(0, TTMEM_L1, 1, 0, 1);
	ttmem_scope_push("inner", 0);
	ttmem_alloc(0, TTMEM_L1, 2, 0, 1);
	ttmem_cb_alloc(0, 1, 1, 0, 1, 1, 0);
	ttmem_scope_pop();
	ttmem_alloc(0, TTMEM_L1, 3, 0, 1);
	ttmem_scope_pop();
	ttmem_alloc(0, TTMEM_L1, 4, 0, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT32(0, buffer(segment, 0)->scope);
	TEST_ASSERT_EQUAL_STRING("outer", scope_of(segment, 1));
	TEST_ASSERT_EQUAL_STRING("inner", scope_of(segment, 2));
	TEST_ASSERT_EQUAL_STRING("outer", scope_of(segment, 3));
	TEST_ASSERT_EQUAL_UINT32(0, buffer(segment, 4)->scope);
	TEST_ASSERT_EQUAL_UINT32(buffer(segment, 2)->scope,
		segment_object(segment, 0, TTMEM_FIGURE_CB, 1, 1)->scope);
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_free_record_keeps_the_scope_of_the_allocation(void)
{
	struct segment *segment;
	const struct segment_words *record;

	ttmem_scope_push("a", 0);
	ttmem_alloc(0, TTMEM_L1, 1, 0, 1);
	ttmem_scope_pop();
	ttmem_scope_push("b", 0);
	ttmem_free(0, TTMEM_L1, 1);
	ttmem_scope_pop();
	segment = test_segment_at_rest();
	record = test_segment_last(segment, 0);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_FREE, record->type);
	TEST_ASSERT_EQUAL_STRING("a", segment_name(segment, record->scope));
	segment_unref(&segment);
}

static void test_name_is_interned_once(void)
{
	struct segment *segment;
	char name[16];
	int i;

	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "op %d", i % 10);
		ttmem_scope_push(name, 0);
		ttmem_scope_pop();
	}
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(10, segment->names_count);
	TEST_ASSERT_EQUAL_UINT64(10, segment->names_len);
	TEST_ASSERT_EQUAL_STRING("op 3", segment_name(segment, 4));
	segment_unref(&segment);
	test_anomalies_are(NONE);
}

static void test_persistent_marks_what_is_allocated_inside(void)
{
	struct segment *segment;

	ttmem_scope_push("program cache", TTMEM_SCOPE_PERSISTENT);
	ttmem_alloc(0, TTMEM_L1, 1, 0, 1);
	ttmem_kernel_load(
		0, 1, TTMEM_KERNEL_APPLICATION, 1, 1, TTMEM_KERNEL_IN_RING);
	ttmem_scope_pop();
	ttmem_alloc(0, TTMEM_L1, 2, 0, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT(SEGMENT_PERSISTENT, buffer(segment, 1)->flags);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_PERSISTENT | SEGMENT_IN_RING,
		segment_object(segment, 0, SEGMENT_FIGURE_KERNEL, 1, 0)->flags);
	TEST_ASSERT_EQUAL_UINT(0, buffer(segment, 2)->flags);
	segment_unref(&segment);
}

static void test_scope_inside_a_persistent_one_is_persistent(void)
{
	struct segment *segment;

	ttmem_scope_push("outer", TTMEM_SCOPE_PERSISTENT);
	ttmem_scope_push("inner", 0);
	ttmem_alloc(0, TTMEM_L1, 1, 0, 1);
	ttmem_scope_pop();
	ttmem_scope_pop();
	ttmem_scope_push("inner", 0);
	ttmem_alloc(0, TTMEM_L1, 2, 0, 1);
	ttmem_scope_pop();
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_STRING("inner", scope_of(segment, 1));
	TEST_ASSERT_EQUAL_UINT(SEGMENT_PERSISTENT, buffer(segment, 1)->flags);
	TEST_ASSERT_EQUAL_UINT(0, buffer(segment, 2)->flags);
	segment_unref(&segment);
}

static void test_same_name_with_and_without_persistent_is_one_name(void)
{
	struct segment *segment;

	ttmem_scope_push("a", TTMEM_SCOPE_PERSISTENT);
	ttmem_alloc(0, TTMEM_L1, 1, 0, 1);
	ttmem_scope_pop();
	ttmem_scope_push("a", 0);
	ttmem_alloc(0, TTMEM_L1, 2, 0, 1);
	ttmem_scope_pop();
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(1, segment->names_count);
	TEST_ASSERT_EQUAL_UINT(SEGMENT_PERSISTENT, buffer(segment, 1)->flags);
	TEST_ASSERT_EQUAL_UINT(0, buffer(segment, 2)->flags);
	segment_unref(&segment);
}

static void test_long_name_is_cut_at_112_bytes(void)
{
	struct segment *segment;
	char name[300];

	memset(name, 'x', sizeof(name));
	name[112] = '\0';
	ttmem_scope_push(name, 0);
	ttmem_scope_pop();
	name[112] = 'x';
	name[299] = '\0';
	ttmem_scope_push(name, 0);
	ttmem_scope_pop();
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_UINT64(112, segment->names[0].length);
	TEST_ASSERT_FALSE(segment->names[0].truncated);
	TEST_ASSERT_EQUAL_UINT64(2, segment->names_len);
	TEST_ASSERT_EQUAL_UINT64(112, segment->names[1].length);
	TEST_ASSERT_TRUE(segment->names[1].truncated);
	segment_unref(&segment);
}

static void test_32_levels_attribute_and_deeper_ones_to_the_32nd(void)
{
	struct segment *segment;
	char name[16];
	uint64_t i;

	for (i = 1; i <= 35; i++) {
		snprintf(name, sizeof(name), "level %d", (int)i);
		ttmem_scope_push(name, 0);
		ttmem_alloc(0, TTMEM_L1, i, 0, 1);
	}
	for (; i > 1; i--) {
		ttmem_scope_pop();
		ttmem_alloc(0, TTMEM_L1, 100 + i, 0, 1);
	}
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_STRING("level 31", scope_of(segment, 31));
	TEST_ASSERT_EQUAL_STRING("level 32", scope_of(segment, 32));
	TEST_ASSERT_EQUAL_STRING("level 32", scope_of(segment, 33));
	TEST_ASSERT_EQUAL_STRING("level 32", scope_of(segment, 35));
	TEST_ASSERT_EQUAL_STRING("level 32", scope_of(segment, 134));
	TEST_ASSERT_EQUAL_STRING("level 31", scope_of(segment, 133));
	TEST_ASSERT_EQUAL_STRING("level 1", scope_of(segment, 103));
	TEST_ASSERT_EQUAL_UINT32(0, buffer(segment, 102)->scope);
	segment_unref(&segment);
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){
		[TTMEM_ANOMALY_SCOPE_TOO_DEEP] = 3 });
}

static void test_a_push_returns_the_depth_before_it(void)
{
	uint32_t i;

	for (i = 0; i < 40; i++)
		TEST_ASSERT_EQUAL_UINT32(i, ttmem_scope_push("level", 0));
	ttmem_scope_pop();
	TEST_ASSERT_EQUAL_UINT32(39, ttmem_scope_push("level", 0));
}

/* As after an exception, whose scopes nobody ended. */
static void test_pop_to_ends_all_scopes_above_a_depth(void)
{
	struct segment *segment;
	uint32_t depth, i;

	ttmem_scope_push("outer", 0);
	depth = ttmem_scope_push("thrower", TTMEM_SCOPE_PERSISTENT);
	TEST_ASSERT_EQUAL_UINT32(1, depth);
	for (i = 0; i < 40; i++)
		ttmem_scope_push("left behind", 0);
	ttmem_scope_pop_to(depth);
	ttmem_alloc(0, TTMEM_L1, 1, 0, 1);
	/* There are no scopes above these depths: nothing happens. */
	ttmem_scope_pop_to(depth);
	ttmem_scope_pop_to(30);
	ttmem_scope_pop_to(UINT32_MAX);
	ttmem_alloc(0, TTMEM_L1, 2, 0, 1);
	TEST_ASSERT_EQUAL_UINT32(1, ttmem_scope_push("inner", 0));
	ttmem_alloc(0, TTMEM_L1, 3, 0, 1);
	ttmem_scope_pop_to(0);
	ttmem_alloc(0, TTMEM_L1, 4, 0, 1);
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_STRING("outer", scope_of(segment, 1));
	TEST_ASSERT_EQUAL_UINT(0, buffer(segment, 1)->flags);
	TEST_ASSERT_EQUAL_STRING("outer", scope_of(segment, 2));
	TEST_ASSERT_EQUAL_STRING("inner", scope_of(segment, 3));
	TEST_ASSERT_EQUAL_UINT32(buffer(segment, 2)->scope,
		segment_name_parent(segment, buffer(segment, 3)->scope));
	TEST_ASSERT_EQUAL_UINT32(0, buffer(segment, 4)->scope);
	segment_unref(&segment);
	/* Ten pushes were too deep; their pops caused no underflow. */
	test_anomalies_are((uint64_t[TTMEM_ANOMALIES]){
		[TTMEM_ANOMALY_SCOPE_TOO_DEEP] = 10 });
}

static void test_null_and_empty_names_are_balanced(void)
{
	struct segment *segment;

	ttmem_scope_push("outer", 0);
	ttmem_scope_push(NULL, 0);
	ttmem_scope_pop();
	ttmem_scope_push("", 0);
	ttmem_scope_pop();
	ttmem_alloc(0, TTMEM_L1, 1, 0, 1);
	ttmem_scope_pop();
	segment = test_segment_at_rest();
	TEST_ASSERT_EQUAL_STRING("outer", scope_of(segment, 1));
	segment_unref(&segment);
	TEST_ASSERT_EQUAL_UINT64(
		0, test_anomalies(TTMEM_ANOMALY_SCOPE_UNDERFLOW));
}

static void test_names_run_out_at_65535(void)
{
	struct segment *segment;
	char name[16];
	uint64_t i;

	for (i = 1; i <= 65540; i++) {
		snprintf(name, sizeof(name), "n%d", (int)i);
		ttmem_scope_push(name, 0);
		if (i == 65535 || i == 65536)
			ttmem_alloc(0, TTMEM_L1, i, 0, 1);
		ttmem_scope_pop();
	}
	segment = test_segment_read();
	TEST_ASSERT_EQUAL_UINT64(65535, segment->names_count);
	TEST_ASSERT_EQUAL_UINT64(65535, segment->names_len);
	TEST_ASSERT_EQUAL_STRING("n65535", scope_of(segment, 65535));
	TEST_ASSERT_EQUAL_UINT32(0, buffer(segment, 65536)->scope);
	segment_unref(&segment);
	TEST_ASSERT_TRUE(test_losses(TTMEM_LOSS_NO_NAME) >= 1);
	ttmem_scope_push("n17", 0);
	ttmem_alloc(0, TTMEM_L1, 17, 0, 1);
	segment = test_segment_read();
	TEST_ASSERT_EQUAL_STRING("n17", scope_of(segment, 17));
	segment_unref(&segment);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_innermost_name_attributes);
	RUN_TEST(test_free_record_keeps_the_scope_of_the_allocation);
	RUN_TEST(test_name_is_interned_once);
	RUN_TEST(test_persistent_marks_what_is_allocated_inside);
	RUN_TEST(test_scope_inside_a_persistent_one_is_persistent);
	RUN_TEST(test_same_name_with_and_without_persistent_is_one_name);
	RUN_TEST(test_long_name_is_cut_at_112_bytes);
	RUN_TEST(test_32_levels_attribute_and_deeper_ones_to_the_32nd);
	RUN_TEST(test_a_push_returns_the_depth_before_it);
	RUN_TEST(test_pop_to_ends_all_scopes_above_a_depth);
	RUN_TEST(test_null_and_empty_names_are_balanced);
	RUN_TEST(test_names_run_out_at_65535);
	return UNITY_END();
}
