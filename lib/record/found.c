/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#include "record/found.h"

#include "record/ring.h"

/* -- search ------------------------------------------------------------------------- */

bool ttm_slot_copy(const struct ttm_words *shared, struct ttm_words *ret_words)
{
	unsigned i;

	do {
		/* pairs(slot): acquire, with slot_end: the body is whole */
		ret_words->w[0] = ttm_load_acquire(&shared->w[0]);
		if (TTM_W0_STATE(ret_words->w[0]) != TTM_SLOT_LIVE)
			return false;
		/* relaxed: a change in between shows in w0 */
		for (i = 1; i < 8; i++)
			ret_words->w[i] = ttm_load(&shared->w[i]);
		/* pairs(slot-reuse): acquire, with slot_begin's fence: no newer
		 * body without a newer w0 */
		ttm_fence_acquire();
	} while (ttm_load(&shared->w[0]) != ret_words->w[0]);
	return true;
}

static bool words_have_key(
	const struct ttm_words *words, const struct ttm_key *key)
{
	return words->w[2] == key->id &&
		((words->w[5] ^ key->program) & key->program_mask) == 0 &&
		TTM_W4_PLACE(words->w[4]) == key->place &&
		figure_is(TTM_W1_FIGURE(words->w[1]), key);
}

bool ttm_found_next(struct ttm_process *process, struct ttm_search *search,
	const struct ttm_key *key, uint32_t except, struct ttm_found *ret_found)
{
	struct ttm_found *f = ret_found;

	while ((f->entry_at = ttm_search_next(search, &f->entry)) != NULL) {
		f->slot = ttm_entry_slot(f->entry);
		if (f->slot != except &&
			ttm_slot_copy(
				ttm_slot_at(process, f->slot), &f->words) &&
			words_have_key(&f->words, key) &&
			entry_stands(f->entry_at, f->entry))
			return true;
	}
	return false;
}

uint64_t ttm_found_members(
	const struct ttm_process *process, const struct ttm_found *found)
{
	return ttm_place_members(process, TTM_W0_PLACE(found->words.w[0]));
}

uint32_t ttm_words_allocated(
	const struct ttm_process *process, const struct ttm_words *words)
{
	uint32_t closes = (uint32_t)ttm_closes(process);

	return closes - (uint16_t)(closes - TTM_W1_STAMP(words->w[1]));
}

/* Returns those of these devices that were closed since. */
static uint64_t members_orphaned(
	const struct ttm_process *process, uint64_t members, uint32_t allocated)
{
	uint64_t orphaned = 0, rest = members;
	unsigned entry;

	while (rest) {
		entry = ttm_mask_take(&rest);
		if (era_is_newer(ttm_device_era(&process->devices[entry]),
			    allocated))
			orphaned |= 1ull << entry;
	}
	return orphaned;
}

uint64_t ttm_found_current(
	const struct ttm_process *process, const struct ttm_found *found)
{
	uint64_t members = ttm_found_members(process, found);

	return members &
		~members_orphaned(process, members,
			ttm_words_allocated(process, &found->words));
}

bool ttm_found_is_current(
	const struct ttm_process *process, const struct ttm_found *found)
{
	return ttm_found_current(process, found) != 0;
}

bool ttm_key_find(struct ttm_process *process, const struct ttm_key *key,
	uint64_t members, struct ttm_found *ret_found)
{
	struct ttm_search search;
	bool is_orphan = false;
	struct ttm_found found;

	ttm_search_key(&search, process, key);
	while (ttm_found_next(process, &search, key, TTM_SLOT_NONE, &found)) {
		if (!(ttm_found_members(process, &found) & members))
			continue;
		*ret_found = found;
		if (ttm_found_current(process, &found) & members)
			return true;
		is_orphan = true;
	}
	return is_orphan;
}

/* -- the end of an object --------------------------------------------------------------- */

bool ttm_found_renew(struct ttm_process *process, struct ttm_found *found)
{
	struct ttm_words now;

	if (!ttm_slot_copy(ttm_slot_at(process, found->slot), &now) ||
		now.w[1] != found->words.w[1] ||
		now.w[2] != found->words.w[2] ||
		now.w[4] != found->words.w[4] ||
		now.w[5] != found->words.w[5] ||
		now.w[6] != found->words.w[6] ||
		!entry_stands(found->entry_at, found->entry))
		return false;
	found->words = now;
	return true;
}

bool ttm_found_free(struct ttm_process *process, struct ttm_found *found)
{
	while (!slot_free(ttm_slot_at(process, found->slot), found->words.w[0]))
		if (!ttm_found_renew(process, found))
			return false;
	ttm_index_clear(found->entry_at);
	return true;
}

