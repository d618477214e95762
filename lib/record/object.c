/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* The rare ways of an object to be found, and to go: see object.h. */
#include "record/found.h"

/* -- the end of an object -------------------------------------------------------- */

void ttm_key_set_of(struct ttm_key *ret_key, const struct ttm_words *words)
{
	ttm_key_set(ret_key, TTM_W1_DEVICE(words->w[1]),
		TTM_W1_FIGURE(words->w[1]), words->w[5], words->w[2]);
}

static struct ttm_device *found_device(
	const struct ttm_hook *hook, const struct ttm_found *found)
{
	return &hook->process->devices[TTM_W1_DEVICE(found->words.w[1])];
}

bool ttm_found_free(const struct ttm_hook *hook, const struct ttm_found *found)
{
	struct ttm_words *shared = ttm_slot_at(hook->process, found->slot);

	if (found->octet) {
		if (!ttm_octet_claim(hook->process, found->slot, found->octet))
			return false;
		slot_free_owned(shared, found->words.w[0]);
		return true;
	}
	if (!slot_free(shared, found->words.w[0]))
		return false;
	ttm_index_clear(found->place);
	return true;
}

void ttm_found_recycle(
	const struct ttm_hook *hook, const struct ttm_found *found)
{
	if (found->octet)
		ttm_octet_leave(hook, ttm_octet_of(found->slot), found->place,
			ttm_octet_bit(found->slot));
	else
		ttm_supply_put(hook->process, hook->lane, found->slot,
			ttm_slot_at(hook->process, found->slot));
}

void ttm_found_commit(const struct ttm_hook *hook,
	const struct ttm_found *found, unsigned flags, uint64_t now)
{
	free_write(ttm_lane_record(hook->lane, 0), flags, now, &found->words);
	ttm_lane_end(hook->lane, 1);
	ttm_found_recycle(hook, found);
}

void ttm_found_count_free(const struct ttm_hook *hook,
	struct ttm_device *device, struct ttm_block_device *block,
	const struct ttm_found *found, unsigned flags)
{
	unsigned figure = TTM_W1_FIGURE(found->words.w[1]);
	uint64_t era = ttm_device_era(device);
	bool orphaned = !found_is_of(found, era);

	ttm_account_free(device, block, figure, era, 1,
		ttm_words_bytes(&found->words), orphaned);
	if (orphaned)
		ttm_anomaly_count(hook, TTMEM_ANOMALY_LATE_FREE);
	if (flags & TTM_FLAG_REPLACED && figure < TTMEM_FIGURE_CB)
		ttm_anomaly_count(hook, TTMEM_ANOMALY_ALLOC_LIVE);
	TTM_TESTPOINT("free counted");
}

void ttm_found_end(const struct ttm_hook *hook, struct ttm_block_device *block,
	const struct ttm_found *found, unsigned flags, uint64_t now)
{
	ttm_lane_begin(hook->lane);
	if (!ttm_found_free(hook, found)) {
		ttm_noop_commit(hook);
		return;
	}
	ttm_found_count_free(
		hook, found_device(hook, found), block, found, flags);
	ttm_found_commit(hook, found, flags, now);
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

	ttm_search_key(&search, process, key);
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

TTM_COLD void ttm_remove_rarely(struct ttm_seat *seat, unsigned device,
	unsigned figure, uint64_t program, uint64_t id)
{
	struct ttm_hook hook = ttm_hook_of(seat);
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
		if (!ttm_found_free(&hook, &found))
			continue;
		ttm_found_count_free(&hook, entry, block, &found, 0);
		ttm_found_commit(&hook, &found, 0, ttm_clock_now());
		return;
	}
	ttm_anomaly_commit(
		&hook, TTMEM_ANOMALY_FREE_UNKNOWN, device, figure, id);
}

TTM_COLD void ttm_kernel_remove_rest(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_key *key, uint64_t now)
{
	struct ttm_found found;

	while (key_find(hook->process, key, spot->era, &found))
		ttm_found_end(hook, spot->block, &found, 0, now);
}
