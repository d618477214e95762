/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* The screen around a view: tabs, banner, summary, keys. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "keys.h"
#include "view.h"

#define AGE_SHOWN_NS 2000000000ull
#define METER_COLS_LEAST 18
#define METER_COLS_MOST 60

static void (*const views[TOP_VIEWS])(const struct top_model *model,
	struct top_state *state, const struct top_area *area) = {
	top_view_devices, top_view_charts, top_view_processes, top_view_health
};

/* -- first line --------------------------------------------------------------- */

static int tabs_paint(const struct top_area *area, enum top_view open)
{
	static const char *const titles[TOP_VIEWS] = { "Devices", "Charts",
		"Processes", "Health" };
	bool narrow = area->cols < 60;
	int col = 0, start, i;

	for (i = 0; i < (int)TOP_VIEWS; i++) {
		start = col;
		if (narrow && i != (int)open)
			col = top_printf(
				area, 0, col, TOP_LOOK_TAB, " %d ", i + 1);
		else
			col = top_printf(area, 0, col,
				i == (int)open ? TOP_LOOK_TAB_OPEN :
						 TOP_LOOK_TAB,
				" %d %s ", i + 1, titles[i]);
		top_spot_add(area, 0, start, 1, col - start, TOP_SPOT_VIEW, i);
	}
	return col;
}

/* Frozen, replayed, recorded; the time of the figures; what they are worth. */
static void status_text(const struct top_model *model,
	const struct top_state *state, const struct top_glyphs *glyphs,
	bool date, char *buffer, size_t size)
{
	const struct ttmem_info_row *info;
	char time[TOP_TEXT_SIZE], age[TOP_TEXT_SIZE] = "ok";

	if (!model->snapshot) {
		snprintf(buffer, size, "no data");
		return;
	}
	info = ttmem_snapshot_info(model->snapshot);
	/* Calm while all is well. */
	if (info->age_ns >= AGE_SHOWN_NS)
		top_duration(info->age_ns, age);
	snprintf(buffer, size, "%s%s%s%s%s  %s",
		state->frozen         ? glyphs->frozen :
			model->replay ? glyphs->playing :
					"",
		state->frozen         ? " FROZEN " :
			model->replay ? " REPLAY " :
					"",
		model->recording ? "REC " : "",
		model->replay || state->frozen || model->recording ? " " : "",
		date ? top_time(info->realtime_ns, time) :
		       top_time_of_day(info->realtime_ns, time),
		model->worth.stale ? "STALE" : age);
}

static void top_line_paint(const struct top_model *model,
	const struct top_state *state, const struct top_area *area)
{
	enum top_look look = state->frozen || model->worth.stale ?
		TOP_LOOK_WARN :
		TOP_LOOK_DIM;
	int col = tabs_paint(area, state->view), width;
	char text[128];

	status_text(
		model, state, top_glyphs_of(area), true, text, sizeof(text));
	if (col + 1 + top_text_width(area, text) > area->cols)
		status_text(model, state, top_glyphs_of(area), false, text,
			sizeof(text));
	width = top_text_width(area, text);
	if (col + 1 + width <= area->cols)
		top_put(area, 0, area->cols - width, look, text);
	else if (state->frozen || model->worth.stale)
		top_put_right(area, 0, col, area->cols - col, look,
			state->frozen ? "FROZEN" : "STALE");
}

static void banner_paint(
	const struct top_model *model, const struct top_area *area)
{
	char text[896];

	snprintf(text, sizeof(text), " %s %s%s%s",
		model->worth.stale || !model->snapshot ? "!!" : "!",
		model->worth.text, model->worth.hint[0] ? "; " : "",
		model->worth.hint);
	top_put_left(area, 0, 0, area->cols, TOP_LOOK_BANNER, text);
}

/* -- summary ------------------------------------------------------------------ */

