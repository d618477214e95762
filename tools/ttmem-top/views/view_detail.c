/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* All that is known about one device, or one process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/process.h"
#include "common/text.h"
#include "view.h"

#define LONG_SIZE 4096u
#define OBJECTS_SHOWN 200u
#define PLACE_COLS 9
#define PLACE_COL 29
#define AGE_COL (PLACE_COL + PLACE_COLS + 1)

/* -- a device ----------------------------------------------------------------- */

static void readings_add(
	struct top_text *text, const struct ttmem_telemetry_row *t)
{
	char age[TOP_TEXT_SIZE];
	unsigned i;

	top_head(text, "Readings of the driver");
	top_field(text, TOP_LOOK_PLAIN, "number", "/dev/tenstorrent/%llu",
		(unsigned long long)t->number);
	for (i = 0; i < TTMEM_READINGS; i++) {
		const char *name = ttmem_name(TTMEM_NAMES_READING, i);

		if (!name)
			continue;
		if (t->errors[i] && t->errors[i] != TTMEM_UNKNOWN)
			top_field(text, TOP_LOOK_PLAIN, name, "- (%s)",
				strerror((int)t->errors[i]));
		else
			top_field(text, TOP_LOOK_PLAIN, name, "%s old",
				top_duration(t->ages_ns[i], age));
	}
}

static void sharers_add(const struct top_model *model,
	const struct top_device *device, struct top_text *text)
{
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE], c[TOP_TEXT_SIZE];
	char pid[TOP_TEXT_SIZE], comm[TOP_TEXT_SIZE];
	const struct ttmem_share_row *share;
	const struct ttmem_process_row *p;
	size_t i;

	top_line(text, TOP_LOOK_DIM, "%8s %8s %8s %8s  %s", "PID", "DRAM", "L1",
		"CB", "NAME");
	for (i = 0; i < ttmem_snapshot_shares_len(model->snapshot); i++) {
		share = ttmem_snapshot_share(model->snapshot, i);
		p = ttmem_snapshot_process(model->snapshot, share->process);
		if (share->device != device->index || share->open != 1 || !p)
			continue;
		top_bytes(share->figures[TTMEM_FIGURE_DRAM].live_bytes, a);
		top_bytes(share->figures[TTMEM_FIGURE_L1].live_bytes, b);
		top_bytes(share->figures[TTMEM_FIGURE_CB].live_bytes, c);
		top_line(text, TOP_LOOK_PLAIN, "%8s %8s %8s %8s  %s",
			ttm_count_text(p->pid, pid), a, b, c,
			ttm_text_escape(
				p->comm ? p->comm : "-", comm, sizeof(comm)));
	}
}

void top_detail_device(const struct top_model *model,
	const struct top_device *device, struct top_text *text)
{
	struct top_area area = top_rows(text, top_breakdown_rows(device));

	top_breakdown_paint(model, device, &area);
	top_head(text, "Processes");
	sharers_add(model, device, text);
	if (device->untracked)
		top_line(text, TOP_LOOK_WARN,
			"! %llu more have it open and do not report",
			(unsigned long long)device->untracked);
	if (device->telemetry)
		readings_add(text, device->telemetry);
}

/* -- a process ---------------------------------------------------------------- */

static void command_add(struct top_text *text, const struct top_row *row)
{
	char command[LONG_SIZE];

	top_field(text, TOP_LOOK_PLAIN, "command", "%s",
		top_row_command(row, true, command, sizeof(command)));
}

static void shares_add(const struct top_model *model, const struct top_row *row,
	struct top_text *text)
{
	const struct ttmem_share_row *share;
	char a[TOP_TEXT_SIZE], title[TOP_TEXT_SIZE * 2];
	struct top_area line;
	size_t i, place;
	unsigned f;

