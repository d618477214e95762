/* SPDX-License-Identifier: Apache-2.0 */
/* What is unknown stays unknown, in sums and as text. */
#include "common/value.h"

#include <unity.h>

static char buffer[TTM_VALUE_SIZE];

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_unknown_is_a_dash(void)
{
	TEST_ASSERT_EQUAL_STRING("-", ttm_count_text(TTMEM_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING("-", ttm_pci_text(TTMEM_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING("-", ttm_user_text(TTMEM_UNKNOWN, buffer));
}

static void test_known_values_have_their_text(void)
{
	TEST_ASSERT_EQUAL_STRING("0", ttm_count_text(0, buffer));
	TEST_ASSERT_EQUAL_STRING("18446744073709551614",
		ttm_count_text(TTMEM_UNKNOWN - 1, buffer));
	TEST_ASSERT_EQUAL_STRING("0004:81:1f.7",
		ttm_pci_text(TTMEM_PCI_ADDRESS(4, 0x81, 0x1f, 7), buffer));
	TEST_ASSERT_EQUAL_STRING("root", ttm_user_text(0, buffer));
}

/* More of them than are kept in mind, and each twice. */
static void test_users_without_a_name_are_numbers(void)
{
	char wanted[TTM_VALUE_SIZE];
	uint64_t i;

	for (i = 0; i < 200; i++) {
		ttm_count_text(4000000000 + i % 100, wanted);
		TEST_ASSERT_EQUAL_STRING(
			wanted, ttm_user_text(4000000000 + i % 100, buffer));
		TEST_ASSERT_EQUAL_STRING(
			wanted, ttm_user_text(4000000000 + i % 100, buffer));
	}
}

static void test_sums_of_unknown_values_are_unknown(void)
{
	TEST_ASSERT_EQUAL_UINT64(5, ttm_value_add(2, 3));
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, ttm_value_add(TTMEM_UNKNOWN, 0));
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, ttm_value_add(0, TTMEM_UNKNOWN));
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, ttm_value_add(TTMEM_UNKNOWN - 1, 2));
	TEST_ASSERT_EQUAL_UINT64(0, ttm_value_or_0(TTMEM_UNKNOWN));
	TEST_ASSERT_EQUAL_UINT64(7, ttm_value_or_0(7));
}

static void test_what_comes_later_is_no_time_ago(void)
{
	TEST_ASSERT_EQUAL_UINT64(3, ttm_value_ago(10, 7));
	TEST_ASSERT_EQUAL_UINT64(0, ttm_value_ago(10, 10));
	TEST_ASSERT_EQUAL_UINT64(TTMEM_UNKNOWN, ttm_value_ago(10, 11));
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, ttm_value_ago(10, TTMEM_UNKNOWN));
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, ttm_value_ago(TTMEM_UNKNOWN, 10));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_unknown_is_a_dash);
	RUN_TEST(test_known_values_have_their_text);
	RUN_TEST(test_users_without_a_name_are_numbers);
	RUN_TEST(test_sums_of_unknown_values_are_unknown);
	RUN_TEST(test_what_comes_later_is_no_time_ago);
	return UNITY_END();
}
