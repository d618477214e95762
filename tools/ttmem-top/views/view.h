/* SPDX-License-Identifier: Apache-2.0 */
/* Views: model and state to cells. Nothing here knows a terminal or a clock. */
#ifndef TTM_TOP_VIEW_H
#define TTM_TOP_VIEW_H

#include "ttmem-top/model/state.h"
#include "glyphs.h"
#include "layout.h"

/*
 * The whole screen. Notes in the state how much of its lists had room. `now_ns` is
 * for messages that end.
 */
void top_view_paint(const struct top_model *model, struct top_state *state,
	uint64_t now_ns, struct top_grid *grid);

/*
 * One view, with all of its rows, without tabs and keys, for whom there is no
 * terminal. Returns 0 or -ENOMEM.
 */
int top_view_paint_plain(const struct top_model *model, struct top_state *state,
	int cols, struct top_grid *grid);

/* -- within the folder -------------------------------------------------------- */

void top_view_devices(const struct top_model *model, struct top_state *state,
	const struct top_area *area);
void top_view_charts(const struct top_model *model, struct top_state *state,
	const struct top_area *area);
void top_view_processes(const struct top_model *model, struct top_state *state,
	const struct top_area *area);
void top_view_health(const struct top_model *model, struct top_state *state,
	const struct top_area *area);

/* What lies over a view. */
void top_view_window(const struct top_model *model, struct top_state *state,
	const struct top_area *area);

/* Rows that the breakdown of a device takes. */
int top_breakdown_rows(const struct top_device *device);
void top_breakdown_paint(const struct top_model *model,
	const struct top_device *device, const struct top_area *area);
/* A cell of a table, aligned as its column. */
void top_cell(const struct top_area *area, int row,
	const struct top_shown *shown, enum top_look look, const char *text);
/* The line of a list's row: a click chooses it. */
void top_line_end(const struct top_area *line, size_t place, size_t selected);
struct top_area top_area_of(
	const struct top_area *area, const struct top_rect *rect);
/* "13.9%!": with room for the mark behind the number. */
void top_percent_cell(const struct top_area *area, int row, int col, int width,
	uint64_t used, uint64_t size);

/* Text of any length, shown from a row on. */
struct top_text {
	struct top_grid grid;
	int row; /* being written */
	bool failed;
};

void top_text_begin(
	struct top_text *text, const struct top_area *area, int cols);
/* An area of `rows` rows at the end, and on behind it. */
struct top_area top_rows(struct top_text *text, int rows);
__attribute__((format(printf, 3, 4))) void top_line(
	struct top_text *text, enum top_look look, const char *format, ...);
/* A label, and what does not fit beside it goes on below. */
__attribute__((format(printf, 4, 5))) void top_field(struct top_text *text,
	enum top_look look, const char *label, const char *format, ...);
/* A heading with a line before it. */
void top_head(struct top_text *text, const char *title);
/* Shows it from a row on, and frees it. */
void top_text_paint(
	struct top_text *text, const struct top_area *area, int first);
/* Shows it from *scroll on, which is kept in bounds, and frees it. */
void top_text_show(
	struct top_text *text, const struct top_area *area, int *scroll);

void top_detail_device(const struct top_model *model,
	const struct top_device *device, struct top_text *text);
void top_detail_row(const struct top_model *model, const struct top_row *row,
	struct top_text *text);

#endif
