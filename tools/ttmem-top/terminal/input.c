/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "ttmem-top/model/signals.h"
#include "input.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

#define MESSAGE_NS 4000000000ull
#define WHEEL_ROWS 3

void top_message(
	struct top_state *state, uint64_t now_ns, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(state->message, sizeof(state->message), format, arguments);
	va_end(arguments);
	state->message_ns = now_ns + MESSAGE_NS;
}

size_t top_choice_move(size_t choice, size_t len, int by)
{
	size_t step = (size_t)(by < 0 ? -by : by);

	if (len == 0)
		return 0;
	if (by < 0)
		return choice > step ? choice - step : 0;
	return choice + step < len ? choice + step : len - 1;
}

void top_window_open(struct top_state *state, enum top_mode mode, size_t choice)
{
	state->mode = mode;
	state->choice = choice;
	state->window_scroll = 0;
}

/* -- moving ------------------------------------------------------------------- */

static void device_select(
	struct top_model *model, struct top_state *state, size_t place)
{
	if (place >= model->devices.len)
		return;
	state->devices.selected = place;
	state->device = model->devices.list[place].id;
	if (state->device_only)
		top_model_rows(model, state);
}

static void row_select(
	struct top_model *model, struct top_state *state, size_t place)
{
	struct top_id none = { 0, 0 };

	if (place >= model->rows.len)
		return;
	state->rows.selected = place;
	/* At the top one stays there, whoever is it. */
	state->row = place ? model->rows.list[place].id : none;
}

static void move(struct top_model *model, struct top_state *state, int by)
{
	switch (state->view) {
	case TOP_VIEW_PROCESSES:
		row_select(model, state,
			top_choice_move(
				state->rows.selected, model->rows.len, by));
		break;
	case TOP_VIEW_HEALTH:
		state->scroll[state->view] += by;
		if (state->scroll[state->view] > state->scroll_most)
			state->scroll[state->view] = state->scroll_most;
		if (state->scroll[state->view] < 0)
			state->scroll[state->view] = 0;
		break;
	default:
		device_select(model, state,
			top_choice_move(state->devices.selected,
				model->devices.len, by));
	}
}

static int page_of(const struct top_state *state)
{
	size_t shown = state->view == TOP_VIEW_PROCESSES ? state->rows.shown :
		state->view == TOP_VIEW_HEALTH           ? 10 :
							   state->devices.shown;

	return shown > 1 ? (int)shown - (state->view != TOP_VIEW_CHARTS) : 1;
}

/* Through the devices, and in the view of processes through "all", too. */
static void device_next(
	struct top_model *model, struct top_state *state, int by)
{
	size_t len = model->devices.len, at = state->devices.selected;
	bool only = state->view == TOP_VIEW_PROCESSES;

	if (len == 0)
		return;
	if (only && !state->device_only) {
		state->device_only = true;
		at = by > 0 ? 0 : len - 1;
	} else if (only && at == (by > 0 ? len - 1 : 0)) {
		state->device_only = false;
		at = 0;
	} else {
		at = (at + len + (size_t)(by > 0 ? 1 : len - 1)) % len;
	}
	device_select(model, state, at);
	top_model_rows(model, state);
}

/* -- processes ---------------------------------------------------------------- */

static void expand(struct top_model *model, struct top_state *state, bool on)
{
	const struct top_row *row = top_model_row(model, state);
	size_t at = state->rows.selected;

	if (!row)
		return;
	/* From a scope to its process. */
	while (!on && at > 0 && row->kind >= TOP_ROW_SCOPE) {
		row = &model->rows.list[--at];
		row_select(model, state, at);
	}
	if (row->kind != TOP_ROW_PROCESS)
		return;
	if (top_expanded_set(&state->expanded, row->id, on) == 0)
		top_model_rows(model, state);
}

static void expand_all(struct top_model *model, struct top_state *state, int by)
{
	bool any = top_expanded_any(&state->expanded);

	(void)by;
	state->expanded.len = 0;
	state->expanded.all = !any;
	top_model_rows(model, state);
}

static void sort_move(struct top_model *model, struct top_state *state, int by)
{
	size_t first = top_table_first(TOP_TABLE_PROCESSES);
	size_t len = top_table_len(TOP_TABLE_PROCESSES);

	state->sort = first +
		(state->sort - first + len + (size_t)(by > 0 ? 1 : len - 1)) %
			len;
	state->reverse = false;
	top_model_rows(model, state);
}

static void sort_by(
	struct top_model *model, struct top_state *state, size_t column)
{
	state->reverse = state->sort == column && !state->reverse;
	state->sort = column;
	top_model_rows(model, state);
}

static void kill_ask(
	struct top_model *model, struct top_state *state, uint64_t now_ns)
{
	const struct top_row *row = top_model_row(model, state);
	int r;

