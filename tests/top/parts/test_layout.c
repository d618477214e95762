/* SPDX-License-Identifier: Apache-2.0 */
/* Everything has its place, at any size. */
#include "ttmem-top/views/layout.h"

#include <unity.h>

#include "ttmem-top/model/columns.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void is_inside(const struct top_rect *r, int rows, int cols)
{
	TEST_ASSERT_TRUE(r->rows >= 0 && r->cols >= 0);
	if (!r->rows)
		return;
	TEST_ASSERT_TRUE(r->top >= 0 && r->left >= 0);
	TEST_ASSERT_TRUE(r->top + r->rows <= rows);
	TEST_ASSERT_TRUE(r->left + r->cols <= cols);
}

static void test_the_parts_of_a_frame_do_not_overlap(void)
{
	struct top_frame_layout l;
	int rows, banner;

	for (rows = 1; rows < 200; rows++)
		for (banner = 0; banner < 2; banner++) {
			top_layout_frame(rows, 80, banner, &l);
			TEST_ASSERT_EQUAL_INT(rows,
				l.tabs.rows + l.banner.rows + l.summary.rows +
					l.body.rows + l.footer.rows);
			TEST_ASSERT_TRUE(l.body.rows >= 1 || rows < 2);
			is_inside(&l.tabs, rows, 80);
			is_inside(&l.banner, rows, 80);
			is_inside(&l.summary, rows, 80);
			is_inside(&l.body, rows, 80);
			is_inside(&l.footer, rows, 80);
			TEST_ASSERT_EQUAL_INT(l.body.top,
				l.tabs.rows + l.banner.rows + l.summary.rows);
		}
}

static void test_a_tiny_terminal_shows_the_view(void)
{
	struct top_frame_layout l;

	top_layout_frame(5, 20, false, &l);
	TEST_ASSERT_EQUAL_INT(1, l.tabs.rows);
	TEST_ASSERT_EQUAL_INT(3, l.body.rows);
	TEST_ASSERT_EQUAL_INT(1, l.footer.rows);
	top_layout_frame(1, 20, false, &l);
	TEST_ASSERT_EQUAL_INT(1, l.body.rows);
	top_layout_frame(2, 20, true, &l);
	TEST_ASSERT_EQUAL_INT(1, l.banner.rows);
}

static void test_devices_and_detail_share_the_body(void)
{
	struct top_rect body = { 2, 0, 21, 80 };
	struct top_devices_layout l;

	top_layout_devices(&body, 4, 14, false, &l);
	TEST_ASSERT_EQUAL_INT(5, l.table.rows);
	TEST_ASSERT_EQUAL_INT(1, l.rule.rows);
	TEST_ASSERT_EQUAL_INT(15, l.detail.rows);
	TEST_ASSERT_EQUAL_INT(8, l.detail.top);
	/* Many devices keep a third. */
	top_layout_devices(&body, 32, 18, false, &l);
	TEST_ASSERT_EQUAL_INT(7, l.table.rows);
	TEST_ASSERT_EQUAL_INT(13, l.detail.rows);
	/* Or all, if it is to be seen as a whole. */
	top_layout_devices(&body, 15, 18, true, &l);
	TEST_ASSERT_EQUAL_INT(21, l.table.rows);
	TEST_ASSERT_EQUAL_INT(0, l.detail.rows);
	/* Where there is not room for half of the detail, there is none. */
	body.rows = 6;
	top_layout_devices(&body, 4, 18, false, &l);
	TEST_ASSERT_EQUAL_INT(6, l.table.rows);
	TEST_ASSERT_EQUAL_INT(0, l.detail.rows);
}

static void test_where_it_is_wide_and_low_they_stand_side_by_side(void)
{
	struct top_rect body = { 2, 0, 30, 200 };
	struct top_devices_layout l;

	top_layout_devices(&body, 32, 18, false, &l);
	TEST_ASSERT_EQUAL_INT(0, l.rule.rows);
	TEST_ASSERT_EQUAL_INT(30, l.table.rows);
	TEST_ASSERT_EQUAL_INT(l.table.cols + 1, l.detail.left);
	TEST_ASSERT_EQUAL_INT(200, l.detail.left + l.detail.cols);
}

static void test_panels_tile_the_body(void)
{
	struct top_panels_layout l;
	int rows, cols, count, i, shown;

	for (rows = 1; rows < 100; rows += 7)
		for (cols = 1; cols < 300; cols += 13)
			for (count = 1; count <= 33; count += 4) {
				struct top_rect body = { 1, 0, rows, cols };

				top_layout_panels(&body, count, 9, 40, &l);
				shown = l.across * l.down;
				TEST_ASSERT_TRUE(shown >= 1);
				for (i = 0; i < shown; i++) {
					struct top_rect r = top_layout_panel(
						&body, &l, i);

					is_inside(&r, rows + 1, cols);
				}
			}
}

