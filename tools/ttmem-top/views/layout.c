/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "layout.h"

#include <string.h>

#define SUMMARY_FROM_ROWS 10
#define FOOTER_FROM_ROWS 5
#define TABS_FROM_ROWS 3
#define BESIDE_FROM_COLS 150
#define BESIDE_DETAIL_COLS 68

static struct top_rect rect(int top, int left, int rows, int cols)
{
	struct top_rect r = { top, left, rows > 0 ? rows : 0,
		cols > 0 ? cols : 0 };

	return r;
}

void top_layout_frame(
	int rows, int cols, bool banner, struct top_frame_layout *ret_layout)
{
	int tabs = rows >= TABS_FROM_ROWS;
	int shown = banner && rows >= 2;
	int summary = rows >= SUMMARY_FROM_ROWS;
	int footer = rows >= FOOTER_FROM_ROWS;
	int at = 0;

	ret_layout->tabs = rect(at, 0, tabs, cols);
	at += tabs;
	ret_layout->banner = rect(at, 0, shown, cols);
	at += shown;
	ret_layout->summary = rect(at, 0, summary, cols);
	at += summary;
	ret_layout->body = rect(at, 0, rows - at - footer, cols);
	ret_layout->footer = rect(rows - footer, 0, footer, cols);
}

void top_layout_devices(const struct top_rect *body, int devices, int detail,
	bool whole, struct top_devices_layout *ret_layout)
{
	int wanted = devices + 1;
	int table;

	memset(ret_layout, 0, sizeof(*ret_layout));
	ret_layout->table = *body;
	if (wanted + 1 + detail > body->rows &&
		body->cols >= BESIDE_FROM_COLS && detail <= body->rows) {
		table = body->cols - BESIDE_DETAIL_COLS - 1;
		ret_layout->table.cols = table;
		ret_layout->detail = rect(body->top, body->left + table + 1,
			body->rows, BESIDE_DETAIL_COLS);
		return;
	}
	table = body->rows - 1 - detail;
	if (table < body->rows / 3)
		table = body->rows / 3;
	if (table > wanted || whole)
		table = wanted;
	if (body->rows - 1 - table < detail / 2)
		return;
	ret_layout->table.rows = table;
	ret_layout->rule = rect(body->top + table, body->left, 1, body->cols);
	ret_layout->detail = rect(body->top + table + 1, body->left,
		body->rows - 1 - table, body->cols);
}

void top_layout_panels(const struct top_rect *body, int count, int least_rows,
	int least_cols, struct top_panels_layout *ret_layout)
{
	int most_across = body->cols / least_cols;
	int most_down = body->rows / least_rows;
	int across = 1;

	most_across = most_across > 1 ? most_across : 1;
	most_down = most_down > 1 ? most_down : 1;
	count = count > 1 ? count : 1;
	/* As wide as possible, time being what is to be seen. */
	while (across < most_across && across * most_down < count)
		across++;
	ret_layout->across = across;
	ret_layout->down = (count + across - 1) / across;
	if (ret_layout->down > most_down)
		ret_layout->down = most_down;
	ret_layout->rows = body->rows / ret_layout->down;
	ret_layout->cols = body->cols / across;
}

struct top_rect top_layout_panel(const struct top_rect *body,
	const struct top_panels_layout *layout, int index)
{
	int y = index / layout->across, x = index % layout->across;
	struct top_rect r;

	r.top = body->top + y * layout->rows;
	r.left = body->left + x * layout->cols;
	r.rows = y + 1 == layout->down ? body->rows - y * layout->rows :
					 layout->rows;
	r.cols = x + 1 == layout->across ? body->cols - x * layout->cols :
					   layout->cols;
	return r;
}

/* -- columns ------------------------------------------------------------------ */

/* Of those without a width, the one to go next; `len`: none. */
static size_t column_next(const struct top_column_size *columns, size_t len,
	const int *widths, int after)
{
	size_t found = len, i;

	for (i = 0; i < len; i++)
		if (!widths[i] && columns[i].priority > after &&
			(found == len ||
				columns[i].priority < columns[found].priority))
			found = i;
	return found;
}

static int widths_share(const struct top_column_size *columns, size_t len,
	int left, int *widths)
{
	size_t i;
	int given = 0;

	for (i = 0; i < len && given < left; i++)
		if (widths[i] && widths[i] < columns[i].most) {
			widths[i]++;
			given++;
		}
	return given;
}

void top_layout_columns(const struct top_column_size *columns, size_t len,
	int cols, int *ret_widths)
{
	int used = -1, priority = -1, given;
	size_t i;

	memset(ret_widths, 0, len * sizeof(*ret_widths));
	while ((i = column_next(columns, len, ret_widths, priority)) < len) {
		priority = columns[i].priority;
		if (used + 1 + columns[i].least > cols)
			continue;
		ret_widths[i] = columns[i].least;
		used += 1 + columns[i].least;
	}
	if (used < 0 && len && cols > 0) {
		/* Not even one: cut it rather than show nothing. */
		i = column_next(columns, len, ret_widths, -1);
		ret_widths[i] = cols;
		return;
	}
	do {
		given = widths_share(columns, len, cols - used, ret_widths);
		used += given;
	} while (given > 0);
}

void top_table_widths(
	enum top_table table, int cols, const int *wider, int *ret_widths)
{
	struct top_column_size sizes[TOP_COLUMNS];
	size_t first = top_table_first(table), len = top_table_len(table), i;

	for (i = 0; i < len; i++) {
		sizes[i] = top_columns[first + i].size;
		if (!wider || wider[i] <= sizes[i].least)
			continue;
		sizes[i].least = wider[i];
		if (sizes[i].most < wider[i])
			sizes[i].most = wider[i];
	}
	top_layout_columns(sizes, len, cols, ret_widths);
}

size_t top_table_shown(enum top_table table, int cols, const int *wider,
	struct top_shown ret_shown[TOP_COLUMNS])
{
	size_t first = top_table_first(table), len = 0, i;
	int widths[TOP_COLUMNS], col = 0;

	top_table_widths(table, cols, wider, widths);
	for (i = 0; i < top_table_len(table); i++) {
		if (!widths[i])
			continue;
		ret_shown[len++] = (struct top_shown){ first + i, col,
			widths[i] };
		col += widths[i] + 1;
	}
	return len;
}

struct top_rect top_layout_window(
	const struct top_rect *screen, int rows, int cols)
{
	rows = rows + 2 > screen->rows ? screen->rows : rows + 2;
	cols = cols + 4 > screen->cols ? screen->cols : cols + 4;
	return rect(screen->top + (screen->rows - rows) / 2,
		screen->left + (screen->cols - cols) / 2, rows, cols);
}

size_t top_layout_scroll(
	size_t first, size_t selected, size_t len, size_t shown)
{
	if (shown == 0)
		return 0;
	if (len <= shown)
		return 0;
	if (first > len - shown)
		first = len - shown;
	if (selected < first)
		first = selected;
	if (selected >= first + shown)
		first = selected - shown + 1;
	return first;
}
