/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* Text of any length, of which a part is shown. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "view.h"

#define LINE_SIZE 1024u
#define LABEL_COLS 16

void top_text_begin(
	struct top_text *text, const struct top_area *area, int cols)
{
	memset(text, 0, sizeof(*text));
	text->grid.ascii = area->grid->ascii;
	text->failed = top_grid_size(&text->grid, 64, cols) < 0;
}

struct top_area top_rows(struct top_text *text, int rows)
{
	struct top_area none = { &text->grid, 0, 0, 0, 0, 0 };
	struct top_area all;
	int row = text->row;

	if (text->failed || top_grid_grow(&text->grid, row + rows) < 0) {
		text->failed = true;
		return none;
	}
	text->row += rows;
	all = top_grid_area(&text->grid);
	return top_area_part(&all, row, 0, rows, all.cols);
}

void top_line(
	struct top_text *text, enum top_look look, const char *format, ...)
{
	struct top_area area = top_rows(text, 1);
	char line[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (area.cols)
		top_put(&area, 0, 0, look, line);
}

/* How much of it has room in `cols`: up to a blank, if there is one. */
static int line_break(const char *value, int cols)
{
	int length = (int)strlen(value), at;

	if (length <= cols)
		return length;
	for (at = cols; at > 0 && value[at] != ' '; at--)
		;
	if (at > 0)
		return at;
	/* Not within a character. */
	for (at = cols; at > 1 && ((unsigned char)value[at] & 0xc0) == 0x80;
		at--)
		;
	return at;
}

void top_field(struct top_text *text, enum top_look look, const char *label,
	const char *format, ...)
{
	char line[LINE_SIZE * 4];
	const char *value = line;
	struct top_area area;
	va_list arguments;
	int length, half = text->grid.cols / 2;
	int indent = LABEL_COLS > half ? half : LABEL_COLS;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	do {
		area = top_rows(text, 1);
		if (area.cols <= indent)
			return;
		length = line_break(value, area.cols - indent);
		if (value == line)
			top_put_left(
				&area, 0, 0, indent - 1, TOP_LOOK_LABEL, label);
		top_printf(&area, 0, indent, look, "%.*s", length, value);
		value += length;
		value += strspn(value, " ");
	} while (*value);
}

void top_head(struct top_text *text, const char *title)
{
	const struct top_glyphs *glyphs;
	struct top_area area;
	int col;

	if (text->row)
		top_rows(text, 1);
	area = top_rows(text, 1);
	if (!area.cols)
		return;
	glyphs = top_glyphs_of(&area);
	col = top_fill(&area, 0, 0, 2, TOP_LOOK_BORDER, glyphs->across);
	col = top_printf(&area, 0, col, TOP_LOOK_TITLE, " %s ", title);
	top_fill(&area, 0, col, area.cols - col, TOP_LOOK_BORDER,
		glyphs->across);
}

void top_text_paint(
	struct top_text *text, const struct top_area *area, int first)
{
	if (!text->failed) {
		text->grid.rows = text->row ? text->row : 1;
		top_area_copy(area, &text->grid, first);
	}
	top_grid_free(&text->grid);
}

void top_text_show(
	struct top_text *text, const struct top_area *area, int *scroll)
{
	int most = text->row - area->rows;

	most = most > 0 ? most : 0;
	*scroll = *scroll > most ? most : *scroll < 0 ? 0 : *scroll;
	top_text_paint(text, area, *scroll);
}
