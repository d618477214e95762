/* SPDX-License-Identifier: Apache-2.0 */
/* What goes where, from sizes alone. */
#ifndef TTM_TOP_LAYOUT_H
#define TTM_TOP_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "ttmem-top/model/columns.h"

struct top_rect {
	int top, left, rows, cols;
};

/* Parts that there is no room for have no rows. */
struct top_frame_layout {
	struct top_rect tabs;
	struct top_rect banner;
	struct top_rect summary;
	struct top_rect body;
	struct top_rect footer;
};

/* The body has at least one row. */
void top_layout_frame(
	int rows, int cols, bool banner, struct top_frame_layout *ret_layout);

struct top_devices_layout {
	struct top_rect table; /* header and rows */
	struct top_rect rule;  /* between them; no rows: side by side */
	struct top_rect detail;
};

/*
 * A table of `devices` rows and its header, and below, or beside where that is too
 * low and wide enough, `detail` rows about one of them. The table keeps a third, or
 * all that it wants if it is to be `whole`; where not even half of the detail has
 * room, there is none.
 */
void top_layout_devices(const struct top_rect *body, int devices, int detail,
	bool whole, struct top_devices_layout *ret_layout);

struct top_panels_layout {
	int across, down; /* panels at a time */
	int rows, cols;   /* of each, the last ones may be larger */
};

/* As many of `count` panels of that least size as have room, at least one. */
void top_layout_panels(const struct top_rect *body, int count, int least_rows,
	int least_cols, struct top_panels_layout *ret_layout);

/* Panel `index` of those shown. */
struct top_rect top_layout_panel(const struct top_rect *body,
	const struct top_panels_layout *layout, int index);

/*
 * The widths of columns side by side with a blank between them; 0: no room. Columns
 * of a lower number go first, priorities are different ones; what is left over goes
 * to those that can use it.
 */
void top_layout_columns(const struct top_column_size *columns, size_t len,
	int cols, int *ret_widths);

/* In the middle, with a border around rows x cols, as far as there is room. */
struct top_rect top_layout_window(
	const struct top_rect *screen, int rows, int cols);

/*
 * The widths of a table's columns; 0: not shown. `wider` has, by column of the table,
 * how wide its texts are, or is NULL.
 */
void top_table_widths(
	enum top_table table, int cols, const int *wider, int *ret_widths);

/* A column that has room. */
struct top_shown {
	size_t column; /* enum top_column_id */
	int col, width;
};

/* The same, those that are shown; returns how many. */
size_t top_table_shown(enum top_table table, int cols, const int *wider,
	struct top_shown ret_shown[TOP_COLUMNS]);

/*
 * The first row to be shown of `len`, `shown` at a time, so that `selected` is among
 * them and as little moves as possible.
 */
size_t top_layout_scroll(
	size_t first, size_t selected, size_t len, size_t shown);

#endif
