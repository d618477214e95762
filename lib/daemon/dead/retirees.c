/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/dead/retirees.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/dead/retired.h"
#include "daemon/dead/retiree.h"
#include "daemon/publish/usage.h"

/* Above the first number, dropped down to the second. */
#define CLEAN_MOST 2048u
#define CLEAN_KEPT 1024u
#define LEAKY_MOST 4096u
#define LEAKY_KEPT 3072u
#define BYTES_MOST (64ull << 20)
#define BYTES_KEPT (48ull << 20)

struct ttm_retirees {
	struct ttm_retired *file;
	struct ttm_directory *directory;
	struct ttm_output *output; /* while the file is loaded */
	struct ttm_retiree *first; /* oldest */
	struct ttm_retiree **end;
	uint64_t clean_len;
	uint64_t leaky_len;
	uint64_t dropped_processes;
	uint64_t dropped_objects;
	uint64_t dropped_bytes;
	struct ttm_retiree_share *base; /* what the dropped ones did, by chip */
	uint32_t base_len;
	int error;
	bool behind; /* the file has what is not shown, or is another one */
};

/* A retired process as rows, at the end of the list. Returns 0 or -ENOMEM. */
static int retiree_add(struct ttm_retirees *retirees, struct ttm_output *output,
	const struct ttm_retired_entry *entry)
{
	struct ttm_retiree *retiree;
	int r = ttm_retiree_show(output, retirees->directory, entry, &retiree);

	if (r)
		return r;
	if (retiree->objects)
		retirees->leaky_len++;
	else
		retirees->clean_len++;
	*retirees->end = retiree;
	retirees->end = &retiree->next;
	return 0;
}

/* -- the base --------------------------------------------------------------------- */

/* Only what flowed: what was left behind is counted as dropped, and no more. */
static void flows_keep(struct ttm_share_row *row)
{
	unsigned i;

	memset(row->ring_bytes, 0, sizeof(row->ring_bytes));
	row->open = 0;
	row->cb_footprint = 0;
	row->cb_footprint_exact = 1;
	row->headroom = TTM_HEADROOM_UNKNOWN;
	for (i = 0; i < TTMEM_FIGURES; i++) {
		row->figures[i].live_bytes = 0;
		row->figures[i].live_objects = 0;
		row->figures[i].orphaned_bytes = 0;
		row->figures[i].orphaned_objects = 0;
		row->figures[i].requested_bytes = 0;
		row->figures[i].peak_bytes = 0;
	}
}

/* sign: 1 or all ones */
static void flows_add(struct ttm_share_row *sum,
	const struct ttm_share_row *row, uint64_t sign)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		sum->dispatches[i] += sign * row->dispatches[i];
	for (i = 0; i < 6; i++)
		sum->failures[i] += sign * row->failures[i];
	for (i = 0; i < TTMEM_FIGURES; i++) {
		struct ttm_sums *to = &sum->figures[i];
		const struct ttm_sums *from = &row->figures[i];

		to->alloc_objects += sign * from->alloc_objects;
		to->alloc_bytes += sign * from->alloc_bytes;
		to->free_objects += sign * from->free_objects;
		to->free_bytes += sign * from->free_bytes;
	}
}

/* Who tells less of a chip may mean another one when more of them are known. */
static uint64_t identity_told(const struct ttm_device_facts *facts)
{
	return facts->known & (TTM_FACT_CHIP_ID | TTM_FACT_PCI_ADDRESS);
}

static struct ttm_retiree_share *base_of(struct ttm_retirees *retirees,
	struct ttm_chip *chip, const struct ttm_retiree_share *like)
{
	struct ttm_retiree_share *base = retirees->base;
	uint32_t i;

	for (i = 0; i < retirees->base_len; i++)
		if (base[i].usage.chip == chip &&
			identity_told(&base[i].facts) ==
				identity_told(&like->facts))
			return &base[i];
	base = realloc(base, (retirees->base_len + 1u) * sizeof(*base));
	if (!base)
		return NULL;
	retirees->base = base;
	base += retirees->base_len++;
	memset(base, 0, sizeof(*base));
	ttm_chip_point(&base->usage.chip, chip);
	base->facts = like->facts;
	base->usage.published.logical = like->usage.published.logical;
	base->usage.published.cb_footprint_exact = 1;
	base->usage.published.headroom = TTM_HEADROOM_UNKNOWN;
	return base;
}

