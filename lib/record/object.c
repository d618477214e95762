/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* The rare ways of an object to be found, and to go: see object.h. */
#include "record/found.h"

/* -- the end of an object -------------------------------------------------------- */

static void noop_commit(struct ttm_hook *hook)
{
	struct ttm_note nothing = {
		.type = TTM_RECORD_NOOP,
		.device = TTM_DEVICE_NONE,
		.figure = TTM_FIGURE_NONE,
		.slot = TTM_SLOT_NONE,
	};

	ttm_note_commit(hook, &nothing);
}

void ttm_key_set_of(struct ttm_key *ret_key, const struct ttm_words *words)
{
	ttm_key_set(ret_key, TTM_W1_DEVICE(words->w[1]),
		TTM_W1_FIGURE(words->w[1]), words->w[5], words->w[2]);
}

static struct ttm_device *found_device(
	struct ttm_hook *hook, const struct ttm_found *found)
{
	return &hook->process->devices[TTM_W1_DEVICE(found->words.w[1])];
}

bool ttm_found_free(struct ttm_process *process, const struct ttm_found *found)
{
	return slot_free(ttm_slot_at(process, found->slot), found->words.w[0],
		found->place);
}

void ttm_found_count_free(struct ttm_hook *hook, struct ttm_device *device,
	struct ttm_block_device *block, const struct ttm_found *found,
	unsigned flags)
{
	unsigned figure = TTM_W1_FIGURE(found->words.w[1]);
	uint64_t era = ttm_device_era(device);
	bool orphaned = !found_is_of(found, era);

	ttm_account_free(device, block, figure, era,
		ttm_words_bytes(&found->words), orphaned);
	if (orphaned)
		ttm_anomaly_count(hook, TTMEM_ANOMALY_LATE_FREE);
	if (flags & TTM_FLAG_REPLACED && figure < TTMEM_FIGURE_CB)
		ttm_anomaly_count(hook, TTMEM_ANOMALY_ALLOC_LIVE);
	TTM_TESTPOINT("free counted");
}

void ttm_found_end(struct ttm_hook *hook, struct ttm_block_device *block,
	const struct ttm_found *found, unsigned flags, uint64_t now)
{
	ttm_lane_begin(hook->lane);
	if (!ttm_found_free(hook->process, found)) {
		noop_commit(hook);
		return;
	}
	ttm_found_count_free(
		hook, found_device(hook, found), block, found, flags);
	free_commit(hook, ttm_lane_record(hook->lane, 0), found->slot, flags,
		now, &found->words);
}

/*
 * Of the current epoch if there is one, else an orphan. Objects of the current epoch
 * with one key are the same object to the caller.
 */
static bool key_find(struct ttm_process *process, const struct ttm_key *key,
	uint64_t era, struct ttm_found *ret_found)
{
	struct ttm_search search;
	struct ttm_found found;
	bool is_orphan = false;

	ttm_search_start(&search, process, key->bucket_hash, key->tag);
	while (ttm_found_next(process, &search, key, TTM_SLOT_NONE, &found)) {
		*ret_found = found;
		if (found_is_of(&found, era))
			return true;
		is_orphan = true;
	}
	return is_orphan;
}

unsigned ttm_object_kind(
	struct ttm_process *process, unsigned device, uint64_t id)
{
	uint64_t era = ttm_device_era(&process->devices[device]);
	unsigned kind, kind_found = TTMEM_DRAM;
	bool is_orphan = false;
	struct ttm_found found;
	struct ttm_key key;

	for (kind = TTMEM_DRAM; kind <= TTMEM_TRACE; kind++) {
		ttm_key_set(&key, device, kind, 0, id);
		if (!key_find(process, &key, era, &found))
			continue;
		if (found_is_of(&found, era))
			return kind;
		if (!is_orphan)
			kind_found = kind;
		is_orphan = true;
	}
	return kind_found;
}

