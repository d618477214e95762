/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "grid.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/text.h"

#define LINE_SIZE 1024

static void cell_blank(struct top_cell *cell)
{
	memset(cell, 0, sizeof(*cell));
	cell->text[0] = ' ';
	cell->width = 1;
}

static int cells_allocate(struct top_grid *grid, size_t len)
{
	struct top_cell *cells;

	if (len <= grid->cells_len)
		return 0;
	cells = realloc(grid->cells, len * sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	grid->cells = cells;
	grid->cells_len = len;
	return 0;
}

int top_grid_size(struct top_grid *grid, int rows, int cols)
{
	size_t len, i;

	rows = rows < 1 ? 1 : rows;
	cols = cols < 1 ? 1 : cols;
	len = (size_t)rows * (size_t)cols;
	if (cells_allocate(grid, len) < 0)
		return -ENOMEM;
	grid->rows = rows;
	grid->cols = cols;
	grid->spots_len = 0;
	for (i = 0; i < len; i++)
		cell_blank(&grid->cells[i]);
	return 0;
}

int top_grid_grow(struct top_grid *grid, int rows)
{
	size_t from = (size_t)grid->rows * (size_t)grid->cols, i;
	size_t len = (size_t)rows * (size_t)grid->cols;

	if (rows <= grid->rows)
		return 0;
	if (cells_allocate(grid,
		    len > grid->cells_len && len < 2 * grid->cells_len ?
			    2 * grid->cells_len :
			    len) < 0)
		return -ENOMEM;
	for (i = from; i < len; i++)
		cell_blank(&grid->cells[i]);
	grid->rows = rows;
	return 0;
}

void top_grid_free(struct top_grid *grid)
{
	free(grid->cells);
	memset(grid, 0, sizeof(*grid));
}

struct top_area top_grid_area(struct top_grid *grid)
{
	struct top_area area = { grid, 0, 0, grid->rows, grid->cols, 0 };

	return area;
}

struct top_area top_area_part(
	const struct top_area *area, int top, int left, int rows, int cols)
{
	struct top_area part = *area;

	if (top < 0) {
		rows += top;
		top = 0;
	}
	if (left < 0) {
		cols += left;
		left = 0;
	}
	if (rows > area->rows - top)
		rows = area->rows - top;
	if (cols > area->cols - left)
		cols = area->cols - left;
	part.top += top;
	part.left += left;
	part.rows = rows > 0 ? rows : 0;
	part.cols = cols > 0 ? cols : 0;
	return part;
}

/* NULL: outside. */
static struct top_cell *cell_at(const struct top_area *area, int row, int col)
{
	int y = area->top + row, x = area->left + col;

	if (row < 0 || col < 0 || row >= area->rows || col >= area->cols ||
		y >= area->grid->rows || x >= area->grid->cols)
		return NULL;
	return &area->grid->cells[y * area->grid->cols + x];
}

/* -- characters --------------------------------------------------------------- */

struct glyph {
	char text[8];
	size_t size;
	int width; /* 0: combines with the one before; -1: to be left out */
};

/*
 * Joiners and variation selectors are left out: terminals do not agree about how
 * wide that what they join is.
 */
static bool code_is_left_out(uint32_t code)
{
	return (code >= 0x200b && code <= 0x200d) || code == 0x2060 ||
		(code >= 0xfe00 && code <= 0xfe0f) || code == 0xfeff ||
		(code >= 0xe0000 && code <= 0xe0fff);
}

/* The next character of a text, as it is shown. Returns its size in the text. */
static size_t glyph_next(const char *text, bool ascii, struct glyph *ret_glyph)
{
	uint32_t code;
	size_t size = ttm_utf8_decode(text, &code);

	memset(ret_glyph, 0, sizeof(*ret_glyph));
	ret_glyph->text[0] = '?';
	ret_glyph->size = 1;
	ret_glyph->width = 1;
	if (size == 0)
		return 1;
	if (code >= 0x20 && code < 0x7f) {
		ret_glyph->text[0] = *text;
	} else if (code_is_left_out(code)) {
		ret_glyph->width = -1;
	} else if (!ascii && code >= 0xa0) {
		ret_glyph->width = wcwidth((wchar_t)code);
		if (ret_glyph->width < 0) {
			ret_glyph->width = 1; /* not to be shown */
		} else {
			memcpy(ret_glyph->text, text, size);
			ret_glyph->size = size;
		}
	}
	return size;
}

/* With the character that reached into it, or that it reached into. */
static void cell_take(const struct top_area *area, int row, int col)
{
	struct top_cell *cell = cell_at(area, row, col);
	struct top_cell *
		line = &area->grid->cells[(area->top + row) * area->grid->cols];

	if (!cell)
		return;
	if (cell->width == 0 && cell > line)
		cell_blank(cell - 1);
	if (cell->width == 2 && cell + 1 < line + area->grid->cols)
		cell_blank(cell + 1);
}

static void cell_set(struct top_cell *cell, const struct glyph *glyph,
	enum top_look look, uint8_t flags)
{
	memset(cell, 0, sizeof(*cell));
	memcpy(cell->text, glyph->text, glyph->size);
	cell->width = (uint8_t)glyph->width;
	cell->look = (uint8_t)look;
	cell->flags = flags;
}

static void cell_combine(struct top_cell *cell, const struct glyph *glyph)
{
	size_t length = strlen(cell->text);

	if (cell->width > 0 && length + glyph->size < sizeof(cell->text))
		memcpy(cell->text + length, glyph->text, glyph->size);
}

static void glyph_put(const struct top_area *area, int row, int col,
	enum top_look look, const struct glyph *glyph)
{
	struct top_cell *cell = cell_at(area, row, col);

	if (!cell)
		return;
	cell_take(area, row, col);
	if (glyph->width == 2) {
		if (!cell_at(area, row, col + 1)) {
			cell_blank(cell);
			cell->look = (uint8_t)look;
			cell->flags = area->flags;
			return;
		}
		cell_take(area, row, col + 1);
		cell_set(cell, glyph, look, area->flags);
		memset(cell + 1, 0, sizeof(*cell));
		cell[1].look = (uint8_t)look;
		cell[1].flags = area->flags;
		return;
	}
	cell_set(cell, glyph, look, area->flags);
}

int top_put(const struct top_area *area, int row, int col, enum top_look look,
	const char *text)
{
	struct glyph glyph;
	struct top_cell *before;
	int last = -1;

	while (*text) {
		text += glyph_next(text, area->grid->ascii, &glyph);
		if (glyph.width > 0) {
			glyph_put(area, row, col, look, &glyph);
			last = col;
			col += glyph.width;
		} else if (glyph.width == 0 && last >= 0) {
			before = cell_at(area, row, last);
			if (before)
				cell_combine(before, &glyph);
		}
	}
	return col;
}

int top_printf(const struct top_area *area, int row, int col,
	enum top_look look, const char *format, ...)
{
	char text[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return top_put(area, row, col, look, text);
}

int top_printf_whole(const struct top_area *area, int row, int col,
	enum top_look look, const char *format, ...)
{
	char text[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (col + top_text_width(area, text) > area->cols)
		return col;
	return top_put(area, row, col, look, text);
}

int top_text_width(const struct top_area *area, const char *text)
{
	struct glyph glyph;
	int width = 0;

	while (*text) {
		text += glyph_next(text, area->grid->ascii, &glyph);
		width += glyph.width > 0 ? glyph.width : 0;
	}
	return width;
}

int top_fill(const struct top_area *area, int row, int col, int width,
	enum top_look look, const char *text)
{
	int end = col + width;

	while (col < end)
		col = top_put(area, row, col, look, text);
	return end;
}

/* Cut to `width`, the last column being a mark that something is missing. */
static void text_put_cut(const struct top_area *area, int row, int col,
	int width, enum top_look look, const char *text)
{
	struct top_area part = top_area_part(area, row, col, 1, width - 1);

	top_fill(area, row, col, width - 1, look, " ");
	top_put(&part, 0, 0, look, text);
	top_put(area, row, col + width - 1, look,
		area->grid->ascii ? "~" : "\xe2\x80\xa6");
}

int top_put_left(const struct top_area *area, int row, int col, int width,
	enum top_look look, const char *text)
{
	int used = top_text_width(area, text);

	if (width <= 0)
		return col;
	if (used > width) {
		text_put_cut(area, row, col, width, look, text);
		return col + width;
	}
	top_put(area, row, col, look, text);
	return top_fill(area, row, col + used, width - used, look, " ");
}

int top_put_right(const struct top_area *area, int row, int col, int width,
	enum top_look look, const char *text)
{
	int used = top_text_width(area, text);

	if (used >= width)
		return top_put_left(area, row, col, width, look, text);
	top_fill(area, row, col, width - used, look, " ");
	top_put(area, row, col + width - used, look, text);
	return col + width;
}

/* -- areas -------------------------------------------------------------------- */

void top_area_flag(const struct top_area *area, uint8_t flags)
{
	struct top_cell *cell;
	int row, col;

	for (row = 0; row < area->rows; row++)
		for (col = 0; col < area->cols; col++) {
			cell = cell_at(area, row, col);
			if (cell)
				cell->flags |= flags;
		}
}

void top_area_copy(
	const struct top_area *area, const struct top_grid *from, int first)
{
	int cols = area->cols < from->cols ? area->cols : from->cols;
	struct top_cell *cell;
	int row, col;

	for (row = 0; row < area->rows && first + row < from->rows; row++)
		for (col = 0; col < cols; col++) {
			cell = cell_at(area, row, col);
			if (!cell)
				continue;
			*cell = from->cells[(first + row) * from->cols + col];
			cell->flags |= area->flags;
			/* Half of a wide one at the edge. */
			if (cell->width == 2 && col + 1 == cols)
				cell_blank(cell);
		}
}

void top_spot_add(const struct top_area *area, int row, int col, int rows,
	int cols, enum top_spot_kind kind, int value)
{
	struct top_area part = top_area_part(area, row, col, rows, cols);
	struct top_grid *grid = area->grid;
	struct top_spot *spot;

	if (grid->spots_len == TOP_SPOTS || !part.rows || !part.cols)
		return;
	spot = &grid->spots[grid->spots_len++];
	spot->kind = kind;
	spot->value = value;
	spot->top = part.top;
	spot->left = part.left;
	spot->rows = part.rows;
	spot->cols = part.cols;
}

const struct top_spot *top_spot_at(
	const struct top_grid *grid, int row, int col)
{
	const struct top_spot *spot;
	size_t i;

	for (i = grid->spots_len; i-- > 0;) {
		spot = &grid->spots[i];
		if (row >= spot->top && row < spot->top + spot->rows &&
			col >= spot->left && col < spot->left + spot->cols)
			return spot;
	}
	return NULL;
}
