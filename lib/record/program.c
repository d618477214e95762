/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#include "record/program.h"

#include "record/found.h"

/* -- the end of a program --------------------------------------------------------- */

/* Whether an index entry leads to a live CB of the program on the device. */
static TTM_INLINE bool entry_is_cb_of(const struct ttm_hook *hook,
	unsigned device, uint64_t program, struct ttm_seen *seen)
{
	seen->shared = ttm_slot_at(hook->process, ttm_entry_slot(seen->entry));
	/* pairs(slot): acquire, with slot_end: the body is whole */
	seen->w0 = ttm_load_acquire(&seen->shared->w[0]);
	/* relaxed: as in slot_copy */
	seen->w1 = ttm_load(&seen->shared->w[1]);
	return TTM_W0_STATE(seen->w0) == TTM_SLOT_LIVE &&
		TTM_W1_KEY(seen->w1) == (TTMEM_FIGURE_CB << 6 | device) &&
		ttm_load(&seen->shared->w[5]) == program &&
		entry_stands(seen->place, seen->entry);
}

/* Frees a CB; if another thread is faster, that one counts it. */
static TTM_INLINE void cb_end(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_seen *seen, uint64_t now)
{
	struct ttm_found found = { .place = seen->place };
	/* relaxed: seen_end's CAS shows whether it is of this object */
	uint64_t id = ttm_load(&seen->shared->w[2]);

	if (TTM_UNLIKELY(!w1_is_of(seen->w1, spot->era))) {
		found.slot = ttm_entry_slot(seen->entry);
		if (slot_copy(seen->shared, &found.words) &&
			found.words.w[0] == seen->w0)
			ttm_found_end(hook, spot->block, &found, 0, now);
		return;
	}
	ttm_lane_begin(hook->lane);
	if (TTM_UNLIKELY(!seen_end(hook, spot, TTMEM_FIGURE_CB, id, now, seen)))
		ttm_noop_commit(hook);
}

static TTM_INLINE void cbs_end(const struct ttm_hook *hook,
	struct ttm_spot *spot, uint64_t program, uint64_t now)
{
	struct ttm_search search;
	struct ttm_seen seen = { 0 };
	uint64_t line;

	for (line = 0; line < TTM_CB_LINES; line++) {
		ttm_search_start(&search, hook->process,
			ttm_cb_bucket_hash(program, line, spot->entry), 0);
		while ((seen.place = ttm_search_next(&search, &seen.entry))) {
			if (!entry_is_cb_of(hook, spot->entry, program, &seen))
				continue;
			cb_end(hook, spot, &seen, now);
			/* The device may have been closed meanwhile; a block
			 * never goes back to an older era. */
			spot->era = ttm_device_era(spot->device);
		}
	}
}

/* Frees the kernel of the program, and orphans of that id. */
static TTM_INLINE void kernel_end(const struct ttm_hook *hook,
	const struct ttm_spot *spot, uint64_t kernel, uint64_t now)
{
	struct ttm_seen seen;
	struct ttm_key key;
	struct ttm_way way;

	ttm_key_begin(&key, TTMEM_FIGURE_KERNEL, 0, kernel);
	way_set(&way, hook, &key, spot->entry);
	if (key_point(hook->process, way.bucket, &way.key, &seen) &&
		key_glance(&way.key, spot->era, &seen)) {
		ttm_lane_begin(hook->lane);
		if (TTM_UNLIKELY(!seen_end(hook, spot, TTMEM_FIGURE_KERNEL,
			    kernel, now, &seen)))
			ttm_noop_commit(hook);
	}
	if (TTM_UNLIKELY(ttm_index_may_have(way.level, way.bucket, &way.key)))
		ttm_kernel_remove_rest(hook, spot, &way.key, now);
}

uint64_t ttm_program_remove(const struct ttm_hook *hook, unsigned device,
	uint64_t program, const uint64_t *at)
{
	uint64_t now = event_time(at);
	struct ttm_spot spot;

	spot_set(&spot, hook, device);
	spot.block = ttm_lane_block(hook->process, hook->lane, device);
	if (!spot.block) {
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, device, TTM_FIGURE_NONE,
			program, 0);
		return now;
	}
	cbs_end(hook, &spot, program, now);
	kernel_end(hook, &spot, program, now);
	return now;
}

/* -- all of a device -------------------------------------------------------------------- */

/* Looks up the index entry of a slot that a scan met. */
static bool found_locate(struct ttm_process *process, struct ttm_found *found)
{
	struct ttm_words words = found->words;
	struct ttm_search search;
	struct ttm_key key;

	ttm_key_set_of(&key, &words);
	ttm_search_key(&search, process, &key);
	while (ttm_found_next(process, &search, &key, TTM_SLOT_NONE, found))
		if (found->words.w[0] == words.w[0] &&
			found->slot == TTM_W1_SLOT(words.w[1]))
			return true;
	return false; /* freed meanwhile, or not entered yet */
}

void ttm_cbs_remove(const struct ttm_hook *hook, unsigned device, uint64_t now)
{
	struct ttm_block_device *block = ttm_lane_block(
		hook->process, hook->lane, device);
	uint32_t extent, i, slot;
	struct ttm_found found;

	if (!block) {
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, device, TTMEM_FIGURE_CB, 0,
			0);
		return;
	}
	for (extent = 0; extent < TTM_SLOT_EXTENTS_MAX; extent++) {
		if (!ttm_pointer_load(&hook->process->slots[extent]))
			continue;
		for (i = 0; i < TTM_SLOTS_PER_EXTENT; i++) {
			slot = extent * TTM_SLOTS_PER_EXTENT + i;
			if (slot_read(hook->process, slot, &found.words) &&
				TTM_W1_KEY(found.words.w[1]) ==
					(TTMEM_FIGURE_CB << 6 | device) &&
				found_locate(hook->process, &found))
				ttm_found_end(hook, block, &found, 0, now);
		}
	}
}
