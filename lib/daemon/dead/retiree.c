/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/dead/retiree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/dead/retirement.h"

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
	for (i = 0; i < retiree->shares_len; i++) {
		struct ttm_retiree_share *share = &retiree->shares[i];

		if (share->chip)
			ttm_chip_count(share->chip, &share->published, NULL);
		ttm_chip_point(&share->chip, NULL);
		ttm_image_remove(output->image, TTM_TABLE_SHARES, share->row);
	}
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

		share->published = entry->shares[i].row;
		/* The file is its owner's: it cannot make anything live. */
		ttm_share_retire(&share->published);
		share->facts = entry->shares[i].facts;
		share->row = ttm_image_add(output->image, TTM_TABLE_SHARES);
		ttm_chip_point(&share->chip,
			ttm_chip_get(&output->chips, uid, &share->facts,
				share->published.logical));
		retiree->shares_len++;
		if (!share->row || !share->chip) {
			/* It is not counted there. */
			ttm_chip_point(&share->chip, NULL);
			return false;
		}
		share->published.self = share->row;
		share->published.process = retiree->row;
		share->published.device = share->chip->row;
		ttm_chip_count(share->chip, NULL, &share->published);
		ttm_image_set(output->image, TTM_TABLE_SHARES, share->row,
			&share->published);
	}
	return true;
}

/* The file is its owner's: nothing may name an entry that has no share. */
static uint64_t entries_shown(const struct ttm_retiree *retiree)
{
	uint64_t shown = 0;
	uint32_t i;

	for (i = 0; i < retiree->shares_len; i++)
		if (retiree->shares[i].published.entry < TTM_DEVICES_MAX)
			shown |= 1ull << retiree->shares[i].published.entry;
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
						  .published.figures[figure]
						  .orphaned_bytes;
}

int ttm_retiree_show(struct ttm_output *output, struct ttm_directory *directory,
	const struct ttm_retired_entry *entry, struct ttm_retiree **ret_retiree)
{
	struct ttm_retiree *retiree = calloc(1, sizeof(*retiree));
	struct ttm_process_row row = *entry->process;

	if (!retiree)
		return -ENOMEM;
	/* The file is its owner's: what is in it may be anything. */
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
