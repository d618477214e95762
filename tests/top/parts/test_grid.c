/* SPDX-License-Identifier: Apache-2.0 */
/* Cells hold characters and nothing else, whatever is painted. */
#include "sample.h"

static struct top_grid grid;
static struct top_area area;

void setUp(void)
{
	sample_locale();
	grid.ascii = false;
	TEST_ASSERT_EQUAL_INT(0, top_grid_size(&grid, 3, 10));
	area = top_grid_area(&grid);
}

void tearDown(void)
{
	top_grid_free(&grid);
}

static const struct top_cell *cell(int row, int col)
{
	return &grid.cells[row * grid.cols + col];
}

static void test_text_is_cut_at_the_edge(void)
{
	TEST_ASSERT_EQUAL_INT(
		14, top_put(&area, 0, 2, TOP_LOOK_PLAIN, "abcdefghijkl"));
	TEST_ASSERT_EQUAL_STRING("  abcdefgh", sample_line(&grid, 0));
	TEST_ASSERT_EQUAL_STRING("", sample_line(&grid, 1));
	top_put(&area, 3, 0, TOP_LOOK_PLAIN, "below");
	top_put(&area, -1, 0, TOP_LOOK_PLAIN, "above");
	top_put(&area, 2, -2, TOP_LOOK_PLAIN, "left");
	TEST_ASSERT_EQUAL_STRING("ft", sample_line(&grid, 2));
}

static void test_a_part_does_not_paint_outside(void)
{
	struct top_area part = top_area_part(&area, 1, 2, 1, 3);

	top_put(&part, 0, 0, TOP_LOOK_PLAIN, "abcdef");
	top_put(&part, 1, 0, TOP_LOOK_PLAIN, "x");
	TEST_ASSERT_EQUAL_STRING("  abc", sample_line(&grid, 1));
	TEST_ASSERT_EQUAL_STRING("", sample_line(&grid, 2));
	part = top_area_part(&area, 5, 50, 2, 2);
	TEST_ASSERT_EQUAL_INT(0, part.rows);
	top_put(&part, 0, 0, TOP_LOOK_PLAIN, "x");
}

static void test_no_control_character_gets_in(void)
{
	char text[3] = "?";
	int c;

	for (c = 1; c < 256; c++) {
		text[0] = (char)c;
		top_put(&area, 0, 0, TOP_LOOK_PLAIN, text);
		TEST_ASSERT_TRUE((unsigned char)cell(0, 0)->text[0] >= 0x20 &&
			cell(0, 0)->text[0] != 0x7f);
	}
	/* C1, and what turns text around. */
	top_put(&area, 1, 0, TOP_LOOK_PLAIN,
		"\xc2\x9b"
		"31m");
	TEST_ASSERT_EQUAL_STRING("?31m", sample_line(&grid, 1));
	top_put(&area, 2, 0, TOP_LOOK_PLAIN,
		"a\xff\xfe"
		"b");
	TEST_ASSERT_EQUAL_STRING("a??b", sample_line(&grid, 2));
}

static void test_wide_characters_take_two_cells(void)
{
	TEST_ASSERT_EQUAL_INT(5,
		top_put(&area, 0, 0, TOP_LOOK_PLAIN,
			"a\xe4\xb8\xad\xe6\x96\x87"));
	TEST_ASSERT_EQUAL_INT(2, cell(0, 1)->width);
	TEST_ASSERT_EQUAL_INT(0, cell(0, 2)->width);
	/* Half of it painted over: the other half is not left. */
	top_put(&area, 0, 2, TOP_LOOK_PLAIN, "x");
	TEST_ASSERT_EQUAL_STRING(" ", cell(0, 1)->text);
	TEST_ASSERT_EQUAL_STRING("x", cell(0, 2)->text);
	/* No room for both halves. */
	top_put(&area, 1, 9, TOP_LOOK_PLAIN, "\xe4\xb8\xad");
	TEST_ASSERT_EQUAL_STRING(" ", cell(1, 9)->text);
}

