/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "state.h"

#include <errno.h>
#include <string.h>

#define MINUTE_NS (60ull * 1000000000)

const uint64_t top_windows[TOP_WINDOWS] = { MINUTE_NS, 2 * MINUTE_NS,
	5 * MINUTE_NS, 15 * MINUTE_NS, 60 * MINUTE_NS, 180 * MINUTE_NS,
	360 * MINUTE_NS, 720 * MINUTE_NS, 1440 * MINUTE_NS };

const struct top_setting_text top_setting_texts[TOP_SETTINGS] = {
#define SETTING(id, name, value, text) { name, value, text },
#include "settings.def"
#undef SETTING
};

const char *const top_view_names[TOP_VIEWS + 1] = { "devices", "charts",
	"processes", "health", NULL };

bool *top_setting_of(struct top_settings *settings, size_t index)
{
	bool *const all[TOP_SETTINGS] = {
#define SETTING(id, name, value, text) &settings->id,
#include "settings.def"
#undef SETTING
	};

	return all[index];
}

static void settings_standard(struct top_settings *ret_settings)
{
	size_t i;

	for (i = 0; i < TOP_SETTINGS; i++)
		*top_setting_of(
			ret_settings, i) = top_setting_texts[i].standard;
}

void top_state_begin(struct top_state *state)
{
	memset(state, 0, sizeof(*state));
	settings_standard(&state->settings);
	state->sort = TOP_COLUMN_PROCESSES_DRAM;
}

void top_state_free(struct top_state *state)
{
	top_expanded_free(&state->expanded);
}

uint32_t top_state_flags(const struct top_state *state)
{
	switch (state->view) {
	case TOP_VIEW_CHARTS:
		return TTMEM_SNAPSHOT_HISTORIES;
	case TOP_VIEW_HEALTH:
		return TTMEM_SNAPSHOT_DISTRIBUTIONS;
	case TOP_VIEW_PROCESSES:
		return top_expanded_any(&state->expanded) ||
				state->mode == TOP_MODE_DETAIL ?
			TTMEM_SNAPSHOT_OBJECTS :
			0;
	default:
		return 0;
	}
}

/* What was selected, or else what is in its place now. */
static void list_follow(struct top_list *list, size_t found, size_t len)
{
	if (found < len)
		list->selected = found;
	else if (list->selected >= len)
		list->selected = len ? len - 1 : 0;
}

int top_model_rows(struct top_model *model, struct top_state *state)
{
	struct top_query query = { .filter = state->filter,
		.sort = state->sort,
		.reverse = state->reverse,
		.tree = state->settings.tree,
		.retired = state->settings.retired,
		.expanded = &state->expanded,
		.peaks = &model->peaks };

	if (!model->snapshot)
		return 0;
	list_follow(&state->devices,
		top_devices_find(&model->devices, state->device),
		model->devices.len);
	if (model->devices.len)
		state->device = model->devices.list[state->devices.selected].id;
	if (state->device_only)
		query.device = state->device;
	if (top_rows_make(
		    model->snapshot, &model->devices, &query, &model->rows) < 0)
		return -ENOMEM;
	list_follow(&state->rows, top_rows_find(&model->rows, state->row),
		model->rows.len);
	return 0;
}

int top_model_update(struct top_model *model, struct top_state *state,
	struct ttmem_snapshot *snapshot)
{
	struct top_devices devices;

	if (!snapshot)
		return 0;
	if (top_devices_make(snapshot, &devices) < 0) {
		ttmem_snapshot_free(&snapshot);
		return -ENOMEM;
	}
	/* Rows point into the old one. */
	model->rows.len = 0;
	top_devices_free(&model->devices);
	ttmem_snapshot_free(&model->snapshot);
	model->snapshot = snapshot;
	model->devices = devices;
	if (top_peaks_update(&model->peaks, snapshot, &devices) < 0 ||
		top_history_update(&model->history, snapshot, &devices) < 0)
		return -ENOMEM;
	return top_model_rows(model, state);
}

void top_model_free(struct top_model *model)
{
	top_rows_free(&model->rows);
	top_devices_free(&model->devices);
	top_peaks_free(&model->peaks);
	top_history_free(&model->history);
	ttmem_snapshot_free(&model->snapshot);
}

const struct top_device *top_model_device(
	const struct top_model *model, const struct top_state *state)
{
	if (!model->snapshot || state->devices.selected >= model->devices.len)
		return NULL;
	return &model->devices.list[state->devices.selected];
}

const struct top_row *top_model_row(
	const struct top_model *model, const struct top_state *state)
{
	if (!model->snapshot || state->rows.selected >= model->rows.len)
		return NULL;
	return &model->rows.list[state->rows.selected];
}
