/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* What is where on one device, against what there is. */
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "view.h"

#define MOST_LINES 20u
#define VALUE_COL 14 /* of what follows the table */

struct line {
	const char *what;
	unsigned level; /* of indentation */
	bool total;
	uint64_t used, size, peak, count, orphaned, dispatches;
};

struct lines {
	struct line list[MOST_LINES];
	size_t len;
};

static struct line *line_add(struct lines *lines, const char *what,
	unsigned level, uint64_t used, uint64_t size)
{
	struct line *line = &lines->list[lines->len++];

	line->what = what;
	line->level = level;
	line->total = false;
	line->used = used;
	line->size = size;
	line->peak = line->count = TTMEM_UNKNOWN;
	line->orphaned = line->dispatches = TTMEM_UNKNOWN;
	return line;
}

static const struct top_peaks no_peaks;

static void figure_add(struct lines *lines, const struct top_peaks *peaks,
	const struct top_device *device, unsigned figure, const char *what,
	unsigned level, uint64_t size)
{
	const struct ttmem_sums *sums = &device->row->figures[figure];
	struct top_id none = { 0, 0 };
	struct line *line = line_add(
		lines, what, level, sums->live_bytes, size);

	line->peak = top_peaks_get(
		peaks, none, device->id, figure, sums->peak_bytes);
	line->count = sums->live_objects;
	line->orphaned = sums->orphaned_bytes;
	if (figure >= TTMEM_FIGURE_KERNEL)
		line->dispatches = device->row->dispatches[figure -
			TTMEM_FIGURE_KERNEL];
}

static void total_add(struct lines *lines, const struct top_peaks *peaks,
	const struct top_device *device, unsigned which, const char *what,
	uint64_t used, uint64_t size, uint64_t published)
{
	struct top_id none = { 0, 0 };
	struct line *line = line_add(lines, what, 0, used, size);

	line->total = true;
	line->peak = top_peaks_get(peaks, none, device->id, which, published);
}

/*
 * Fabric kernels are on ethernet cores, whose memory is not among l1_bytes. Those in
 * the ring, which is reserved, are held against nothing.
 */
static uint64_t kernel_size(const struct ttmem_device_row *d, unsigned type)
{
	return type == TTMEM_KERNEL_FABRIC || d->ring_bytes[type] ?
		TTMEM_UNKNOWN :
		d->l1_bytes;
}

static void kernels_add(struct lines *lines, const struct top_peaks *peaks,
	const struct top_device *device)
{
	const struct ttmem_device_row *d = device->row;
	const struct ttmem_sums *figures = &d->figures[TTMEM_FIGURE_KERNEL];
	uint64_t ring = 0;
	struct line *all = line_add(lines, "Kernels", 0, 0, d->l1_bytes);
	unsigned i;

	all->count = all->orphaned = all->dispatches = 0;
	for (i = 0; i < TTMEM_KERNEL_TYPES; i++) {
		all->used = ttm_value_add(all->used, figures[i].live_bytes);
		all->count = ttm_value_add(all->count, figures[i].live_objects);
		all->orphaned = ttm_value_add(
			all->orphaned, figures[i].orphaned_bytes);
		all->dispatches = ttm_value_add(
			all->dispatches, d->dispatches[i]);
		ring = ttm_value_add(ring, d->ring_bytes[i]);
	}
	figure_add(lines, peaks, device, TTMEM_FIGURE_KERNEL_FABRIC, "Fabric",
		1, kernel_size(d, TTMEM_KERNEL_FABRIC));
	figure_add(lines, peaks, device, TTMEM_FIGURE_KERNEL_DISPATCH,
		"Dispatch", 1, kernel_size(d, TTMEM_KERNEL_DISPATCH));
	figure_add(lines, peaks, device, TTMEM_FIGURE_KERNEL_APPLICATION,
		"Application", 1, kernel_size(d, TTMEM_KERNEL_APPLICATION));
	if (ring)
		all->size = TTMEM_UNKNOWN;
	if (ring && ring != TTMEM_UNKNOWN)
		line_add(lines, "of it in the ring", 1, ring, TTMEM_UNKNOWN);
}

