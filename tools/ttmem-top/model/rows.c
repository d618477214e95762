/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_ROW SIZE_MAX

struct making {
	const struct ttmem_snapshot *snapshot;
	const struct top_devices *devices;
	const struct top_query *query;
	struct top_rows *rows;
	size_t *row_of;  /* by process: its row among those being collected */
	uint64_t device; /* index: only what is on it; TTMEM_NONE: all */
	size_t device_place;
	size_t first; /* row being collected */
	unsigned depth;
};

const char *top_state_name(enum top_row_state state)
{
	static const char *const names[TOP_STATES] = { "-", "reporting",
		"silent", "ended", "untracked", "unknown", "exited", "died",
		"exited+leak", "died+leak" };

	return names[state];
}

struct top_row *top_rows_add(struct top_rows *rows)
{
	struct top_row *row,
		*list = ttm_list_grow(
			rows->list, rows->len, &rows->size, sizeof(*list));

	if (!list)
		return NULL;
	rows->list = list;
	row = &rows->list[rows->len++];
	memset(row, 0, sizeof(*row));
	row->process = TTMEM_NONE;
	row->device = TTMEM_NONE;
	row->uid = TTMEM_UNKNOWN;
	row->pid = TTMEM_UNKNOWN;
	row->start_time = TTMEM_UNKNOWN;
	row->pid_namespace = TTMEM_UNKNOWN;
	row->peak = TTMEM_UNKNOWN;
	row->objects = TTMEM_UNKNOWN;
	row->events_per_s = TTMEM_UNKNOWN;
	memset(row->bytes, 0xff, sizeof(row->bytes)); /* unknown */
	return row;
}

void top_rows_free(struct top_rows *rows)
{
	free(rows->list);
	memset(rows, 0, sizeof(*rows));
}

size_t top_rows_find(const struct top_rows *rows, struct top_id id)
{
	size_t i;

	for (i = 0; i < rows->len; i++)
		if (top_id_equal(rows->list[i].id, id))
			break;
	return i;
}

static void device_bit_set(struct top_row *row, size_t place)
{
	if (place < TOP_ROW_DEVICES)
		row->devices[place / 64] |= 1ull << (place % 64);
}

/* -- processes ---------------------------------------------------------------- */

static bool is_retired(const struct top_row *row)
{
	return row->state >= TOP_STATE_EXITED;
}

static enum top_row_state state_of(const struct ttmem_process_row *p)
{
	bool leak = (p->objects != 0 || p->unlisted != 0) &&
		p->acknowledged != 1;

	switch (p->state) {
	case TTMEM_PROCESS_REPORTING:
		return TOP_STATE_REPORTING;
	case TTMEM_PROCESS_SILENT:
		return TOP_STATE_SILENT;
	case TTMEM_PROCESS_ENDED:
		return TOP_STATE_ENDED;
	case TTMEM_PROCESS_EXITED:
		return leak ? TOP_STATE_EXITED_LEAK : TOP_STATE_EXITED;
	case TTMEM_PROCESS_DIED:
		return leak ? TOP_STATE_DIED_LEAK : TOP_STATE_DIED;
	default:
		return TOP_STATE_UNKNOWN;
	}
}

/* One process is below several devices of the tree. */
static struct top_id id_on_device(struct top_id id, uint64_t device)
{
	if (device != TTMEM_NONE) {
		id.a ^= (device + 1) * 0x9e3779b97f4a7c15ull;
		id.b += device + 1;
	}
	return id;
}

static int process_add(struct making *making, uint64_t index)
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		making->snapshot, index);
	enum top_row_state state = state_of(p);
	struct top_row *row;

	if ((state == TOP_STATE_EXITED || state == TOP_STATE_DIED) &&
		!making->query->retired)
		return 0;
	making->row_of[index] = making->rows->len;
	row = top_rows_add(making->rows);
	if (!row)
		return -ENOMEM;
	row->kind = TOP_ROW_PROCESS;
	row->state = state;
	row->id = id_on_device(top_process_id(p), making->device);
	row->depth = making->depth;
	row->process = index;
	row->device = making->device;
	row->pid = p->pid;
	row->uid = p->uid;
	row->start_time = p->start_time;
	row->pid_namespace = p->pid_namespace;
	row->objects = making->device == TTMEM_NONE ? p->objects : 0;
	row->events_per_s = p->events_per_s;
	row->comm = p->comm;
	row->cgroup = p->cgroup;
	row->cmdline = p->cmdline;
	row->cmdline_len = p->cmdline_len;
	row->peak = 0;
	memset(row->bytes, 0, sizeof(row->bytes));
	return 0;
}