static int base_add(struct ttm_retirees *retirees,
	const struct ttm_retiree_share *share, uint64_t sign)
{
	struct ttm_retiree_share *base = base_of(
		retirees, share->usage.chip, share);
	struct ttm_share_row before;

	if (!base)
		return -ENOMEM;
	before = base->usage.published;
	flows_add(&base->usage.published, &share->usage.published, sign);
	ttm_chip_count(base->usage.chip, &before, &base->usage.published);
	return 0;
}

static void base_load(struct ttm_retirees *retirees, struct ttm_output *output,
	const struct ttm_retired_entry *entry)
{
	uint32_t i;

	retirees->dropped_processes = entry->head->dropped_processes;
	retirees->dropped_objects = entry->head->dropped_objects;
	retirees->dropped_bytes = entry->head->dropped_bytes;
	for (i = 0; i < entry->head->shares_len; i++) {
		struct ttm_retiree_share share = { 0 };

		share.facts = entry->shares[i].facts;
		share.usage.published = entry->shares[i].row;
		flows_keep(&share.usage.published);
		share.usage.chip = ttm_chip_get(&output->chips,
			retirees->directory->uid, &share.facts,
			share.usage.published.logical);
		if (!share.usage.chip || base_add(retirees, &share, 1) < 0)
			retirees->error = -ENOMEM;
	}
}

/*
 * The first that was dropped may have known less of the chip, but not of which one it
 * is. What nobody told is nothing to remember.
 */
static void base_facts(const struct ttm_retiree_share *base,
	struct ttm_device_facts *ret_facts)
{
	const struct ttm_device_row *total = &base->usage.chip->total;

	*ret_facts = base->facts;
	if (identity_told(&base->facts) != identity_told(&total->facts))
		return;
	*ret_facts = total->facts;
	ret_facts->known &= ~total->by_board;
}

static int base_entry(const struct ttm_retirees *retirees,
	struct ttm_retired_entry *ret_entry)
{
	struct ttm_retired_head lens = {
		.kind = TTM_RETIRED_BASE,
		.shares_len = retirees->base_len,
		.dropped_processes = retirees->dropped_processes,
		.dropped_objects = retirees->dropped_objects,
		.dropped_bytes = retirees->dropped_bytes,
	};
	uint32_t i;
	int r = ttm_retired_entry_new(&lens, ret_entry);

	for (i = 0; i < retirees->base_len && !r; i++) {
		const struct ttm_retiree_share *base = &retirees->base[i];

		ret_entry->shares[i].row = base->usage.published;
		base_facts(base, &ret_entry->shares[i].facts);
	}
	return r;
}

/* -- open, add, trim ---------------------------------------------------------------- */

static void entry_loaded(void *context, const struct ttm_retired_entry *entry)
{
	struct ttm_retirees *retirees = context;

	if (entry->head->kind == TTM_RETIRED_BASE)
		base_load(retirees, retirees->output, entry);
	else if (retiree_add(retirees, retirees->output, entry) < 0)
		retirees->error = -ENOMEM;
}

/*
 * Entries come in the order of the list; one that is not in it could not be shown
 * for lack of memory, and stays.
 */
static bool is_kept(void *context, const uint8_t uuid[16])
{
	const struct ttm_retiree **next = context, *retiree = *next;

	if (!retiree || memcmp(retiree->uuid, uuid, sizeof(retiree->uuid)) != 0)
		return true;
	*next = retiree->next;
	return !retiree->dropped;
}

static int file_rewrite(struct ttm_retirees *retirees)
{
	const struct ttm_retiree *next = retirees->first;
	struct ttm_retired_entry base;
	int r = base_entry(retirees, &base);

	if (r)
		return r;
	r = ttm_retired_compact(retirees->file, &base, is_kept, &next);
	retirees->behind |= r == -ESTALE;
	ttm_retired_entry_free(&base);
	return r;
}

