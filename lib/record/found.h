/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* What object.c and put.c share: objects that a search has found. */
#ifndef TTM_RECORD_FOUND_H
#define TTM_RECORD_FOUND_H

#include "record/object.h"

void ttm_key_set_of(struct ttm_key *ret_key, const struct ttm_words *words);

/* Those by themselves come first, then, once, those in groups. */
static inline bool search_groups(struct ttm_search *search,
	const struct ttm_process *process, const struct ttm_key *key)
{
	unsigned device = key->w1 % TTM_DEVICES_MAX;
	struct ttm_key group;

	/* relaxed: after the CAS of whoever has to know */
	if (search->in_groups || key->w1 >> 6 >= TTMEM_FIGURE_CB ||
		!ttm_load(&process->groups))
		return false;
	ttm_key_of_group(&group, key, device / TTM_OCTET_LEN);
	ttm_search_start(search, process, group.bucket_hash, group.tag);
	search->in_groups = true;
	return true;
}

/*
 * The next live object with this key, of whatever epoch, in another slot than
 * `except`.
 */
static inline bool ttm_found_next(struct ttm_process *process,
	struct ttm_search *search, const struct ttm_key *key, uint32_t except,
	struct ttm_found *ret_found)
{
	uint64_t *place, entry = 0;
	uint32_t slot;

	do {
		while ((place = ttm_search_next(search, &entry)) != NULL) {
			slot = ttm_entry_slot(entry);
			ret_found->octet = 0;
			if (search->in_groups) {
				slot += key->w1 % TTM_OCTET_LEN;
				ret_found->octet = ttm_octet_with(
					process, slot);
				if (!ret_found->octet)
					continue;
			}
			if (slot != except &&
				entry_leads_to(process, place, entry, slot, key,
					ret_found))
				return true;
		}
	} while (search_groups(search, process, key));
	return false;
}

/* As seen_free(). The winner counts, commits, and then the slot is used again. */
bool ttm_found_free(const struct ttm_hook *hook, const struct ttm_found *found);
void ttm_found_count_free(const struct ttm_hook *hook,
	struct ttm_device *device, struct ttm_block_device *block,
	const struct ttm_found *found, unsigned flags);
void ttm_found_commit(const struct ttm_hook *hook,
	const struct ttm_found *found, unsigned flags, uint64_t now);
void ttm_found_recycle(
	const struct ttm_hook *hook, const struct ttm_found *found);

/* All of that as an operation of its own; somebody else may be faster. */
void ttm_found_end(const struct ttm_hook *hook, struct ttm_block_device *block,
	const struct ttm_found *found, unsigned flags, uint64_t now);

#endif