	if (state->view != TOP_VIEW_PROCESSES || !row ||
		row->kind > TOP_ROW_UNTRACKED) {
		top_message(state, now_ns,
			"Select a process in the view of processes (3) first");
		return;
	}
	if (state->readonly || model->replay) {
		top_message(state, now_ns, "%s",
			model->replay ? "This is a recording" :
					"Off: --readonly");
		return;
	}
	if (row->state >= TOP_STATE_EXITED) {
		top_message(state, now_ns, "That process is gone");
		return;
	}
	/* Its pid is the name of a file that a user made, and nothing more. */
	if (row->kind == TOP_ROW_UNTRACKED) {
		top_message(state, now_ns,
			"No signal to a process that could not be tracked");
		return;
	}
	state->victim.pid = row->pid;
	state->victim.start_time = row->start_time;
	state->victim.pid_namespace = row->pid_namespace;
	r = top_victim_look(&state->victim);
	if (r < 0)
		top_message(state, now_ns, "No signal can be sent: %s",
			top_signal_error(r));
	else
		top_window_open(state, TOP_MODE_SIGNAL, 0);
}

/* -- charts ------------------------------------------------------------------- */

static void pan(struct top_state *state, bool back)
{
	uint64_t step = top_windows[state->window] / 4;
	uint64_t most = top_windows[TOP_WINDOWS - 1];

	if (back)
		state->pan_ns = state->pan_ns + step < most ?
			state->pan_ns + step :
			most;
	else
		state->pan_ns = state->pan_ns > step ? state->pan_ns - step : 0;
}

/* -- actions ------------------------------------------------------------------ */

static bool in_charts(const struct top_state *state)
{
	return state->view == TOP_VIEW_CHARTS;
}

static void detail_open(
	struct top_model *model, struct top_state *state, int by)
{
	(void)model;
	(void)by;
	if (in_charts(state))
		state->zoomed = !state->zoomed;
	else if (state->view != TOP_VIEW_HEALTH)
		top_window_open(state, TOP_MODE_DETAIL, 0);
}

static void view_set(struct top_model *model, struct top_state *state, int view)
{
	(void)model;
	state->view = (enum top_view)view;
}

static void view_step(struct top_model *model, struct top_state *state, int by)
{
	view_set(model, state,
		((int)state->view + by + (int)TOP_VIEWS) % (int)TOP_VIEWS);
}

static void page(struct top_model *model, struct top_state *state, int by)
{
	move(model, state, by * page_of(state));
}

/* Left and right. */
static void sideways(struct top_model *model, struct top_state *state, int by)
{
	if (in_charts(state))
		pan(state, by < 0);
	else if (state->view == TOP_VIEW_PROCESSES)
		expand(model, state, by > 0);
	else
		move(model, state, by);
}

static void longer(struct top_model *model, struct top_state *state, int by)
{
	if (in_charts(state))
		state->window = (unsigned)top_choice_move(
			state->window, TOP_WINDOWS, by);
	else if (state->view == TOP_VIEW_PROCESSES)
		expand(model, state, by < 0);
}

static void pan_by(struct top_model *model, struct top_state *state, int by)
{
	(void)model;
	if (by == 0)
		state->pan_ns = 0;
	else if (in_charts(state))
		pan(state, by < 0);
}

static void reverse(struct top_model *model, struct top_state *state, int by)
{
	(void)by;
	state->reverse = !state->reverse;
	top_model_rows(model, state);
}

static void filter_open(
	struct top_model *model, struct top_state *state, int by)
{
	(void)model;
	(void)by;
	state->view = TOP_VIEW_PROCESSES;
	memcpy(state->filter_before, state->filter, sizeof(state->filter));
	top_window_open(state, TOP_MODE_FILTER, 0);
}

static void window_open(
	struct top_model *model, struct top_state *state, int mode)
{
	(void)model;
	top_window_open(state, (enum top_mode)mode,
		mode == TOP_MODE_SORT ?
			state->sort - top_table_first(TOP_TABLE_PROCESSES) :
			0);
	if (mode == TOP_MODE_SORT)
		state->view = TOP_VIEW_PROCESSES;
}

static void setting_toggle(
	struct top_model *model, struct top_state *state, int setting)
{
	bool *value = top_setting_of(&state->settings, (size_t)setting);

	*value = !*value;
	state->settings_changed = true;
	top_model_rows(model, state);
}

static void peaks_reset(
	struct top_model *model, struct top_state *state, uint64_t now_ns)
{
	if (!model->snapshot)
		return;
	top_peaks_reset(&model->peaks, model->snapshot, &model->devices);
	top_model_rows(model, state);
	top_message(state, now_ns, "Peaks are those from now on");
}

