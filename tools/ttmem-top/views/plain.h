/* SPDX-License-Identifier: Apache-2.0 */
/* A grid as text. */
#ifndef TTM_TOP_PLAIN_H
#define TTM_TOP_PLAIN_H

#include <stdio.h>

#include "grid.h"

/*
 * Without blanks at the ends of lines, or lines at the end. Returns 0 or negative
 * errno.
 */
int top_plain_print(const struct top_grid *grid, FILE *file);

#endif