static void lines_make(const struct top_peaks *peaks,
	const struct top_device *device, struct lines *lines)
{
	const struct ttmem_device_row *d = device->row;
	struct line *line;

	lines->len = 0;
	figure_add(lines, peaks, device, TTMEM_FIGURE_L1, "L1 buffers", 0,
		d->l1_bytes);
	figure_add(lines, peaks, device, TTMEM_FIGURE_L1_SMALL, "L1_SMALL", 0,
		top_multiply(d->l1_small_bytes, d->cores));
	/* Programs take turns: their sum is held against nothing. */
	line = line_add(lines,
		d->cb_footprint_exact == 1 ? "CBs, footprint" : "CBs, at least",
		0, d->cb_footprint, d->l1_bytes);
	line->count = d->figures[TTMEM_FIGURE_CB].live_objects;
	figure_add(lines, peaks, device, TTMEM_FIGURE_CB, "all programs", 1,
		TTMEM_UNKNOWN);
	kernels_add(lines, peaks, device);
	total_add(lines, peaks, device, TOP_PEAK_L1, "Total L1",
		d->l1_tensix_use, d->l1_bytes, d->l1_tensix_peak);
	figure_add(lines, peaks, device, TTMEM_FIGURE_DRAM, "DRAM buffers", 0,
		d->dram_bytes);
	figure_add(lines, peaks, device, TTMEM_FIGURE_TRACE, "TRACE", 0,
		d->trace_bytes);
	total_add(lines, peaks, device, TOP_PEAK_DRAM, "Total DRAM",
		d->dram_use, d->dram_bytes, d->dram_peak);
	if (d->figures[TTMEM_FIGURE_SYSTEM_MEMORY].alloc_objects)
		figure_add(lines, peaks, device, TTMEM_FIGURE_SYSTEM_MEMORY,
			"System memory", 0, TTMEM_UNKNOWN);
}

/* -- painting ----------------------------------------------------------------- */

static const char *line_text(const struct line *line, size_t column,
	char buffer[static TOP_TEXT_SIZE])
{
	switch (column) {
	case TOP_COLUMN_BREAKDOWN_WHAT:
		snprintf(buffer, TOP_TEXT_SIZE, "%*s%s", (int)line->level * 2,
			"", line->what);
		return buffer;
	case TOP_COLUMN_BREAKDOWN_USED:
		return top_bytes(line->used, buffer);
	case TOP_COLUMN_BREAKDOWN_SIZE:
		return top_bytes(line->size, buffer);
	case TOP_COLUMN_BREAKDOWN_PEAK:
		return top_bytes(line->peak, buffer);
	case TOP_COLUMN_BREAKDOWN_COUNT:
		return top_count_short(line->count, buffer);
	case TOP_COLUMN_BREAKDOWN_ORPHANED:
		return top_bytes(line->orphaned, buffer);
	default:
		return top_count_short(line->dispatches, buffer);
	}
}

static enum top_look line_look(const struct line *line, size_t column)
{
	if (column == TOP_COLUMN_BREAKDOWN_WHAT)
		return line->total ? TOP_LOOK_STRONG : TOP_LOOK_LABEL;
	if (column == TOP_COLUMN_BREAKDOWN_ORPHANED && line->orphaned &&
		line->orphaned != TTMEM_UNKNOWN)
		return TOP_LOOK_WARN;
	if (column == TOP_COLUMN_BREAKDOWN_USED)
		return TOP_LOOK_STRONG;
	if (column == TOP_COLUMN_BREAKDOWN_PEAK)
		return TOP_LOOK_PEAK;
	return TOP_LOOK_PLAIN;
}

static void line_cell(const struct top_area *area, int row,
	const struct top_shown *shown, const struct line *line)
{
	double fraction = top_fraction(line->used, line->size);
	char text[TOP_TEXT_SIZE];

	if (shown->column == TOP_COLUMN_BREAKDOWN_PERCENT)
		top_percent_cell(area, row, shown->col, shown->width,
			line->used, line->size);
	else if (shown->column != TOP_COLUMN_BREAKDOWN_BAR)
		top_cell(area, row, shown, line_look(line, shown->column),
			line_text(line, shown->column, text));
	else if (fraction >= 0)
		top_bar(area, row, shown->col, shown->width, fraction);
}

static void lines_paint(const struct lines *lines, const struct top_area *area)
{
	struct top_shown shown[TOP_COLUMNS], *s;
	size_t i,
		len = top_table_shown(
			TOP_TABLE_BREAKDOWN, area->cols, NULL, shown);

	for (s = shown; s < shown + len; s++) {
		for (i = 0; i < lines->len; i++)
			line_cell(area, (int)i + 1, s, &lines->list[i]);
		if (s->column == TOP_COLUMN_BREAKDOWN_PERCENT)
			s->width -= 2; /* the marks have no title */
		top_cell(
			area, 0, s, TOP_LOOK_DIM, top_columns[s->column].title);
	}
}

static void title_paint(
	const struct top_area *area, const struct top_device *device)
{
	const struct ttmem_device_row *d = device->row;
	const struct ttmem_telemetry_row *t = device->telemetry;
	const char *board = top_device_board(device);
	const char *arch = top_device_arch(device);
	char text[TOP_TEXT_SIZE];
	int col = 0;

	col = top_printf(area, 0, 0, TOP_LOOK_TITLE, "Device %s", device->name);
	if (arch)
		col = top_printf(area, 0, col, TOP_LOOK_PLAIN, "  %s",
			ttm_text_escape(arch, text, sizeof(text)));
	if (board)
		col = top_printf_whole(area, 0, col, TOP_LOOK_PLAIN, "%s%s",
			arch ? " " : "  ",
			ttm_text_escape(board, text, sizeof(text)));
	if (d->identity == TTMEM_IDENTITY_LOGICAL)
		col = top_printf_whole(area, 0, col, TOP_LOOK_WARN,
			"  unidentified: may be several chips");
	if (d->pci_address != TTMEM_UNKNOWN)
		col = top_printf_whole(area, 0, col, TOP_LOOK_DIM, "  pci %s",
			ttm_pci_text(d->pci_address, text));
	if (d->chip_id != TTMEM_UNKNOWN)
		col = top_printf_whole(area, 0, col, TOP_LOOK_DIM,
			"  asic %llx", (unsigned long long)d->chip_id);
	if (t && t->firmware)
		top_printf_whole(area, 0, col, TOP_LOOK_DIM, "  firmware %s",
			ttm_text_escape(t->firmware, text, sizeof(text)));
}

