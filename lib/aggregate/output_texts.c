/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "aggregate/output_texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/drain_state.h"
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

static uint64_t name_add(
	struct ttm_output *output, struct ttm_process *process, uint32_t id)
{
	struct ttm_name_row row;
	struct ttm_name name;
	uint64_t ref;
	int r;

	/* pairs(name-text): acquire, with name_write: the tail of the lane whose
	 * record told of this name was loaded before. */
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
	memset(&row, 0, sizeof(row));
	row.process = process->row;
	row.id = id;
	row.length = name.length;
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
	if (!id)
		return 0;
	if (!names_reserve(process, id)) {
		output->memory_errors++;
		return 0;
	}
	if (!process->names[id - 1])
		process->names[id - 1] = name_add(output, process, id);
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

static void failure_publish(struct ttm_output *output,
	struct ttm_process *process, unsigned at,
	const struct ttm_failure *failure)
{
	unsigned device = TTM_W1_DEVICE(failure->w1);
	struct ttm_failure_row row;

	/* It may be newer than what was read of its device. */
	if (device >= process->parts_len || !process->parts[device]->row) {
		process->texts_wanted = true;
		return;
	}
	if (!is_new(failure->seq, &process->failures_number[at]))
		return;
	memset(&row, 0, sizeof(row));
	row.process = process->row;
	row.share = process->parts[device]->row;
	row.number = failure->seq / 2 - 1;
	row.figure = TTM_W1_FIGURE(failure->w1);
	row.size = failure->size;
	row.largest_free = failure->largest_free;
	row.time_ns = ttm_process_time_ns(process, failure->time);
	row.scope = ttm_output_name(output, process, TTM_W7_SCOPE(failure->w7));
	row.tid = failure->tid;
	ttm_image_set(output->image, TTM_TABLE_FAILURES,
		ring_row(output, TTM_TABLE_FAILURES, process->failures, at),
		&row);
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
			failure_publish(output, process, i, &failures[i]);
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
