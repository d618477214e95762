/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * From an entry of the index to the object in its slot. Nothing found here is held:
 * whoever wants the object takes it by a CAS on w0, or on the word of its octet, which
 * fails if it has changed since.
 */
#ifndef TTM_RECORD_FIND_H
#define TTM_RECORD_FIND_H

#include "record/index.h"
#include "record/process.h"

/* A live slot as it was at one moment, and where the index has it, or its group. */
struct ttm_found {
	uint64_t *place;
	uint32_t slot;
	uint64_t octet; /* the word of its octet, see group.h; 0: in none */
	struct ttm_words words;
};

/* Copies a slot that is live; false if it is not, or changed under our hands. */
static TTM_INLINE bool slot_copy(
	const struct ttm_words *shared, struct ttm_words *ret_words)
{
	unsigned i;

	/* pairs(slot): acquire, with slot_end: the body is whole */
	ret_words->w[0] = ttm_load_acquire(&shared->w[0]);
	if (TTM_UNLIKELY(TTM_W0_STATE(ret_words->w[0]) != TTM_SLOT_LIVE))
		return false;
		/* relaxed: a change in between shows in w0, and the CAS of slot_free
	 * would fail */
#pragma GCC unroll 7
	for (i = 1; i < 8; i++)
		ret_words->w[i] = ttm_load(&shared->w[i]);
	/* pairs(slot-reuse): acquire, with slot_begin's fence: no newer body
	 * without a newer w0 */
	ttm_fence_acquire();
	return ttm_load(&shared->w[0]) == ret_words->w[0];
}

static TTM_INLINE bool slot_read(
	struct ttm_process *process, uint32_t slot, struct ttm_words *ret_words)
{
	return slot_copy(ttm_slot_at(process, slot), ret_words);
}

static TTM_INLINE bool w1_has_key(uint64_t w1, const struct ttm_key *key)
{
	unsigned device_and_figure = TTM_W1_KEY(w1);

	return device_and_figure == key->w1 ||
		device_and_figure == key->w1_or ||
		device_and_figure == key->w1_or_else;
}

static TTM_INLINE bool words_have_key(
	const struct ttm_words *words, const struct ttm_key *key)
{
	return words->w[2] == key->id &&
		((words->w[5] ^ key->program) & key->program_mask) == 0 &&
		w1_has_key(words->w[1], key);
}

/*
 * The entry that led to a slot must still be there after the slot was seen live.
 * Otherwise it was of an earlier object in the same slot, and `place` may be
 * somebody else's by now: an entry is cleared before its slot is used again.
 */
static TTM_INLINE bool entry_stands(const uint64_t *place, uint64_t entry)
{
	/* relaxed: after slot_read's acquire */
	return ttm_load(place) == entry;
}

/* `slot`: that of the entry, or for a group the device's in that octet. */
static TTM_INLINE bool entry_leads_to(struct ttm_process *process,
	uint64_t *place, uint64_t entry, uint32_t slot,
	const struct ttm_key *key, struct ttm_found *ret_found)
{
	ret_found->place = place;
	ret_found->slot = slot;
	return slot_read(process, ret_found->slot, &ret_found->words) &&
		words_have_key(&ret_found->words, key) &&
		entry_stands(place, entry);
}

static TTM_INLINE bool w1_is_of(uint64_t w1, uint64_t era)
{
	return TTM_W1_EPOCH(w1) == (uint16_t)TTM_ERA_EPOCH(era);
}

static TTM_INLINE bool found_is_of(const struct ttm_found *found, uint64_t era)
{
	return w1_is_of(found->words.w[1], era);
}

/* Whether it is of the key's device and class, and of the current epoch. */
static TTM_INLINE bool w1_is_current(
	uint64_t w1, const struct ttm_key *key, uint64_t era)
{
	uint64_t wanted = (uint64_t)key->w1 << 40 |
		TTM_W1(0, TTM_ERA_EPOCH(era), 0, 0, 0, 0);

	/* One figure, unless it is a kernel. */
	if (key->w1 == key->w1_or)
		return ((w1 ^ wanted) & TTM_W1_OWNER) == 0;
	return w1_has_key(w1, key) && w1_is_of(w1, era);
}

/* What a glance shows of a live slot; the rest is read when it is wanted. */
struct ttm_seen {
	uint64_t *place;
	struct ttm_words *shared;
	uint64_t entry;
	uint64_t w0;
	uint64_t w1;
};

/*
 * What nearly every search finds: the first entry with the key's tag in the first
 * bucket. False says nothing. The slot is not read yet.
 */
static TTM_INLINE bool key_point(struct ttm_process *process,
	struct ttm_bucket *bucket, const struct ttm_key *key,
	struct ttm_seen *ret_seen)
{
	uint64_t *entry = &ret_seen->entry;
	unsigned at;

	if (TTM_UNLIKELY(!ttm_bucket_find(bucket, key->tag, entry, &at)))
		return false;
	ret_seen->place = &bucket->entries[at];
	ret_seen->shared = ttm_slot_at(process, ttm_entry_slot(*entry));
	return true;
}

/*
 * Whether that leads to an object of the current epoch; false says nothing. The slot's
 * words are of one object only if w0 is still the same afterwards.
 */
static TTM_INLINE bool key_glance(
	const struct ttm_key *key, uint64_t era, struct ttm_seen *seen)
{
	/* pairs(slot): acquire, with slot_end: the body is whole */
	seen->w0 = ttm_load_acquire(&seen->shared->w[0]);
	/* relaxed: as in slot_read */
	seen->w1 = ttm_load(&seen->shared->w[1]);
	return TTM_LIKELY(TTM_W0_STATE(seen->w0) == TTM_SLOT_LIVE &&
		w1_is_current(seen->w1, key, era) &&
		ttm_load(&seen->shared->w[2]) == key->id &&
		(!key->program_mask ||
			ttm_load(&seen->shared->w[5]) == key->program) &&
		entry_stands(seen->place, seen->entry));
}

#endif
