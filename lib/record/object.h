/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * The life of an object, in the order in which others may see it:
 *
 *   put     intent; slot writing, body, live; index; counters; ALLOC; tail
 *   remove  intent; slot free (CAS: one winner); index; counters; FREE; tail;
 *           only then is the slot used again
 *
 * Each live slot and each freed one has a record with its generation, so that
 * the aggregator's mirror follows whatever the order across lanes.
 *
 * Replacing an object: the new slot goes live, then the old one is freed. In
 * between both are live with one key, and so they are when two threads allocate the
 * same id at once. Who stands is decided by the turn: a new object's is one more
 * than that of any it found, ties go to the higher slot. Everybody who sees a pair
 * frees the earlier one; the latest is never freed by this. An object inserts itself
 * before it looks, so each pair is seen at least once. Objects of a closed epoch are
 * orphans: they take no part in this.
 *
 * A kernel loaded again with the same size and cores is a dispatch. When two threads
 * load it first at once, one of the two slots is given up "uncounted": the records
 * tell the mirror, and the counters show one load and one dispatch.
 *
 * This header is the way that nearly every event takes, inlined into the hooks so
 * that constants fold; object.c is everything else. All of it is lock-free, runs
 * inside a hook and works on one device entry.
 */
#ifndef TTM_RECORD_OBJECT_H
#define TTM_RECORD_OBJECT_H

#include "record/account.h"
#include "record/index.h"
#include "record/lane.h"
#include "record/note.h"
#include "record/process.h"
#include "record/scope.h"
#include "record/supply.h"

/* A live slot as it was at one moment, and where the index has it. */
struct ttm_found {
	uint64_t *place;
	uint32_t slot;
	struct ttm_words words;
};

/* A put on its way. `mine` is the new object; its words are set first of all. */
struct ttm_put {
	struct ttm_hook hook;
	struct ttm_device *device;
	struct ttm_block_device *block;
	uint64_t era;
	struct ttm_key key;
	struct ttm_found mine;
};

/* -- object.c: what is rare, by value: see seat.h --------------------------------- */

/* The object to free, in whatever level or epoch; place NULL if there is none. */
struct ttm_found ttm_key_find_anywhere(
	struct ttm_process *process, struct ttm_key key, uint64_t era);

/* A free that could not be recorded; one of an unknown object, in its operation. */
void ttm_remove_lost(
	struct ttm_hook hook, unsigned device, unsigned figure, uint64_t id);
void ttm_remove_unknown(
	struct ttm_hook hook, unsigned device, unsigned figure, uint64_t id);

void ttm_put_lost(struct ttm_put put, enum ttmem_loss reason);
void ttm_put_without_index(struct ttm_put put);

/* Entered without a look, and there may be others with its key. */
void ttm_put_meets(struct ttm_put put);

/* Looks before it enters: for what is often replaced, or dispatched again. */
void ttm_put_carefully(struct ttm_put put);

/* All CBs of a program and its kernel; all CBs of a device. */
void ttm_object_remove_program(
	struct ttm_hook *hook, unsigned device, uint64_t program);
void ttm_object_remove_cbs(struct ttm_hook *hook, unsigned device);

/* -- finding ----------------------------------------------------------------------- */

/* Copies a slot that is live; false if it is not, or changed under our hands. */
static TTM_INLINE bool slot_read(
	struct ttm_process *process, uint32_t slot, struct ttm_words *ret_words)
{
	const struct ttm_words *shared = ttm_slot_at(process, slot);
	unsigned i;

	/* pairs(slot): acquire, with slot_write: the body is whole */
	ret_words->w[0] = ttm_load_acquire(&shared->w[0]);
	if (TTM_UNLIKELY(TTM_W0_STATE(ret_words->w[0]) != TTM_SLOT_LIVE))
		return false;
		/* relaxed: a change in between shows in w0, and the CAS of slot_free
	 * would fail */
#pragma GCC unroll 7
	for (i = 1; i < 8; i++)
		ret_words->w[i] = ttm_load(&shared->w[i]);
	/* pairs(slot-reuse): acquire, with slot_write's fence: no newer body
	 * without a newer w0 */
	ttm_fence_acquire();
	return ttm_load(&shared->w[0]) == ret_words->w[0];
}

