/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* What lies over a view: help, settings, choices, detail. */
#include <stdio.h>
#include <string.h>

#include "ttmem-top/model/signals.h"
#include "keys.h"
#include "view.h"

static struct top_area window_open(
	const struct top_area *area, int rows, int cols, const char *title)
{
	struct top_rect screen = { 0, 0, area->rows, area->cols };
	struct top_rect r = top_layout_window(&screen, rows, cols);
	struct top_area part = top_area_part(
		area, r.top, r.left, r.rows, r.cols);

	part.grid->spots_len = 0; /* what is below is not to be clicked */
	part.flags = 0;
	return top_box(&part, title);
}

/* -- help --------------------------------------------------------------------- */

static void help_keys(struct top_text *text)
{
	const char *group = "";
	size_t i;

	for (i = 0; i < top_action_texts_len; i++) {
		const struct top_action_text *a = &top_action_texts[i];

		if (strcmp(a->group, group) != 0)
			top_head(text, a->group);
		group = a->group;
		top_field(text, TOP_LOOK_PLAIN, a->keys, "%s", a->text);
	}
}

static void help_columns(struct top_text *text)
{
	static const char *const titles[TOP_TABLES] = { "Columns of devices",
		"Columns of the breakdown", "Columns of processes" };
	enum top_table table = TOP_TABLES;
	size_t i;

	for (i = 0; i < TOP_COLUMNS; i++) {
		if (top_columns[i].table != table)
			top_head(text, titles[top_columns[i].table]);
		table = top_columns[i].table;
		top_field(text, TOP_LOOK_PLAIN,
			top_columns[i].title[0] ? top_columns[i].title : "bar",
			"%s", top_columns[i].text);
	}
}

static void help_paint(struct top_state *state, const struct top_area *area)
{
	struct top_area inside = window_open(area, area->rows, 76,
		"ttmem-top: keys and columns (Esc closes)");
	struct top_text text;

	top_text_begin(&text, &inside, inside.cols);
	help_keys(&text);
	help_columns(&text);
	top_head(&text, "Marks");
	top_line(&text, TOP_LOOK_PLAIN, "-   unknown: never the same as 0");
	top_line(&text, TOP_LOOK_WARN, "!   from 75 %% on");
	top_line(&text, TOP_LOOK_CRITICAL, "!!  from 90 %% on");
	top_text_show(&text, &inside, &state->window_scroll);
}

/* -- choices ------------------------------------------------------------------ */

static void choice_paint(const struct top_area *inside, int row, bool chosen,
	int value, const char *text)
{
	struct top_area line = top_area_part(inside, row, 0, 1, inside->cols);

	top_put_left(&line, 0, 0, line.cols, TOP_LOOK_PLAIN, text);
	if (chosen)
		top_area_flag(&line, TOP_SELECTED);
	top_spot_add(&line, 0, 0, 1, line.cols, TOP_SPOT_ROW, value);
}

static void settings_paint(struct top_state *state, const struct top_area *area)
{
	struct top_area inside = window_open(area, (int)TOP_SETTINGS + 2, 64,
		"Settings (Space changes, Esc closes and saves)");
	size_t first = top_layout_scroll(0, state->choice, TOP_SETTINGS,
		inside.rows > 0 ? (size_t)inside.rows : 0);
	char line[128];
	size_t i;

	for (i = first; i < TOP_SETTINGS; i++) {
		snprintf(line, sizeof(line), "[%c] %s",
			*top_setting_of(&state->settings, i) ? 'x' : ' ',
			top_setting_texts[i].text);
		choice_paint(&inside, (int)(i - first), i == state->choice,
			(int)i, line);
	}
}

static void sort_paint(struct top_state *state, const struct top_area *area)
{
	size_t first = top_table_first(TOP_TABLE_PROCESSES), i, from;
	size_t len = top_table_len(TOP_TABLE_PROCESSES);
	struct top_area inside = window_open(
		area, (int)len, 60, "Sort by (Enter takes it)");
	char line[160];

	from = top_layout_scroll(0, state->choice, len,
		inside.rows > 0 ? (size_t)inside.rows : 0);
	for (i = from; i < len; i++) {
		snprintf(line, sizeof(line), "%-10s %s",
			top_columns[first + i].title,
			top_columns[first + i].text);
		choice_paint(&inside, (int)(i - from), i == state->choice,
			(int)i, line);
	}
}

static void signal_paint(struct top_state *state, const struct top_area *area)
{
	struct top_area inside;
	char title[128];
	size_t i;

	snprintf(title, sizeof(title), "Signal to %.40s, pid %llu",
		state->victim.facts.comm,
		(unsigned long long)state->victim.pid);
	inside = window_open(area, (int)TOP_SIGNALS, 44, title);
	for (i = 0; i < TOP_SIGNALS; i++)
		choice_paint(&inside, (int)i, i == state->choice, (int)i,
			top_signals[i].text);
}

static void confirm_paint(struct top_state *state, const struct top_area *area)
{
	struct top_area inside = window_open(area, 4, 72, "Are you sure?");
	const struct ttm_proc_facts *facts = &state->victim.facts;
	char user[TOP_TEXT_SIZE];

	top_printf(&inside, 0, 0, TOP_LOOK_STRONG, "Send SIG%s to %s?",
		top_signals[state->choice].name, facts->comm);
	top_printf(&inside, 1, 0, TOP_LOOK_PLAIN, "pid %llu, user %s",
		(unsigned long long)state->victim.pid,
		ttm_user_text(facts->uid, user));
	top_printf(&inside, 2, 0, TOP_LOOK_PLAIN, "command %s", facts->command);
	top_put(&inside, 3, 0, TOP_LOOK_KEY, "y: yes    any other key: no");
}

/* -- detail ------------------------------------------------------------------- */

static void detail_paint(const struct top_model *model, struct top_state *state,
	const struct top_area *area)
{
	const struct top_device *device = top_model_device(model, state);
	const struct top_row *row = top_model_row(model, state);
	bool of_row = state->view == TOP_VIEW_PROCESSES;
	struct top_area inside;
	struct top_text text;

	if (!model->snapshot || (of_row ? !row : !device))
		return;
	inside = window_open(area, area->rows, area->cols,
		of_row ? "Process (Esc closes)" : "Device (Esc closes)");
	top_text_begin(&text, &inside, inside.cols);
	if (of_row)
		top_detail_row(model, row, &text);
	else
		top_detail_device(model, device, &text);
	top_text_show(&text, &inside, &state->window_scroll);
}

void top_view_window(const struct top_model *model, struct top_state *state,
	const struct top_area *area)
{
	switch (state->mode) {
	case TOP_MODE_HELP:
		help_paint(state, area);
		break;
	case TOP_MODE_SETTINGS:
		settings_paint(state, area);
		break;
	case TOP_MODE_SORT:
		sort_paint(state, area);
		break;
	case TOP_MODE_SIGNAL:
		signal_paint(state, area);
		break;
	case TOP_MODE_CONFIRM:
		confirm_paint(state, area);
		break;
	case TOP_MODE_DETAIL:
		detail_paint(model, state, area);
		break;
	default:
		break;
	}
}
