/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/device.h"
#include "common/error.h"
#include "common/line.h"
#include "app.h"
#include "ttmem-top/model/config.h"

#define HISTORIES_NS 60000000000ull

uint64_t top_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* -- snapshots ---------------------------------------------------------------- */

/* All there is; but the past, most of which was written before, once a minute. */
static uint32_t record_flags(struct top_app *app, uint64_t now_ns)
{
	uint32_t flags = TTMEM_SNAPSHOT_OBJECTS | TTMEM_SNAPSHOT_DISTRIBUTIONS;

	if (now_ns < app->histories_ns)
		return flags;
	app->histories_ns = now_ns + HISTORIES_NS;
	return flags | TTMEM_SNAPSHOT_HISTORIES;
}

/* What cannot be recorded can still be shown: the recording ends, nothing else. */
static void record_write(
	struct top_app *app, const struct ttmem_snapshot *snapshot)
{
	int r;

	errno = 0;
	r = ttmem_snapshot_write_file(snapshot, app->record);
	if ((r == 0 && fflush(app->record) != 0) || r == -EIO)
		r = errno ? -errno : -EIO;
	if (r == 0)
		return;
	app->record_error = r;
	app->model.recording = false;
	ttm_output_close(&app->output, true);
	app->record = NULL;
}

/* Once it is there; the first one if several fit. */
static void device_choose(struct top_app *app)
{
	struct ttm_device_selector wanted;
	size_t i;

	if (!ttm_device_parse(app->options.device, &wanted))
		return;
	for (i = 0; i < app->model.devices.len; i++) {
		const struct top_device *d = &app->model.devices.list[i];

		if (!ttm_device_fits(&wanted, app->model.snapshot, d->index))
			continue;
		app->state.device = d->id;
		app->options.device = NULL;
		return;
	}
}

int top_app_take(struct top_app *app, uint64_t now_ns)
{
	uint32_t flags = top_state_flags(&app->state);
	struct ttmem_snapshot *snapshot = NULL;
	int r;

	if (app->record)
		flags |= record_flags(app, now_ns);
	r = top_source_take(app->source, flags, now_ns, &snapshot);
	if (r == 0 && app->record)
		record_write(app, snapshot);
	if (r < 0) {
		ttmem_snapshot_free(&snapshot);
		return r;
	}
	if (app->state.frozen) {
		ttmem_snapshot_free(&snapshot);
		return 0;
	}
	r = top_model_update(&app->model, &app->state, snapshot);
	if (r == 0 && app->options.device) {
		device_choose(app);
		r = top_model_rows(&app->model, &app->state);
	}
	return r;
}

/* -- beginning and end -------------------------------------------------------- */

static void locale_begin(struct top_app *app)
{
	const char *codeset;

	/* Only characters: numbers are read and written with a point. */
	setlocale(LC_CTYPE, "");
	codeset = nl_langinfo(CODESET);
	app->utf8 = strcmp(codeset, "UTF-8") == 0 ||
		strcmp(codeset, "utf8") == 0;
}

/*
 * Without a file, or with one that may not be read, nothing is set. What is not a text
 * file is refused: F2 would replace it.
 */
static void config_read(struct top_app *app)
{
	const struct top_options *options = &app->options;
	int r;

	if (options->no_config)
		return;
	if (options->config)
		snprintf(app->config, sizeof(app->config), "%s",
			options->config);
	else if (top_config_path(app->config, sizeof(app->config)) < 0)
		app->config[0] = '\0';
	if (!app->config[0])
		return;
	r = top_config_read(app->config, &app->state);
	if (r != -EFBIG && r != -EILSEQ)
		return;
	ttm_error("%s: not a configuration file: %s; name another with "
		  "--config, or use --no-config",
		app->config, ttm_line_error(r));
	exit(TTM_EXIT_USAGE);
}

static void state_begin(struct top_app *app)
{
	const struct top_options *options = &app->options;
	const char *no_color = getenv("NO_COLOR");
	struct top_state *state = &app->state;

	top_state_begin(state);
	config_read(app);
	app->settings_read = state->settings;
	if (options->view < TOP_VIEWS)
		state->view = options->view;
	if (options->sort < TOP_COLUMNS)
		state->sort = options->sort;
	if (options->filter)
		snprintf(state->filter, sizeof(state->filter), "%s",
			options->filter);
	state->window = options->window;
	state->readonly = options->readonly;
	if (options->vi)
		state->settings.vi = true;
	if (options->ascii)
		state->settings.ascii = true;
	if (options->no_colour || (no_color && no_color[0]))
		state->settings.colour = false;
	app->settings_begun = state->settings;
	app->model.replay = options->replay != NULL;
	app->model.recording = options->record != NULL;
}

static int record_open(struct top_app *app)
{
	int r;

	if (!app->options.record)
		return 0;
	/* Beyond a limit for file sizes is an error, as a full disk is. */
	signal(SIGXFSZ, SIG_IGN);
	r = ttm_output_open(app->options.record, false, &app->output);
	app->record = app->output.file;
	if (r == 0)
		return 0;
	ttm_error("%s: %s", app->options.record, ttm_output_error(r));
	return TTM_EXIT_FAILURE;
}

static int source_open(struct top_app *app, bool every)
{
	struct top_source_config config = { .dir = app->options.dir,
		.replay = app->options.replay,
		.system = app->options.system,
		.every = every,
		.delay_ns = app->options.delay_ns };

	return top_source_open(&config, &app->source);
}

static int app_run(struct top_app *app)
{
	bool text = app->options.once || app->options.batch;
	int status = record_open(app);

	if (status == 0 && !text) {
		status = source_open(app, false);
		if (status == 0)
			status = top_live(app);
		if (status >= 0)
			return status;
		/* No terminal: one frame. */
		top_source_close(&app->source);
		app->options.once = app->options.count == 0;
		status = 0;
	}
	if (status == 0)
		status = source_open(app, true);
	if (status == 0)
		status = top_batch(app);
	return status;
}

static int app_end(struct top_app *app, int status)
{
	int r;

	if (app->record) {
		r = ttm_output_close(&app->output, true);
		if (r < 0)
			app->record_error = r;
	}
	if (app->record_error) {
		ttm_error("%s: %s", app->options.record,
			strerror(-app->record_error));
		status = TTM_EXIT_FAILURE;
	}
	top_source_close(&app->source);
	top_model_free(&app->model);
	top_state_free(&app->state);
	top_grid_free(&app->grid);
	return status;
}

int main(int argc, char **argv)
{
	static struct top_app app; /* large */

	ttm_error_name("ttmem-top");
	top_options_parse(argc, argv, &app.options);
	locale_begin(&app);
	state_begin(&app);
	return app_end(&app, app_run(&app));
}