/* How much was behind the break nobody knows; that it was, everybody should. */
static int retirees_mend(struct ttm_retirees *retirees)
{
	retirees->dropped_processes++;
	return file_rewrite(retirees);
}

void ttm_retirees_forget(
	struct ttm_retirees *retirees, struct ttm_output *output)
{
	struct ttm_retiree *retiree;
	uint32_t i;

	for (retiree = retirees->first; retiree; retiree = retiree->next)
		ttm_retiree_hide(output, retiree);
	for (i = 0; i < retirees->base_len; i++)
		ttm_usage_remove(output, &retirees->base[i].usage);
	retirees->base_len = 0;
}

/* All that was loaded is of the past. */
static void rates_skip(struct ttm_retirees *retirees)
{
	struct ttm_retiree *retiree;
	uint32_t i;

	for (i = 0; i < retirees->base_len; i++)
		ttm_chip_rates_skip(retirees->base[i].usage.chip,
			&retirees->base[i].usage.published, 1);
	for (retiree = retirees->first; retiree; retiree = retiree->next)
		for (i = 0; i < retiree->shares_len; i++)
			ttm_chip_rates_skip(retiree->shares[i].usage.chip,
				&retiree->shares[i].usage.published, 1);
}

int ttm_retirees_open(struct ttm_output *output,
	struct ttm_directory *directory, struct ttm_retirees **ret_retirees)
{
	struct ttm_retirees *retirees = calloc(1, sizeof(*retirees));
	bool broken = false;
	int r;

	if (!retirees)
		return -ENOMEM;
	retirees->directory = directory;
	retirees->output = output;
	retirees->end = &retirees->first;
	r = ttm_retired_open(directory->fd, directory->uid, entry_loaded,
		retirees, &retirees->file, &broken);
	if (!r)
		r = retirees->error;
	if (!r && broken)
		r = retirees_mend(retirees);
	if (r < 0) {
		ttm_retirees_forget(retirees, output);
		ttm_retirees_close(&retirees);
		return r;
	}
	rates_skip(retirees);
	*ret_retirees = retirees;
	return 0;
}

void ttm_retirees_close(struct ttm_retirees **retirees)
{
	struct ttm_retiree *retiree;

	if (!*retirees)
		return;
	while ((retiree = (*retirees)->first)) {
		(*retirees)->first = retiree->next;
		ttm_retiree_free(retiree);
	}
	ttm_retired_close(&(*retirees)->file);
	free((*retirees)->base);
	free(*retirees);
	*retirees = NULL;
}

bool ttm_retirees_are_behind(const struct ttm_retirees *retirees)
{
	return retirees->behind;
}

bool ttm_retirees_has(
	const struct ttm_retirees *retirees, const uint8_t uuid[16])
{
	const struct ttm_retiree *retiree;

	for (retiree = retirees->first; retiree; retiree = retiree->next)
		if (memcmp(retiree->uuid, uuid, sizeof(retiree->uuid)) == 0)
			return true;
	return false;
}

int ttm_retirees_add(struct ttm_retirees *retirees, struct ttm_output *output,
	struct ttm_process *process, uint64_t now_ns)
{
	struct ttm_retired_entry entry;
	int r = ttm_retiree_entry(output, process, now_ns, &entry);

	if (r)
		return r;
	r = ttm_retired_commit(retirees->file, &entry);
	retirees->behind |= r == -ESTALE;
	if (!r) {
		ttm_output_forget(output, process);
		/* No memory to show it: it is in the file, to be read again. */
		if (retiree_add(retirees, output, &entry) < 0) {
			output->memory_errors++;
			retirees->behind = true;
		}
	}
	ttm_retired_entry_free(&entry);
	return r;
}

/* Drops the oldest of one sort while there is too much of it, or of all. */
static void trim_sort(struct ttm_retirees *retirees, bool leaky, uint64_t kept,
	uint64_t *bytes)
{
	uint64_t len = leaky ? retirees->leaky_len : retirees->clean_len;
	struct ttm_retiree *retiree;

	for (retiree = retirees->first; retiree; retiree = retiree->next) {
		if ((retiree->objects != 0) != leaky)
			continue;
		retiree->dropped = len > kept || *bytes > BYTES_KEPT;
		if (!retiree->dropped)
			continue;
		*bytes -= retiree->file_size < *bytes ? retiree->file_size :
							*bytes;
		len--;
	}
}

