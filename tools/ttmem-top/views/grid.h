/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen in memory: cells with a character and a meaning. Views paint into it;
 * screen.c puts it on a terminal, batch.c prints it as text. Whatever is painted,
 * no control character gets into a cell.
 */
#ifndef TTM_TOP_GRID_H
#define TTM_TOP_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum top_look {
#define LOOK(name, foreground, background, attributes, mono) TOP_LOOK_##name,
#include "looks.def"
#undef LOOK
	TOP_LOOKS
};

/* Besides its meaning. */
#define TOP_SELECTED 1u /* where the cursor is */
#define TOP_STALE 2u    /* not of now */

/* A wide character is followed by a cell of width 0. Compared as bytes. */
struct top_cell {
	char text[13]; /* UTF-8: a character and what combines with it */
	uint8_t width;
	uint8_t look; /* enum top_look */
	uint8_t flags;
};

/* What a click there means. */
enum top_spot_kind {
	TOP_SPOT_VIEW,   /* value: enum top_view */
	TOP_SPOT_ACTION, /* value: enum top_action */
	TOP_SPOT_ROW,    /* value: number of the row in the list */
	TOP_SPOT_SORT,   /* value: number of the column */
};

struct top_spot {
	enum top_spot_kind kind;
	int value;
	int top, left, rows, cols;
};

#define TOP_SPOTS 256u

struct top_grid {
	int rows, cols;
	struct top_cell *cells; /* rows x cols */
	size_t cells_len;       /* allocated */
	bool ascii;             /* nothing else may be in it */
	struct top_spot spots[TOP_SPOTS];
	size_t spots_len;
};

/* A part of a grid; rows and columns count from its corner. */
struct top_area {
	struct top_grid *grid;
	int top, left, rows, cols;
	uint8_t flags; /* TOP_SELECTED, TOP_STALE */
};

/* Blank and of that size, at least 1x1. Returns 0 or -ENOMEM: then as it was. */
int top_grid_size(struct top_grid *grid, int rows, int cols);
void top_grid_free(struct top_grid *grid);
/* More rows, blank. Returns 0 or -ENOMEM. */
int top_grid_grow(struct top_grid *grid, int rows);

struct top_area top_grid_area(struct top_grid *grid);

/* What of it lies in `area`. */
struct top_area top_area_part(
	const struct top_area *area, int top, int left, int rows, int cols);

/*
 * Text from there on, up to the edge of the area. Returns the column behind it,
 * whether it was painted or not.
 */
int top_put(const struct top_area *area, int row, int col, enum top_look look,
	const char *text);
__attribute__((format(printf, 5, 6))) int top_printf(
	const struct top_area *area, int row, int col, enum top_look look,
	const char *format, ...);

/* All of it, or, where it has no room, nothing: returns `col` then. */
__attribute__((format(printf, 5, 6))) int top_printf_whole(
	const struct top_area *area, int row, int col, enum top_look look,
	const char *format, ...);

/* Exactly so many columns: filled with blanks, or cut with a mark. */
int top_put_left(const struct top_area *area, int row, int col, int width,
	enum top_look look, const char *text);
int top_put_right(const struct top_area *area, int row, int col, int width,
	enum top_look look, const char *text);

/* So many times the same. Returns the column behind it. */
int top_fill(const struct top_area *area, int row, int col, int width,
	enum top_look look, const char *text);

/* Columns that the text takes. */
int top_text_width(const struct top_area *area, const char *text);

/* All rows and columns of the area get these flags, too. */
void top_area_flag(const struct top_area *area, uint8_t flags);

/* Clicks within these rows and columns of the area mean something. */
void top_spot_add(const struct top_area *area, int row, int col, int rows,
	int cols, enum top_spot_kind kind, int value);
/* NULL: nothing there. */
const struct top_spot *top_spot_at(
	const struct top_grid *grid, int row, int col);

/* Rows of `from`, from `first` on, into the area. */
void top_area_copy(
	const struct top_area *area, const struct top_grid *from, int first);

#endif
