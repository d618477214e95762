/* SPDX-License-Identifier: Apache-2.0 */
/* A word that is not valid: the closest valid one is suggested, or all are listed. */
#include "common/choice.h"

#include <string.h>
#include <unity.h>

void setUp(void)
{
}

void tearDown(void)
{
}

static void choice_is(const char *given, const char *expected)
{
	struct ttm_choice choice;

	ttm_choice_begin(&choice, given);
	ttm_choice_add(&choice, "report");
	ttm_choice_add(&choice, "check");
	ttm_choice_add(&choice, "l1");
	TEST_ASSERT_EQUAL_STRING(expected, ttm_choice_text(&choice));
}

static void test_a_slip_is_answered_with_the_closest_word(void)
{
	choice_is("repotr", "(did you mean \"report\"?)");
	choice_is("chek", "(did you mean \"check\"?)");
	choice_is("cheeck", "(did you mean \"check\"?)");
	choice_is("L1", "(did you mean \"l1\"?)");
}

static void test_another_word_is_answered_with_all_that_are_valid(void)
{
	choice_is("", "(valid: report, check, l1)");
	choice_is("xy", "(valid: report, check, l1)");
	choice_is("summary", "(valid: report, check, l1)");
	choice_is("a word that is much longer than any that could be valid",
		"(valid: report, check, l1)");
}

static void test_a_list_that_is_too_long_is_cut(void)
{
	struct ttm_choice choice;
	unsigned i;

	ttm_choice_begin(&choice, "x");
	for (i = 0; i < 1000; i++)
		ttm_choice_add(&choice, "a-valid-word");
	TEST_ASSERT_TRUE(
		strlen(ttm_choice_text(&choice)) < sizeof(choice.text));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_a_slip_is_answered_with_the_closest_word);
	RUN_TEST(test_another_word_is_answered_with_all_that_are_valid);
	RUN_TEST(test_a_list_that_is_too_long_is_cut);
	return UNITY_END();
}
