/* SPDX-License-Identifier: Apache-2.0 */
/* A set of rows is what an array of booleans says, however it grows. */
#include <stdlib.h>
#include <string.h>

#include <unity.h>

#include "daemon/publish/rowset.h"

enum {
	ROWS = 300000
};

static struct ttm_rowset set;
static bool in[ROWS];

void setUp(void)
{
	memset(in, 0, sizeof(in));
}

void tearDown(void)
{
	ttm_rowset_clear(&set);
	TEST_ASSERT_EQUAL_UINT64(0, set.capacity);
}

static uint64_t draw(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void test_the_empty_set_has_nothing(void)
{
	uint64_t row = 7;

	TEST_ASSERT_FALSE(ttm_rowset_next(&set, 0, &row));
	TEST_ASSERT_FALSE(ttm_rowset_next(&set, 1 << 28, &row));
	TEST_ASSERT_FALSE(ttm_rowset_has(&set, 0));
	TEST_ASSERT_EQUAL_UINT64(7, row);
}

static void iterate(uint64_t capacity)
{
	uint64_t row, i, from = 0;

	for (i = 0; i < capacity; i++) {
		TEST_ASSERT_EQUAL_INT(in[i], ttm_rowset_has(&set, i));
		if (!in[i])
			continue;
		TEST_ASSERT_TRUE(ttm_rowset_next(&set, from, &row));
		TEST_ASSERT_EQUAL_UINT64(i, row);
		from = row + 1;
	}
	TEST_ASSERT_FALSE(ttm_rowset_next(&set, from, &row));
}

static void test_it_has_what_was_added_and_not_removed(void)
{
	uint64_t capacity, row, i;

	for (capacity = 1; capacity <= ROWS; capacity = capacity * 7 + 3) {
		TEST_ASSERT_EQUAL_INT(0, ttm_rowset_reserve(&set, capacity));
		for (i = 0; i < 500; i++) {
			row = draw() % capacity;
			if (draw() % 3) {
				ttm_rowset_add(&set, row);
				in[row] = true;
			} else {
				ttm_rowset_remove(&set, row);
				in[row] = false;
			}
		}
		iterate(capacity);
	}
}

static void test_it_takes_a_fraction_of_a_byte_per_row(void)
{
	TEST_ASSERT_EQUAL_INT(0, ttm_rowset_reserve(&set, 1 << 24));
	TEST_ASSERT_TRUE(ttm_rowset_bytes(&set) < (1 << 24) / 7);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_the_empty_set_has_nothing);
	RUN_TEST(test_it_has_what_was_added_and_not_removed);
	RUN_TEST(test_it_takes_a_fraction_of_a_byte_per_row);
	return UNITY_END();
}
