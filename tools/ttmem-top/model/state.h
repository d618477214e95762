/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown (the model), and how one looks at it (the state). */
#ifndef TTM_TOP_STATE_H
#define TTM_TOP_STATE_H

#include "common/process.h"
#include "columns.h"
#include "devices.h"
#include "history.h"
#include "peaks.h"
#include "rows.h"
#include "source.h"

enum top_view {
	TOP_VIEW_DEVICES,
	TOP_VIEW_CHARTS,
	TOP_VIEW_PROCESSES,
	TOP_VIEW_HEALTH,
	TOP_VIEWS
};

/* "devices", ... */
extern const char *const top_view_names[TOP_VIEWS + 1];

/* What lies over the view and takes the keys. */
enum top_mode {
	TOP_MODE_VIEW, /* nothing */
	TOP_MODE_DETAIL,
	TOP_MODE_HELP,
	TOP_MODE_SETTINGS,
	TOP_MODE_SORT,
	TOP_MODE_SIGNAL,
	TOP_MODE_CONFIRM,
	TOP_MODE_FILTER, /* the last line */
};

struct top_settings {
#define SETTING(id, name, value, text) bool id;
#include "settings.def"
#undef SETTING
};

enum top_setting {
#define SETTING(id, name, value, text) TOP_SETTING_##id,
#include "settings.def"
#undef SETTING
	TOP_SETTINGS
};

struct top_setting_text {
	const char *name;
	bool standard;
	const char *text;
};

extern const struct top_setting_text top_setting_texts[TOP_SETTINGS];
bool *top_setting_of(struct top_settings *settings, size_t index);

/* A list of which one row is selected. */
struct top_list {
	size_t selected;
	size_t first; /* shown */
	size_t shown; /* rows that had room */
};

#define TOP_FILTER_SIZE 64u
#define TOP_MESSAGE_SIZE 160u
#define TOP_WINDOWS 9u

/* Of charts, in ns: 1 minute to a day. */
extern const uint64_t top_windows[TOP_WINDOWS];

/* Whom a signal goes to. */
struct top_victim {
	uint64_t pid;
	uint64_t start_time;
	uint64_t pid_namespace;
	struct ttm_proc_facts facts; /* as the dialog names it */
};

struct top_state {
	enum top_view view;
	enum top_mode mode;
	struct top_settings settings;
	bool settings_changed;
	bool readonly;
	bool frozen;
	bool quit;
	bool redraw;
	struct top_id device; /* selected */
	bool device_only;     /* only its processes */
	struct top_list devices;
	struct top_id row; /* selected process or scope; zeros: the first */
	struct top_list rows;
	size_t sort;
	bool reverse;
	char filter[TOP_FILTER_SIZE];
	char filter_before[TOP_FILTER_SIZE];
	struct top_expanded expanded;
	unsigned window;
	uint64_t pan_ns;
	bool zoomed;           /* one chart */
	int scroll[TOP_VIEWS]; /* of views that are text */
	int scroll_most;       /* as of the last frame */
	int window_scroll;     /* of what lies over it */
	size_t choice;         /* in it */
	struct top_victim victim;
	char message[TOP_MESSAGE_SIZE];
	uint64_t message_ns; /* until then */
};

struct top_model {
	struct ttmem_snapshot *snapshot; /* NULL: none yet */
	struct top_devices devices;
	struct top_rows rows;
	struct top_peaks peaks;
	struct top_history history;
	struct top_worth worth;
	bool replay;
	bool recording;
};

void top_state_begin(struct top_state *state);
void top_state_free(struct top_state *state);

/* What the present view needs of a snapshot: TTMEM_SNAPSHOT_*. */
uint32_t top_state_flags(const struct top_state *state);

/*
 * Takes the snapshot over, unless NULL, and makes devices and rows of it as the state
 * asks for; what was selected stays so. Returns 0 or -ENOMEM.
 */
int top_model_update(struct top_model *model, struct top_state *state,
	struct ttmem_snapshot *snapshot);
/* The same snapshot, looked at in another way. */
int top_model_rows(struct top_model *model, struct top_state *state);
void top_model_free(struct top_model *model);

/* NULL: none. */
const struct top_device *top_model_device(
	const struct top_model *model, const struct top_state *state);
const struct top_row *top_model_row(
	const struct top_model *model, const struct top_state *state);

#endif