static const struct {
	enum top_action action;
	void (*apply)(struct top_model *model, struct top_state *state, int by);
	int by;
} actions[] = {
	{ TOP_ACTION_UP, move, -1 },
	{ TOP_ACTION_DOWN, move, 1 },
	{ TOP_ACTION_PAGE_UP, page, -1 },
	{ TOP_ACTION_PAGE_DOWN, page, 1 },
	{ TOP_ACTION_HOME, move, -1000000 },
	{ TOP_ACTION_END, move, 1000000 },
	{ TOP_ACTION_LEFT, sideways, -1 },
	{ TOP_ACTION_RIGHT, sideways, 1 },
	{ TOP_ACTION_DETAIL, detail_open, 0 },
	{ TOP_ACTION_DEVICE, device_next, 1 },
	{ TOP_ACTION_DEVICE_BACK, device_next, -1 },
	{ TOP_ACTION_SHORTER, longer, -1 },
	{ TOP_ACTION_LONGER, longer, 1 },
	{ TOP_ACTION_PAN_BACK, pan_by, -1 },
	{ TOP_ACTION_PAN_ON, pan_by, 1 },
	{ TOP_ACTION_NOW, pan_by, 0 },
	{ TOP_ACTION_SORT, window_open, TOP_MODE_SORT },
	{ TOP_ACTION_SORT_LEFT, sort_move, -1 },
	{ TOP_ACTION_SORT_RIGHT, sort_move, 1 },
	{ TOP_ACTION_REVERSE, reverse, 0 },
	{ TOP_ACTION_FILTER, filter_open, 0 },
	{ TOP_ACTION_TREE, setting_toggle, TOP_SETTING_tree },
	{ TOP_ACTION_COMPACT, setting_toggle, TOP_SETTING_compact },
	{ TOP_ACTION_EXPAND_ALL, expand_all, 0 },
	{ TOP_ACTION_VIEW_1, view_set, TOP_VIEW_DEVICES },
	{ TOP_ACTION_VIEW_2, view_set, TOP_VIEW_CHARTS },
	{ TOP_ACTION_VIEW_3, view_set, TOP_VIEW_PROCESSES },
	{ TOP_ACTION_VIEW_4, view_set, TOP_VIEW_HEALTH },
	{ TOP_ACTION_NEXT_VIEW, view_step, 1 },
	{ TOP_ACTION_LAST_VIEW, view_step, -1 },
	{ TOP_ACTION_HELP, window_open, TOP_MODE_HELP },
	{ TOP_ACTION_SETTINGS, window_open, TOP_MODE_SETTINGS },
};

static void action_apply(struct top_model *model, struct top_state *state,
	enum top_action action, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (actions[i].action == action)
			actions[i].apply(model, state, actions[i].by);
	if (action == TOP_ACTION_FREEZE)
		state->frozen = !state->frozen;
	else if (action == TOP_ACTION_REDRAW)
		state->redraw = true;
	else if (action == TOP_ACTION_QUIT)
		state->quit = true;
	else if (action == TOP_ACTION_PEAKS)
		peaks_reset(model, state, now_ns);
	else if (action == TOP_ACTION_KILL)
		kill_ask(model, state, now_ns);
}

/* -- the mouse ---------------------------------------------------------------- */

static void click(struct top_model *model, struct top_state *state,
	const struct top_grid *grid, const struct top_input *input,
	uint64_t now_ns)
{
	const struct top_spot *spot = top_spot_at(grid, input->row, input->col);

	if (!spot)
		return;
	switch (spot->kind) {
	case TOP_SPOT_VIEW:
		view_set(model, state, spot->value);
		break;
	case TOP_SPOT_ACTION:
		action_apply(
			model, state, (enum top_action)spot->value, now_ns);
		break;
	case TOP_SPOT_SORT:
		sort_by(model, state, (size_t)spot->value);
		break;
	case TOP_SPOT_ROW:
		if (state->view == TOP_VIEW_PROCESSES)
			row_select(model, state, (size_t)spot->value);
		else
			device_select(model, state, (size_t)spot->value);
		if (input->key == TOP_KEY_DOUBLE_CLICK)
			detail_open(model, state, 0);
		break;
	}
}

void top_input_apply(struct top_model *model, struct top_state *state,
	const struct top_grid *grid, const struct top_input *input,
	uint64_t now_ns)
{
	if (top_input_window(model, state, grid, input, now_ns))
		return;
	state->message[0] = '\0';
	switch (input->key) {
	case TOP_KEY_CLICK:
	case TOP_KEY_DOUBLE_CLICK:
		click(model, state, grid, input, now_ns);
		break;
	case TOP_KEY_WHEEL_UP:
		move(model, state, -WHEEL_ROWS);
		break;
	case TOP_KEY_WHEEL_DOWN:
		move(model, state, WHEEL_ROWS);
		break;
	case TOP_KEY_ESCAPE:
		state->zoomed = false;
		break;
	default:
		action_apply(model, state,
			top_action_of(input->key, state->settings.vi), now_ns);
	}
}
