/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/dead/retirement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t refs_len(const uint64_t *refs, uint32_t len)
{
	uint32_t used = 0;

	while (len--)
		used += refs[len] != 0;
	return used;
}

/* Which row of the entry, from 1 on, a reference became. */
static uint64_t number_of(const uint64_t *refs, uint32_t len, uint64_t ref)
{
	uint64_t number = 0;
	uint32_t i;

	if (!ref)
		return 0;
	for (i = 0; i < len; i++) {
		number += refs[i] != 0;
		if (refs[i] == ref)
			return number;
	}
	return 0;
}

/* What was live is left behind: nobody will free it. */
void ttm_share_retire(struct ttm_share_row *row)
{
	unsigned i;

	row->open = 0;
	row->cb_footprint = 0;
	row->cb_footprint_exact = 1;
	row->headroom = TTM_HEADROOM_UNKNOWN;
	memset(row->ring_bytes, 0, sizeof(row->ring_bytes));
	for (i = 0; i < TTMEM_FIGURES; i++) {
		struct ttm_sums *sums = &row->figures[i];

		sums->orphaned_bytes += sums->live_bytes;
		sums->orphaned_objects += sums->live_objects;
		sums->live_bytes = 0;
		sums->live_objects = 0;
		sums->requested_bytes = 0;
	}
}

static void shares_fill(
	const struct ttm_process *process, struct ttm_retired_entry *entry)
{
	uint32_t i, to = 0;

	for (i = 0; i < process->parts_len; i++) {
		const struct ttm_part *part = process->parts[i];

		if (!part->row)
			continue;
		entry->shares[to].row = part->published;
		entry->shares[to].facts = part->device.facts;
		ttm_share_retire(&entry->shares[to].row);
		to++;
	}
}

static void texts_fill(const struct ttm_output *output,
	const struct ttm_process *process, struct ttm_retired_entry *entry)
{
	uint32_t i, to;

	for (i = 0, to = 0; i < process->names_len; i++)
		if (process->names[i])
			memcpy(&entry->names[to++],
				ttm_image_row(output->image, TTM_TABLE_NAMES,
					process->names[i]),
				sizeof(*entry->names));
	for (i = 0, to = 0; i < TTM_MARKS_KEPT; i++)
		if (process->marks[i])
			memcpy(&entry->marks[to++],
				ttm_image_row(output->image, TTM_TABLE_MARKS,
					process->marks[i]),
				sizeof(*entry->marks));
	for (i = 0, to = 0; i < TTM_FAILURES_KEPT; i++) {
		struct ttm_failure_row *row = &entry->failures[to];

		if (!process->failures[i])
			continue;
		memcpy(row,
			ttm_image_row(output->image, TTM_TABLE_FAILURES,
				process->failures[i]),
			sizeof(*row));
		row->scope = number_of(
			process->names, process->names_len, row->scope);
		to++;
	}
}

/* By name id, the number that its row has in the entry. */
static uint32_t *name_numbers(const struct ttm_process *process)
{
	uint32_t *numbers = calloc(process->names_len + 1u, sizeof(*numbers));
	uint32_t i, number = 0;

	if (!numbers)
		return NULL;
	for (i = 0; i < process->names_len; i++)
		if (process->names[i])
			numbers[i + 1] = ++number;
	return numbers;
}

static int objects_fill(struct ttm_output *output, struct ttm_process *process,
	struct ttm_retired_entry *entry)
{
	uint32_t *numbers = name_numbers(process), slot;
	/* A name that turns up only now is not in the entry. */
	uint32_t numbers_len = process->names_len;
	uint64_t to = 0;

	if (!numbers)
		return -ENOMEM;
	for (slot = 0; slot < ttm_model_slots(&process->model) &&
		to < entry->head->objects_len;
		slot++) {
		const struct ttm_item
			*item = &ttm_model_mirror(&process->model, slot)->item;
		struct ttm_object_row *row = &entry->objects[to];

		uint32_t scope = TTM_W7_SCOPE(item->w7);

		if (!ttm_item_is_live(item))
			continue;
		ttm_output_object(output, process, slot, item, row);
		row->scope = scope <= numbers_len ? numbers[scope] : 0;
		to++;
	}
	free(numbers);
	return 0;
}

static void process_fill(const struct ttm_output *output,
	const struct ttm_process *process, uint64_t now_ns,
	struct ttm_retired_entry *entry)
{
	struct ttm_process_row *row = entry->process;
	bool clean = process->live.state == TTM_SEGMENT_ENDED &&
		!process->in_flight;

	memcpy(row,
		ttm_image_row(output->image, TTM_TABLE_PROCESSES, process->row),
		sizeof(*row));
	/* Nobody had it any more when it was first seen: no signal can reach the
	 * process now, so the header's word will do. */
	if (!row->pid) {
		row->pid = process->attached->header.pid;
		row->pid_namespace = process->attached->header.pid_namespace;
		row->start_time = process->attached->header.start_time;
	}
	row->state = clean ? TTM_PROCESS_EXITED : TTM_PROCESS_DIED;
	row->retired_ns = now_ns;
	/* The file is for its owner and root, whatever is published. */
	memcpy(row->cmdline, process->attached->header.cmdline,
		sizeof(row->cmdline));
	row->events_per_s = 0;
	row->in_flight = process->in_flight;
	row->objects = entry->head->objects_len;
	row->unlisted = process->model.live_objects - entry->head->objects_len;
}

int ttm_retirement_entry(struct ttm_output *output, struct ttm_process *process,
	uint64_t now_ns, struct ttm_retired_entry *ret_entry)
{
	struct ttm_retired_head lens = { .kind = TTM_RETIRED_PROCESS };
	struct ttm_retired_entry entry;
	uint32_t i;
	int r;

	for (i = 0; i < process->parts_len; i++)
		lens.shares_len += process->parts[i]->row != 0;
	lens.names_len = refs_len(process->names, process->names_len);
	lens.marks_len = refs_len(process->marks, TTM_MARKS_KEPT);
	lens.failures_len = refs_len(process->failures, TTM_FAILURES_KEPT);
	lens.objects_len = process->model.live_objects;
	if (lens.objects_len > TTM_SURVIVORS_MAX)
		lens.objects_len = TTM_SURVIVORS_MAX;
	r = ttm_retired_entry_new(&lens, &entry);
	if (r)
		return r;
	process_fill(output, process, now_ns, &entry);
	shares_fill(process, &entry);
	texts_fill(output, process, &entry);
	r = objects_fill(output, process, &entry);
	if (r) {
		ttm_retired_entry_free(&entry);
		return r;
	}
	*ret_entry = entry;
	return 0;
}
