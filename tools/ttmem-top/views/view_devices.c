/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* View 1: a row per device, and the breakdown of the selected one. */
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "view.h"

#define METER_TEXT 8  /* "100.0%!!" */
#define METER_COLS 16 /* with a bar */
#define METER_FROM_COLS 60
#define COMPACT_COLS 38
#define COMPACT_NAME_COLS 12
#define NAME_COLS 21 /* logical: and a number, or all digits of a unique id */

/* -- cells -------------------------------------------------------------------- */

static void meter_cell(const struct top_area *area, int row, int col, int width,
	uint64_t used, uint64_t size)
{
	int bar = width - METER_TEXT - 1;

	if (bar >= 4) {
		top_bar(area, row, col, bar, top_fraction(used, size));
		col += bar + 1;
		width -= bar + 1;
	}
	top_percent_cell(area, row, col, width, used, size);
}

static const char *used_text(
	uint64_t used, uint64_t size, char buffer[static TOP_TEXT_SIZE])
{
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE];

	snprintf(buffer, TOP_TEXT_SIZE, "%.10s/%.10s", top_bytes_short(used, a),
		top_bytes_short(size, b));
	return buffer;
}

static const char *escaped(const char *text, char buffer[static TOP_TEXT_SIZE])
{
	return ttm_text_escape(text ? text : "-", buffer, TOP_TEXT_SIZE);
}

static const char *processes_text(
	const struct top_device *device, char buffer[static TOP_TEXT_SIZE])
{
	char count[TOP_TEXT_SIZE];

	ttm_count_text(device->row->processes, count);
	if (device->untracked)
		snprintf(buffer, TOP_TEXT_SIZE, "%.10s+%llu", count,
			(unsigned long long)device->untracked);
	else
		snprintf(buffer, TOP_TEXT_SIZE, "%s", count);
	return buffer;
}

/* What has no bar. */
static const char *cell_text(const struct top_device *device, size_t column,
	char buffer[static TOP_TEXT_SIZE])
{
	const struct ttmem_telemetry_row *t = device->telemetry;

	switch (column) {
	case TOP_COLUMN_DEVICES_DEV:
		return device->name;
	case TOP_COLUMN_DEVICES_BOARD:
		return escaped(top_device_board(device), buffer);
	case TOP_COLUMN_DEVICES_ARCH:
		return escaped(top_device_arch(device), buffer);
	case TOP_COLUMN_DEVICES_DRAM:
		return used_text(
			device->row->dram_use, device->row->dram_bytes, buffer);
	case TOP_COLUMN_DEVICES_L1:
		return used_text(device->row->l1_tensix_use,
			device->row->l1_bytes, buffer);
	case TOP_COLUMN_DEVICES_TEMP:
		return top_degrees(
			t ? t->temperature_mc : TTMEM_TEMPERATURE_UNKNOWN,
			buffer);
	case TOP_COLUMN_DEVICES_POWER:
		return top_watts(t ? t->power_uw : TTMEM_UNKNOWN, buffer);
	case TOP_COLUMN_DEVICES_CLOCK:
		return ttm_count_text(t ? t->aiclk_mhz : TTMEM_UNKNOWN, buffer);
	case TOP_COLUMN_DEVICES_PROC:
		return processes_text(device, buffer);
	case TOP_COLUMN_DEVICES_EVENTS:
		return top_count_short(device->row->events_per_s, buffer);
	default:
		return ttm_pci_text(device->row->pci_address, buffer);
	}
}

static bool is_too_hot(const struct top_device *device)
{
	const struct ttmem_telemetry_row *t = device->telemetry;

	return t && t->temperature_mc != TTMEM_TEMPERATURE_UNKNOWN &&
		t->temperature_max_mc != TTMEM_TEMPERATURE_UNKNOWN &&
		t->temperature_mc >= t->temperature_max_mc;
}

static enum top_look cell_look(const struct top_device *device, size_t column)
{
	if (column == TOP_COLUMN_DEVICES_DEV)
		return TOP_LOOK_STRONG;
	if (column == TOP_COLUMN_DEVICES_TEMP && is_too_hot(device))
		return TOP_LOOK_CRITICAL;
	if (column == TOP_COLUMN_DEVICES_PROC && device->untracked)
		return TOP_LOOK_WARN;
	return TOP_LOOK_PLAIN;
}

static void cell_paint(const struct top_area *area,
	const struct top_shown *shown, const struct top_device *device)
{
	const struct ttmem_device_row *d = device->row;
	char buffer[TOP_TEXT_SIZE];

	if (shown->column == TOP_COLUMN_DEVICES_DRAM_BAR)
		meter_cell(area, 0, shown->col, shown->width, d->dram_use,
			d->dram_bytes);
	else if (shown->column == TOP_COLUMN_DEVICES_L1_BAR)
		meter_cell(area, 0, shown->col, shown->width, d->l1_tensix_use,
			d->l1_bytes);
	else
		top_cell(area, 0, shown, cell_look(device, shown->column),
			cell_text(device, shown->column, buffer));
}

/* -- the table ---------------------------------------------------------------- */

/* Names are as wide as they are, up to a limit. */
static void wider_measure(const struct top_model *model,
	const struct top_area *area, int wider[TOP_COLUMNS])
{
	static const enum top_column_id measured[] = { TOP_COLUMN_DEVICES_DEV,
		TOP_COLUMN_DEVICES_BOARD, TOP_COLUMN_DEVICES_ARCH,
		TOP_COLUMN_DEVICES_PROC };
	char text[TOP_TEXT_SIZE];
	size_t i, m;
	int width;

	memset(wider, 0, TOP_COLUMNS * sizeof(*wider));
	/* Bars before columns of less weight. */
	if (area->cols >= METER_FROM_COLS) {
		wider[TOP_COLUMN_DEVICES_DRAM_BAR] = METER_COLS;
		wider[TOP_COLUMN_DEVICES_L1_BAR] = METER_COLS;
	}
	for (m = 0; m < sizeof(measured) / sizeof(measured[0]); m++)
		for (i = 0; i < model->devices.len; i++) {
			width = top_text_width(area,
				cell_text(&model->devices.list[i], measured[m],
					text));
			width = width < NAME_COLS ? width : NAME_COLS;
			if (width > wider[measured[m]])
				wider[measured[m]] = width;
		}
}