static int meter_paint(const struct top_area *area, int row, int col, int width,
	const char *label, uint64_t used, uint64_t size)
{
	double fraction = top_fraction(used, size);
	enum top_level level = top_level_of(fraction);
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE], c[TOP_TEXT_SIZE];
	char text[TOP_TEXT_SIZE * 3];
	int bar, end = col + width;

	top_percent(used, size, c);
	col = top_put(area, row, col, TOP_LOOK_LABEL, label);
	snprintf(text, sizeof(text), " %s/%s %s%s", top_bytes_short(used, a),
		top_bytes_short(size, b), c, top_level_mark(level));
	if (top_text_width(area, text) > end - col)
		snprintf(text, sizeof(text), " %s%s", c, top_level_mark(level));
	bar = end - col - top_text_width(area, text) - 1;
	if (bar > 5) {
		top_bar(area, row, col + 1, bar, fraction);
		col += 1 + bar;
	}
	top_put(area, row, col, top_level_look(level, TOP_LOOK_PLAIN), text);
	return end;
}

void top_cell(const struct top_area *area, int row,
	const struct top_shown *shown, enum top_look look, const char *text)
{
	if (top_columns[shown->column].side == TOP_SIDE_RIGHT)
		top_put_right(area, row, shown->col, shown->width, look, text);
	else
		top_put_left(area, row, shown->col, shown->width, look, text);
}

void top_line_end(const struct top_area *line, size_t place, size_t selected)
{
	if (place == selected)
		top_area_flag(line, TOP_SELECTED);
	top_spot_add(line, 0, 0, 1, line->cols, TOP_SPOT_ROW, (int)place);
}

void top_percent_cell(const struct top_area *area, int row, int col, int width,
	uint64_t used, uint64_t size)
{
	enum top_level level = top_level_of(top_fraction(used, size));
	enum top_look look = top_level_look(level, TOP_LOOK_PLAIN);
	char text[TOP_TEXT_SIZE];

	col = top_put_right(
		area, row, col, width - 2, look, top_percent(used, size, text));
	top_put_left(area, row, col, 2, look, top_level_mark(level));
}

struct totals {
	uint64_t dram, dram_bytes, l1, l1_bytes;
};

/* Of those devices that tell. */
static void totals_add(
	uint64_t used, uint64_t size, uint64_t *sum, uint64_t *sum_size)
{
	if (used == TTMEM_UNKNOWN || size == TTMEM_UNKNOWN)
		return;
	*sum = (*sum == TTMEM_UNKNOWN ? 0 : *sum) + used;
	*sum_size = (*sum_size == TTMEM_UNKNOWN ? 0 : *sum_size) + size;
}

static void totals_make(const struct top_model *model, struct totals *totals)
{
	const struct ttmem_device_row *d;
	size_t i;

	memset(totals, 0xff, sizeof(*totals)); /* unknown */
	for (i = 0; i < model->devices.len; i++) {
		d = model->devices.list[i].row;
		totals_add(d->dram_use, d->dram_bytes, &totals->dram,
			&totals->dram_bytes);
		totals_add(d->l1_tensix_use, d->l1_bytes, &totals->l1,
			&totals->l1_bytes);
	}
}

static int count_paint(const struct top_area *area, int col, size_t count,
	const char *what, const char *plural, enum top_look look)
{
	return top_printf(area, 0, col, look, "%zu %s%s  ", count, what,
		count == 1 ? "" : plural);
}

/* What is left out. */
static int choice_paint(const struct top_model *model,
	const struct top_state *state, const struct top_area *area, int col)
{
	const struct top_device *device = top_model_device(model, state);
	char text[TOP_FILTER_SIZE * 4];

	if (state->device_only && device)
		col = top_printf(area, 0, col, TOP_LOOK_NOTICE,
			" on device %s ", device->name);
	if (state->filter[0])
		col = top_printf(area, 0, col, TOP_LOOK_NOTICE,
			" filter: %s, %zu hidden ",
			ttm_text_escape(state->filter, text, sizeof(text)),
			model->rows.hidden);
	return col + 1;
}

