/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "glyphs.h"

#define WARN_FROM 0.75
#define CRITICAL_FROM 0.90

static const struct top_glyphs utf8 = {
	.bar = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" },
	.column = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
	.bar_open = "[",
	.bar_close = "]",
	.across = "─",
	.down = "│",
	.corners = { "┌", "┐", "└", "┘" },
	.axis = "│",
	.peak = "╌",
	.tick = "┴",
	.branch = "├─ ",
	.branch_last = "└─ ",
	.branch_down = "│  ",
	.closed = "▸ ",
	.open = "▾ ",
	.ascending = "▲",
	.descending = "▼",
	.frozen = "‖",
	.playing = "▶",
	.dash = "–",
};

static const struct top_glyphs ascii = {
	.bar = { " ", " ", " ", " ", "|", "|", "|", "|", "|" },
	.column = { " ", ".", ".", ":", ":", "|", "|", "#", "#" },
	.bar_open = "[",
	.bar_close = "]",
	.across = "-",
	.down = "|",
	.corners = { "+", "+", "+", "+" },
	.axis = "|",
	.peak = "-",
	.tick = "+",
	.branch = "|- ",
	.branch_last = "`- ",
	.branch_down = "|  ",
	.closed = "> ",
	.open = "v ",
	.ascending = "^",
	.descending = "v",
	.frozen = "||",
	.playing = ">",
	.dash = "-",
};

const struct top_glyphs *top_glyphs_of(const struct top_area *area)
{
	return area->grid->ascii ? &ascii : &utf8;
}

enum top_level top_level_of(double fraction)
{
	return fraction >= CRITICAL_FROM ? TOP_LEVEL_CRITICAL :
		fraction >= WARN_FROM    ? TOP_LEVEL_WARN :
					   TOP_LEVEL_OK;
}

const char *top_level_mark(enum top_level level)
{
	return level == TOP_LEVEL_CRITICAL ? "!!" :
		level == TOP_LEVEL_WARN    ? "!" :
					     "";
}

enum top_look top_level_look(enum top_level level, enum top_look ok)
{
	return level == TOP_LEVEL_CRITICAL ? TOP_LOOK_CRITICAL :
		level == TOP_LEVEL_WARN    ? TOP_LOOK_WARN :
					     ok;
}

static enum top_look bar_look(double fraction)
{
	enum top_level level = top_level_of(fraction);

	return level == TOP_LEVEL_CRITICAL ? TOP_LOOK_BAR_CRITICAL :
		level == TOP_LEVEL_WARN    ? TOP_LOOK_BAR_WARN :
					     TOP_LOOK_BAR;
}

void top_bar(const struct top_area *area, int row, int col, int width,
	double fraction)
{
	const struct top_glyphs *glyphs = top_glyphs_of(area);
	enum top_look look = bar_look(fraction);
	int inside = width - 2, eighths, i, part;

	if (inside < 1)
		return;
	fraction = fraction > 1 ? 1 : fraction < 0 ? 0 : fraction;
	eighths = (int)(fraction * inside * 8 + 0.5);
	/* Something is never shown as nothing. */
	if (eighths == 0 && fraction > 0)
		eighths = area->grid->ascii ? 0 : 1;
	top_put(area, row, col, TOP_LOOK_DIM, glyphs->bar_open);
	for (i = 0; i < inside; i++) {
		part = eighths - 8 * i;
		part = part > 8 ? 8 : part < 0 ? 0 : part;
		top_put(area, row, col + 1 + i, look, glyphs->bar[part]);
	}
	top_put(area, row, col + width - 1, TOP_LOOK_DIM, glyphs->bar_close);
}

struct top_area top_box(const struct top_area *area, const char *title)
{
	const struct top_glyphs *glyphs = top_glyphs_of(area);
	int bottom = area->rows - 1, right = area->cols - 1, row;
	struct top_area head = top_area_part(area, 0, 2, 1, area->cols - 4);

	for (row = 0; row < area->rows; row++)
		top_fill(area, row, 0, area->cols, TOP_LOOK_PLAIN, " ");
	top_fill(area, 0, 0, area->cols, TOP_LOOK_BORDER, glyphs->across);
	top_fill(area, bottom, 0, area->cols, TOP_LOOK_BORDER, glyphs->across);
	for (row = 0; row < area->rows; row++) {
		top_put(area, row, 0, TOP_LOOK_BORDER, glyphs->down);
		top_put(area, row, right, TOP_LOOK_BORDER, glyphs->down);
	}
	top_put(area, 0, 0, TOP_LOOK_BORDER, glyphs->corners[0]);
	top_put(area, 0, right, TOP_LOOK_BORDER, glyphs->corners[1]);
	top_put(area, bottom, 0, TOP_LOOK_BORDER, glyphs->corners[2]);
	top_put(area, bottom, right, TOP_LOOK_BORDER, glyphs->corners[3]);
	if (title[0])
		top_printf(&head, 0, 0, TOP_LOOK_TITLE, " %s ", title);
	return top_area_part(area, 1, 2, area->rows - 2, area->cols - 4);
}