static void headroom_paint(const struct top_model *model,
	const struct top_area *area, int row, const struct ttmem_device_row *d)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		model->snapshot, d->clash_process);
	char text[TOP_TEXT_SIZE], name[TTM_PROCESS_NAME_SIZE];
	bool clash = d->headroom != TTMEM_HEADROOM_UNKNOWN && d->headroom < 0;
	int col;

	top_put(area, row, 0, TOP_LOOK_LABEL, "CB headroom");
	col = top_printf(area, row, VALUE_COL,
		clash ? TOP_LOOK_CRITICAL : TOP_LOOK_STRONG, "%s%s",
		top_bytes_signed(d->headroom, text), clash ? " CLASH!!" : "");
	if (d->headroom != TTMEM_HEADROOM_UNKNOWN)
		col = top_put(area, row, col, TOP_LOOK_DIM, " per core");
	if (p)
		top_printf_whole(area, row, col, TOP_LOOK_DIM, "  %s",
			ttm_process_name(p, name));
}

static void flow_paint(
	const struct top_area *area, int row, const struct ttmem_device_row *d)
{
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE];
	uint64_t failures = 0;
	int col;
	unsigned i;

	for (i = 0; i < TTMEM_KINDS; i++)
		failures = ttm_value_add(failures, d->failures[i]);
	top_put(area, row, 0, TOP_LOOK_LABEL, "Flow");
	col = top_printf(area, row, VALUE_COL, TOP_LOOK_PLAIN, "%s events/s",
		ttm_count_text(d->events_per_s, a));
	if (failures && failures != TTMEM_UNKNOWN)
		col = top_printf_whole(area, row, col, TOP_LOOK_WARN,
			"  ! %s failed allocations",
			ttm_count_text(failures, a));
	top_printf_whole(area, row, col, TOP_LOOK_PLAIN, "  +%s/s  -%s/s",
		top_bytes(d->alloc_bytes_per_s, a),
		top_bytes(d->free_bytes_per_s, b));
}

static void sensors_paint(const struct top_area *area, int row,
	const struct ttmem_telemetry_row *t)
{
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE];
	int col;

	top_put(area, row, 0, TOP_LOOK_LABEL, "Sensors");
	col = top_printf(area, row, VALUE_COL, TOP_LOOK_PLAIN, "%s of %s",
		top_degrees(t->temperature_mc, a),
		top_degrees(t->temperature_max_mc, b));
	if (t->therm_trips && t->therm_trips != TTMEM_UNKNOWN)
		col = top_printf_whole(area, row, col, TOP_LOOK_CRITICAL,
			"  !! %s thermal trips",
			ttm_count_text(t->therm_trips, a));
	col = top_printf_whole(area, row, col, TOP_LOOK_PLAIN, "  %s of %s",
		top_watts(t->power_uw, a), top_watts(t->power_max_uw, b));
	col = top_printf_whole(area, row, col, TOP_LOOK_PLAIN, "  %s MHz",
		ttm_count_text(t->aiclk_mhz, a));
	col = top_printf_whole(area, row, col, TOP_LOOK_DIM, "  %s mV  %s mA",
		ttm_count_text(t->voltage_mv, a),
		ttm_count_text(t->current_ma, b));
	top_printf_whole(area, row, col, TOP_LOOK_DIM, "  fan %s rpm",
		ttm_count_text(t->fan_rpm, a));
}

/* Title, header, lines; headroom, flow, sensors. */
int top_breakdown_rows(const struct top_device *device)
{
	struct lines lines;

	lines_make(&no_peaks, device, &lines);
	return 2 + (int)lines.len + 2 + (device->telemetry ? 1 : 0);
}

void top_breakdown_paint(const struct top_model *model,
	const struct top_device *device, const struct top_area *area)
{
	struct top_area rest = top_area_part(
		area, 1, 0, area->rows - 1, area->cols);
	struct lines lines;
	int row;

	lines_make(&model->peaks, device, &lines);
	title_paint(area, device);
	lines_paint(&lines, &rest);
	row = 2 + (int)lines.len;
	headroom_paint(model, area, row++, device->row);
	flow_paint(area, row++, device->row);
	if (device->telemetry)
		sensors_paint(area, row, device->telemetry);
}