TTM_COLD void ttm_remove_rarely(struct ttm_ticket ticket, unsigned device,
	unsigned figure, uint64_t program, uint64_t id)
{
	struct ttm_hook hook = ttm_hook_of(ticket);
	struct ttm_device *entry = &hook.process->devices[device];
	struct ttm_block_device *block = ttm_lane_block(
		hook.process, hook.lane, device);
	struct ttm_found found;
	struct ttm_key key;

	if (!block) {
		ttm_loss(&hook, TTMEM_LOSS_NO_SLOT, device, figure, id, 0);
		return;
	}
	ttm_key_set(&key, device, figure, program, id);
	ttm_lane_begin(hook.lane);
	while (key_find(hook.process, &key, ttm_device_era(entry), &found)) {
		if (!ttm_found_free(hook.process, &found))
			continue;
		ttm_found_count_free(&hook, entry, block, &found, 0);
		free_commit(&hook, ttm_lane_record(hook.lane, 0), found.slot, 0,
			ttm_clock_now(), &found.words);
		return;
	}
	ttm_anomaly_commit(
		&hook, TTMEM_ANOMALY_FREE_UNKNOWN, device, figure, id);
}

/* The chain of a program's bucket may hold CBs of others. */
static bool cb_is_of(
	const struct ttm_words *words, unsigned device, uint64_t program)
{
	return TTM_W1_FIGURE(words->w[1]) == TTMEM_FIGURE_CB &&
		TTM_W1_DEVICE(words->w[1]) == device && words->w[5] == program;
}

static void remove_chain(struct ttm_hook *hook, struct ttm_block_device *block,
	unsigned device, uint64_t program, unsigned chain, uint64_t now)
{
	unsigned w1 = TTMEM_FIGURE_CB << 6 | device;
	struct ttm_search search;
	struct ttm_found found;
	uint64_t entry = 0;

	ttm_search_start(&search, hook->process,
		ttm_program_hash(program, chain, w1), 0);
	while ((found.place = ttm_search_next(&search, &entry)) != NULL) {
		found.slot = ttm_entry_slot(entry);
		if (slot_read(hook->process, found.slot, &found.words) &&
			cb_is_of(&found.words, device, program) &&
			entry_stands(found.place, entry))
			ttm_found_end(hook, block, &found, 0, now);
	}
}

void ttm_object_remove_program(
	struct ttm_hook *hook, unsigned device, uint64_t program, uint64_t now)
{
	struct ttm_block_device *block = ttm_lane_block(
		hook->process, hook->lane, device);
	uint64_t era = ttm_device_era(&hook->process->devices[device]);
	struct ttm_found found;
	struct ttm_key key;
	unsigned chain;

	if (!block) {
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, device, TTM_FIGURE_NONE,
			program, 0);
		return;
	}
	for (chain = 0; chain < TTM_PROGRAM_CHAINS; chain++)
		remove_chain(hook, block, device, program, chain, now);
	ttm_key_set(&key, device, TTMEM_FIGURE_KERNEL, 0, program);
	while (key_find(hook->process, &key, era, &found))
		ttm_found_end(hook, block, &found, 0, now);
}

/* A slot met in a scan: where the index has it. */
static bool found_locate(struct ttm_process *process, struct ttm_found *found)
{
	struct ttm_search search;
	struct ttm_key key;
	uint64_t entry = 0;

	ttm_key_set_of(&key, &found->words);
	ttm_search_start(&search, process, key.bucket_hash, key.tag);
	while ((found->place = ttm_search_next(&search, &entry)) != NULL)
		if (entry == ttm_entry(&key, found->slot))
			return true;
	return false; /* freed meanwhile, or not inserted yet */
}

void ttm_object_remove_cbs(struct ttm_hook *hook, unsigned device, uint64_t now)
{
	struct ttm_block_device *block = ttm_lane_block(
		hook->process, hook->lane, device);
	struct ttm_found found;
	uint32_t extent, i;

	if (!block) {
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, device, TTMEM_FIGURE_CB, 0,
			0);
		return;
	}
	for (extent = 0; extent < TTM_SLOT_EXTENTS_MAX; extent++) {
		if (!ttm_pointer_load(&hook->process->slots[extent]))
			continue;
		for (i = 0; i < TTM_SLOTS_PER_EXTENT; i++) {
			found.slot = extent * TTM_SLOTS_PER_EXTENT + i;
			if (slot_read(
				    hook->process, found.slot, &found.words) &&
				cb_is_of(&found.words, device,
					found.words.w[5]) &&
				found_locate(hook->process, &found))
				ttm_found_end(hook, block, &found, 0, now);
		}
	}
}
