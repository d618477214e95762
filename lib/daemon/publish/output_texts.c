/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/publish/output_texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/follow/drain_state.h"
#include "shm/atomics.h"

/* -- scope names ------------------------------------------------------------- */

/*
 * What names it may be newer than what is known of the file: counters, and with them
 * its extents, are not read each time. Once for all, for a process may name anything.
 */
static int name_read(
	struct ttm_process *process, uint32_t id, struct ttm_name *ret_name)
{
	int r = ttm_source_name(&process->source, id, ret_name);

	if (r != -ENOENT || process->names_looked)
		return r;
	process->names_looked = true;
	r = ttm_drain_refresh_extents(process);
	return r < 0 ? r : ttm_source_name(&process->source, id, ret_name);
}

/* Adds the row of a name. *ret_parent is the scope around it, 0: none. */
static uint64_t name_add(struct ttm_output *output, struct ttm_process *process,
	uint32_t id, uint32_t *ret_parent)
{
	struct ttm_name_row row;
	struct ttm_name name;
	uint64_t ref;
	int r;

	/* pairs(name-text): acquire, with name_new: the tail of the lane whose
	 * record told of this name was loaded before. */
	*ret_parent = 0;
	r = name_read(process, id, &name);
	if (r == -EPROTO)
		process->faulty = true;
	if (r < 0)
		return 0;
	ref = ttm_image_add(output->image, TTM_TABLE_NAMES);
	if (!ref) {
		output->memory_errors++;
		return 0;
	}
	*ret_parent = TTM_NAME_PARENT(name.length);
	memset(&row, 0, sizeof(row));
	row.process = process->row;
	row.id = id;
	row.parent = *ret_parent;
	row.length = TTM_NAME_LENGTH(name.length);
	memcpy(row.text, name.text, sizeof(row.text));
	ttm_image_set(output->image, TTM_TABLE_NAMES, ref, &row);
	return ref;
}

static bool names_reserve(struct ttm_process *process, uint32_t len)
{
	uint32_t more = len + len / 2 + 8;
	uint64_t *names;

	if (len <= process->names_len)
		return true;
	names = realloc(process->names, more * sizeof(*names));
	if (!names)
		return false;
	memset(names + process->names_len, 0,
		(more - process->names_len) * sizeof(*names));
	process->names = names;
	process->names_len = more;
	return true;
}

uint64_t ttm_output_name(
	struct ttm_output *output, struct ttm_process *process, uint32_t id)
{
	uint32_t at, parent;

	if (!id)
		return 0;
	if (!names_reserve(process, id)) {
		output->memory_errors++;
		return 0;
	}
	/* Scopes around it have rows, too. Their ids are smaller. */
	for (at = id; at && !process->names[at - 1]; at = parent)
		process->names[at - 1] = name_add(output, process, at, &parent);
	return process->names[id - 1];
}

/* -- marks and failures -------------------------------------------------------- */

/* The reference for entry `at` of a ring of rows; 0 when there is no memory. */
static uint64_t ring_row(struct ttm_output *output, enum ttm_table_id table,
	uint64_t *rows, unsigned at)
{
	if (!rows[at])
		rows[at] = ttm_image_add(output->image, table);
	if (!rows[at])
		output->memory_errors++;
	return rows[at];
}

/* An entry is whole if its sequence is even, and not 0. */
static bool is_new(uint64_t seq, uint64_t *taken)
{
	if (!seq || (seq & 1) || seq == *taken)
		return false;
	*taken = seq;
	return true;
}

static void mark_publish(struct ttm_output *output, struct ttm_process *process,
	unsigned at, const struct ttm_mark *mark)
{
	struct ttm_mark_row row;

	if (!is_new(mark->seq, &process->marks_number[at]))
		return;
	memset(&row, 0, sizeof(row));
	row.process = process->row;
	row.number = mark->seq / 2 - 1;
	row.time_ns = ttm_process_time_ns(process, mark->time);
	row.tid = mark->tid;
	row.length = mark->length < TTM_MARK_SIZE ? mark->length :
						    TTM_MARK_SIZE;
	memcpy(row.text, mark->text, sizeof(row.text));
	ttm_image_set(output->image, TTM_TABLE_MARKS,
		ring_row(output, TTM_TABLE_MARKS, process->marks, at), &row);
}

/*
 * Returns 0, -EAGAIN: its devices are not shown yet, for it may be newer than what was
 * read of them, or another negative errno.
 */
static int failure_check(
	struct ttm_process *process, const struct ttm_failure *failure)
{
	uint64_t members;
	int r;