static void summary_paint(const struct top_model *model,
	const struct top_state *state, const struct top_area *area)
{
	const struct ttmem_health_row *health = ttmem_snapshot_health(
		model->snapshot);
	struct totals totals;
	int col, width;

	totals_make(model, &totals);
	col = count_paint(
		area, 0, model->devices.len, "device", "s", TOP_LOOK_STRONG);
	col = count_paint(area, col,
		health && health->attached != TTMEM_UNKNOWN ?
			(size_t)health->attached :
			model->rows.processes,
		"process", "es", TOP_LOOK_STRONG);
	if (model->rows.untracked && !state->settings.tree)
		col = count_paint(area, col, model->rows.untracked, "untracked",
			"", TOP_LOOK_WARN);
	if (state->view == TOP_VIEW_PROCESSES)
		col = choice_paint(model, state, area, col);
	width = (area->cols - col - 2) / 2;
	if (width < METER_COLS_LEAST)
		return;
	width = width > METER_COLS_MOST ? METER_COLS_MOST : width;
	col = area->cols - 2 * width - 2;
	col = meter_paint(
		area, 0, col, width, "DRAM", totals.dram, totals.dram_bytes);
	meter_paint(area, 0, col + 2, width, "L1", totals.l1, totals.l1_bytes);
}

/* -- last line ---------------------------------------------------------------- */

struct hint {
	enum top_action action;
	const char *key;
	const char *text;
	unsigned views; /* bits */
};

#define IN_ALL 15u
#define IN_CHARTS (1u << TOP_VIEW_CHARTS)
#define IN_PROCESSES (1u << TOP_VIEW_PROCESSES)

static const struct hint hints[] = {
	{ TOP_ACTION_HELP, "F1", "Help", IN_ALL },
	{ TOP_ACTION_SETTINGS, "F2", "Setup", IN_ALL },
	{ TOP_ACTION_FILTER, "/", "Filter", IN_PROCESSES },
	{ TOP_ACTION_TREE, "t", "Tree", IN_PROCESSES },
	{ TOP_ACTION_SORT, "F6", "Sort", IN_PROCESSES },
	{ TOP_ACTION_KILL, "F9", "Kill", IN_PROCESSES },
	{ TOP_ACTION_SHORTER, "+", "In", IN_CHARTS },
	{ TOP_ACTION_LONGER, "-", "Out", IN_CHARTS },
	{ TOP_ACTION_PAN_BACK, "[", "Back", IN_CHARTS },
	{ TOP_ACTION_PAN_ON, "]", "On", IN_CHARTS },
	{ TOP_ACTION_DETAIL, "Enter", "Detail",
		IN_ALL & ~(1u << TOP_VIEW_HEALTH) },
	{ TOP_ACTION_DEVICE, "d", "Device", IN_ALL },
	{ TOP_ACTION_COMPACT, "c", "Compact",
		IN_ALL & ~(1u << TOP_VIEW_HEALTH) },
	{ TOP_ACTION_PEAKS, "p", "Peaks", IN_ALL & ~(1u << TOP_VIEW_HEALTH) },
	{ TOP_ACTION_FREEZE, "Space", "Freeze", IN_ALL },
	{ TOP_ACTION_QUIT, "q", "Quit", IN_ALL },
};

static int hint_width(const struct hint *hint)
{
	return (int)(strlen(hint->key) + strlen(hint->text)) + 1;
}

/* Those that have room beside the last, which is how to get out. */
static void hints_paint(
	const struct top_state *state, const struct top_area *area)
{
	size_t len = sizeof(hints) / sizeof(hints[0]), i;
	int rest = area->cols + 1 - hint_width(&hints[len - 1]);
	int col = 0, start;

	for (i = 0; i < len; i++) {
		if (!(hints[i].views >> state->view & 1) ||
			(hints[i].action == TOP_ACTION_KILL &&
				state->readonly) ||
			(i + 1 < len && col + hint_width(&hints[i]) > rest))
			continue;
		start = col;
		col = top_put(area, 0, col, TOP_LOOK_KEY, hints[i].key);
		col = top_put(area, 0, col, TOP_LOOK_KEY_TEXT, hints[i].text);
		top_spot_add(area, 0, start, 1, col - start, TOP_SPOT_ACTION,
			(int)hints[i].action);
		col++;
	}
}

