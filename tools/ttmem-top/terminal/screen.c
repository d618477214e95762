/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "screen.h"

#define NCURSES_WIDECHAR 1
#include <errno.h>
#include <fcntl.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

#define PAIR_SELECTED (TOP_LOOKS + 1)
#define COLOR_DEFAULT (-1)
#define A_BOLD_REVERSE (A_BOLD | A_REVERSE)
#define ESCAPE_MS 50
#define CLICK_MS 150
#define LETTERS 8

struct top_screen {
	SCREEN *terminal;
	FILE *keys;
	int keys_fd;
	bool colour;
	bool mouse;
	bool fresh; /* nothing of ours is on it */
	struct top_grid shown;
};

static const struct {
	short foreground, background;
	attr_t attributes, mono;
} looks[TOP_LOOKS] = {
#define LOOK(name, foreground, background, attributes, mono)                   \
	{ COLOR_##foreground, COLOR_##background, A_##attributes, A_##mono },
#include "ttmem-top/views/looks.def"
#undef LOOK
};

/* -- beginning and end -------------------------------------------------------- */

static bool cursor_can_move(void)
{
	const char *cup;
	bool can;
	int error;

	if (setupterm(NULL, STDOUT_FILENO, &error) == ERR)
		return false;
	cup = tigetstr("cup");
	can = cup && cup != (const char *)-1;
	del_curterm(cur_term); /* newterm() makes its own */
	return can;
}

static void colours_begin(void)
{
	short i;

	if (!has_colors() || start_color() == ERR || COLORS < 8)
		return;
	use_default_colors();
	for (i = 0; i < (short)TOP_LOOKS; i++)
		init_pair((short)(i + 1), looks[i].foreground,
			looks[i].background);
	init_pair(PAIR_SELECTED, COLOR_BLACK, COLOR_CYAN);
}

static int terminal_open(struct top_screen *screen, bool keys_from_tty)
{
	if (!isatty(STDOUT_FILENO) || !cursor_can_move())
		return -ENOTTY;
	screen->keys = keys_from_tty || !isatty(STDIN_FILENO) ?
		fopen("/dev/tty", "re") :
		fdopen(dup(STDIN_FILENO), "r");
	if (!screen->keys)
		return -errno;
	screen->keys_fd = fileno(screen->keys);
	if (!isatty(screen->keys_fd))
		return -ENOTTY;
	screen->terminal = newterm(NULL, stdout, screen->keys);
	return screen->terminal ? 0 : -ENOTTY;
}

/*
 * Those that terminals send in spite of what is said about them: inside of another
 * one (tmux, screen), or over ssh. What is not known would be an Escape and letters.
 */
static void keys_define(void)
{
	static const struct {
		const char *sequence;
		int key;
	} keys[] = {
		{ "\033[1~", KEY_HOME },
		{ "\033[4~", KEY_END },
		{ "\033[7~", KEY_HOME },
		{ "\033[8~", KEY_END },
		{ "\033[H", KEY_HOME },
		{ "\033[F", KEY_END },
		{ "\033OH", KEY_HOME },
		{ "\033OF", KEY_END },
		{ "\033[A", KEY_UP },
		{ "\033[B", KEY_DOWN },
		{ "\033[C", KEY_RIGHT },
		{ "\033[D", KEY_LEFT },
		{ "\033[Z", KEY_BTAB },
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		define_key(keys[i].sequence, keys[i].key);
}

int top_screen_open(bool keys_from_tty, struct top_screen **ret_screen)
{
	struct top_screen *screen = calloc(1, sizeof(*screen));
	int r;

	if (!screen)
		return -ENOMEM;
	r = terminal_open(screen, keys_from_tty);
	if (r < 0) {
		top_screen_close(&screen);
		return r;
	}
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	keys_define();
	curs_set(0);
	colours_begin();
	screen->fresh = true;
	*ret_screen = screen;
	return 0;
}

/* Where there is no other screen to go back to, the shell goes on in the last line. */
static void terminal_leave(void)
{
	move(LINES - 1, 0);
	attrset(A_NORMAL);
	clrtoeol();
	refresh();
	endwin();
}

void top_screen_close(struct top_screen **screen)
{
	struct top_screen *s = *screen;

	if (!s)
		return;
	if (s->terminal) {
		mousemask(0, NULL);
		terminal_leave();
		delscreen(s->terminal);
	}
	if (s->keys)
		fclose(s->keys);
	top_grid_free(&s->shown);
	free(s);
	*screen = NULL;
}

void top_screen_set(struct top_screen *screen, bool colour, bool mouse)
{
	colour = colour && has_colors() && COLORS >= 8;
	if (colour != screen->colour)
		screen->fresh = true;
	screen->colour = colour;
	if (mouse == screen->mouse)
		return;
	screen->mouse = mouse;
	mousemask(mouse ? BUTTON1_CLICKED | BUTTON1_DOUBLE_CLICKED |
				BUTTON1_PRESSED | BUTTON4_PRESSED |
				BUTTON5_PRESSED :
			  0,
		NULL);
	mouseinterval(CLICK_MS);
}

void top_screen_size(struct top_screen *screen, int *ret_rows, int *ret_cols)
{
	struct winsize size;

	memset(&size, 0, sizeof(size));
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row &&
		size.ws_col && (size.ws_row != LINES || size.ws_col != COLS)) {
		resizeterm(size.ws_row, size.ws_col);
		screen->fresh = true;
	}
	*ret_rows = LINES;
	*ret_cols = COLS;
}

void top_screen_leave(struct top_screen *screen)
{
	(void)screen;
	terminal_leave();
}

void top_screen_return(struct top_screen *screen)
{
	screen->fresh = true;
	refresh();
	/* Else only the first key would bring it back, as another one. */
	keypad(stdscr, TRUE);
}

void top_screen_redraw(struct top_screen *screen)
{
	screen->fresh = true;
	clearok(curscr, TRUE);
}

/* -- cells -------------------------------------------------------------------- */

static void cell_attributes(const struct top_screen *screen,
	const struct top_cell *cell, attr_t *ret_attributes, short *ret_pair)
{
	unsigned look = cell->look < TOP_LOOKS ? cell->look : 0;

	*ret_pair = 0;
	if (!screen->colour) {
		*ret_attributes = looks[look].mono;
		if (cell->flags & TOP_SELECTED)
			*ret_attributes |= A_REVERSE;
		if (cell->flags & TOP_STALE)
			*ret_attributes |= A_DIM;
		return;
	}
	*ret_attributes = looks[look].attributes;
	*ret_pair = (short)(look + 1);
	if (cell->flags & TOP_SELECTED) {
		*ret_attributes = A_NORMAL;
		*ret_pair = PAIR_SELECTED;
	} else if (cell->flags & TOP_STALE) {
		*ret_attributes = A_DIM;
		*ret_pair = 0;
	}
}

static void cell_show(const struct top_screen *screen, int row, int col,
	const struct top_cell *cell)
{
	wchar_t letters[LETTERS] = L"";
	attr_t attributes;
	cchar_t c;
	short pair;
	size_t len;

	cell_attributes(screen, cell, &attributes, &pair);
	len = mbstowcs(letters, cell->text, LETTERS - 1);
	if (len == (size_t)-1 || len == 0) {
		letters[0] = L'?';
		len = 1;
	}
	/* A cell of curses takes no more than so many. */
	letters[len < CCHARW_MAX ? len : CCHARW_MAX - 1] = L'\0';
	setcchar(&c, letters, attributes, pair, NULL);
	mvadd_wch(row, col, &c);
}

static bool is_shown(
	const struct top_screen *screen, const struct top_grid *grid, size_t i)
{
	return !screen->fresh &&
		memcmp(&screen->shown.cells[i], &grid->cells[i],
			sizeof(grid->cells[i])) == 0;
}

void top_screen_show(struct top_screen *screen, const struct top_grid *grid)
{
	size_t len = (size_t)grid->rows * (size_t)grid->cols, i;
	int row, col;

	if (screen->shown.rows != grid->rows ||
		screen->shown.cols != grid->cols) {
		if (top_grid_size(&screen->shown, grid->rows, grid->cols) < 0)
			return;
		screen->fresh = true;
	}
	if (screen->fresh)
		erase();
	for (i = 0; i < len; i++) {
		row = (int)(i / (size_t)grid->cols);
		col = (int)(i % (size_t)grid->cols);
		if (grid->cells[i].width && !is_shown(screen, grid, i))
			cell_show(screen, row, col, &grid->cells[i]);
	}
	memcpy(screen->shown.cells, grid->cells, len * sizeof(*grid->cells));
	screen->fresh = false;
	refresh();
}

/* -- keys --------------------------------------------------------------------- */

int top_screen_fd(const struct top_screen *screen)
{
	return screen->keys_fd;
}

static int special_key(wint_t key)
{
	static const struct {
		wint_t curses;
		int key;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP },
		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_LEFT, TOP_KEY_LEFT },
		{ KEY_RIGHT, TOP_KEY_RIGHT },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },
		{ KEY_END, TOP_KEY_END },
		{ KEY_ENTER, TOP_KEY_ENTER },
		{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
		{ KEY_BTAB, TOP_KEY_BACKTAB },
		{ KEY_F(1), TOP_KEY_F1 },
		{ KEY_F(2), TOP_KEY_F2 },
		{ KEY_F(5), TOP_KEY_F5 },
		{ KEY_F(6), TOP_KEY_F6 },
		{ KEY_F(9), TOP_KEY_F9 },
		{ KEY_F(10), TOP_KEY_F10 },
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return TOP_KEY_NONE;
}