static bool trim_choose(struct ttm_retirees *retirees)
{
	uint64_t bytes = ttm_retired_bytes(retirees->file);

	if (retirees->clean_len <= CLEAN_MOST &&
		retirees->leaky_len <= LEAKY_MOST && bytes <= BYTES_MOST)
		return false;
	trim_sort(retirees, false, CLEAN_KEPT, &bytes);
	trim_sort(retirees, true, LEAKY_KEPT, &bytes);
	return true;
}

/* Into the base, or (sign all ones) out of it again. */
static int dropped_add(struct ttm_retirees *retirees,
	struct ttm_retiree *retiree, uint64_t sign)
{
	uint32_t i;
	int r = 0;

	for (i = 0; i < retiree->shares_len && !r; i++)
		r = base_add(retirees, &retiree->shares[i], sign);
	if (r) {
		while (i-- > 1)
			base_add(retirees, &retiree->shares[i - 1], -sign);
		return r;
	}
	if (retiree->objects)
		retirees->dropped_processes += sign;
	retirees->dropped_objects += sign * retiree->objects;
	retirees->dropped_bytes += sign * retiree->bytes;
	return 0;
}

/* All that were chosen, before `until`. */
static void dropped_take_back(
	struct ttm_retirees *retirees, const struct ttm_retiree *until)
{
	struct ttm_retiree *retiree;

	for (retiree = retirees->first; retiree != until;
		retiree = retiree->next)
		if (retiree->dropped)
			dropped_add(retirees, retiree, UINT64_MAX);
}

static int dropped_sum(struct ttm_retirees *retirees)
{
	struct ttm_retiree *retiree;
	int r = 0;

	for (retiree = retirees->first; retiree; retiree = retiree->next) {
		if (retiree->dropped)
			r = dropped_add(retirees, retiree, 1);
		if (r) {
			dropped_take_back(retirees, retiree);
			return r;
		}
	}
	return 0;
}

static void dropped_remove(
	struct ttm_retirees *retirees, struct ttm_output *output)
{
	struct ttm_retiree **at = &retirees->first, *retiree;

	while ((retiree = *at)) {
		if (!retiree->dropped) {
			at = &retiree->next;
			continue;
		}
		*at = retiree->next;
		if (retiree->objects)
			retirees->leaky_len--;
		else
			retirees->clean_len--;
		ttm_retiree_hide(output, retiree);
		ttm_retiree_free(retiree);
	}
	retirees->end = at;
}

int ttm_retirees_trim(struct ttm_retirees *retirees, struct ttm_output *output)
{
	int r;

	if (!trim_choose(retirees))
		return 0;
	r = dropped_sum(retirees);
	if (r)
		return r;
	r = file_rewrite(retirees);
	if (r)
		dropped_take_back(retirees, NULL);
	else
		dropped_remove(retirees, output);
	return r;
}

/* One of the base has no row. */
static void share_assign(struct ttm_output *output, uint32_t uid,
	struct ttm_retiree_share *share)
{
	struct ttm_usage *usage = &share->usage;

	ttm_usage_move(output, usage,
		ttm_chip_again(&output->chips, uid, &share->facts,
			usage->published.logical, usage->chip));
}

void ttm_retirees_assign(
	struct ttm_retirees *retirees, struct ttm_output *output)
{
	uint32_t uid = retirees->directory->uid, i;
	struct ttm_retiree *retiree;

	for (retiree = retirees->first; retiree; retiree = retiree->next)
		for (i = 0; i < retiree->shares_len; i++)
			share_assign(output, uid, &retiree->shares[i]);
	for (i = 0; i < retirees->base_len; i++)
		share_assign(output, uid, &retirees->base[i]);
}

void ttm_retirees_describe(
	const struct ttm_retirees *retirees, struct ttm_directory_row *row)
{
	row->retired = retirees->clean_len + retirees->leaky_len;
	row->dropped_processes = retirees->dropped_processes;
	row->dropped_objects = retirees->dropped_objects;
	row->dropped_bytes = retirees->dropped_bytes;
}