static void test_four_devices_on_a_wide_screen_are_all_shown(void)
{
	struct top_rect body = { 1, 0, 21, 80 };
	struct top_panels_layout l;

	top_layout_panels(&body, 4, 9, 40, &l);
	TEST_ASSERT_EQUAL_INT(2, l.across);
	TEST_ASSERT_EQUAL_INT(2, l.down);
	TEST_ASSERT_EQUAL_INT(40, l.cols);
	TEST_ASSERT_EQUAL_INT(10, l.rows);
}

static void test_columns_go_by_their_priority(void)
{
	static const struct top_column_size columns[] = { { 3, 3, 2 },
		{ 5, 20, 0 }, { 4, 4, 1 } };
	int widths[3];

	top_layout_columns(columns, 3, 10, widths);
	TEST_ASSERT_EQUAL_INT(0, widths[0]);
	TEST_ASSERT_EQUAL_INT(5, widths[1]);
	TEST_ASSERT_EQUAL_INT(4, widths[2]);
	top_layout_columns(columns, 3, 20, widths);
	TEST_ASSERT_EQUAL_INT(3, widths[0]);
	TEST_ASSERT_EQUAL_INT(11, widths[1]);
	TEST_ASSERT_EQUAL_INT(4, widths[2]);
	/* Rather cut than nothing. */
	top_layout_columns(columns, 3, 2, widths);
	TEST_ASSERT_EQUAL_INT(2, widths[1]);
}

static void test_tables_never_exceed_their_width(void)
{
	int widths[TOP_COLUMNS], cols, sum;
	size_t i, len;
	int table;

	for (table = 0; table < TOP_TABLES; table++)
		for (cols = 1; cols <= 300; cols++) {
			top_table_widths(
				(enum top_table)table, cols, NULL, widths);
			len = top_table_len((enum top_table)table);
			for (i = 0, sum = -1; i < len; i++)
				sum += widths[i] ? widths[i] + 1 : 0;
			TEST_ASSERT_TRUE(sum >= 1 && sum <= cols);
		}
}

static void test_priorities_are_different_ones(void)
{
	size_t i, k;

	for (i = 0; i < TOP_COLUMNS; i++)
		for (k = 0; k < i; k++)
			TEST_ASSERT_FALSE(
				top_columns[i].table == top_columns[k].table &&
				top_columns[i].size.priority ==
					top_columns[k].size.priority);
}

static void test_the_selected_row_is_always_shown(void)
{
	size_t first = 0, len, shown, selected;

	for (len = 0; len < 40; len++)
		for (shown = 1; shown < 12; shown++)
			for (selected = 0; selected < len; selected++) {
				first = top_layout_scroll(
					first, selected, len, shown);
				TEST_ASSERT_TRUE(selected >= first &&
					selected < first + shown);
				TEST_ASSERT_TRUE(
					len <= shown || first <= len - shown);
			}
	TEST_ASSERT_EQUAL_UINT64(0, top_layout_scroll(9, 3, 40, 0));
	/* What is shown already does not move. */
	TEST_ASSERT_EQUAL_UINT64(5, top_layout_scroll(5, 7, 40, 10));
}

static void test_a_window_is_in_the_middle_and_on_the_screen(void)
{
	struct top_rect screen = { 0, 0, 24, 80 }, r;

	r = top_layout_window(&screen, 4, 40);
	TEST_ASSERT_EQUAL_INT(6, r.rows);
	TEST_ASSERT_EQUAL_INT(44, r.cols);
	TEST_ASSERT_EQUAL_INT(9, r.top);
	TEST_ASSERT_EQUAL_INT(18, r.left);
	r = top_layout_window(&screen, 400, 400);
	TEST_ASSERT_EQUAL_INT(24, r.rows);
	TEST_ASSERT_EQUAL_INT(80, r.cols);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_the_parts_of_a_frame_do_not_overlap);
	RUN_TEST(test_a_tiny_terminal_shows_the_view);
	RUN_TEST(test_devices_and_detail_share_the_body);
	RUN_TEST(test_where_it_is_wide_and_low_they_stand_side_by_side);
	RUN_TEST(test_panels_tile_the_body);
	RUN_TEST(test_four_devices_on_a_wide_screen_are_all_shown);
	RUN_TEST(test_columns_go_by_their_priority);
	RUN_TEST(test_tables_never_exceed_their_width);
	RUN_TEST(test_priorities_are_different_ones);
	RUN_TEST(test_the_selected_row_is_always_shown);
	RUN_TEST(test_a_window_is_in_the_middle_and_on_the_screen);
	return UNITY_END();
}
