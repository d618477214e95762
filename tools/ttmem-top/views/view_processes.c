/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* View 3: processes, and the scopes of those that are expanded. */
#include <stdio.h>
#include <string.h>

#include "common/process.h"
#include "common/text.h"
#include "view.h"

#define COMMAND_SIZE 4096u
#define DEVICES_COLS 21

struct table {
	const struct top_model *model;
	struct top_state *state;
	struct top_shown shown[TOP_COLUMNS];
	size_t len;
};

static enum top_look state_look(enum top_row_state state)
{
	switch (state) {
	case TOP_STATE_REPORTING:
		return TOP_LOOK_GOOD;
	case TOP_STATE_UNTRACKED:
	case TOP_STATE_UNKNOWN:
		return TOP_LOOK_WARN;
	case TOP_STATE_EXITED_LEAK:
	case TOP_STATE_DIED_LEAK:
		return TOP_LOOK_CRITICAL;
	default:
		return TOP_LOOK_DIM;
	}
}

/* -- cells -------------------------------------------------------------------- */

static bool is_process(const struct top_row *row)
{
	return row->kind <= TOP_ROW_UNTRACKED;
}

static const char *command_text(const struct table *table,
	const struct top_row *row, char *buffer, size_t buffer_size)
{
	if (is_process(row) && table->state->settings.compact && row->comm)
		return ttm_text_escape(row->comm, buffer, buffer_size);
	if (row->kind == TOP_ROW_PROCESS || row->kind == TOP_ROW_HOLDER)
		return top_row_command(
			row, table->state->settings.path, buffer, buffer_size);
	if (row->kind == TOP_ROW_UNTRACKED)
		return "(asked to be tracked, and could not be)";
	if (row->kind == TOP_ROW_SCOPE && !row->comm)
		return "(no scope)";
	return ttm_text_escape(
		row->comm ? row->comm : "-", buffer, buffer_size);
}

static void command_cell(const struct table *table, const struct top_area *area,
	int col, int width, const struct top_row *row)
{
	const struct top_glyphs *glyphs = top_glyphs_of(area);
	struct top_area part = top_area_part(area, 0, col, 1, width);
	char text[COMMAND_SIZE];
	unsigned i;
	int at = 0;

	for (i = 1; i < row->depth; i++)
		at = top_put(&part, 0, at, TOP_LOOK_BORDER, "   ");
	if (row->depth)
		at = top_put(&part, 0, at, TOP_LOOK_BORDER,
			row->last ? glyphs->branch_last : glyphs->branch);
	if (row->kind == TOP_ROW_PROCESS && row->objects != 0 &&
		top_expanded_any(&table->state->expanded))
		at = top_put(&part, 0, at, TOP_LOOK_BORDER,
			row->expanded ? glyphs->open : glyphs->closed);
	if (row->kind == TOP_ROW_DEVICE)
		at = top_put(&part, 0, at, TOP_LOOK_TITLE, "Device ");
	if (row->kind == TOP_ROW_DEVICE)
		at = top_printf(&part, 0, at, TOP_LOOK_TITLE, "%s  ",
			top_row_devices(row, &table->model->devices, text));
	top_put_left(&part, 0, at, part.cols - at,
		is_process(row)                    ? TOP_LOOK_PLAIN :
			row->kind == TOP_ROW_SCOPE ? TOP_LOOK_LABEL :
						     TOP_LOOK_DIM,
		command_text(table, row, text, sizeof(text)));
}

static const char *cell_text(const struct table *table,
	const struct top_row *row, size_t column,
	char buffer[static TOP_DEVICES_TEXT_SIZE])
{
	unsigned figure = top_column_figure(column);

	if (figure < TTMEM_FIGURES)
		return top_bytes_short(row->bytes[figure], buffer);
	switch (column) {
	case TOP_COLUMN_PROCESSES_PID:
		return ttm_count_text(row->pid, buffer);
	case TOP_COLUMN_PROCESSES_USER:
		return ttm_user_text(row->uid, buffer);
	case TOP_COLUMN_PROCESSES_STATE:
		return top_state_name(row->state);
	case TOP_COLUMN_PROCESSES_DEVICES:
		return top_row_devices(row, &table->model->devices, buffer);
	case TOP_COLUMN_PROCESSES_PEAK:
		return top_bytes_short(row->peak, buffer);
	case TOP_COLUMN_PROCESSES_OBJECTS:
		return top_count_short(row->objects, buffer);
	case TOP_COLUMN_PROCESSES_EVENTS:
		return top_count_short(row->events_per_s, buffer);
	default:
		return ttm_container_text(
			row->cgroup, buffer, TOP_DEVICES_TEXT_SIZE);
	}
}

/* Of groups and devices, only what they have: the rest is not unknown. */
static bool cell_is_blank(const struct top_row *row, size_t column)
{
	unsigned figure = top_column_figure(column);

	if (is_process(row))
		return false;
	if (row->kind == TOP_ROW_NOTE)
		return true;
	if (figure < TTMEM_FIGURES)
		return false;
	if (column == TOP_COLUMN_PROCESSES_OBJECTS)
		return row->kind != TOP_ROW_SCOPE;
	return column != TOP_COLUMN_PROCESSES_EVENTS ||
		row->kind != TOP_ROW_DEVICE;
}

