/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* Frames as text, for pipes, files and terminals that can do no more. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/number.h"
#include "app.h"
#include "ttmem-top/views/view.h"

#define SECOND_NS 1000000000ull
#define COLS_USUAL 132
#define COLS_MOST 1000

static int cols_of(const struct top_app *app)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t cols;

	if (app->options.size.cols)
		return app->options.size.cols;
	memset(&size, 0, sizeof(size));
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	if (columns && ttm_number_parse(columns, &cols) == 0 && cols >= 20 &&
		cols <= COLS_MOST)
		return (int)cols;
	return COLS_USUAL;
}

/* Columns up to the last that is not blank. */
static int line_length(const struct top_grid *grid, int row)
{
	const struct top_cell *cells = &grid->cells[row * grid->cols];
	int col = grid->cols;

	while (col > 0 && strcmp(cells[col - 1].text, " ") == 0)
		col--;
	return col;
}

/*
 * A grid as text, without blanks at the ends of lines, or lines at the end. Returns 0 or
 * a negative errno.
 */
static int grid_print(const struct top_grid *grid, FILE *file)
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

static int view_print(struct top_app *app)
{
	struct top_grid *grid = &app->grid;
	int r;

	grid->ascii = !app->utf8 || app->state.settings.ascii;
	if (app->options.size.rows) {
		r = top_grid_size(
			grid, app->options.size.rows, app->options.size.cols);
		if (r == 0)
			top_view_paint(&app->model, &app->state, 0, grid);
	} else {
		r = top_view_paint_plain(
			&app->model, &app->state, cols_of(app), grid);
	}
	return r < 0 ? r : grid_print(grid, stdout);
}

/* What was asked for, or all that one wants to know at first. */
static int frame_print(struct top_app *app)
{
	int r;

	if (app->options.view < TOP_VIEWS || app->options.size.rows)
		return view_print(app);
	app->state.view = TOP_VIEW_DEVICES;
	r = view_print(app);
	if (r == 0 && fputc('\n', stdout) == EOF)
		r = -EIO;
	app->state.view = TOP_VIEW_PROCESSES;
	return r < 0 ? r : view_print(app);
}

static void pause_until(uint64_t then_ns)
{
	struct timespec then = { (time_t)(then_ns / SECOND_NS),
		(long)(then_ns % SECOND_NS) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) ==
		EINTR)
		;
}

/* A recording that is a pipe is waited for. */
static int snapshot_take(struct top_app *app)
{
	struct pollfd wait = { top_source_fd(app->source), POLLIN, 0 };
	int r;

	while ((r = top_app_take(app, top_now_ns())) == -EAGAIN) {
		if (wait.fd >= 0)
			poll(&wait, 1, -1);
		else
			pause_until(top_now_ns() + SECOND_NS / 100);
	}
	return r;
}

/* Returns the exit status so far; -1: a recording has no more. */
static int frame_make(struct top_app *app, bool first)
{
	int r = snapshot_take(app);

	if (app->record_error)
		return TTM_EXIT_FAILURE; /* told of in the end */
	if (r == -ENODATA && !first && top_source_is_replay(app->source))
		return -1;
	if (!first && fputc('\n', stdout) == EOF)
		return TTM_EXIT_FAILURE;
	top_source_worth(app->source, top_now_ns(), &app->model.worth);
	if (r < 0 && r != -ENODATA) {
		ttm_error("%s",
			top_source_failure(app->source) ?
				top_source_failure(app->source) :
				strerror(-r));
		return TTM_EXIT_FAILURE;
	}
	if (!app->model.snapshot)
		ttm_error("%s%s%s", app->model.worth.text,
			app->model.worth.hint[0] ? "; " : "",
			app->model.worth.hint);
	else
		r = frame_print(app);
	if (r < 0 && r != -ENODATA) {
		ttm_error("cannot write: %s", strerror(-r));
		return TTM_EXIT_FAILURE;
	}
	if (fflush(stdout) != 0)
		return TTM_EXIT_FAILURE; /* nobody reads it any more */
	/* Another one was shown instead. */
	if (app->model.snapshot && app->options.device) {
		if (first)
			ttm_error("no data: there is no device %s",
				app->options.device);
		return ttm_exit_join(app->model.worth.status, TTM_EXIT_NO_DATA);
	}
	return app->model.worth.status;
}

int top_batch(struct top_app *app)
{
	bool replay = top_source_is_replay(app->source);
	uint64_t delay = app->options.delay_ns, next = top_now_ns(), n;
	uint64_t count = app->options.once ? 1 : app->options.count;
	int status = TTM_EXIT_OK, one;

	if (!delay && !replay)
		delay = SECOND_NS;
	for (n = 0; !count || n < count; n++) {
		if (n) {
			next += delay;
			pause_until(next);
		}
		one = frame_make(app, n == 0);
		if (one < 0)
			break;
		status = ttm_exit_join(status, one);
		if (one == TTM_EXIT_FAILURE)
			break;
	}
	return status;
}