	if (failure->place >= TTM_PLACES_MAX ||
		failure->figure > TTMEM_FIGURE_CB ||
		failure->scope > TTM_NAMES_MAX)
		return ttm_source_fault(&process->source,
			"failure %" PRIu64 " is of figure %" PRIu64
			" on place %" PRIu64 " in scope %" PRIu64,
			failure->seq / 2 - 1, failure->figure, failure->place,
			failure->scope);
	if (!failure->place)
		return 0;
	r = ttm_drain_place(process, (uint32_t)failure->place);
	if (r == -ENOENT)
		return ttm_source_fault(&process->source,
			"failure %" PRIu64 " is on place %" PRIu64
			", which is not there",
			failure->seq / 2 - 1, failure->place);
	members = ttm_model_members(&process->model, (uint32_t)failure->place);
	for (; !r && members; members &= members - 1)
		if (!process->parts[__builtin_ctzll(members)]->usage.row)
			return -EAGAIN;
	return r;
}

static int failure_publish(struct ttm_output *output,
	struct ttm_process *process, unsigned at,
	const struct ttm_failure *failure)
{
	uint64_t taken = process->failures_number[at];
	struct ttm_failure_row row;
	int r;

	if (!is_new(failure->seq, &taken))
		return 0;
	r = failure_check(process, failure);
	if (r == -EAGAIN) {
		process->texts_wanted = true;
		return 0;
	}
	if (r)
		return r;
	process->failures_number[at] = taken;
	memset(&row, 0, sizeof(row));
	row.process = process->row;
	row.number = failure->seq / 2 - 1;
	row.members = ttm_model_members(
		&process->model, (uint32_t)failure->place);
	row.figure = failure->figure;
	row.bytes = failure->bytes;
	row.bytes_per_bank = failure->bytes_per_bank;
	row.free_per_bank = failure->free_per_bank;
	row.largest_free_per_bank = failure->largest_free_per_bank;
	row.program = failure->program;
	row.time_ns = ttm_process_time_ns(process, failure->time);
	row.scope = ttm_output_name(output, process, (uint32_t)failure->scope);
	row.tid = failure->tid;
	ttm_image_set(output->image, TTM_TABLE_FAILURES,
		ring_row(output, TTM_TABLE_FAILURES, process->failures, at),
		&row);
	return 0;
}

/* Entries of a ring that moved while it was read are left for the next time. */
static int marks_publish(struct ttm_output *output, struct ttm_process *process)
{
	struct ttm_mark marks[TTM_MARKS_KEPT], again[TTM_MARKS_KEPT];
	unsigned i;
	int r = ttm_source_marks(&process->source, marks);

	/* pairs(kept): acquire, with ttmem_mark: an entry that moved while it was
	 * copied has another sequence by now. */
	ttm_fence_acquire();
	if (!r)
		r = ttm_source_marks(&process->source, again);
	for (i = 0; i < TTM_MARKS_KEPT && !r; i++) {
		if (marks[i].seq == again[i].seq)
			mark_publish(output, process, i, &marks[i]);
		else
			process->texts_wanted = true;
	}
	return r;
}

static int failures_publish(
	struct ttm_output *output, struct ttm_process *process)
{
	struct ttm_failure failures[TTM_FAILURES_KEPT];
	struct ttm_failure again[TTM_FAILURES_KEPT];
	unsigned i;
	int r = ttm_source_failures(&process->source, failures);

	/* pairs(kept): acquire, with ttmem_alloc_failed: the same */
	ttm_fence_acquire();
	if (!r)
		r = ttm_source_failures(&process->source, again);
	for (i = 0; i < TTM_FAILURES_KEPT && !r; i++) {
		if (failures[i].seq == again[i].seq)
			r = failure_publish(output, process, i, &failures[i]);
		else
			process->texts_wanted = true;
	}
	return r;
}

int ttm_output_texts(struct ttm_output *output, struct ttm_process *process)
{
	int r;

	if (!process->texts_wanted)
		return 0;
	process->texts_wanted = false;
	r = marks_publish(output, process);
	if (!r)
		r = failures_publish(output, process);
	return r;
}

static void rows_remove(struct ttm_output *output, enum ttm_table_id table,
	uint64_t *rows, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		ttm_image_remove(output->image, table, rows[i]);
		rows[i] = 0;
	}
}

void ttm_output_texts_forget(
	struct ttm_output *output, struct ttm_process *process)
{
	rows_remove(
		output, TTM_TABLE_NAMES, process->names, process->names_len);
	rows_remove(output, TTM_TABLE_MARKS, process->marks, TTM_MARKS_KEPT);
	rows_remove(output, TTM_TABLE_FAILURES, process->failures,
		TTM_FAILURES_KEPT);
}
