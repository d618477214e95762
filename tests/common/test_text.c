/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts are readable, and nothing that others wrote reaches a terminal raw. */
#include "common/text.h"

#include <string.h>
#include <unity.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static void test_amounts_have_three_digits(void)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} amounts[] = { { 0, "0 B" }, { 1023, "1023 B" }, { 1024, "1.00 KiB" },
		{ 1536, "1.50 KiB" }, { 10240, "10.0 KiB" },
		{ 102400, "100 KiB" }, { 1048575, "1.00 MiB" },
		{ 1047552, "1023 KiB" }, { 1ull << 30, "1.00 GiB" },
		{ 34225520640ull, "31.9 GiB" }, { 1ull << 40, "1.00 TiB" },
		{ 1ull << 50, "1.00 PiB" }, { UINT64_MAX, "16.0 EiB" } };
	char buffer[TTM_BYTES_TEXT_SIZE];
	size_t i;

	for (i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
		TEST_ASSERT_EQUAL_STRING(amounts[i].text,
			ttm_bytes_text(amounts[i].bytes, buffer));
}

static void escaped_is(const char *text, const char *wanted)
{
	char buffer[64];

	TEST_ASSERT_EQUAL_STRING(
		wanted, ttm_text_escape(text, buffer, sizeof(buffer)));
}

static void test_plain_text_and_utf8_stay(void)
{
	escaped_is("", "");
	escaped_is("op ttnn.matmul", "op ttnn.matmul");
	escaped_is("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
		"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
	escaped_is("\xc2\xa0", "\xc2\xa0");
}

static void test_control_characters_are_shown(void)
{
	escaped_is("\x1b[2J\n\t\x7f", "\\x1b[2J\\x0a\\x09\\x7f");
	escaped_is("a\\b",
		"a\\x5c"
		"b");
	/* CSI as one character of the C1 set. */
	escaped_is("\xc2\x9b"
		   "31m",
		"\\xc2\\x9b31m");
}

static void test_what_turns_text_around_is_shown(void)
{
	escaped_is("\xe2\x80\xae"
		   "txt",
		"\\xe2\\x80\\xaetxt");
	escaped_is("\xe2\x81\xa6", "\\xe2\\x81\\xa6");
	escaped_is("\xe2\x80\xa8", "\\xe2\\x80\\xa8"); /* ends the line */
	escaped_is("\xd8\x9c", "\\xd8\\x9c");
	escaped_is("\xe2\x80\x93", "\xe2\x80\x93"); /* a dash */
}

static void test_what_is_not_utf8_is_shown(void)
{
	escaped_is("\xff", "\\xff");
	escaped_is("\x80"
		   "a",
		"\\x80"
		"a");
	escaped_is("\xc3", "\\xc3");          /* cut */
	escaped_is("\xe2\x82", "\\xe2\\x82"); /* cut */
	escaped_is("\xc0\xaf", "\\xc0\\xaf"); /* too long for what it is */
	escaped_is("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* half a pair */
	escaped_is("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* too high */
}

static void test_what_does_not_fit_is_cut_between_characters(void)
{
	char buffer[6];

	TEST_ASSERT_EQUAL_STRING(
		"abcde", ttm_text_escape("abcdef", buffer, sizeof(buffer)));
	TEST_ASSERT_EQUAL_STRING("abc",
		ttm_text_escape("abc\xe2\x82\xac", buffer, sizeof(buffer)));
	TEST_ASSERT_EQUAL_STRING(
		"ab", ttm_text_escape("ab\n", buffer, sizeof(buffer)));
	TEST_ASSERT_EQUAL_STRING("", ttm_text_escape("a", buffer, 1));
	TEST_ASSERT_EQUAL_STRING("", ttm_text_escape("a", buffer, 0));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_amounts_have_three_digits);
	RUN_TEST(test_plain_text_and_utf8_stay);
	RUN_TEST(test_control_characters_are_shown);
	RUN_TEST(test_what_turns_text_around_is_shown);
	RUN_TEST(test_what_is_not_utf8_is_shown);
	RUN_TEST(test_what_does_not_fit_is_cut_between_characters);
	return UNITY_END();
}