static void footer_paint(const struct top_state *state, uint64_t now_ns,
	const struct top_area *area)
{
	char text[TOP_FILTER_SIZE * 4];
	int col;

	if (state->mode == TOP_MODE_FILTER) {
		col = top_put(area, 0, 0, TOP_LOOK_KEY, "Filter: ");
		col = top_put(area, 0, col, TOP_LOOK_INPUT,
			ttm_text_escape(state->filter, text, sizeof(text)));
		top_put(area, 0, col, TOP_LOOK_KEY_TEXT, " ");
		top_put(area, 0, col + 2, TOP_LOOK_DIM,
			"Enter: keep  Esc: as before");
		return;
	}
	if (state->message[0] && now_ns < state->message_ns) {
		top_put_left(area, 0, 0, area->cols, TOP_LOOK_NOTICE,
			state->message);
		return;
	}
	hints_paint(state, area);
}

/* -- all of it ---------------------------------------------------------------- */

struct top_area top_area_of(
	const struct top_area *area, const struct top_rect *rect)
{
	return top_area_part(
		area, rect->top, rect->left, rect->rows, rect->cols);
}

static void body_paint(const struct top_model *model, struct top_state *state,
	const struct top_area *body)
{
	if (!model->snapshot) {
		top_put(body, 0, 0, TOP_LOOK_DIM, "Waiting for data.");
		return;
	}
	views[state->view](model, state, body);
	if (model->worth.stale)
		top_area_flag(body, TOP_STALE);
}

void top_view_paint(const struct top_model *model, struct top_state *state,
	uint64_t now_ns, struct top_grid *grid)
{
	struct top_area all = top_grid_area(grid), part;
	struct top_frame_layout layout;

	top_layout_frame(
		all.rows, all.cols, model->worth.text[0] != '\0', &layout);
	part = top_area_of(&all, &layout.body);
	body_paint(model, state, &part);
	part = top_area_of(&all, &layout.tabs);
	top_line_paint(model, state, &part);
	part = top_area_of(&all, &layout.banner);
	banner_paint(model, &part);
	part = top_area_of(&all, &layout.summary);
	if (model->snapshot)
		summary_paint(model, state, &part);
	part = top_area_of(&all, &layout.footer);
	footer_paint(state, now_ns, &part);
	part = top_area_of(&all, &layout.body);
	top_view_window(model, state, &part);
}

/* -- without a terminal ------------------------------------------------------- */

/* As many rows as the view has. */
static int rows_wanted(const struct top_model *model, enum top_view view)
{
	switch (view) {
	case TOP_VIEW_DEVICES:
		return (int)model->devices.len + 40;
	case TOP_VIEW_CHARTS:
		return (int)model->devices.len * 9 + 1;
	case TOP_VIEW_PROCESSES:
		return (int)model->rows.len + 2;
	default:
		return 200 + (int)model->devices.len;
	}
}

static void plain_head(const struct top_model *model,
	const struct top_state *state, const struct top_area *area)
{
	char text[128];
	int col;

	status_text(
		model, state, top_glyphs_of(area), true, text, sizeof(text));
	col = top_printf(area, 0, 0, TOP_LOOK_TITLE,
		"ttmem-top %s: ", top_view_names[state->view]);
	top_put(area, 0, col, TOP_LOOK_PLAIN, text);
}

int top_view_paint_plain(const struct top_model *model, struct top_state *state,
	int cols, struct top_grid *grid)
{
	int head = 2 + (model->worth.text[0] != '\0'), body;
	struct top_area all, part;

	body = model->snapshot ? rows_wanted(model, state->view) : 1;
	if (top_grid_size(grid, head + body, cols) < 0)
		return -ENOMEM;
	all = top_grid_area(grid);
	plain_head(model, state, &all);
	part = top_area_part(&all, 1, 0, 1, cols);
	if (model->worth.text[0])
		banner_paint(model, &part);
	part = top_area_part(&all, head - 1, 0, 1, cols);
	if (model->snapshot)
		summary_paint(model, state, &part);
	part = top_area_part(&all, head, 0, body, cols);
	body_paint(model, state, &part);
	return 0;
}