	for (i = 0; i < ttmem_snapshot_shares_len(model->snapshot); i++) {
		share = ttmem_snapshot_share(model->snapshot, i);
		place = top_devices_of_index(&model->devices, share->device);
		if (share->process != row->process ||
			place == model->devices.len)
			continue;
		snprintf(title, sizeof(title), "Device %s%s",
			model->devices.list[place].name,
			share->open == 1 ? "" : ", closed");
		top_head(text, title);
		line = top_rows(text, 1);
		top_printf(&line, 0, 0, TOP_LOOK_DIM, "%-18s %9s %9s %9s %9s",
			"KIND", "USED", "OBJECTS", "PEAK", "ORPHANED");
		for (f = 0; f < TTMEM_FIGURES; f++) {
			const struct ttmem_sums *s = &share->figures[f];

			if (!s->alloc_objects)
				continue;
			line = top_rows(text, 1);
			top_put(&line, 0, 0, TOP_LOOK_LABEL,
				ttmem_name(TTMEM_NAMES_FIGURE, f));
			top_put_right(&line, 0, 19, 9, TOP_LOOK_STRONG,
				top_bytes(s->live_bytes, a));
			top_put_right(&line, 0, 29, 9, TOP_LOOK_PLAIN,
				ttm_count_text(s->live_objects, a));
			top_put_right(&line, 0, 39, 9, TOP_LOOK_PEAK,
				top_bytes(s->peak_bytes, a));
			top_put_right(&line, 0, 49, 9,
				s->orphaned_bytes ? TOP_LOOK_WARN :
						    TOP_LOOK_PLAIN,
				top_bytes(s->orphaned_bytes, a));
		}
	}
}

static void reasons_add(struct top_text *text, enum ttmem_names set,
	const char *what, const uint64_t counts[TTMEM_REASONS])
{
	const char *name;
	unsigned i;

	for (i = 0; i < TTMEM_REASONS; i++) {
		name = ttmem_name(set, i);
		if (name && counts[i] && counts[i] != TTMEM_UNKNOWN)
			top_field(text, TOP_LOOK_PLAIN, what, "%llu %s",
				(unsigned long long)counts[i], name);
	}
}

/* One of the largest objects of a process, or of one of its scopes. */
struct listed_object {
	const struct ttmem_object_row *object;
	uint64_t bytes; /* on the row's device, or on all of its own */
};

static int object_compare(const void *x, const void *y)
{
	const struct listed_object *a = x, *b = y;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->object->id < b->object->id ? -1 :
					       a->object->id > b->object->id;
}

static bool object_is_of(const struct ttmem_snapshot *snapshot,
	const struct top_row *row, const struct ttmem_object_row *object)
{
	if (object->process != row->process ||
		!top_object_is_on(snapshot, object, row->device))
		return false;
	if (row->kind != TOP_ROW_SCOPE)
		return true;
	if (!row->comm || !object->scope)
		return row->comm == object->scope;
	return strcmp(row->comm, object->scope) == 0;
}

static void object_add(const struct top_model *model, struct top_text *text,
	const struct listed_object *listed)
{
	const struct ttmem_object_row *object = listed->object;
	const struct ttmem_place_row *place = ttmem_snapshot_place(
		model->snapshot, object->place);
	struct top_area line = top_rows(text, 1);
	const char *kind = ttmem_name(TTMEM_NAMES_FIGURE, object->figure);
	const char *path = object->scope_path ? object->scope_path :
						object->scope;
	char a[TOP_TEXT_SIZE], scope[512];

	top_put_right(
		&line, 0, 0, 9, TOP_LOOK_STRONG, top_bytes(listed->bytes, a));
	top_put_left(&line, 0, 10, 18, TOP_LOOK_LABEL, kind ? kind : "-");
	top_put_left(&line, 0, PLACE_COL, PLACE_COLS,
		object->orphaned_devices && object->orphaned != 1 ?
			TOP_LOOK_WARN :
			TOP_LOOK_PLAIN,
		place && place->label ?
			ttm_text_escape(place->label, scope, sizeof(scope)) :
			"-");
	top_put_right(&line, 0, AGE_COL, 8, TOP_LOOK_PLAIN,
		top_duration(object->age_ns, a));
	top_printf(&line, 0, AGE_COL + 10, TOP_LOOK_DIM, "0x%-14llx",
		(unsigned long long)object->id);
	top_put(&line, 0, AGE_COL + 27,
		object->orphaned == 1 ? TOP_LOOK_WARN : TOP_LOOK_PLAIN,
		ttm_text_escape(path ? path : "-", scope, sizeof(scope)));
}