static void share_add(
	struct making *making, const struct ttmem_share_row *share)
{
	struct top_row *row = &making->rows
				       ->list[making->row_of[share->process]];
	size_t place = top_devices_of_index(making->devices, share->device);
	struct top_id process = top_process_id(
		ttmem_snapshot_process(making->snapshot, share->process));
	struct top_id none = { 0, 0 };
	struct top_id device = place < making->devices->len ?
		making->devices->list[place].id :
		none;
	bool some = share->open == 1;
	uint64_t bytes;
	unsigned f;

	for (f = 0; f < TTMEM_FIGURES; f++) {
		const struct ttmem_sums *sums = &share->figures[f];

		bytes = is_retired(row) ? sums->orphaned_bytes :
					  sums->live_bytes;
		some = some || bytes;
		row->bytes[f] = ttm_value_add(row->bytes[f], bytes);
		row->peak = ttm_value_add(row->peak,
			top_peaks_get(making->query->peaks, process, device, f,
				sums->peak_bytes));
		if (making->device != TTMEM_NONE)
			row->objects = ttm_value_add(row->objects,
				is_retired(row) ? sums->orphaned_objects :
						  sums->live_objects);
	}
	if (some && place < making->devices->len)
		device_bit_set(row, place);
}

static int processes_collect(struct making *making)
{
	size_t len = ttmem_snapshot_processes_len(making->snapshot), i;
	size_t shares = ttmem_snapshot_shares_len(making->snapshot);
	const struct ttmem_share_row *share;

	for (i = 0; i < len; i++)
		making->row_of[i] = NO_ROW;
	for (i = 0; i < len && making->device == TTMEM_NONE; i++)
		if (process_add(making, i) < 0)
			return -ENOMEM;
	for (i = 0; i < shares; i++) {
		share = ttmem_snapshot_share(making->snapshot, i);
		if (share->process >= len ||
			(making->device != TTMEM_NONE &&
				share->device != making->device))
			continue;
		if (making->device != TTMEM_NONE &&
			making->row_of[share->process] == NO_ROW &&
			process_add(making, share->process) < 0)
			return -ENOMEM;
		if (making->row_of[share->process] != NO_ROW)
			share_add(making, share);
	}
	return 0;
}

/* -- those that do not report ------------------------------------------------- */

static struct top_id pid_id(uint64_t pid, uint64_t start_time)
{
	struct top_id id = { pid * 2 + 1, ~start_time };

	return id;
}

static size_t row_of_pid(const struct making *making, uint64_t pid)
{
	size_t i;

	for (i = making->first; i < making->rows->len; i++)
		if (making->rows->list[i].kind != TOP_ROW_PROCESS &&
			making->rows->list[i].pid == pid)
			return i;
	return NO_ROW;
}

static int holder_add(
	struct making *making, const struct ttmem_holder_row *holder)
{
	size_t at = row_of_pid(making, holder->pid);
	size_t place = top_devices_of_index(making->devices, holder->device);
	struct top_row *row;

	if (at == NO_ROW) {
		row = top_rows_add(making->rows);
		if (!row)
			return -ENOMEM;
		row->kind = TOP_ROW_HOLDER;
		row->state = TOP_STATE_UNTRACKED;
		row->id = id_on_device(pid_id(holder->pid, holder->start_time),
			making->device);
		row->depth = making->depth;
		row->pid = holder->pid;
		row->uid = holder->uid;
		row->start_time = holder->start_time;
		row->comm = holder->comm;
		row->cmdline = holder->cmdline;
		row->cmdline_len = holder->cmdline_len;
	} else {
		row = &making->rows->list[at];
	}
	if (place < making->devices->len)
		device_bit_set(row, place);
	return 0;
}

static int untracked_add(
	struct making *making, const struct ttmem_untracked_row *untracked)
{
	struct top_row *row;