static enum top_look cell_look(const struct top_row *row, size_t column)
{
	unsigned figure = top_column_figure(column);

	if (column == TOP_COLUMN_PROCESSES_STATE)
		return state_look(row->state);
	if (figure < TTMEM_FIGURES && (row->bytes[figure] == 0))
		return TOP_LOOK_DIM;
	if (column == TOP_COLUMN_PROCESSES_PEAK)
		return TOP_LOOK_PEAK;
	if (figure < TTMEM_FIGURES && row->bytes[figure] >= 1ull << 30 &&
		row->bytes[figure] != TTMEM_UNKNOWN)
		return TOP_LOOK_STRONG;
	return TOP_LOOK_PLAIN;
}

static void row_paint(const struct table *table, const struct top_area *line,
	const struct top_row *row)
{
	char buffer[TOP_DEVICES_TEXT_SIZE];
	const struct top_shown *s;

	for (s = table->shown; s < table->shown + table->len; s++)
		if (s->column == TOP_COLUMN_PROCESSES_COMMAND)
			command_cell(table, line, s->col, s->width, row);
		else if (!cell_is_blank(row, s->column))
			top_cell(line, 0, s, cell_look(row, s->column),
				cell_text(table, row, s->column, buffer));
}

/* -- the table ---------------------------------------------------------------- */

static void header_cell(const struct table *table, const struct top_area *area,
	const struct top_shown *shown)
{
	const struct top_glyphs *glyphs = top_glyphs_of(area);
	const struct top_column *c = &top_columns[shown->column];
	bool sorted = table->state->sort == shown->column;
	bool down = (c->side == TOP_SIDE_RIGHT &&
			    shown->column != TOP_COLUMN_PROCESSES_PID) !=
		table->state->reverse;
	const char *arrow = down ? glyphs->descending : glyphs->ascending;
	char title[TOP_TEXT_SIZE];

	snprintf(title, sizeof(title), "%s%s", c->title, sorted ? arrow : "");
	if (sorted && top_text_width(area, title) > shown->width)
		snprintf(title, sizeof(title), "%.*s%s",
			shown->width > 1 ? shown->width - 1 : 0, c->title,
			arrow);
	top_cell(area, 0, shown, sorted ? TOP_LOOK_HEAD_SORT : TOP_LOOK_HEAD,
		title);
	top_spot_add(area, 0, shown->col, 1, shown->width, TOP_SPOT_SORT,
		(int)shown->column);
}

static void nothing_paint(
	const struct top_model *model, const struct top_area *area)
{
	if (model->rows.hidden)
		top_printf(area, 1, 0, TOP_LOOK_DIM,
			"No process passes the filter: %zu do not.",
			model->rows.hidden);
	else
		top_put(area, 1, 0, TOP_LOOK_DIM, "No processes.");
}

/* Names of devices are as wide as they are, up to a limit. */
static void wider_measure(const struct table *table,
	const struct top_area *area, int wider[TOP_COLUMNS])
{
	int *most = &wider[TOP_COLUMN_PROCESSES_DEVICES -
		top_table_first(TOP_TABLE_PROCESSES)];
	int width;
	const struct top_rows *rows = &table->model->rows;
	char text[TOP_DEVICES_TEXT_SIZE];
	size_t i;

	memset(wider, 0, TOP_COLUMNS * sizeof(*wider));
	for (i = 0; i < rows->len; i++) {
		if (!is_process(&rows->list[i]))
			continue;
		width = top_text_width(area,
			top_row_devices(
				&rows->list[i], &table->model->devices, text));
		width = width < DEVICES_COLS ? width : DEVICES_COLS;
		if (width > *most)
			*most = width;
	}
}

void top_view_processes(const struct top_model *model, struct top_state *state,
	const struct top_area *area)
{
	struct table table = { .model = model, .state = state };
	struct top_list *list = &state->rows;
	int row, wider[TOP_COLUMNS];
	struct top_area line;
	size_t i;

	wider_measure(&table, area, wider);
	table.len = top_table_shown(
		TOP_TABLE_PROCESSES, area->cols, wider, table.shown);
	top_fill(area, 0, 0, area->cols, TOP_LOOK_HEAD, " ");
	for (i = 0; i < table.len; i++)
		header_cell(&table, area, &table.shown[i]);
	list->shown = area->rows > 1 ? (size_t)area->rows - 1 : 0;
	list->first = top_layout_scroll(
		list->first, list->selected, model->rows.len, list->shown);
	for (row = 1, i = list->first; row < area->rows && i < model->rows.len;
		row++, i++) {
		line = top_area_part(area, row, 0, 1, area->cols);
		row_paint(&table, &line, &model->rows.list[i]);
		top_line_end(&line, i, list->selected);
	}
	if (model->rows.len == 0)
		nothing_paint(model, area);
}