static void test_combining_marks_take_none(void)
{
	TEST_ASSERT_EQUAL_INT(2,
		top_put(&area, 0, 0, TOP_LOOK_PLAIN,
			"e\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85\xcc\x86"
			"\xcc\x87x"));
	TEST_ASSERT_EQUAL_STRING("x", cell(0, 1)->text);
	TEST_ASSERT_TRUE(strlen(cell(0, 0)->text) < sizeof(cell(0, 0)->text));
	TEST_ASSERT_EQUAL_INT('e', cell(0, 0)->text[0]);
	/* Without anything to combine with. */
	TEST_ASSERT_EQUAL_INT(
		1, top_put(&area, 1, 0, TOP_LOOK_PLAIN, "\xcc\x81x"));
}

static void test_joiners_are_left_out(void)
{
	TEST_ASSERT_EQUAL_INT(2,
		top_put(&area, 0, 0, TOP_LOOK_PLAIN,
			"a\xe2\x80\x8d\xe2\x80\x8b"
			"b"));
	TEST_ASSERT_EQUAL_STRING("ab", sample_line(&grid, 0));
}

static void test_ascii_has_nothing_else(void)
{
	grid.ascii = true;
	top_put(&area, 0, 0, TOP_LOOK_PLAIN, "\xc3\xa4\xe2\x96\x88z");
	TEST_ASSERT_EQUAL_STRING("??z", sample_line(&grid, 0));
	top_put_left(&area, 1, 0, 4, TOP_LOOK_PLAIN, "abcdef");
	TEST_ASSERT_EQUAL_STRING("abc~", sample_line(&grid, 1));
}

static void test_fields_are_filled_or_cut_with_a_mark(void)
{
	TEST_ASSERT_EQUAL_INT(
		5, top_put_right(&area, 0, 0, 5, TOP_LOOK_PLAIN, "12"));
	TEST_ASSERT_EQUAL_STRING("   12", sample_line(&grid, 0));
	top_put_left(&area, 0, 6, 2, TOP_LOOK_PLAIN, "ab");
	TEST_ASSERT_EQUAL_STRING("   12 ab", sample_line(&grid, 0));
	top_put_right(&area, 1, 0, 4, TOP_LOOK_PLAIN, "123456");
	TEST_ASSERT_EQUAL_STRING("123\xe2\x80\xa6", sample_line(&grid, 1));
	/* A wide one that would be cut in half. */
	top_put_left(
		&area, 2, 0, 3, TOP_LOOK_PLAIN, "a\xe4\xb8\xad\xe6\x96\x87");
	TEST_ASSERT_EQUAL_STRING("a \xe2\x80\xa6", sample_line(&grid, 2));
	TEST_ASSERT_EQUAL_INT(
		4, top_put_left(&area, 2, 4, 0, TOP_LOOK_PLAIN, "x"));
}

static void test_clicks_find_what_was_painted_last(void)
{
	const struct top_spot *spot;

	top_spot_add(&area, 0, 0, 3, 10, TOP_SPOT_ROW, 1);
	top_spot_add(&area, 1, 2, 1, 3, TOP_SPOT_SORT, 2);
	spot = top_spot_at(&grid, 1, 4);
	TEST_ASSERT_NOT_NULL(spot);
	TEST_ASSERT_EQUAL_INT(2, spot->value);
	TEST_ASSERT_EQUAL_INT(1, top_spot_at(&grid, 1, 5)->value);
	TEST_ASSERT_NULL(top_spot_at(&grid, 3, 0));
	TEST_ASSERT_EQUAL_INT(0, top_grid_size(&grid, 3, 10));
	TEST_ASSERT_NULL(top_spot_at(&grid, 0, 0));
}

static void test_a_grid_grows_downwards(void)
{
	top_put(&area, 2, 0, TOP_LOOK_PLAIN, "kept");
	TEST_ASSERT_EQUAL_INT(0, top_grid_grow(&grid, 100));
	TEST_ASSERT_EQUAL_STRING("kept", sample_line(&grid, 2));
	TEST_ASSERT_EQUAL_STRING("", sample_line(&grid, 99));
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_text_is_cut_at_the_edge);
	RUN_TEST(test_a_part_does_not_paint_outside);
	RUN_TEST(test_no_control_character_gets_in);
	RUN_TEST(test_wide_characters_take_two_cells);
	RUN_TEST(test_combining_marks_take_none);
	RUN_TEST(test_joiners_are_left_out);
	RUN_TEST(test_ascii_has_nothing_else);
	RUN_TEST(test_fields_are_filled_or_cut_with_a_mark);
	RUN_TEST(test_clicks_find_what_was_painted_last);
	RUN_TEST(test_a_grid_grows_downwards);
	return UNITY_END();
}