	if (untracked->alive == 0 ||
		row_of_pid(making, untracked->pid) != NO_ROW)
		return 0;
	row = top_rows_add(making->rows);
	if (!row)
		return -ENOMEM;
	row->kind = TOP_ROW_UNTRACKED;
	row->state = TOP_STATE_UNTRACKED;
	row->id = pid_id(untracked->pid, untracked->start_time);
	row->depth = making->depth;
	row->pid = untracked->pid;
	row->start_time = untracked->start_time;
	return 0;
}

static int others_collect(struct making *making)
{
	const struct ttmem_holder_row *holder;
	size_t i;

	for (i = 0; i < ttmem_snapshot_holders_len(making->snapshot); i++) {
		holder = ttmem_snapshot_holder(making->snapshot, i);
		if (holder->reporting == 0 &&
			(making->device == TTMEM_NONE ||
				holder->device == making->device) &&
			holder_add(making, holder) < 0)
			return -ENOMEM;
	}
	for (i = 0; i < ttmem_snapshot_untracked_len(making->snapshot) &&
		making->device == TTMEM_NONE;
		i++)
		if (untracked_add(making,
			    ttmem_snapshot_untracked(making->snapshot, i)) < 0)
			return -ENOMEM;
	return 0;
}

/* -- all together ------------------------------------------------------------- */

static void rows_filter(struct making *making)
{
	struct top_rows *rows = making->rows;
	size_t from, to = making->first;

	if (!making->query->filter[0])
		return;
	for (from = making->first; from < rows->len; from++) {
		if (!top_row_matches(&rows->list[from], making->query->filter))
			continue;
		if (from != to)
			rows->list[to] = rows->list[from];
		to++;
	}
	rows->hidden += rows->len - to;
	rows->len = to;
}

/* What is on one device, or on all. */
static int rows_collect(struct making *making)
{
	size_t i;

	making->first = making->rows->len;
	if (processes_collect(making) < 0 || others_collect(making) < 0)
		return -ENOMEM;
	for (i = making->first; i < making->rows->len; i++) {
		making->rows->processes += making->rows->list[i].state !=
				TOP_STATE_UNTRACKED &&
			!is_retired(&making->rows->list[i]);
		making->rows->untracked += making->rows->list[i].state ==
			TOP_STATE_UNTRACKED;
	}
	rows_filter(making);
	top_rows_sort(making->rows->list + making->first,
		making->rows->len - making->first, making->query->sort,
		making->query->reverse);
	if (making->rows->len > making->first)
		making->rows->list[making->rows->len - 1].last = true;
	return 0;
}

static int device_add(struct making *making, size_t place)
{
	const struct top_device *device = &making->devices->list[place];
	struct top_row *row = top_rows_add(making->rows);
	unsigned f;

	if (!row)
		return -ENOMEM;
	row->kind = TOP_ROW_DEVICE;
	row->id = device->id;
	row->device = device->index;
	for (f = 0; f < TTMEM_FIGURES; f++)
		row->bytes[f] = device->row->figures[f].live_bytes;
	row->events_per_s = device->row->events_per_s;
	row->comm = top_device_board(device);
	device_bit_set(row, place);
	return 0;
}

static int tree_collect(struct making *making)
{
	struct top_id all = { 0, 0 };
	size_t i;

	making->depth = 1;
	for (i = 0; i < making->devices->len; i++) {
		if (!top_id_equal(making->query->device, all) &&
			!top_id_equal(making->query->device,
				making->devices->list[i].id))
			continue;
		making->device = making->devices->list[i].index;
		if (device_add(making, i) < 0 || rows_collect(making) < 0)
			return -ENOMEM;
	}
	return 0;
}

int top_rows_make(const struct ttmem_snapshot *snapshot,
	const struct top_devices *devices, const struct top_query *query,
	struct top_rows *rows)
{
	struct making making = { snapshot, devices, query, rows, NULL,
		TTMEM_NONE, 0, 0, 0 };
	size_t place = top_devices_find(devices, query->device);
	int r;

	rows->len = rows->processes = rows->untracked = rows->hidden = 0;
	making.row_of = calloc(ttmem_snapshot_processes_len(snapshot) + 1,
		sizeof(*making.row_of));
	if (!making.row_of)
		return -ENOMEM;
	if (place < devices->len)
		making.device = devices->list[place].index;
	r = query->tree ? tree_collect(&making) : rows_collect(&making);
	free(making.row_of);
	return r < 0 ? r : top_rows_expand(snapshot, query->expanded, rows);
}