static int plain_key(wint_t key)
{
	switch (key) {
	case '\n':
	case '\r':
		return TOP_KEY_ENTER;
	case 27:
		return TOP_KEY_ESCAPE;
	case 8:
	case 127:
		return TOP_KEY_BACKSPACE;
	default:
		return (int)key;
	}
}

static int mouse_key(struct top_input *input)
{
	MEVENT event;

	if (getmouse(&event) == ERR)
		return TOP_KEY_NONE;
	input->row = event.y;
	input->col = event.x;
	if (event.bstate & BUTTON1_DOUBLE_CLICKED)
		return TOP_KEY_DOUBLE_CLICK;
	if (event.bstate & (BUTTON1_CLICKED | BUTTON1_PRESSED))
		return TOP_KEY_CLICK;
	if (event.bstate & BUTTON4_PRESSED)
		return TOP_KEY_WHEEL_UP;
	if (event.bstate & BUTTON5_PRESSED)
		return TOP_KEY_WHEEL_DOWN;
	return TOP_KEY_NONE;
}

bool top_screen_key(struct top_screen *screen, struct top_input *ret_input)
{
	wint_t key;
	int r;

	(void)screen;
	r = get_wch(&key);
	if (r == ERR)
		return false;
	if (r != KEY_CODE_YES)
		ret_input->key = plain_key(key);
	else if (key == KEY_MOUSE)
		ret_input->key = mouse_key(ret_input);
	else
		ret_input->key = special_key(key);
	return true;
}