static void rows_paint(const struct top_model *model, struct top_state *state,
	const struct top_area *area)
{
	struct top_shown shown[TOP_COLUMNS];
	int wider[TOP_COLUMNS], row;
	struct top_area line;
	size_t len, i, c;

	wider_measure(model, area, wider);
	len = top_table_shown(TOP_TABLE_DEVICES, area->cols, wider, shown);
	top_fill(area, 0, 0, area->cols, TOP_LOOK_HEAD, " ");
	for (c = 0; c < len; c++)
		top_cell(area, 0, &shown[c], TOP_LOOK_HEAD,
			top_columns[shown[c].column].title);
	for (row = 1, i = state->devices.first;
		row < area->rows && i < model->devices.len; row++, i++) {
		line = top_area_part(area, row, 0, 1, area->cols);
		for (c = 0; c < len; c++)
			cell_paint(&line, &shown[c], &model->devices.list[i]);
		top_line_end(&line, i, state->devices.selected);
	}
}

/* -- compact: several in a line ----------------------------------------------- */

static int compact_across(int cols)
{
	int across = (cols + 1) / (COMPACT_COLS + 1);

	return across > 1 ? across : 1;
}

static int compact_name_cols(
	const struct top_model *model, const struct top_area *area)
{
	int most = 3, width;
	size_t i;

	for (i = 0; i < model->devices.len; i++) {
		width = top_text_width(area, model->devices.list[i].name);
		if (width > most)
			most = width;
	}
	return most < COMPACT_NAME_COLS ? most : COMPACT_NAME_COLS;
}

static void compact_paint(const struct top_model *model,
	struct top_state *state, const struct top_area *area)
{
	int across = compact_across(area->cols), width, name, bar;
	size_t i;

	width = (area->cols + 1) / across - 1;
	name = compact_name_cols(model, area);
	bar = (width - name - 3) / 2;
	for (i = state->devices.first * (size_t)across; i < model->devices.len;
		i++) {
		const struct top_device *device = &model->devices.list[i];
		size_t at = i - state->devices.first * (size_t)across;
		int row = (int)(at / (size_t)across);
		struct top_area cell = top_area_part(area, row,
			(int)(at % (size_t)across) * (width + 1), 1, width);

		if (row >= area->rows)
			break;
		top_put_right(&cell, 0, 0, name, TOP_LOOK_STRONG, device->name);
		top_put(&cell, 0, name + 1, TOP_LOOK_DRAM, "D");
		meter_cell(&cell, 0, name + 2, bar - 1, device->row->dram_use,
			device->row->dram_bytes);
		top_put(&cell, 0, name + 2 + bar, TOP_LOOK_L1, "L");
		meter_cell(&cell, 0, name + 3 + bar, bar - 1,
			device->row->l1_tensix_use, device->row->l1_bytes);
		top_line_end(&cell, i, state->devices.selected);
	}
}

static int rows_wanted(const struct top_model *model, int cols, bool compact)
{
	int len = (int)model->devices.len, across = compact_across(cols);

	return compact ? (len + across - 1) / across - 1 : len;
}

/* The tables of the views, header included, from the selected row on. */
static void table_paint(const struct top_model *model, struct top_state *state,
	const struct top_area *area)
{
	struct top_list *list = &state->devices;
	size_t across;

	if (model->devices.len == 0) {
		top_put(area, 0, 0, TOP_LOOK_DIM,
			"No devices: no process has named one, and the driver "
			"shows none.");
		return;
	}
	if (state->settings.compact) {
		across = (size_t)compact_across(area->cols);
		list->shown = area->rows > 0 ? (size_t)area->rows : 0;
		list->first = top_layout_scroll(list->first,
			list->selected / across,
			(model->devices.len + across - 1) / across,
			list->shown);
		compact_paint(model, state, area);
		return;
	}
	list->shown = area->rows > 1 ? (size_t)area->rows - 1 : 0;
	list->first = top_layout_scroll(
		list->first, list->selected, model->devices.len, list->shown);
	rows_paint(model, state, area);
}

void top_view_devices(const struct top_model *model, struct top_state *state,
	const struct top_area *area)
{
	const struct top_device *device = top_model_device(model, state);
	struct top_rect body = { 0, 0, area->rows, area->cols };
	const struct top_glyphs *glyphs = top_glyphs_of(area);
	struct top_devices_layout layout;
	struct top_area part;
	int row;

	top_layout_devices(&body,
		rows_wanted(model, area->cols, state->settings.compact),
		device ? top_breakdown_rows(device) : 0,
		state->settings.compact, &layout);
	if (!device)
		layout.table = body;
	part = top_area_of(area, &layout.table);
	table_paint(model, state, &part);
	if (!device || !layout.detail.rows)
		return;
	part = top_area_of(area, &layout.rule);
	top_fill(&part, 0, 0, part.cols, TOP_LOOK_BORDER, glyphs->across);
	for (row = 0; !layout.rule.rows && row < layout.detail.rows; row++)
		top_put(area, row, layout.detail.left - 1, TOP_LOOK_BORDER,
			glyphs->down);
	part = top_area_of(area, &layout.detail);
	top_breakdown_paint(model, device, &part);
}
