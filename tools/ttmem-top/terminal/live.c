/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* The view on a terminal: waits for keys, signals, time and snapshots. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "ttmem-top/app.h"
#include "ttmem-top/model/config.h"
#include "input.h"
#include "screen.h"
#include "ttmem-top/views/view.h"

#define SECOND_NS 1000000000ull
#define KEYS_AT_A_TIME 64

/* Signals become bytes in a pipe, so that none is missed between two looks. */
static int signal_pipe[2] = { -1, -1 };

struct live {
	struct top_app *app;
	struct top_screen *screen;
	uint64_t next_ns; /* when a snapshot is due */
	uint64_t frames;
	uint32_t flags; /* of the last snapshot */
	int stopped;    /* by this signal */
	bool dirty;
	bool more_keys; /* than were taken */
};

/* -- signals ------------------------------------------------------------------ */

static void signal_note(int number)
{
	unsigned char byte = (unsigned char)number;
	int error = errno;
	ssize_t n = write(signal_pipe[1], &byte, 1);

	(void)n; /* full: then there is something to be looked at anyway */
	errno = error;
}

static const int signals[] = { SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGTSTP,
	SIGCONT };

static int signals_begin(void)
{
	struct sigaction action;
	size_t i;

	if (pipe2(signal_pipe, O_NONBLOCK | O_CLOEXEC) < 0)
		return -errno;
	memset(&action, 0, sizeof(action));
	action.sa_handler = signal_note;
	action.sa_flags = SA_RESTART;
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
	return 0;
}

static void signals_end(void)
{
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
	close(signal_pipe[0]);
	close(signal_pipe[1]);
}

/* Ctrl-Z: the shell gets the terminal as it was. */
static void stop_for_a_while(struct live *live)
{
	top_screen_leave(live->screen);
	raise(SIGSTOP);
	top_screen_return(live->screen);
	live->dirty = true;
}

static void signals_take(struct live *live)
{
	unsigned char byte;

	while (read(signal_pipe[0], &byte, 1) == 1) {
		live->dirty = true;
		if (byte == SIGTSTP)
			stop_for_a_while(live);
		else if (byte == SIGINT || byte == SIGTERM || byte == SIGHUP)
			live->stopped = byte;
	}
}

/* -- frames ------------------------------------------------------------------- */

static bool settings_ascii(const struct top_app *app)
{
	return !app->utf8 || app->state.settings.ascii;
}

static void frame_show(struct live *live, uint64_t now_ns)
{
	struct top_app *app = live->app;
	const struct top_size *size = &app->options.size;
	int rows, cols;

	top_screen_set(live->screen, app->state.settings.colour,
		app->state.settings.mouse);
	top_screen_size(live->screen, &rows, &cols);
	if (size->rows) {
		rows = rows < size->rows ? rows : size->rows;
		cols = cols < size->cols ? cols : size->cols;
	}
	app->grid.ascii = settings_ascii(app);
	if (top_grid_size(&app->grid, rows, cols) < 0)
		return;
	if (app->state.redraw)
		top_screen_redraw(live->screen);
	app->state.redraw = false;
	top_view_paint(&app->model, &app->state, now_ns, &app->grid);
	top_screen_show(live->screen, &app->grid);
	live->dirty = false;
}

static uint64_t delay_of(const struct top_app *app)
{
	return app->options.delay_ns ? app->options.delay_ns : SECOND_NS;
}

/* A frozen recording waits, unless somebody fills a pipe. */
static bool is_waiting(const struct top_app *app)
{
	return app->state.frozen && !app->record &&
		top_source_fd(app->source) < 0;
}

/* When a recording has its next one; 0: it is not waited for. */
static uint64_t due_of(const struct top_app *app)
{
	return is_waiting(app) ? 0 : top_source_due_ns(app->source);
}

static void snapshot_look(struct live *live, uint64_t now_ns)
{
	struct top_app *app = live->app;
	int r, failed;

	live->flags = top_state_flags(&app->state);
	if (is_waiting(app))
		return;
	failed = app->record_error;
	r = top_app_take(app, now_ns);
	if (app->record_error != failed)
		top_message(&app->state, now_ns, "recording ends: %s",
			strerror(-app->record_error));
	if (!app->state.frozen)
		top_source_worth(app->source, now_ns, &app->model.worth);
	if (r == 0)
		live->frames++;
	else if (r != -EAGAIN && r != -ENODATA)
		top_message(&app->state, now_ns, "%s", strerror(-r));
	live->dirty = true;
}

