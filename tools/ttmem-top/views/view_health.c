/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* View 4: what figures are worth: ttmemd, losses, oddities, ages. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/process.h"
#include "common/text.h"
#include "view.h"

#define SHOWN_AT_MOST 12u
#define BESIDE_FROM_COLS 160
#define GAP_COLS 3

/* -- ttmemd ------------------------------------------------------------------- */

static void trouble_add(struct top_text *text, uint64_t count, const char *what)
{
	if (ttm_value_or_0(count))
		top_field(text, TOP_LOOK_WARN, "! trouble", "%llu %s",
			(unsigned long long)count, what);
}

static void counts_add(struct top_text *text, const struct ttmem_health_row *h)
{
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE], c[TOP_TEXT_SIZE];

	top_field(text, TOP_LOOK_PLAIN, "events", "%s read, %s rescans",
		ttm_count_text(h->events, a), ttm_count_text(h->scans, b));
	top_field(text, TOP_LOOK_PLAIN, "rounds",
		"%s, last took %s, at most %s", ttm_count_text(h->rounds, a),
		top_duration(h->round_ns, b), top_duration(h->round_max_ns, c));
	top_field(text, TOP_LOOK_PLAIN, "publishing",
		"last took %s, at most %s; mirror %s",
		top_duration(h->publish_ns, a),
		top_duration(h->publish_max_ns, b),
		top_bytes(h->mirror_bytes, c));
	if (h->inotify == 0)
		top_field(text, TOP_LOOK_WARN, "! discovery",
			"by scanning only: no inotify");
	trouble_add(text, h->refused, "files refused that are no segments");
	trouble_add(text, h->over_limit, "segments beyond its limits");
	trouble_add(text, h->open_errors, "segments that it could not read");
	trouble_add(
		text, h->retire_errors, "processes that it could not retire");
	trouble_add(text, h->publish_errors, "publications that failed");
	trouble_add(text, h->memory_errors, "times without memory");
	trouble_add(text, h->rows_unlisted, "rows that it has no room to show");
	trouble_add(text, h->objects_unlisted,
		"objects that it has no room to show");
}

static void server_add(const struct top_model *model, struct top_text *text)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(
		model->snapshot);
	const struct ttmem_health_row *h = ttmem_snapshot_health(
		model->snapshot);
	const char *state = ttmem_name(TTMEM_NAMES_SOURCE, info->source);
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE], c[TOP_TEXT_SIZE];

	top_head(text, "ttmemd");
	top_field(text,
		info->source == TTMEM_SOURCE_OK ? TOP_LOOK_GOOD :
						  TOP_LOOK_CRITICAL,
		"state", "%s%s, figures %s old",
		info->source == TTMEM_SOURCE_OK ? "" : "!! ",
		state ? state : "-", top_duration(info->age_ns, a));
	top_field(text, TOP_LOOK_PLAIN, "process",
		"pid %s, user %s, version %s, %s", ttm_count_text(info->pid, a),
		ttm_user_text(info->uid, b),
		ttm_text_escape(
			info->version ? info->version : "-", c, sizeof(c)),
		info->mode == TTMEM_MODE_SYSTEM ? "for everybody" :
						  "for one user");
	top_field(text, TOP_LOOK_PLAIN, "up",
		"%s, restarts: %s, publication %s",
		top_duration(
			ttm_value_ago(info->taken_ns, info->started_ns), a),
		ttm_count_text(h ? h->restarts : TTMEM_UNKNOWN, b),
		ttm_count_text(info->publication, c));
	if (h) {
		top_field(text, TOP_LOOK_PLAIN, "attached",
			"%s processes, "
			"%s objects",
			ttm_count_text(h->attached, a),
			ttm_count_text(info->objects_used, b));
		counts_add(text, h);
	}
}

static void directories_add(
	const struct top_model *model, struct top_text *text)
{
	const struct ttmem_directory_row *d;
	char path[256], a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE];
	size_t len = ttmem_snapshot_directories_len(model->snapshot), i;

	for (i = 0; i < len && i < SHOWN_AT_MOST; i++) {
		const char *state;

		d = ttmem_snapshot_directory(model->snapshot, i);
		state = ttmem_name(TTMEM_NAMES_DIRECTORY, d->state);
		top_field(text,
			d->state == TTMEM_DIRECTORY_SERVED ? TOP_LOOK_PLAIN :
							     TOP_LOOK_WARN,
			i ? "" : "directories",
			"%s: %s%s, %s attached, "
			"%s retired",
			ttm_text_escape(
				d->path ? d->path : "-", path, sizeof(path)),
			state ? state : "-", d->own == 1 ? " (yours)" : "",
			ttm_count_text(d->attached, a),
			ttm_count_text(d->retired, b));
		if (ttm_value_or_0(d->lost_segments) ||
			ttm_value_or_0(d->lost_objects))
			top_field(text, TOP_LOOK_CRITICAL, "!! lost",
				"%s objects (%s) removed before they were read",
				ttm_count_text(d->lost_objects, a),
				top_bytes(d->lost_bytes, b));
		if (ttm_value_or_0(d->dropped_processes))
			top_field(text, TOP_LOOK_WARN, "! dropped",
				"%s retired processes, for room",
				ttm_count_text(d->dropped_processes, a));
	}
	if (len > SHOWN_AT_MOST)
		top_field(text, TOP_LOOK_DIM, "", "and %zu more",
			len - SHOWN_AT_MOST);
}

