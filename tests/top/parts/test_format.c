/* SPDX-License-Identifier: Apache-2.0 */
/* Values fit their columns, and unknown is never 0. */
#include "ttmem-top/model/format.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unity.h>

static char buffer[TOP_TEXT_SIZE];

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_unknown_is_a_dash(void)
{
	TEST_ASSERT_EQUAL_STRING("-", top_bytes(TTMEM_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING("-", top_bytes_short(TTMEM_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING("-", top_count_short(TTMEM_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING("-", top_duration(TTMEM_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING("-", top_time(TTMEM_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING("-", top_watts(TTMEM_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING(
		"-", top_degrees(TTMEM_TEMPERATURE_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING(
		"-", top_bytes_signed(TTMEM_HEADROOM_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING("-", top_percent(1, TTMEM_UNKNOWN, buffer));
	TEST_ASSERT_EQUAL_STRING("-", top_percent(TTMEM_UNKNOWN, 1, buffer));
	TEST_ASSERT_EQUAL_STRING("-", top_percent(0, 0, buffer));
	TEST_ASSERT_EQUAL_STRING("0B", top_bytes_short(0, buffer));
}

static void test_short_forms_have_five_columns(void)
{
	unsigned bit;

	for (bit = 0; bit < 64; bit++) {
		uint64_t value = (1ull << bit) - 1 + (1ull << bit);

		if (value == TTMEM_UNKNOWN)
			continue;
		TEST_ASSERT_TRUE(strlen(top_bytes_short(value, buffer)) <= 5);
		TEST_ASSERT_TRUE(strlen(top_count_short(value, buffer)) <= 5);
	}
	TEST_ASSERT_EQUAL_STRING(
		"31.9G", top_bytes_short(34225520640ull, buffer));
	TEST_ASSERT_EQUAL_STRING("9999", top_count_short(9999, buffer));
	TEST_ASSERT_EQUAL_STRING("10.0k", top_count_short(10000, buffer));
	TEST_ASSERT_EQUAL_STRING("1.00M", top_count_short(999999, buffer));
}

static void test_durations_name_two_units(void)
{
	TEST_ASSERT_EQUAL_STRING("999us", top_duration(999999, buffer));
	TEST_ASSERT_EQUAL_STRING("12ms", top_duration(12345678, buffer));
	TEST_ASSERT_EQUAL_STRING("3.2s", top_duration(3299999999ull, buffer));
	TEST_ASSERT_EQUAL_STRING(
		"5m12s", top_duration(312000000000ull, buffer));
	TEST_ASSERT_EQUAL_STRING(
		"2h03m", top_duration(7380000000000ull, buffer));
	TEST_ASSERT_EQUAL_STRING(
		"4d01h", top_duration(349200000000000ull, buffer));
}

static void test_headroom_may_be_negative(void)
{
	TEST_ASSERT_EQUAL_STRING("-1.00 KiB", top_bytes_signed(-1024, buffer));
	TEST_ASSERT_EQUAL_STRING("1.00 KiB", top_bytes_signed(1024, buffer));
}

static void test_times_are_local(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	TEST_ASSERT_EQUAL_STRING("2023-11-14 22:13:20",
		top_time(1700000000000000000ull, buffer));
	TEST_ASSERT_EQUAL_STRING(
		"22:13:20", top_time_of_day(1700000000000000000ull, buffer));
	setenv("TZ", "UTC-2", 1);
	tzset();
	TEST_ASSERT_EQUAL_STRING(
		"00:13:20", top_time_of_day(1700000000000000000ull, buffer));
}

static void test_products_beyond_64_bits_are_unknown(void)
{
	TEST_ASSERT_EQUAL_UINT64(
		TTMEM_UNKNOWN, top_multiply(1ull << 40, 1ull << 40));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_unknown_is_a_dash);
	RUN_TEST(test_short_forms_have_five_columns);
	RUN_TEST(test_durations_name_two_units);
	RUN_TEST(test_headroom_may_be_negative);
	RUN_TEST(test_times_are_local);
	RUN_TEST(test_products_beyond_64_bits_are_unknown);
	return UNITY_END();
}