/* -- waiting ------------------------------------------------------------------ */

static uint64_t soonest(uint64_t a, uint64_t b)
{
	return b && b < a ? b : a;
}

static int timeout_of(const struct live *live, uint64_t now_ns)
{
	uint64_t then = soonest(live->next_ns, due_of(live->app));
	uint64_t ms;

	if (live->app->state.message[0] && live->app->state.message_ns > now_ns)
		then = soonest(then, live->app->state.message_ns);
	if (then <= now_ns)
		return 0;
	ms = (then - now_ns + 999999) / 1000000;
	return ms < 60000 ? (int)ms : 60000;
}

static bool is_click(int key)
{
	return key == TOP_KEY_CLICK || key == TOP_KEY_DOUBLE_CLICK;
}

static void keys_take(struct live *live)
{
	struct top_app *app = live->app;
	struct top_input input;
	int n;

	for (n = 0; n < KEYS_AT_A_TIME; n++) {
		memset(&input, 0, sizeof(input));
		if (!top_screen_key(live->screen, &input))
			break;
		/* What a click means depends on what is seen there. */
		if (is_click(input.key) && live->dirty)
			frame_show(live, top_now_ns());
		top_input_apply(&app->model, &app->state, &app->grid, &input,
			top_now_ns());
		live->dirty = true;
	}
	live->more_keys = n == KEYS_AT_A_TIME;
}

static bool wait_for_something(struct live *live)
{
	struct pollfd fds[3] = {
		{ top_screen_fd(live->screen), POLLIN, 0 },
		{ signal_pipe[0], POLLIN, 0 },
		{ top_source_fd(live->app->source), POLLIN, 0 },
	};

	/* What curses has read already, the descriptor does not tell. */
	if (poll(fds, 3, live->more_keys ? 0 : timeout_of(live, top_now_ns())) <
			0 &&
		errno != EINTR)
		return false;
	signals_take(live);
	if (live->more_keys || fds[0].revents & POLLIN)
		keys_take(live);
	else if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		return false;
	if (fds[2].revents)
		live->next_ns = top_now_ns();
	return true;
}

static bool is_over(const struct live *live)
{
	uint64_t count = live->app->options.count;

	return live->app->state.quit || live->stopped ||
		top_source_failure(live->app->source) ||
		(count && live->frames >= count);
}

static void turn(struct live *live)
{
	struct top_app *app = live->app;
	uint64_t now = top_now_ns();
	uint64_t due = due_of(app);

	/* What a view needs it gets at once. */
	if (top_state_flags(&app->state) & ~live->flags &&
		!top_source_is_replay(app->source))
		live->next_ns = now;
	if (now >= live->next_ns || (due && now >= due)) {
		snapshot_look(live, now);
		live->next_ns = now + delay_of(app);
	}
	if (app->state.message[0] && now >= app->state.message_ns) {
		app->state.message[0] = '\0';
		live->dirty = true;
	}
	if (live->dirty)
		frame_show(live, now);
}

/* What options and environment changed is not the user's setting. */
static void settings_save(struct top_app *app)
{
	struct top_state saved = app->state;
	bool begun;
	size_t i;

	if (!app->state.settings_changed || !app->config[0])
		return;
	for (i = 0; i < TOP_SETTINGS; i++) {
		begun = *top_setting_of(&app->settings_begun, i);
		if (*top_setting_of(&saved.settings, i) == begun)
			*top_setting_of(&saved.settings, i) = *top_setting_of(
				&app->settings_read, i);
	}
	top_config_write(app->config, &saved);
}

int top_live(struct top_app *app)
{
	struct live live = { .app = app, .dirty = true };
	bool from_tty = app->options.replay &&
		strcmp(app->options.replay, "-") == 0;
	int r = signals_begin();

	if (r == 0)
		r = top_screen_open(from_tty, &live.screen);
	if (r < 0) {
		signals_end();
		return r == -ENOTTY ? -1 : TTM_EXIT_FAILURE;
	}
	do
		turn(&live);
	while (!is_over(&live) && wait_for_something(&live));
	top_screen_close(&live.screen);
	signals_end();
	settings_save(app);
	if (top_source_failure(app->source)) {
		ttm_error("%s", top_source_failure(app->source));
		return TTM_EXIT_FAILURE;
	}
	if (live.stopped && live.stopped != SIGINT)
		raise(live.stopped);
	return TTM_EXIT_OK;
}