/* -- losses and anomalies ----------------------------------------------------- */

static const uint64_t *reasons_of(
	const struct ttmem_process_row *p, enum ttmem_names set)
{
	return set == TTMEM_NAMES_LOSS ? p->lost_events : p->anomalies;
}

/* One reason over all processes: how many, and who most. */
static void reason_add(const struct top_model *model, struct top_text *text,
	enum ttmem_names set, unsigned reason)
{
	const struct ttmem_process_row *p, *most = NULL;
	uint64_t sum = 0, count, largest = 0;
	char name[TTM_PROCESS_NAME_SIZE];
	size_t i;

	for (i = 0; i < ttmem_snapshot_processes_len(model->snapshot); i++) {
		p = ttmem_snapshot_process(model->snapshot, i);
		count = ttm_value_or_0(reasons_of(p, set)[reason]);
		sum += count;
		if (count > largest) {
			largest = count;
			most = p;
		}
	}
	if (!most)
		return;
	top_field(text,
		set == TTMEM_NAMES_LOSS ? TOP_LOOK_CRITICAL : TOP_LOOK_WARN,
		ttmem_name(set, reason), "%s %llu, most by %s",
		set == TTMEM_NAMES_LOSS ? "!!" : "!", (unsigned long long)sum,
		ttm_process_name(most, name));
}

static void reasons_add(const struct top_model *model, struct top_text *text,
	enum ttmem_names set, const char *title)
{
	int before;
	unsigned i;

	top_head(text, title);
	before = text->row;
	if (set == TTMEM_NAMES_LOSS) {
		const struct ttmem_health_row *h = ttmem_snapshot_health(
			model->snapshot);

		if (h && ttm_value_or_0(h->missed))
			top_field(text, TOP_LOOK_WARN, "missed",
				"! %llu records of history not read "
				"(totals are right)",
				(unsigned long long)h->missed);
	}
	for (i = 0; i < TTMEM_REASONS; i++)
		if (ttmem_name(set, i))
			reason_add(model, text, set, i);
	if (text->row == before)
		top_line(text, TOP_LOOK_GOOD, "none");
}

/* -- failures, quarantine, untracked ------------------------------------------ */

static void failure_banks_add(
	struct top_text *text, const struct ttmem_failure_row *f)
{
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE], c[TOP_TEXT_SIZE];

	top_field(text, TOP_LOOK_PLAIN, "  per bank",
		"%s wanted, %s free, largest free block %s",
		top_bytes(f->bytes_per_bank, a), top_bytes(f->free_per_bank, b),
		top_bytes(f->largest_free_per_bank, c));
}

static void failures_add(const struct top_model *model, struct top_text *text)
{
	uint64_t now = ttmem_snapshot_info(model->snapshot)->taken_ns;
	size_t len = ttmem_snapshot_failures_len(model->snapshot), i, n;
	char a[TOP_TEXT_SIZE], c[TOP_TEXT_SIZE], devices[64];
	char name[TTM_PROCESS_NAME_SIZE], scope[128];

	top_head(text, "Failed allocations");
	if (!len)
		top_line(text, TOP_LOOK_GOOD, "none");
	/* The newest ones, which are last. */
	for (n = 0; n < len && n < SHOWN_AT_MOST; n++) {
		const struct ttmem_failure_row *f;
		const struct ttmem_place_row *place;
		const struct ttmem_process_row *p;
		const char *kind;

		i = len - 1 - n;
		f = ttmem_snapshot_failure(model->snapshot, i);
		place = ttmem_snapshot_place(model->snapshot, f->place);
		p = ttmem_snapshot_process(model->snapshot, f->process);
		kind = ttmem_name(TTMEM_NAMES_FIGURE, f->figure);
		top_field(text, TOP_LOOK_WARN, kind ? kind : "-",
			"! %s wanted on device%s %s, %s ago: %s %s",
			top_bytes(f->bytes, a),
			place && place->devices_len != 1 ? "s" : "",
			ttm_text_escape(
				place && place->label ? place->label : "-",
				devices, sizeof(devices)),
			top_duration(ttm_value_ago(now, f->time_ns), c),
			ttm_process_name(p, name),
			ttm_text_escape(f->scope ? f->scope : "", scope,
				sizeof(scope)));
		failure_banks_add(text, f);
	}
	if (len > SHOWN_AT_MOST)
		top_field(text, TOP_LOOK_DIM, "", "and %zu before",
			len - SHOWN_AT_MOST);
}

