/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* Keys while something lies over the view. */
#include <string.h>

#include "ttmem-top/model/signals.h"
#include "input.h"

#define PAGE_ROWS 10

static void window_close(struct top_state *state)
{
	state->mode = TOP_MODE_VIEW;
}

/* How far a key moves; 0: it does not. */
static int move_of(const struct top_state *state, int key)
{
	switch (top_action_of(key, state->settings.vi)) {
	case TOP_ACTION_UP:
		return -1;
	case TOP_ACTION_DOWN:
		return 1;
	case TOP_ACTION_PAGE_UP:
		return -PAGE_ROWS;
	case TOP_ACTION_PAGE_DOWN:
		return PAGE_ROWS;
	case TOP_ACTION_HOME:
		return -1000000;
	case TOP_ACTION_END:
		return 1000000;
	default:
		return key == TOP_KEY_WHEEL_UP    ? -3 :
			key == TOP_KEY_WHEEL_DOWN ? 3 :
						    0;
	}
}

static bool is_closing(const struct top_state *state, int key)
{
	enum top_action action = top_action_of(key, state->settings.vi);

	return key == TOP_KEY_ESCAPE || action == TOP_ACTION_QUIT ||
		(state->mode == TOP_MODE_HELP && action == TOP_ACTION_HELP) ||
		(state->mode == TOP_MODE_SETTINGS &&
			action == TOP_ACTION_SETTINGS);
}

/* -- filter ------------------------------------------------------------------- */

static void filter_add(struct top_state *state, int code)
{
	size_t length = strlen(state->filter);
	char text[5] = "";
	unsigned c = (unsigned)code;

	if (c < 0x80)
		text[0] = (char)c;
	else if (c < 0x800) {
		text[0] = (char)(0xc0 | c >> 6);
		text[1] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		text[0] = (char)(0xe0 | c >> 12);
		text[1] = (char)(0x80 | (c >> 6 & 0x3f));
		text[2] = (char)(0x80 | (c & 0x3f));
	} else {
		text[0] = (char)(0xf0 | c >> 18);
		text[1] = (char)(0x80 | (c >> 12 & 0x3f));
		text[2] = (char)(0x80 | (c >> 6 & 0x3f));
		text[3] = (char)(0x80 | (c & 0x3f));
	}
	if (length + strlen(text) < sizeof(state->filter))
		memcpy(state->filter + length, text, strlen(text) + 1);
}

/* The last character, all of its bytes. */
static void filter_shorten(struct top_state *state)
{
	size_t length = strlen(state->filter);

	while (length > 0 &&
		((unsigned char)state->filter[length - 1] & 0xc0) == 0x80)
		length--;
	state->filter[length ? length - 1 : 0] = '\0';
}

static void filter_key(
	struct top_model *model, struct top_state *state, int key)
{
	switch (key) {
	case TOP_KEY_ESCAPE:
		memcpy(state->filter, state->filter_before,
			sizeof(state->filter));
		window_close(state);
		break;
	case TOP_KEY_ENTER:
		window_close(state);
		break;
	case TOP_KEY_BACKSPACE:
		filter_shorten(state);
		break;
	case TOP_KEY_CTRL('u'):
		state->filter[0] = '\0';
		break;
	case TOP_KEY_CTRL('c'):
		state->quit = true;
		break;
	default:
		if (key >= 0x20 && key < TOP_KEY_NONE && key != 0x7f)
			filter_add(state, key);
	}
	top_model_rows(model, state);
}

/* -- choices ------------------------------------------------------------------ */

static size_t choices_len(const struct top_state *state)
{
	return state->mode == TOP_MODE_SETTINGS ?
		TOP_SETTINGS :
		state->mode == TOP_MODE_SORT ?
		top_table_len(TOP_TABLE_PROCESSES) :
		TOP_SIGNALS;
}

static void choice_take(struct top_model *model, struct top_state *state)
{
	size_t column;
	bool *setting;

	switch (state->mode) {
	case TOP_MODE_SETTINGS:
		setting = top_setting_of(&state->settings, state->choice);
		*setting = !*setting;
		state->settings_changed = true;
		top_model_rows(model, state);
		break;
	case TOP_MODE_SORT:
		column = top_table_first(TOP_TABLE_PROCESSES) + state->choice;
		state->reverse = column == state->sort && state->reverse;
		state->sort = column;
		window_close(state);
		top_model_rows(model, state);
		break;
	default:
		state->mode = TOP_MODE_CONFIRM;
	}
}

static void choice_key(struct top_model *model, struct top_state *state,
	const struct top_grid *grid, const struct top_input *input)
{
	const struct top_spot *spot;
	int by = move_of(state, input->key);

	if (by) {
		state->choice = top_choice_move(
			state->choice, choices_len(state), by);
	} else if (input->key == TOP_KEY_ENTER || input->key == ' ') {
		choice_take(model, state);
	} else if (input->key == TOP_KEY_CLICK ||
		input->key == TOP_KEY_DOUBLE_CLICK) {
		spot = top_spot_at(grid, input->row, input->col);
		if (!spot || spot->kind != TOP_SPOT_ROW ||
			(size_t)spot->value >= choices_len(state))
			return;
		state->choice = (size_t)spot->value;
		choice_take(model, state);
	}
}

static void confirm_key(struct top_state *state, int key, uint64_t now_ns)
{
	const struct top_signal *chosen = &top_signals[state->choice];
	int r;

	window_close(state);
	if (key != 'y' && key != 'Y') {
		top_message(state, now_ns, "Nothing was sent");
		return;
	}
	r = top_signal_send(&state->victim, chosen->number);
	if (r == 0)
		top_message(state, now_ns, "Sent SIG%s to %s (pid %llu)",
			chosen->name, state->victim.facts.comm,
			(unsigned long long)state->victim.pid);
	else
		top_message(state, now_ns, "Not sent to %s (pid %llu): %s",
			state->victim.facts.comm,
			(unsigned long long)state->victim.pid,
			top_signal_error(r));
}

bool top_input_window(struct top_model *model, struct top_state *state,
	const struct top_grid *grid, const struct top_input *input,
	uint64_t now_ns)
{
	int by;

	switch (state->mode) {
	case TOP_MODE_VIEW:
		return false;
	case TOP_MODE_FILTER:
		filter_key(model, state, input->key);
		return true;
	case TOP_MODE_CONFIRM:
		confirm_key(state, input->key, now_ns);
		return true;
	default:
		break;
	}
	if (is_closing(state, input->key)) {
		window_close(state);
		return true;
	}
	if (state->mode != TOP_MODE_HELP && state->mode != TOP_MODE_DETAIL) {
		choice_key(model, state, grid, input);
		return true;
	}
	by = move_of(state, input->key);
	state->window_scroll += by;
	if (state->window_scroll < 0)
		state->window_scroll = 0;
	if (!by && input->key == TOP_KEY_ENTER)
		window_close(state);
	return true;
}
