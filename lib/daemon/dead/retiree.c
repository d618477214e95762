/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/dead/retiree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/publish/usage.h"

/* -- a process as an entry of the file ------------------------------------------- */

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
static void share_retire(struct ttm_share_row *row)
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

		if (!part->usage.row)
			continue;
		entry->shares[to].row = part->usage.published;
		entry->shares[to].facts = part->device.facts;
		share_retire(&entry->shares[to].row);
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

int ttm_retiree_entry(struct ttm_output *output, struct ttm_process *process,
	uint64_t now_ns, struct ttm_retired_entry *ret_entry)
{
	struct ttm_retired_head lens = { .kind = TTM_RETIRED_PROCESS };
	struct ttm_retired_entry entry;
	uint32_t i;
	int r;

	for (i = 0; i < process->parts_len; i++)
		lens.shares_len += process->parts[i]->usage.row != 0;
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

/* -- an entry as rows ------------------------------------------------------------- */

void ttm_retiree_free(struct ttm_retiree *retiree)
{
	free(retiree->shares);
	free(retiree->names.refs);
	free(retiree->marks.refs);
	free(retiree->failures.refs);
	free(retiree->listed);
	free(retiree);
}

static void refs_remove(struct ttm_output *output, enum ttm_table_id table,
	const struct ttm_refs *refs)
{
	uint32_t i;

	for (i = 0; i < refs->len; i++)
		ttm_image_remove(output->image, table, refs->refs[i]);
}

void ttm_retiree_hide(struct ttm_output *output, struct ttm_retiree *retiree)
{
	uint64_t i;

	for (i = 0; i < retiree->listed_len; i++)
		if (retiree->listed[i])
			ttm_objects_remove(
				output->publisher, retiree->listed[i]);
	for (i = 0; i < retiree->shares_len; i++)
		ttm_usage_remove(output, &retiree->shares[i].usage);
	refs_remove(output, TTM_TABLE_NAMES, &retiree->names);
	refs_remove(output, TTM_TABLE_MARKS, &retiree->marks);
	refs_remove(output, TTM_TABLE_FAILURES, &retiree->failures);
	ttm_image_remove(output->image, TTM_TABLE_PROCESSES, retiree->row);
	output->changed = true;
}

/* A reference for each of `len` new rows; false: no memory. */
static bool refs_add(struct ttm_output *output, enum ttm_table_id table,
	uint32_t len, struct ttm_refs *refs)
{
	refs->refs = calloc(len + 1u, sizeof(*refs->refs));
	if (!refs->refs)
		return false;
	for (; refs->len < len; refs->len++) {
		refs->refs[refs->len] = ttm_image_add(output->image, table);
		if (!refs->refs[refs->len])
			return false;
	}
	return true;
}

/* Number n of the entry's rows, from 1 on, as a reference. */
static uint64_t ref_of(const struct ttm_refs *refs, uint64_t number)
{
	return number && number <= refs->len ? refs->refs[number - 1] : 0;
}

static bool shares_show(struct ttm_output *output, uint32_t uid,
	struct ttm_retiree *retiree, const struct ttm_retired_entry *entry)
{
	uint32_t len = entry->head->shares_len, i;

	retiree->shares = calloc(len + 1u, sizeof(*retiree->shares));
	if (!retiree->shares)
		return false;
	for (i = 0; i < len; i++) {
		struct ttm_retiree_share *share = &retiree->shares[i];
		struct ttm_usage *usage = &share->usage;
		struct ttm_share_row row = entry->shares[i].row;

		/* The file is its owner's: it cannot make anything live. */
		share_retire(&row);
		share->facts = entry->shares[i].facts;
		retiree->shares_len++;
		usage->row = ttm_image_add(output->image, TTM_TABLE_SHARES);
		ttm_usage_move(output, usage,
			ttm_chip_get(&output->chips, uid, &share->facts,
				row.logical));
		if (!usage->row || !usage->chip)
			return false;
		row.self = usage->row;
		row.process = retiree->row;
		row.device = usage->chip->row;
		ttm_usage_set(output, usage, &row);
	}
	return true;
}

/* The file is its owner's: nothing may name an entry that has no share. */
static uint64_t entries_shown(const struct ttm_retiree *retiree)
{
	uint64_t shown = 0;
	uint32_t i;

	for (i = 0; i < retiree->shares_len; i++)
		if (retiree->shares[i].usage.published.entry < TTM_DEVICES_MAX)
			shown |= 1ull
				<< retiree->shares[i].usage.published.entry;
	return shown;
}

static bool texts_show(struct ttm_output *output, struct ttm_retiree *retiree,
	const struct ttm_retired_entry *entry)
{
	uint32_t i;

	if (!refs_add(output, TTM_TABLE_NAMES, entry->head->names_len,
		    &retiree->names) ||
		!refs_add(output, TTM_TABLE_MARKS, entry->head->marks_len,
			&retiree->marks) ||
		!refs_add(output, TTM_TABLE_FAILURES, entry->head->failures_len,
			&retiree->failures))
		return false;
	for (i = 0; i < entry->head->names_len; i++) {
		struct ttm_name_row row = entry->names[i];

		row.process = retiree->row;
		ttm_image_set(output->image, TTM_TABLE_NAMES,
			retiree->names.refs[i], &row);
	}
	for (i = 0; i < entry->head->marks_len; i++) {
		struct ttm_mark_row row = entry->marks[i];

		row.process = retiree->row;
		ttm_image_set(output->image, TTM_TABLE_MARKS,
			retiree->marks.refs[i], &row);
	}
	for (i = 0; i < entry->head->failures_len; i++) {
		struct ttm_failure_row row = entry->failures[i];

		row.process = retiree->row;
		row.members &= entries_shown(retiree);
		row.scope = ref_of(&retiree->names, row.scope);
		ttm_image_set(output->image, TTM_TABLE_FAILURES,
			retiree->failures.refs[i], &row);
	}
	return true;
}

static bool objects_show(struct ttm_output *output, struct ttm_retiree *retiree,
	const struct ttm_retired_entry *entry)
{
	uint64_t len = entry->head->objects_len, i;
	uint64_t shown = entries_shown(retiree);

	retiree->listed = calloc(len + 1, sizeof(*retiree->listed));
	if (!retiree->listed)
		return false;
	ttm_objects_expect(output->publisher, len);
	for (i = 0; i < len; i++) {
		struct ttm_object_row row = entry->objects[i];

		row.process = retiree->row;
		row.members &= shown;
		row.scope = ref_of(&retiree->names, row.scope);
		if (!row.members)
			continue;
		retiree->listed[i] = ttm_objects_add(output->publisher, &row);
		retiree->listed_len = i + 1;
		if (!retiree->listed[i])
			return false;
	}
	return true;
}

/* An object counts once, its bytes on each of its devices. */
static void survivors_count(
	struct ttm_retiree *retiree, const struct ttm_process_row *process)
{
	uint32_t i, figure;

	retiree->objects = process->objects + process->unlisted;
	for (i = 0; i < retiree->shares_len; i++)
		for (figure = 0; figure < TTMEM_FIGURES; figure++)
			retiree->bytes += retiree->shares[i]
						  .usage.published
						  .figures[figure]
						  .orphaned_bytes;
}

int ttm_retiree_show(struct ttm_output *output, struct ttm_directory *directory,
	const struct ttm_retired_entry *entry, struct ttm_retiree **ret_retiree)
{
	struct ttm_retiree *retiree = calloc(1, sizeof(*retiree));
	struct ttm_process_row row = *entry->process;

	if (!retiree)
		return -ENOMEM;
	/* The owner of the file may have changed any value in it. */
	if (row.state != TTM_PROCESS_EXITED)
		row.state = TTM_PROCESS_DIED;
	memcpy(retiree->uuid, row.uuid, sizeof(retiree->uuid));
	retiree->file_size = entry->head->size;
	retiree->row = ttm_image_add(output->image, TTM_TABLE_PROCESSES);
	if (!retiree->row ||
		!shares_show(output, directory->uid, retiree, entry) ||
		!texts_show(output, retiree, entry) ||
		!objects_show(output, retiree, entry)) {
		output->memory_errors++;
		ttm_retiree_hide(output, retiree);
		ttm_retiree_free(retiree);
		return -ENOMEM;
	}
	if (output->names_only)
		memset(row.cmdline, 0, sizeof(row.cmdline));
	row.directory = ttm_output_directory(output, directory);
	ttm_image_set(output->image, TTM_TABLE_PROCESSES, retiree->row, &row);
	survivors_count(retiree, &row);
	output->changed = true;
	*ret_retiree = retiree;
	return 0;
}