static TTM_INLINE bool words_have_key(
	const struct ttm_words *words, const struct ttm_key *key)
{
	unsigned w1 = TTM_W1_KEY(words->w[1]);

	return words->w[2] == key->id &&
		((words->w[5] ^ key->program) & key->program_mask) == 0 &&
		(w1 == key->w1 || w1 == key->w1_or || w1 == key->w1_or_else);
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

static TTM_INLINE bool entry_leads_to(struct ttm_process *process,
	uint64_t *place, uint64_t entry, const struct ttm_key *key,
	struct ttm_found *ret_found)
{
	ret_found->place = place;
	ret_found->slot = ttm_entry_slot(entry);
	return slot_read(process, ret_found->slot, &ret_found->words) &&
		words_have_key(&ret_found->words, key) &&
		entry_stands(place, entry);
}

static TTM_INLINE bool found_is_of(const struct ttm_found *found, uint64_t era)
{
	return TTM_W1_EPOCH(found->words.w[1]) == (uint16_t)TTM_ERA_EPOCH(era);
}

/* Nearly always the first entry with its tag in the first bucket. */
static TTM_INLINE bool key_find(struct ttm_process *process,
	const struct ttm_key *key, uint64_t era, struct ttm_found *ret_found)
{
	struct ttm_bucket *bucket = ttm_level_bucket(
		ttm_level_newest(process), key->bucket_hash);
	uint64_t entry;
	unsigned at;

	entry = ttm_bucket_find(bucket, key->tag, &at);
	if (TTM_LIKELY(entry &&
		    entry_leads_to(process, &bucket->entries[at], entry, key,
			    ret_found) &&
		    found_is_of(ret_found, era)))
		return true;
	*ret_found = ttm_key_find_anywhere(process, *key, era);
	return ret_found->place != NULL;
}

/*
 * The lines that the event will need are on their way while the clock is read,
 * which holds up everything behind it.
 */
static TTM_INLINE void event_prefetch(
	const struct ttm_hook *hook, const struct ttm_key *key)
{
	const struct ttm_lane *lane = hook->lane;

	__builtin_prefetch(ttm_level_bucket(ttm_level_newest(hook->process),
				   key->bucket_hash),
		1);
	__builtin_prefetch(&lane->records[lane->tail % TTM_LANE_RECORDS], 1);
}

/* -- the end of an object -------------------------------------------------------- */

/* Of all who try, one gets true: it owns the slot then. */
static TTM_INLINE bool slot_free(
	struct ttm_process *process, const struct ttm_found *found)
{
	struct ttm_words *shared = ttm_slot_at(process, found->slot);
	uint64_t live = found->words.w[0];

	/* pairs(slot): full, with slot_read and the aggregator's scan */
	if (TTM_UNLIKELY(!ttm_cas(&shared->w[0], live,
		    TTM_W0(TTM_W0_GENERATION(live) + 1, TTM_SLOT_FREE))))
		return false;
	TTM_TESTPOINT("slot freed");
	ttm_index_clear(found->place);
	return true;
}

static TTM_INLINE void free_write(struct ttm_hook *hook,
	const struct ttm_found *found, unsigned flags, uint64_t now)
{
	const uint64_t *w = found->words.w;

	ttm_lane_write(hook->lane, 0,
		TTM_W0(TTM_W0_GENERATION(w[0]) + 1, TTM_SLOT_FREE),
		TTM_W1_AS_RECORD(w[1], flags, TTM_RECORD_FREE), now,
		&found->words);
}

static TTM_INLINE void free_commit(struct ttm_hook *hook,
	const struct ttm_found *found, unsigned flags, uint64_t now)
{
	free_write(hook, found, flags, now);
	ttm_lane_end(hook->lane, 1);
	ttm_supply_put(hook->process, hook->lane, found->slot);
}

static TTM_INLINE void free_count(struct ttm_hook *hook,
	struct ttm_device *device, struct ttm_block_device *block,
	const struct ttm_found *found, unsigned flags)
{
	unsigned figure = TTM_W1_FIGURE(found->words.w[1]);
	uint64_t era = ttm_device_era(device);
	bool orphaned = !found_is_of(found, era);

	ttm_account_free(device, block, figure, era,
		ttm_words_bytes(&found->words), orphaned);
	if (TTM_UNLIKELY(orphaned))
		ttm_anomaly_count(hook, TTMEM_ANOMALY_LATE_FREE);
	if (TTM_UNLIKELY(flags & TTM_FLAG_REPLACED) && figure < TTMEM_FIGURE_CB)
		ttm_anomaly_count(hook, TTMEM_ANOMALY_ALLOC_LIVE);
	TTM_TESTPOINT("free counted");
}

static TTM_INLINE void ttm_object_remove(struct ttm_hook *hook, unsigned device,
	unsigned figure, uint64_t program, uint64_t id)
{
	struct ttm_device *entry = &hook->process->devices[device];
	struct ttm_block_device *block = ttm_lane_block(
		hook->process, hook->lane, device);
	struct ttm_found found;
	struct ttm_key key;
	uint64_t now;

	ttm_key_set(&key, device, figure, program, id);
	event_prefetch(hook, &key);
	now = ttm_clock_now();
	if (TTM_UNLIKELY(!block)) {
		ttm_remove_lost(*hook, device, figure, id);
		return;
	}
	ttm_lane_begin(hook->lane);
	while (key_find(hook->process, &key, ttm_device_era(entry), &found)) {
		if (!slot_free(hook->process, &found))
			continue;
		free_count(hook, entry, block, &found, 0);
		free_commit(hook, &found, 0, now);
		return;
	}
	ttm_remove_unknown(*hook, device, figure, id);
}

/* -- the beginning of an object ---------------------------------------------------- */

static TTM_INLINE void slot_write(
	struct ttm_process *process, uint32_t slot, struct ttm_words *words)
{
	struct ttm_words *shared = ttm_slot_at(process, slot);
	/* relaxed: a free slot belongs to whoever took it */
	uint64_t generation = TTM_W0_GENERATION(ttm_load(&shared->w[0]));
	unsigned i;

	ttm_store(&shared->w[0], TTM_W0(generation + 1, TTM_SLOT_WRITING));
	/* pairs(slot-reuse): release, with slot_read and the aggregator's
	 * scan: no part of the new body is seen with the old w0 */
	ttm_fence_release();
	TTM_TESTPOINT("slot writing");
#pragma GCC unroll 7
	for (i = 1; i < 8; i++)
		ttm_store(&shared->w[i], words->w[i]);
	words->w[0] = TTM_W0(generation + 2, TTM_SLOT_LIVE);
	/* pairs(slot): release, with slot_read and the aggregator's scan: the
	 * body is whole */
	ttm_store_release(&shared->w[0], words->w[0]);
	TTM_TESTPOINT("slot live");
}

static TTM_INLINE void alloc_count(struct ttm_put *put)
{
	ttm_account_alloc(put->device, put->block,
		TTM_W1_FIGURE(put->mine.words.w[1]), put->era,
		ttm_words_bytes(&put->mine.words));
	TTM_TESTPOINT("alloc counted");
}

static TTM_INLINE void alloc_write(
	struct ttm_put *put, unsigned ahead, unsigned flags)
{
	const uint64_t *w = put->mine.words.w;

	ttm_lane_write(put->hook.lane, ahead, w[0],
		TTM_W1_AS_RECORD(w[1], flags, TTM_RECORD_ALLOC), w[3],
		&put->mine.words);
}

static TTM_INLINE void alloc_count_commit(struct ttm_put *put)
{
	alloc_count(put);
	alloc_write(put, 0, 0);
	ttm_lane_end(put->hook.lane, 1);
}

/* Slot and index entry; nothing is counted yet. False if that failed. */
static TTM_INLINE bool put_enter(struct ttm_put *put, uint8_t turn)
{
	struct ttm_hook *hook = &put->hook;
	uint64_t *w1 = &put->mine.words.w[1];

	if (TTM_UNLIKELY(!ttm_supply_take(
		    hook->process, hook->lane, &put->mine.slot))) {
		ttm_put_lost(*put, TTMEM_LOSS_NO_SLOT);
		return false;
	}
	*w1 = TTM_W1_WITH(*w1, put->mine.slot, turn);
	ttm_lane_begin(hook->lane);
	slot_write(hook->process, put->mine.slot, &put->mine.words);
	put->mine.place = ttm_index_insert(hook->process, put->key.bucket_hash,
		ttm_entry(&put->key, put->mine.slot));
	TTM_TESTPOINT("index entered");
	if (TTM_UNLIKELY(!put->mine.place)) {
		ttm_put_without_index(*put);
		return false;
	}
	return true;
}

static TTM_INLINE bool put_may_have_rivals(const struct ttm_put *put)
{
	return ttm_index_may_have(put->hook.process, put->key.bucket_hash,
		put->key.tag, ttm_entry(&put->key, put->mine.slot));
}

struct ttm_object {
	unsigned figure;
	unsigned flags; /* enum ttm_flag */
	uint32_t cores; /* 0 for a buffer */
	uint64_t id;
	uint64_t address;
	uint64_t size;    /* CB: per core; kernel: of the binary */
	uint64_t program; /* buffer: charged bytes */
};

static TTM_INLINE void words_set(
	struct ttm_put *put, unsigned device, const struct ttm_object *object)
{
	struct ttm_scope scope = ttm_scope_now(put->hook.seat);
	uint64_t *w = put->mine.words.w;

	w[1] = TTM_W1(0, TTM_ERA_EPOCH(put->era), device, object->figure,
		object->flags | scope.flags, 0);
	w[2] = object->id;
	w[3] = object->address;
	w[4] = object->size;
	w[5] = object->program;
	w[6] = ttm_clock_now();
	w[7] = TTM_W7(scope.name, 0, object->cores);
}

/*
 * A buffer enters at once and looks then: an id that was live already is an anomaly
 * and may cost more.
 */
static TTM_INLINE void ttm_object_put(const struct ttm_hook *hook,
	unsigned device, const struct ttm_object *object)
{
	struct ttm_put put;

	put.hook = *hook;
	ttm_key_set(
		&put.key, device, object->figure, object->program, object->id);
	event_prefetch(hook, &put.key);
	ttm_supply_prefetch(hook->process, hook->lane);
	put.device = &hook->process->devices[device];
	put.block = ttm_lane_block(hook->process, hook->lane, device);
	put.era = ttm_device_era(put.device);
	words_set(&put, device, object);
	if (TTM_UNLIKELY(!put.block))
		ttm_put_lost(put, TTMEM_LOSS_NO_SLOT);
	else if (object->figure >= TTMEM_FIGURE_CB)
		ttm_put_carefully(put);
	else if (put_enter(&put, 0)) {
		if (TTM_UNLIKELY(put_may_have_rivals(&put)))
			ttm_put_meets(put);
		else
			alloc_count_commit(&put);
	}
}

#endif
