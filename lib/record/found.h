/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* What object.c and put.c share: objects that a search has found. */
#ifndef TTM_RECORD_FOUND_H
#define TTM_RECORD_FOUND_H

#include "record/object.h"

void ttm_key_set_of(struct ttm_key *ret_key, const struct ttm_words *words);

/*
 * The next live object with this key, of whatever epoch, in another slot than
 * `except`.
 */
static inline bool ttm_found_next(struct ttm_process *process,
	struct ttm_search *search, const struct ttm_key *key, uint32_t except,
	struct ttm_found *ret_found)
{
	uint64_t *place, entry = 0;

	while ((place = ttm_search_next(search, &entry)) != NULL)
		if (ttm_entry_slot(entry) != except &&
			entry_leads_to(process, place, entry, key, ret_found))
			return true;
	return false;
}

/* As slot_free(). The winner counts, then commits. */
bool ttm_found_free(struct ttm_process *process, const struct ttm_found *found);
void ttm_found_count_free(struct ttm_hook *hook, struct ttm_device *device,
	struct ttm_block_device *block, const struct ttm_found *found,
	unsigned flags);

/* All of that as an operation of its own; somebody else may be faster. */
void ttm_found_end(struct ttm_hook *hook, struct ttm_block_device *block,
	const struct ttm_found *found, unsigned flags, uint64_t now);

#endif
