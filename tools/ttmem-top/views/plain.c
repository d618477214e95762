/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "plain.h"

#include <errno.h>
#include <string.h>

/* Columns up to the last that is not blank. */
static int line_length(const struct top_grid *grid, int row)
{
	const struct top_cell *cells = &grid->cells[row * grid->cols];
	int col = grid->cols;

	while (col > 0 && strcmp(cells[col - 1].text, " ") == 0)
		col--;
	return col;
}

int top_plain_print(const struct top_grid *grid, FILE *file)
{
	int rows = grid->rows, row, col, length;

	errno = EIO; /* unless somebody knows better */
	while (rows > 0 && line_length(grid, rows - 1) == 0)
		rows--;
	for (row = 0; row < rows; row++) {
		length = line_length(grid, row);
		for (col = 0; col < length; col++)
			fputs(grid->cells[row * grid->cols + col].text, file);
		fputc('\n', file);
	}
	return ferror(file) ? -errno : 0;
}
