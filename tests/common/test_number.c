/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are taken as they are meant, or not at all. */
#include "common/number.h"

#include <errno.h>
#include <unity.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static void number_is(const char *text, uint64_t wanted)
{
	uint64_t value = ~wanted;

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, ttm_number_parse(text, &value), text);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(wanted, value, text);
}

static void number_is_not(const char *text, int error)
{
	uint64_t value = 12345;

	TEST_ASSERT_EQUAL_INT_MESSAGE(
		error, ttm_number_parse(text, &value), text);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(12345, value, text);
}

static void test_numbers_are_decimal_or_hexadecimal(void)
{
	number_is("0", 0);
	number_is("007", 7);
	number_is("18446744073709551615", UINT64_MAX);
	number_is("0xffffffffffffffff", UINT64_MAX);
	number_is("0XaB", 0xab);
}

static void test_anything_else_is_no_number(void)
{
	static const char *const wrong[] = { "", " ", "-1", "+1", " 1", "1 ",
		"1.5", "1e3", "0x", "0xg", "x1", "1x", "a", "1K" };
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		number_is_not(wrong[i], -EINVAL);
	number_is_not("18446744073709551616", -ERANGE);
	number_is_not("0x10000000000000000", -ERANGE);
}

static void test_sizes_have_units_of_1024(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = { { "0", 0 }, { "17", 17 }, { "1K", 1024 },
		{ "3m", 3u << 20 }, { "2G", 2ull << 30 }, { "5T", 5ull << 40 },
		{ "0x10K", 16384 }, { "16777215T", 16777215ull << 40 } };
	uint64_t bytes;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		TEST_ASSERT_EQUAL_INT(0, ttm_size_parse(sizes[i].text, &bytes));
		TEST_ASSERT_EQUAL_UINT64(sizes[i].bytes, bytes);
	}
}

static void test_anything_else_is_no_size(void)
{
	static const char *const wrong[] = { "", "K", "1KB", "1KiB", "1 K",
		"1P", "1KK", "-1K", "1.5K" };
	uint64_t bytes;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		TEST_ASSERT_EQUAL_INT_MESSAGE(
			-EINVAL, ttm_size_parse(wrong[i], &bytes), wrong[i]);
	TEST_ASSERT_EQUAL_INT(-ERANGE, ttm_size_parse("16777216T", &bytes));
}

static void test_fractions_are_plain(void)
{
	static const char *const wrong[] = { "", ".", "-1", "1e3", "nan", "inf",
		"1.2.3", " 1", "0x1" };
	double value;
	size_t i;

	TEST_ASSERT_EQUAL_INT(0, ttm_fraction_parse("0.25", &value));
	TEST_ASSERT_TRUE(value == 0.25);
	TEST_ASSERT_EQUAL_INT(0, ttm_fraction_parse(".5", &value));
	TEST_ASSERT_TRUE(value == 0.5);
	TEST_ASSERT_EQUAL_INT(0, ttm_fraction_parse("3.", &value));
	TEST_ASSERT_TRUE(value == 3);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		TEST_ASSERT_EQUAL_INT_MESSAGE(-EINVAL,
			ttm_fraction_parse(wrong[i], &value), wrong[i]);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_numbers_are_decimal_or_hexadecimal);
	RUN_TEST(test_anything_else_is_no_number);
	RUN_TEST(test_sizes_have_units_of_1024);
	RUN_TEST(test_anything_else_is_no_size);
	RUN_TEST(test_fractions_are_plain);
	return UNITY_END();
}
