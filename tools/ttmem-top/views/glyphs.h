/* SPDX-License-Identifier: Apache-2.0 */
/* Characters that things are drawn with, in UTF-8 and in ASCII. */
#ifndef TTM_TOP_GLYPHS_H
#define TTM_TOP_GLYPHS_H

#include "grid.h"

struct top_glyphs {
	const char *bar[9];    /* eighths from the left, 0 to 8 */
	const char *column[9]; /* eighths from below */
	const char *bar_open, *bar_close;
	const char *across, *down;
	const char *corners[4]; /* as one reads */
	const char *axis;       /* where a chart begins */
	const char *peak;       /* line at the peak */
	const char *tick;       /* mark on the axis of time */
	const char *branch, *branch_last, *branch_down;
	const char *closed, *open;
	const char *ascending, *descending;
	const char *frozen, *playing;
	const char *dash;
};

const struct top_glyphs *top_glyphs_of(const struct top_area *area);

/* How full something is: from 75 % on a warning, from 90 % on critical. */
enum top_level {
	TOP_LEVEL_OK,
	TOP_LEVEL_WARN,
	TOP_LEVEL_CRITICAL
};
enum top_level top_level_of(double fraction);
/* "", "!", "!!" */
const char *top_level_mark(enum top_level level);
enum top_look top_level_look(enum top_level level, enum top_look ok);

/* With its brackets; nothing but blanks in it if `fraction` is below 0. */
void top_bar(const struct top_area *area, int row, int col, int width,
	double fraction);

/* A border around the whole area, with a title. Returns what is inside. */
struct top_area top_box(const struct top_area *area, const char *title);

#endif
