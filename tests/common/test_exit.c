/* SPDX-License-Identifier: Apache-2.0 */
/* Of several exit statuses, the one that must not be missed. */
#include "common/error.h"

#include <stddef.h>
#include <unity.h>

void setUp(void)
{
}

void tearDown(void)
{
}

/* From the one that yields to all others to the one that wins over all. */
static const int ranked[] = { 0, 4, 5, 23, 3, 1, 2 };

static void test_the_worse_status_wins_either_way_round(void)
{
	size_t len = sizeof(ranked) / sizeof(ranked[0]), a, b;

	for (a = 0; a < len; a++)
		for (b = 0; b < len; b++)
			TEST_ASSERT_EQUAL_INT(ranked[a > b ? a : b],
				ttm_exit_join(ranked[a], ranked[b]));
}

static void test_a_status_of_somebody_else_wins(void)
{
	TEST_ASSERT_EQUAL_INT(77, ttm_exit_join(77, TTM_EXIT_USAGE));
	TEST_ASSERT_EQUAL_INT(77, ttm_exit_join(TTM_EXIT_OK, 77));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_the_worse_status_wins_either_way_round);
	RUN_TEST(test_a_status_of_somebody_else_wins);
	return UNITY_END();
}