static void quarantine_add(const struct top_model *model, struct top_text *text)
{
	size_t len = ttmem_snapshot_quarantine_len(model->snapshot), i;
	char name[128], reason[256], pid[TOP_TEXT_SIZE];

	top_head(text, "Quarantined segments");
	if (!len)
		top_line(text, TOP_LOOK_GOOD, "none");
	for (i = 0; i < len && i < SHOWN_AT_MOST; i++) {
		const struct ttmem_quarantined_row
			*q = ttmem_snapshot_quarantined(model->snapshot, i);

		top_line(text, TOP_LOOK_CRITICAL, "!! %s (pid %s): %s",
			ttm_text_escape(
				q->name ? q->name : "-", name, sizeof(name)),
			ttm_count_text(q->pid, pid),
			ttm_text_escape(q->reason ? q->reason : "-", reason,
				sizeof(reason)));
	}
	if (len > SHOWN_AT_MOST)
		top_line(text, TOP_LOOK_DIM, "and %zu more",
			len - SHOWN_AT_MOST);
}

static void untracked_add(const struct top_model *model, struct top_text *text)
{
	size_t len = ttmem_snapshot_untracked_len(model->snapshot), i;
	char pid[TOP_TEXT_SIZE];

	if (!len)
		return;
	top_head(text, "Processes that could not be tracked");
	for (i = 0; i < len && i < SHOWN_AT_MOST; i++) {
		const struct ttmem_untracked_row *u = ttmem_snapshot_untracked(
			model->snapshot, i);

		top_line(text, TOP_LOOK_WARN, "! pid %s%s: %s",
			ttm_count_text(u->pid, pid),
			u->alive == 0 ? " (gone)" : "",
			u->error == TTMEM_UNKNOWN ? "-" :
						    strerror((int)u->error));
	}
	if (len > SHOWN_AT_MOST)
		top_line(text, TOP_LOOK_DIM, "and %zu more",
			len - SHOWN_AT_MOST);
}

/* -- ages of telemetry -------------------------------------------------------- */

static void telemetry_add(const struct top_model *model, struct top_text *text)
{
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE], line[256];
	size_t i;
	unsigned r;

	top_head(text, "Telemetry");
	if (!ttmem_snapshot_telemetry_len(model->snapshot))
		top_line(text, TOP_LOOK_DIM, "the driver shows no devices");
	for (i = 0; i < model->devices.len; i++) {
		const struct top_device *device = &model->devices.list[i];
		const struct ttmem_telemetry_row *t = device->telemetry;
		uint64_t errors = 0, oldest = 0;

		if (!t)
			continue;
		for (r = 0; r < TTMEM_READINGS; r++) {
			/* Not each board has all: a Wormhole has no fan. */
			errors += ttm_value_or_0(t->errors[r]) != 0 &&
				t->errors[r] != ENOENT;
			if (r >= TTMEM_READING_AICLK &&
				ttm_value_or_0(t->ages_ns[r]) > oldest &&
				r != TTMEM_READING_TEMPERATURE_MAX &&
				r != TTMEM_READING_POWER_MAX &&
				r != TTMEM_READING_AXICLK &&
				r != TTMEM_READING_ARCCLK)
				oldest = t->ages_ns[r];
		}
		snprintf(line, sizeof(line), "temperature %s old, oldest %s",
			top_duration(t->ages_ns[TTMEM_READING_TEMPERATURE], a),
			top_duration(oldest, b));
		if (errors)
			snprintf(line + strlen(line),
				sizeof(line) - strlen(line),
				", ! %llu reading%s",
				(unsigned long long)errors,
				errors == 1 ? " fails" : "s fail");
		if (t->busy_ns != TTMEM_UNKNOWN)
			snprintf(line + strlen(line),
				sizeof(line) - strlen(line),
				", ! a read does not return");
		snprintf(a, sizeof(a), "device %.30s", device->name);
		top_field(text,
			errors || t->busy_ns != TTMEM_UNKNOWN ? TOP_LOOK_WARN :
								TOP_LOOK_PLAIN,
			a, "%s", line);
	}
}

/* -- distributions ------------------------------------------------------------ */