static void objects_add(const struct top_model *model,
	const struct top_row *row, struct top_text *text)
{
	size_t all = ttmem_snapshot_objects_len(model->snapshot), i, len = 0;
	struct listed_object *list = calloc(all + 1, sizeof(*list));
	struct top_area line;

	for (i = 0; list && i < all; i++) {
		const struct ttmem_object_row *object = ttmem_snapshot_object(
			model->snapshot, i);

		if (object_is_of(model->snapshot, row, object))
			list[len++] = (struct listed_object){ object,
				top_object_bytes(object, row->device) };
	}
	top_head(text, "Largest objects");
	if (!len) {
		top_line(text, TOP_LOOK_DIM, "none listed");
		free(list);
		return;
	}
	qsort(list, len, sizeof(*list), object_compare);
	line = top_rows(text, 1);
	top_printf(&line, 0, 0, TOP_LOOK_DIM, "%9s %-18s %-*s %8s  %-16s %s",
		"BYTES", "KIND", PLACE_COLS, "DEVICES", "AGE", "ID", "SCOPE");
	for (i = 0; i < len && i < OBJECTS_SHOWN; i++)
		object_add(model, text, &list[i]);
	if (i < len)
		top_line(text, TOP_LOOK_DIM, "and %zu more", len - i);
	free(list);
}

static void process_add(const struct top_model *model,
	const struct ttmem_process_row *p, struct top_text *text)
{
	uint64_t now = ttmem_snapshot_info(model->snapshot)->taken_ns;
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE], path[512];

	top_field(text, TOP_LOOK_PLAIN, "cgroup", "%s",
		ttm_text_escape(
			p->cgroup ? p->cgroup : "-", path, sizeof(path)));
	top_field(text, TOP_LOOK_PLAIN, "tracked for", "%s, last event %s ago",
		top_duration(ttm_value_ago(now, p->started_ns), a),
		top_duration(ttm_value_ago(now, p->last_event_ns), b));
	top_field(text, TOP_LOOK_PLAIN, "events", "%s, %s per second",
		ttm_count_text(p->events, a),
		ttm_count_text(p->events_per_s, b));
	top_field(text, TOP_LOOK_PLAIN, "missed", "%s records, in flight %s",
		ttm_count_text(p->missed, a), ttm_count_text(p->in_flight, b));
	reasons_add(text, TTMEM_NAMES_LOSS, "! lost", p->lost_events);
	reasons_add(text, TTMEM_NAMES_ANOMALY, "! anomaly", p->anomalies);
}

void top_detail_row(const struct top_model *model, const struct top_row *row,
	struct top_text *text)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		model->snapshot, row->process);
	char a[TOP_TEXT_SIZE], b[TOP_TEXT_SIZE], scope[256];

	if (row->kind == TOP_ROW_DEVICE) {
		size_t place = top_devices_find(&model->devices, row->id);

		if (place < model->devices.len)
			top_detail_device(
				model, &model->devices.list[place], text);
		return;
	}
	if (row->kind == TOP_ROW_SCOPE) {
		top_field(text, TOP_LOOK_PLAIN, "scope", "%s",
			ttm_text_escape(row->comm ? row->comm : "(none)", scope,
				sizeof(scope)));
		objects_add(model, row, text);
		return;
	}
	top_field(text, TOP_LOOK_PLAIN, "pid", "%s, user %s",
		ttm_count_text(row->pid, a), ttm_user_text(row->uid, b));
	top_field(text, TOP_LOOK_PLAIN, "state", "%s",
		top_state_name(row->state));
	if (p)
		process_add(model, p, text);
	command_add(text, row);
	if (p) {
		shares_add(model, row, text);
		objects_add(model, row, text);
	}
}
