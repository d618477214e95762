/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "chart.h"

#include <stdio.h>
#include <string.h>

#define BRAILLE 0x2800u

uint64_t top_chart_peak(const struct top_chart *chart)
{
	if (!chart->past)
		return TTMEM_UNKNOWN;
	return top_past_max(
		chart->past, chart->series, chart->from_ns, chart->to_ns);
}

uint64_t top_chart_scale(uint64_t peak, uint64_t capacity)
{
	static const unsigned percents[] = { 1, 2, 5, 10, 25, 50, 100 };
	uint64_t scale;
	size_t i;

	if (peak == TTMEM_UNKNOWN)
		peak = 0;
	if (capacity == TTMEM_UNKNOWN || capacity == 0)
		return peak ? peak : 1;
	for (i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		scale = (uint64_t)((double)capacity * percents[i] / 100);
		if (scale && peak <= scale)
			return scale;
	}
	return peak; /* more than there is */
}

/* -- columns ------------------------------------------------------------------ */

struct plot {
	const struct top_area *area;
	const struct top_chart *chart;
	uint64_t scale;
	int rows, cols;
};

/* Of column `i` of `len`. */
static uint64_t value_at(const struct plot *plot, int i, int len)
{
	const struct top_chart *chart = plot->chart;
	double step = (double)(chart->to_ns - chart->from_ns) / len;
	uint64_t from = chart->from_ns + (uint64_t)(step * i);
	uint64_t to = chart->from_ns + (uint64_t)(step * (i + 1));

	return top_past_max(chart->past, chart->series, from, to);
}

/* In `parts` of the whole height; what is not 0 is seen. */
static int height_of(const struct plot *plot, uint64_t value, int parts)
{
	int height;

	if (value == TTMEM_UNKNOWN || value == 0)
		return 0;
	height = (int)((double)value / (double)plot->scale * parts + 0.5);
	return height < 1 ? 1 : height > parts ? parts : height;
}

static enum top_look value_look(const struct plot *plot, uint64_t value)
{
	double fraction = top_fraction(value, plot->chart->capacity);

	return top_level_look(top_level_of(fraction), plot->chart->look);
}

static void column_paint(const struct plot *plot, int col)
{
	const struct top_glyphs *glyphs = top_glyphs_of(plot->area);
	uint64_t value = value_at(plot, col, plot->cols);
	int eighths = height_of(plot, value, plot->rows * 8), row, part;

	for (row = 0; row < plot->rows && eighths > 0; row++, eighths -= 8) {
		part = eighths > 8 ? 8 : eighths;
		top_put(plot->area, plot->rows - 1 - row, col,
			value_look(plot, value), glyphs->column[part]);
	}
}

/* Dots of a cell from below, left and right. */
static unsigned dots_of(int left, int right)
{
	static const uint8_t dots[2][4] = { { 0x40, 0x04, 0x02, 0x01 },
		{ 0x80, 0x20, 0x10, 0x08 } };
	unsigned all = 0;
	int i;

	for (i = 0; i < 4; i++) {
		if (i < left)
			all |= dots[0][i];
		if (i < right)
			all |= dots[1][i];
	}
	return all;
}

static void braille_put(const struct plot *plot, int row, int col,
	enum top_look look, unsigned dots)
{
	unsigned code = BRAILLE + dots;
	char text[4] = { (char)(0xe0 | code >> 12),
		(char)(0x80 | (code >> 6 & 0x3f)), (char)(0x80 | (code & 0x3f)),
		'\0' };

	if (dots)
		top_put(plot->area, row, col, look, text);
}

static void braille_paint(const struct plot *plot, int col)
{
	uint64_t left = value_at(plot, 2 * col, 2 * plot->cols);
	uint64_t right = value_at(plot, 2 * col + 1, 2 * plot->cols);
	int a = height_of(plot, left, plot->rows * 4);
	int b = height_of(plot, right, plot->rows * 4), row;
	enum top_look look = value_look(plot,
		right == TTMEM_UNKNOWN ||
				(left != TTMEM_UNKNOWN && left > right) ?
			left :
			right);

	for (row = plot->rows - 1; row >= 0; row--, a -= 4, b -= 4)
		braille_put(plot, row, col, look, dots_of(a, b));
}

/* -- around them -------------------------------------------------------------- */

static bool cell_is_free(const struct top_area *area, int row, int col)
{
	const struct top_grid *grid = area->grid;

	return grid->cells[(area->top + row) * grid->cols + area->left + col]
		       .text[0] == ' ';
}

/* Where nothing else is. */
static void peak_paint(const struct plot *plot, uint64_t peak)
{
	const struct top_glyphs *glyphs = top_glyphs_of(plot->area);
	int height = height_of(plot, peak, plot->rows * 8);
	int row = plot->rows - (height + 7) / 8, col;

	if (height == 0)
		return;
	for (col = 0; col < plot->area->cols; col++)
		if (cell_is_free(plot->area, row, col))
			top_put(plot->area, row, col, TOP_LOOK_PEAK,
				glyphs->peak);
}

static void label_put(const struct top_area *area, int row,
	const struct plot *plot, uint64_t value)
{
	uint64_t capacity = plot->chart->capacity;
	char text[TOP_TEXT_SIZE];

	if (capacity == TTMEM_UNKNOWN || capacity == 0)
		top_bytes_short(value, text);
	else
		snprintf(text, sizeof(text), "%.3g%%",
			100 * top_fraction(value, capacity));
	top_put_right(area, row, 0, TOP_CHART_AXIS - 1, TOP_LOOK_DIM, text);
}

static void axis_paint(const struct top_area *area, const struct plot *plot)
{
	const struct top_glyphs *glyphs = top_glyphs_of(area);
	int row;

	for (row = 0; row < area->rows; row++)
		top_put(area, row, TOP_CHART_AXIS - 1, TOP_LOOK_BORDER,
			glyphs->axis);
	label_put(area, 0, plot, plot->scale);
	if (area->rows >= 5)
		label_put(area, area->rows / 2, plot, plot->scale / 2);
	if (area->rows >= 2)
		label_put(area, area->rows - 1, plot, 0);
}

void top_chart_paint(const struct top_area *area, const struct top_chart *chart)
{
	struct top_area inside = top_area_part(area, 0, TOP_CHART_AXIS,
		area->rows, area->cols - TOP_CHART_AXIS);
	uint64_t peak = top_chart_peak(chart);
	struct plot plot = { &inside, chart,
		top_chart_scale(peak, chart->capacity), inside.rows,
		inside.cols };
	int col;

	if (inside.rows < 1 || inside.cols < 1)
		return;
	axis_paint(area, &plot);
	if (!chart->past)
		return;
	for (col = 0; col < plot.cols; col++)
		if (chart->braille && !area->grid->ascii)
			braille_paint(&plot, col);
		else
			column_paint(&plot, col);
	peak_paint(&plot, peak);
}