static const struct ttmem_distribution_row *distribution_find(
	const struct top_model *model, uint64_t device, unsigned figure,
	unsigned kind)
{
	const struct ttmem_distribution_row *d;
	size_t i;

	for (i = 0; i < ttmem_snapshot_distributions_len(model->snapshot);
		i++) {
		d = ttmem_snapshot_distribution(model->snapshot, i);
		if (d->device == device && d->figure == figure &&
			d->kind == kind)
			return d;
	}
	return NULL;
}

static int values_put(const struct top_area *line, int col,
	const struct ttmem_distribution_row *d, bool bytes)
{
	const uint64_t values[] = { d ? d->p50 : TTMEM_UNKNOWN,
		d ? d->p90 : TTMEM_UNKNOWN, d ? d->p99 : TTMEM_UNKNOWN,
		d ? d->max : TTMEM_UNKNOWN };
	char text[TOP_TEXT_SIZE];
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (bytes)
			top_bytes_short(values[i], text);
		else
			top_duration(values[i], text);
		top_put_right(line, 0, col, 6, TOP_LOOK_PLAIN, text);
		col += 7;
	}
	return col;
}

static void distributions_add(const struct top_model *model,
	const struct top_device *device, struct top_text *text)
{
	const struct ttmem_distribution_row *bytes, *life;
	char title[TOP_TEXT_SIZE * 2], count[TOP_TEXT_SIZE];
	struct top_area line;
	unsigned f;
	int col;

	snprintf(title, sizeof(title), "Sizes and lifetimes on device %s",
		device->name);
	top_head(text, title);
	if (ttmem_snapshot_info(model->snapshot)->distributions_listed != 1) {
		top_line(text, TOP_LOOK_DIM, "not listed");
		return;
	}
	line = top_rows(text, 1);
	top_printf(&line, 0, 0, TOP_LOOK_DIM, "%-18s %7s %27s  %27s", "", "",
		"SIZE", "LIFETIME");
	line = top_rows(text, 1);
	top_printf(&line, 0, 0, TOP_LOOK_DIM,
		"%-18s %7s %6s %6s %6s %6s  %6s %6s %6s %6s", "KIND", "ALLOCS",
		"p50", "p90", "p99", "MAX", "p50", "p90", "p99", "MAX");
	for (f = 0; f < TTMEM_FIGURES; f++) {
		bytes = distribution_find(
			model, device->index, f, TTMEM_DISTRIBUTION_BYTES);
		life = distribution_find(model, device->index, f,
			TTMEM_DISTRIBUTION_LIFETIME_NS);
		if (!bytes && !life)
			continue;
		line = top_rows(text, 1);
		top_put(&line, 0, 0, TOP_LOOK_LABEL,
			ttmem_name(TTMEM_NAMES_FIGURE, f));
		top_put_right(&line, 0, 19, 7, TOP_LOOK_PLAIN,
			top_count_short(
				bytes ? bytes->total : TTMEM_UNKNOWN, count));
		col = values_put(&line, 27, bytes, true);
		values_put(&line, col + 1, life, false);
	}
}

/* What went wrong, and what is as usual. */
static void troubles_add(const struct top_model *model, struct top_text *text)
{
	server_add(model, text);
	directories_add(model, text);
	reasons_add(model, text, TTMEM_NAMES_LOSS, "Losses");
	reasons_add(model, text, TTMEM_NAMES_ANOMALY, "Anomalies");
}

static void lists_add(const struct top_model *model,
	const struct top_state *state, struct top_text *text)
{
	const struct top_device *device = top_model_device(model, state);

	failures_add(model, text);
	quarantine_add(model, text);
	untracked_add(model, text);
	if (device)
		distributions_add(model, device, text);
	telemetry_add(model, text);
}

/* Below each other, or side by side where that is wide enough. */
void top_view_health(const struct top_model *model, struct top_state *state,
	const struct top_area *area)
{
	bool beside = area->cols >= BESIDE_FROM_COLS;
	int cols = beside ? (area->cols - GAP_COLS) / 2 : area->cols, most;
	int *scroll = &state->scroll[TOP_VIEW_HEALTH];
	struct top_text left, right, *last = beside ? &right : &left;
	struct top_area part;

	top_text_begin(&left, area, cols);
	top_text_begin(&right, area, cols);
	troubles_add(model, &left);
	lists_add(model, state, last);
	most = (left.row > right.row ? left.row : right.row) - area->rows;
	state->scroll_most = most > 0 ? most : 0;
	*scroll = *scroll > state->scroll_most ? state->scroll_most : *scroll;
	part = top_area_part(area, 0, 0, area->rows, cols);
	top_text_paint(&left, &part, *scroll);
	part = top_area_part(area, 0, cols + GAP_COLS, area->rows, cols);
	top_text_paint(&right, &part, *scroll);
}
