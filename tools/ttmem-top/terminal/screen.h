/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal. screen.c is the only file that knows how it is driven. */
#ifndef TTM_TOP_SCREEN_H
#define TTM_TOP_SCREEN_H

#include <stdbool.h>

#include "ttmem-top/views/grid.h"
#include "ttmem-top/views/keys.h"

struct top_screen;

/*
 * On standard output, with keys from standard input or, if that is no terminal or
 * `keys_from_tty`, from /dev/tty. Returns 0, -ENOTTY (no terminal, or one whose cursor cannot be moved), or
 * another negative errno. End it with top_screen_close().
 */
int top_screen_open(bool keys_from_tty, struct top_screen **ret_screen);

/* The terminal is as it was before. */
void top_screen_close(struct top_screen **screen);

/* May be changed at any time. Colours are off where the terminal has none. */
void top_screen_set(struct top_screen *screen, bool colour, bool mouse);

/* As the terminal says; another size is taken over. */
void top_screen_size(struct top_screen *screen, int *ret_rows, int *ret_cols);

/* Only what changed since the last one is written. */
void top_screen_show(struct top_screen *screen, const struct top_grid *grid);

/* All is written again with the next frame. */
void top_screen_redraw(struct top_screen *screen);

/* Gives the terminal back, and takes it again. */
void top_screen_leave(struct top_screen *screen);
void top_screen_return(struct top_screen *screen);

/* To be waited for. */
int top_screen_fd(const struct top_screen *screen);

/* The next key that was pressed. False: none. */
bool top_screen_key(struct top_screen *screen, struct top_input *ret_input);

#endif
