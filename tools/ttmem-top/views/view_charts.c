/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* View 2: DRAM and L1 of each device over time. */
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "chart.h"
#include "view.h"

#define PANEL_ROWS 9
#define PANEL_COLS 40
#define COMPACT_ROWS 5
#define COMPACT_COLS 30

struct charts {
	const struct top_model *model;
	const struct top_state *state;
	uint64_t from_ns, to_ns;
	size_t shown; /* devices */
};

/* The end lies on a step, so that columns move as a whole. */
static void span_make(struct charts *charts, int cols)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(
		charts->model->snapshot);
	uint64_t now = info->monotonic_ns == TTMEM_UNKNOWN ? 0 :
							     info->monotonic_ns;
	uint64_t window = top_windows[charts->state->window];
	uint64_t step = window / (uint64_t)(cols > 0 ? cols : 1);

	now = now > charts->state->pan_ns ? now - charts->state->pan_ns : 0;
	charts->to_ns = step ? (now / step + 1) * step : now;
	charts->from_ns = charts->to_ns > window ? charts->to_ns - window : 0;
}

/* Of a number that is cut, another one would be read. */
static void series_title(const struct top_area *area, int row, int col,
	const char *label, enum top_look look, uint64_t used, uint64_t size,
	uint64_t peak)
{
	enum top_level level = top_level_of(top_fraction(used, size));
	enum top_look value = top_level_look(level, TOP_LOOK_PLAIN);
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE];

	col = top_put(area, row, col, look, label);
	col = top_printf_whole(area, row, col, value, " %s/%s",
		top_bytes_short(used, a), top_bytes_short(size, b));
	col = top_printf_whole(area, row, col, value, " %s%s",
		top_percent(used, size, a), top_level_mark(level));
	top_printf_whole(area, row, col, TOP_LOOK_PEAK, "  peak %s",
		top_bytes_short(peak, a));
}

static void series_paint(const struct charts *charts,
	const struct top_area *area, const struct top_device *device,
	enum top_series series, int title_col)
{
	bool dram = series == TOP_SERIES_DRAM;
	const struct ttmem_device_row *d = device->row;
	struct top_chart chart = {
		.past = top_history_find(&charts->model->history, device->id),
		.series = series,
		.capacity = dram ? d->dram_bytes : d->l1_bytes,
		.from_ns = charts->from_ns,
		.to_ns = charts->to_ns,
		.braille = charts->state->settings.braille,
		.look = dram ? TOP_LOOK_DRAM : TOP_LOOK_L1,
	};
	struct top_area plot = top_area_part(
		area, 1, 0, area->rows - 1, area->cols);

	series_title(area, 0, title_col, dram ? "DRAM" : "L1  ", chart.look,
		dram ? d->dram_use : d->l1_tensix_use, chart.capacity,
		top_chart_peak(&chart));
	top_chart_paint(&plot, &chart);
}

static void panel_paint(const struct charts *charts,
	const struct top_area *area, const struct top_device *device)
{
	bool selected = top_id_equal(device->id, charts->state->device);
	const char *board = top_device_board(device);
	int dram = (area->rows + 1) / 2, col;
	struct top_area part;
	char text[TOP_TEXT_SIZE];

	col = top_printf(area, 0, 0, TOP_LOOK_TITLE, "%s%s",
		area->cols >= 50 ? "Device " : "", device->name);
	if (board && area->cols >= 50)
		col = top_printf(area, 0, col, TOP_LOOK_PLAIN, " %s",
			ttm_text_escape(board, text, sizeof(text)));
	part = top_area_part(area, 0, 0, 1, col);
	if (selected && charts->model->devices.len > 1)
		top_area_flag(&part, TOP_SELECTED);
	part = top_area_part(area, 0, 0, dram, area->cols);
	series_paint(charts, &part, device, TOP_SERIES_DRAM, col + 2);
	part = top_area_part(area, dram, 0, area->rows - dram, area->cols);
	series_paint(charts, &part, device, TOP_SERIES_L1, col + 2);
}

/* -- time --------------------------------------------------------------------- */

static const char *clock_text(const struct charts *charts, uint64_t time_ns,
	char buffer[static TOP_TEXT_SIZE])
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(
		charts->model->snapshot);

	if (info->realtime_ns == TTMEM_UNKNOWN ||
		info->monotonic_ns == TTMEM_UNKNOWN)
		return memcpy(buffer, "-", 2);
	return top_time_of_day(
		info->realtime_ns + time_ns - info->monotonic_ns, buffer);
}

static void time_paint(const struct charts *charts, const struct top_area *area)
{
	const struct top_glyphs *glyphs = top_glyphs_of(area);
	uint64_t window = top_windows[charts->state->window];
	char text[TOP_TEXT_SIZE], title[3 * TOP_TEXT_SIZE];
	int col;

	top_fill(area, 0, 0, area->cols, TOP_LOOK_BORDER, glyphs->across);
	top_printf(area, 0, 1, TOP_LOOK_DIM, " %s ",
		clock_text(charts, charts->from_ns, text));
	if (charts->state->pan_ns)
		col = snprintf(NULL, 0, " %s ",
			clock_text(charts, charts->to_ns, text));
	else
		col = snprintf(text, sizeof(text), "now") + 2;
	top_printf(area, 0, area->cols - 1 - col, TOP_LOOK_DIM, " %s ", text);
	top_duration(window, text);
	if (charts->shown < charts->model->devices.len)
		snprintf(title, sizeof(title),
			" window %s, %zu of %zu devices ", text, charts->shown,
			charts->model->devices.len);
	else
		snprintf(title, sizeof(title), " window %s ", text);
	col = (area->cols - (int)strlen(title)) / 2;
	if (col > 12)
		top_put(area, 0, col, TOP_LOOK_LABEL, title);
}

void top_view_charts(const struct top_model *model, struct top_state *state,
	const struct top_area *area)
{
	struct charts charts = { model, state, 0, 0, 0 };
	bool compact = state->settings.compact;
	struct top_rect body = { 0, 0, area->rows - 1, area->cols };
	struct top_panels_layout layout;
	struct top_area part;
	size_t page, i, first;

	if (model->devices.len == 0) {
		top_put(area, 0, 0, TOP_LOOK_DIM, "No devices.");
		return;
	}
	top_layout_panels(&body, state->zoomed ? 1 : (int)model->devices.len,
		compact ? COMPACT_ROWS : PANEL_ROWS,
		compact ? COMPACT_COLS : PANEL_COLS, &layout);
	span_make(&charts, layout.cols - TOP_CHART_AXIS);
	page = (size_t)(layout.across * layout.down);
	first = state->devices.selected / page * page;
	state->devices.shown = page;
	for (i = 0; i < page && first + i < model->devices.len; i++) {
		struct top_rect r = top_layout_panel(&body, &layout, (int)i);

		part = top_area_part(area, r.top, r.left, r.rows,
			r.cols - (r.left + r.cols < area->cols ? 2 : 0));
		panel_paint(&charts, &part, &model->devices.list[first + i]);
		charts.shown++;
		top_spot_add(&part, 0, 0, part.rows, part.cols, TOP_SPOT_ROW,
			(int)(first + i));
	}
	part = top_area_part(area, area->rows - 1, 0, 1, area->cols);
	time_paint(&charts, &part);
}