void ttm_found_count(struct ttm_ring *ring, const struct ttm_found *found,
	uint64_t members, unsigned flags)
{
	unsigned figure = TTM_W1_FIGURE(found->words.w[1]);
	uint32_t allocated = ttm_words_allocated(ring->process, &found->words);

	if (members_orphaned(ring->process, members, allocated))
		ttm_anomaly_count(ring, TTMEM_ANOMALY_LATE_FREE);
	if (flags & TTM_FLAG_REPLACED && figure < TTMEM_FIGURE_CB)
		ttm_anomaly_count(ring, TTMEM_ANOMALY_ALLOC_LIVE);
	members_free(ring, members, figure, allocated,
		ttm_words_bytes(&found->words));
}

void ttm_free_write(struct ttm_words *record, unsigned flags, uint64_t now,
	const struct ttm_words *words)
{
	ttm_record_write(record, TTM_W0_FREE(words->w[0]),
		TTM_W1_AS_RECORD(words->w[1], flags, TTM_RECORD_FREE), now,
		words);
}

void ttm_found_recycle(struct ttm_ring *ring, const struct ttm_found *found)
{
	ttm_supply_put(
		ring, found->slot, ttm_slot_at(ring->process, found->slot));
}

void ttm_found_commit(struct ttm_ring *ring, const struct ttm_found *found,
	unsigned flags, uint64_t now)
{
	ttm_free_write(ttm_ring_record(ring, 0), flags, now, &found->words);
	ttm_ring_end(ring, 1);
	ttm_found_recycle(ring, found);
}

bool ttm_found_leave(struct ttm_ring *ring, struct ttm_found *found,
	uint64_t members, unsigned flags, uint64_t now, uint64_t *ret_left)
{
	struct ttm_process *process = ring->process;
	struct ttm_words *shared = ttm_slot_at(process, found->slot);
	uint64_t has, shrunk;
	unsigned place;

	for (;;) {
		has = ttm_found_members(process, found);
		*ret_left = has & members;
		if (!*ret_left || !ttm_ring_blocks(ring, *ret_left))
			return false;
		shrunk = 0;
		if (*ret_left != has) {
			place = ttm_place_of(process, has & ~members, true);
			if (!place) {
				ttm_loss(ring, TTMEM_LOSS_NO_PLACE,
					TTM_W0_PLACE(found->words.w[0]),
					TTM_W1_FIGURE(found->words.w[1]),
					found->words.w[2],
					ttm_words_bytes(&found->words));
				return true;
			}
			shrunk = TTM_W0_SHRUNK(found->words.w[0], place);
		}
		/* pairs(slot): full, with key_glance and the aggregator's scan */
		if (ttm_cas(&shared->w[0], found->words.w[0],
			    shrunk ? shrunk : TTM_W0_FREE(found->words.w[0])))
			break;
		if (!ttm_found_renew(process, found))
			return false;
	}
	TTM_TESTPOINT("slot freed");
	if (!shrunk)
		ttm_index_clear(found->entry_at);
	ttm_found_count(ring, found, *ret_left, flags);
	if (!shrunk) {
		ttm_found_commit(ring, found, flags, now);
		return true;
	}
	ttm_record_write(ttm_ring_record(ring, 0), shrunk,
		TTM_W1_AS_RECORD(found->words.w[1], 0, TTM_RECORD_SHRINK),
		found->words.w[3], &found->words);
	ttm_ring_end(ring, 1);
	return true;
}

void ttm_found_end(struct ttm_ring *ring, struct ttm_found *found,
	unsigned flags, uint64_t now)
{
	uint64_t left;

	ttm_ring_begin(ring);
	if (!ttm_found_leave(ring, found, UINT64_MAX, flags, now, &left))
		ttm_noop_commit(ring);
}

bool ttm_blocks_or_loss(struct ttm_ring *ring, const struct ttm_where *where,
	unsigned figure, uint64_t id, uint64_t bytes)
{
	if (ttm_ring_blocks(ring, where->members))
		return true;
	ttm_loss(ring, TTMEM_LOSS_NO_SLOT, where->place, figure, id, bytes);
	return false;
}

bool ttm_words_are_same_kernel(
	const struct ttm_words *one, const struct ttm_words *other)
{
	const uint64_t *a = one->w, *b = other->w;

	return TTM_W1_FIGURE(b[1]) >= TTMEM_FIGURE_KERNEL &&
		kernel_is_same(a[1], a[4], a[7], TTM_W1_FIGURE(b[1]),
			TTM_W1_FLAGS(b[1]), TTM_W4_SIZE(b[4]),
			(uint32_t)(b[7] >> 40));
}
