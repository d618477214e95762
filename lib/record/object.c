/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * The life of an object, in the order in which others may see it:
 *
 *   put     intent; slot writing, body, live; index; counters; ALLOC; tail
 *   remove  intent; slot free (CAS: one winner); index; counters; FREE; tail;
 *           only then is the slot used again
 *
 * Each transition of a slot has a record with the generation it produced, so that
 * the aggregator's mirror follows whatever the order across lanes.
 *
 * Replacing an object: the new slot goes live, then the old one is freed. In
 * between both are live with one key, and so they are when two threads allocate the
 * same id at once. Who stands is decided by the turn: a new
 * object's is one more than that of any it found, ties go to the higher slot.
 * Everybody who sees a pair frees the earlier one; the latest is never freed by
 * this. An object inserts itself before it looks, so each pair is seen at least
 * once. Objects of a closed epoch are orphans: they take no part in this.
 *
 * A kernel loaded again with the same size and cores is a dispatch. When two
 * threads load it first at once, one of the two slots is given up "uncounted":
 * the records tell the mirror, and the counters show one load and one dispatch.
 */
#include "record/object.h"

#include "record/account.h"
#include "record/index.h"
#include "record/lane.h"
#include "record/note.h"
#include "record/scope.h"
#include "record/supply.h"

/* A live slot as it was at one moment, and where the index has it. */
struct found {
	uint64_t *place;
	uint32_t slot;
	struct ttm_words words;
};

/* A put on its way. */
struct put {
	struct ttm_hook *hook;
	struct ttm_device *device;
	struct ttm_block_device *block;
	const struct ttm_object *object;
	uint64_t era;
	struct ttm_key key;
	struct found mine;
};

/* -- finding ----------------------------------------------------------------------- */

/* Copies a slot that is live; false if it is not, or changed under our hands. */
static inline bool slot_read(
	struct ttm_process *process, uint32_t slot, struct ttm_words *ret_words)
{
	const struct ttm_words *shared = ttm_slot_at(process, slot);
	unsigned i;

	/* pairs(slot): acquire, with slot_write: the body is whole */
	ret_words->w[0] = ttm_load_acquire(&shared->w[0]);
	if (TTM_W0_STATE(ret_words->w[0]) != TTM_SLOT_LIVE)
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

static inline bool words_have_key(
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
static inline bool entry_stands(const uint64_t *place, uint64_t entry)
{
	/* relaxed: after slot_read's acquire */
	return ttm_load(place) == entry;
}

static inline bool entry_leads_to(struct ttm_process *process, uint64_t *place,
	uint64_t entry, const struct ttm_key *key, struct found *ret_found)
{
	ret_found->place = place;
	ret_found->slot = ttm_entry_slot(entry);
	return slot_read(process, ret_found->slot, &ret_found->words) &&
		words_have_key(&ret_found->words, key) &&
		entry_stands(place, entry);
}

/*
 * The next live object with this key, of whatever epoch, in another slot than
 * `except`.
 */
static bool found_next(struct ttm_process *process, struct ttm_probe *probe,
	const struct ttm_key *key, uint32_t except, struct found *ret_found)
{
	uint64_t *place, entry = 0;

	while ((place = ttm_probe_next(probe, &entry)) != NULL)
		if ((entry ^ key->tag) >> 24 == 0 &&
			ttm_entry_slot(entry) != except &&
			entry_leads_to(process, place, entry, key, ret_found))
			return true;
	return false;
}

static inline bool found_is_of(const struct found *found, uint64_t era)
{
	return TTM_W1_EPOCH(found->words.w[1]) == (uint16_t)TTM_ERA_EPOCH(era);
}

/* -- the end of an object -------------------------------------------------------- */

/* Of all who try, one gets true: it owns the slot then. */
static inline bool slot_free(
	struct ttm_process *process, const struct found *found)
{
	struct ttm_words *shared = ttm_slot_at(process, found->slot);
	uint64_t live = found->words.w[0];

	/* pairs(slot): full, with slot_read and the aggregator's scan */
	if (!ttm_cas(&shared->w[0], live,
		    TTM_W0(TTM_W0_GENERATION(live) + 1, TTM_SLOT_FREE)))
		return false;
	TTM_TESTPOINT("slot freed");
	ttm_index_clear(found->place);
	return true;
}

/* Makes the record out of what was found. */
static inline void free_commit(
	struct ttm_hook *hook, struct found *found, unsigned flags)
{
	uint64_t *w = found->words.w;

	w[0] = TTM_W0(TTM_W0_GENERATION(w[0]) + 1, TTM_SLOT_FREE);
	w[1] = TTM_W1_AS_RECORD(w[1], flags, TTM_RECORD_FREE);
	w[3] = hook->now;
	ttm_lane_commit(hook->lane, &found->words);
	ttm_supply_put(hook->process, hook->lane, found->slot);
}

static TTM_INLINE void free_count(struct ttm_hook *hook,
	struct ttm_block_device *block, const struct found *found,
	unsigned flags)
{
	unsigned entry = TTM_W1_DEVICE(found->words.w[1]);
	unsigned figure = TTM_W1_FIGURE(found->words.w[1]);
	struct ttm_device *device = &hook->process->devices[entry];
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

/* An operation of its own; somebody else may be faster. */
static void found_end(struct ttm_hook *hook, struct ttm_block_device *block,
	struct found *found, unsigned flags)
{
	ttm_lane_begin(hook->lane);
	if (!slot_free(hook->process, found)) {
		noop_commit(hook);
		return;
	}
	free_count(hook, block, found, flags);
	free_commit(hook, found, flags);
}

/*
 * The one to free: of the current epoch if there is one, else an orphan. Objects
 * of the current epoch with one key are the same object to the caller.
 */
static TTM_COLD bool key_find_anywhere(struct ttm_hook *hook,
	const struct ttm_key *key, uint64_t era, struct found *ret_found)
{
	struct found orphan = { 0 };
	struct ttm_probe probe;

	ttm_probe_start(&probe, hook->process, key->bucket_hash);
	while (found_next(
		hook->process, &probe, key, TTM_SLOT_NONE, ret_found)) {
		if (found_is_of(ret_found, era))
			return true;
		orphan = *ret_found;
	}
	*ret_found = orphan;
	return orphan.place != NULL;
}

/* Nearly always the first entry with its tag in the first bucket. */
static TTM_INLINE bool key_find(struct ttm_hook *hook,
	const struct ttm_key *key, uint64_t era, struct found *ret_found)
{
	struct ttm_probe probe;
	uint64_t entry;
	unsigned at;

	ttm_probe_start(&probe, hook->process, key->bucket_hash);
	entry = ttm_bucket_find(probe.bucket, key->tag, &at);
	if (TTM_LIKELY(entry &&
		    entry_leads_to(hook->process, &probe.bucket->entries[at],
			    entry, key, ret_found) &&
		    found_is_of(ret_found, era)))
		return true;
	return key_find_anywhere(hook, key, era, ret_found);
}

/* Within an operation that has begun; false if there is no such object. */
static bool key_remove(struct ttm_hook *hook, unsigned device,
	struct ttm_block_device *block, const struct ttm_key *key)
{
	uint64_t era = ttm_device_era(&hook->process->devices[device]);
	struct found found;

	while (key_find(hook, key, era, &found)) {
		if (TTM_UNLIKELY(!slot_free(hook->process, &found)))
			continue;
		free_count(hook, block, &found, 0);
		free_commit(hook, &found, 0);
		return true;
	}
	return false;
}

void ttm_object_remove(struct ttm_hook *hook, unsigned device, unsigned figure,
	uint64_t program, uint64_t id)
{
	struct ttm_block_device *block = ttm_lane_block(
		hook->process, hook->lane, device);
	struct ttm_key key;

	if (TTM_UNLIKELY(!block)) {
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, device, figure, id, 0);
		return;
	}
	ttm_key_set(&key, device, figure, program, id);
	ttm_lane_begin(hook->lane);
	if (TTM_UNLIKELY(!key_remove(hook, device, block, &key)))
		ttm_anomaly_commit(
			hook, TTMEM_ANOMALY_FREE_UNKNOWN, device, figure, id);
}

/* The chain of a program's bucket may hold CBs of others. */
static bool cb_is_of(
	const struct ttm_words *words, unsigned device, uint64_t program)
{
	return TTM_W1_FIGURE(words->w[1]) == TTMEM_FIGURE_CB &&
		TTM_W1_DEVICE(words->w[1]) == device && words->w[5] == program;
}

void ttm_object_remove_program(
	struct ttm_hook *hook, unsigned device, uint64_t program)
{
	struct ttm_block_device *block = ttm_lane_block(
		hook->process, hook->lane, device);
	uint64_t era = ttm_device_era(&hook->process->devices[device]);
	struct ttm_probe probe;
	struct found found;
	struct ttm_key key;
	uint64_t entry = 0;

	if (!block) {
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, device, TTM_FIGURE_NONE,
			program, 0);
		return;
	}
	ttm_key_set(&key, device, TTMEM_FIGURE_CB, program, 0);
	ttm_probe_start(&probe, hook->process, key.bucket_hash);
	while ((found.place = ttm_probe_next(&probe, &entry)) != NULL) {
		found.slot = ttm_entry_slot(entry);
		if (slot_read(hook->process, found.slot, &found.words) &&
			cb_is_of(&found.words, device, program) &&
			entry_stands(found.place, entry))
			found_end(hook, block, &found, 0);
	}
	ttm_key_set(&key, device, TTMEM_FIGURE_KERNEL, 0, program);
	if (key_find(hook, &key, era, &found))
		found_end(hook, block, &found, 0);
}

/* A slot met in a scan: where the index has it. */
static bool found_locate(struct ttm_process *process, struct found *found)
{
	uint64_t w1 = found->words.w[1];
	struct ttm_probe probe;
	struct ttm_key key;
	uint64_t entry = 0;

	ttm_key_set(&key, TTM_W1_DEVICE(w1), TTM_W1_FIGURE(w1),
		found->words.w[5], found->words.w[2]);
	ttm_probe_start(&probe, process, key.bucket_hash);
	while ((found->place = ttm_probe_next(&probe, &entry)) != NULL)
		if (entry == ttm_entry(&key, found->slot))
			return true;
	return false; /* freed meanwhile, or not inserted yet */
}

void ttm_object_remove_cbs(struct ttm_hook *hook, unsigned device)
{
	struct ttm_block_device *block = ttm_lane_block(
		hook->process, hook->lane, device);
	struct found found;
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
				found_end(hook, block, &found, 0);
		}
	}
}

/* -- the beginning of an object ---------------------------------------------------- */

static bool is_later(const struct found *a, const struct found *b)
{
	int8_t turns = (int8_t)(TTM_W1_TURN(a->words.w[1]) -
		TTM_W1_TURN(b->words.w[1]));

	return turns ? turns > 0 : a->slot > b->slot;
}

/* A kernel with the same type, size and cores: loading it is a dispatch. */
static bool is_same_kernel(
	const struct ttm_words *words, const struct ttm_object *object)
{
	return object->figure >= TTMEM_FIGURE_KERNEL &&
		TTM_W1_FIGURE(words->w[1]) == object->figure &&
		words->w[4] == object->size &&
		TTM_W7_CORES(words->w[7]) == object->cores;
}

static void dispatch_count(struct put *put, const struct found *found)
{
	struct ttm_note note = {
		.type = TTM_RECORD_DISPATCH,
		.device = TTM_W1_DEVICE(found->words.w[1]),
		.figure = put->object->figure,
		.slot = found->slot,
		.epoch = TTM_W1_EPOCH(found->words.w[1]),
		.w2 = put->object->id,
	};
	unsigned type = put->object->figure - TTMEM_FIGURE_KERNEL;

	ttm_lane_begin(put->hook->lane);
	ttm_own_add(&put->block->dispatches[type], 1);
	TTM_TESTPOINT("dispatch counted");
	ttm_note_commit(put->hook, &note);
}

/* What is live under the key now: a dispatch, or the turn of the new object. */
static bool put_is_dispatch(struct put *put, uint8_t *ret_turn)
{
	struct ttm_probe probe;
	struct found found;
	uint8_t turn = 0;

	ttm_probe_start(&probe, put->hook->process, put->key.bucket_hash);
	while (found_next(
		put->hook->process, &probe, &put->key, TTM_SLOT_NONE, &found)) {
		if (!found_is_of(&found, put->era))
			continue;
		if (is_same_kernel(&found.words, put->object)) {
			dispatch_count(put, &found);
			return true;
		}
		turn = (uint8_t)(TTM_W1_TURN(found.words.w[1]) + 1);
	}
	*ret_turn = turn;
	return false;
}

static inline void words_set(struct put *put, unsigned device, uint8_t turn)
{
	const struct ttm_object *object = put->object;
	struct ttm_scope scope = ttm_scope_now(put->hook->seat);
	uint64_t *w = put->mine.words.w;

	w[1] = TTM_W1(put->mine.slot, TTM_ERA_EPOCH(put->era), device,
		object->figure, object->flags | scope.flags, turn);
	w[2] = object->id;
	w[3] = object->address;
	w[4] = object->size;
	w[5] = object->program;
	w[6] = put->hook->now;
	w[7] = TTM_W7(scope.name, 0, object->cores);
}

static inline void slot_write(
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

static inline void alloc_commit(struct put *put, unsigned flags)
{
	uint64_t *w = put->mine.words.w, w1 = w[1];

	w[1] = TTM_W1_AS_RECORD(w1, flags, TTM_RECORD_ALLOC);
	ttm_lane_commit(put->hook->lane, &put->mine.words);
	w[1] = w1; /* with the turn: rivals may be compared yet */
}

static inline void alloc_count(struct put *put)
{
	ttm_account_alloc(put->device, put->block, put->object->figure,
		put->era, put->object->bytes);
	TTM_TESTPOINT("alloc counted");
}

static inline void alloc_count_commit(struct put *put)
{
	alloc_count(put);
	alloc_commit(put, 0);
}

enum rival {
	RIVAL_EARLIER,
	RIVAL_LATER,
};

/* Another object with our key, live and of our epoch. */
static bool rival_next(struct put *put, struct ttm_probe *probe,
	enum rival wanted, struct found *ret_found)
{
	enum rival rival;

	while (found_next(put->hook->process, probe, &put->key, put->mine.slot,
		ret_found)) {
		if (!found_is_of(ret_found, put->era))
			continue;
		rival = is_later(ret_found, &put->mine) ? RIVAL_LATER :
							  RIVAL_EARLIER;
		if (rival == wanted)
			return true;
	}
	return false;
}

static bool rival_find(
	struct put *put, enum rival wanted, struct found *ret_found)
{
	struct ttm_probe probe;

	ttm_probe_start(&probe, put->hook->process, put->key.bucket_hash);
	return rival_next(put, &probe, wanted, ret_found);
}

/* The slot goes back as if nothing had been; false if somebody else freed it. */
static bool put_withdraw(struct put *put)
{
	if (!slot_free(put->hook->process, &put->mine))
		return false;
	free_commit(put->hook, &put->mine, TTM_FLAG_UNCOUNTED);
	return true;
}

/* A later object of our key is live: ours was replaced before it was counted. */
static void put_superseded(struct put *put, const struct found *later)
{
	if (!is_same_kernel(&later->words, put->object)) {
		alloc_count_commit(put);
		found_end(put->hook, put->block, &put->mine, TTM_FLAG_REPLACED);
		return;
	}
	if (put_withdraw(put))
		dispatch_count(put, later);
	else
		alloc_count_commit(put); /* the later one took ours over */
}

/* The kernel was loaded by another thread a moment ago: its load stands. */
static bool put_takes_over(struct put *put)
{
	struct ttm_probe probe;
	struct found earlier;

	ttm_probe_start(&probe, put->hook->process, put->key.bucket_hash);
	while (rival_next(put, &probe, RIVAL_EARLIER, &earlier)) {
		if (!is_same_kernel(&earlier.words, put->object) ||
			!slot_free(put->hook->process, &earlier))
			continue;
		free_commit(put->hook, &earlier, TTM_FLAG_UNCOUNTED);
		ttm_lane_begin(put->hook->lane);
		alloc_commit(put, TTM_FLAG_UNCOUNTED);
		dispatch_count(put, &put->mine);
		return true;
	}
	return false;
}

/*
 * The counters change for both before the first of the two records goes out: in
 * between all agree, and the peak does not hold the two together.
 */
static bool put_replaces(struct put *put)
{
	struct found earlier;

	if (!rival_find(put, RIVAL_EARLIER, &earlier) ||
		!slot_free(put->hook->process, &earlier))
		return false;
	free_count(put->hook, put->block, &earlier, TTM_FLAG_REPLACED);
	alloc_count(put);
	free_commit(put->hook, &earlier, TTM_FLAG_REPLACED);
	ttm_lane_begin(put->hook->lane);
	alloc_commit(put, 0);
	return true;
}

/* There may be other live objects with our key: see the top of this file. */
static TTM_COLD void put_settle(struct put *put)
{
	struct ttm_probe probe;
	struct found other;

	if (rival_find(put, RIVAL_LATER, &other)) {
		put_superseded(put, &other);
		return;
	}
	if (!put_takes_over(put) && !put_replaces(put))
		alloc_count_commit(put);
	ttm_probe_start(&probe, put->hook->process, put->key.bucket_hash);
	while (rival_next(put, &probe, RIVAL_EARLIER, &other))
		found_end(put->hook, put->block, &other, TTM_FLAG_REPLACED);
}

static TTM_COLD void put_no_index(struct put *put, unsigned device)
{
	uint64_t nowhere = 0;

	put->mine.place = &nowhere;
	put_withdraw(put);
	ttm_loss(put->hook, TTMEM_LOSS_NO_INDEX, device, put->object->figure,
		put->object->id, put->object->bytes);
}

/* Not counted yet: its slot and its index entry only. False if that failed. */
static TTM_INLINE bool put_enter(struct put *put, unsigned device, uint8_t turn)
{
	struct ttm_hook *hook = put->hook;

	if (TTM_UNLIKELY(!ttm_supply_take(
		    hook->process, hook->lane, &put->mine.slot))) {
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, device, put->object->figure,
			put->object->id, put->object->bytes);
		return false;
	}
	ttm_lane_begin(hook->lane);
	words_set(put, device, turn);
	slot_write(hook->process, put->mine.slot, &put->mine.words);
	put->mine.place = ttm_index_insert(hook->process, put->key.bucket_hash,
		ttm_entry(&put->key, put->mine.slot));
	TTM_TESTPOINT("index entered");
	if (TTM_UNLIKELY(!put->mine.place)) {
		put_no_index(put, device);
		return false;
	}
	return true;
}

static inline bool put_may_have_rivals(const struct put *put)
{
	return ttm_index_may_have(put->hook->process, put->key.bucket_hash,
		put->key.tag, ttm_entry(&put->key, put->mine.slot));
}

/* Looks what is there before it enters: what is often replaced or dispatched. */
static TTM_SLOW void put_carefully(struct put *put, unsigned device)
{
	uint8_t turn = 0;

	if (ttm_index_may_have(put->hook->process, put->key.bucket_hash,
		    put->key.tag, 0) &&
		put_is_dispatch(put, &turn))
		return;
	if (!put_enter(put, device, turn))
		return;
	if (TTM_UNLIKELY(put_may_have_rivals(put)))
		put_settle(put);
	else
		alloc_count_commit(put);
}

/*
 * Enters at once and looks then. An id that was live already is an anomaly: it may
 * cost more, and starts anew as the careful kind.
 */
static inline void put_boldly(struct put *put, unsigned device)
{
	struct found rival;

	if (!put_enter(put, device, 0))
		return;
	if (TTM_UNLIKELY(put_may_have_rivals(put)) &&
		(rival_find(put, RIVAL_EARLIER, &rival) ||
			rival_find(put, RIVAL_LATER, &rival)) &&
		put_withdraw(put))
		put_carefully(put, device);
	else
		alloc_count_commit(put);
}

void ttm_object_put(
	struct ttm_hook *hook, unsigned device, const struct ttm_object *object)
{
	struct put put;

	put.hook = hook;
	put.object = object;
	put.device = &hook->process->devices[device];
	put.block = ttm_lane_block(hook->process, hook->lane, device);
	put.era = ttm_device_era(put.device);
	ttm_key_set(
		&put.key, device, object->figure, object->program, object->id);
	if (TTM_UNLIKELY(!put.block))
		ttm_loss(hook, TTMEM_LOSS_NO_SLOT, device, object->figure,
			object->id, object->bytes);
	else if (object->figure < TTMEM_FIGURE_CB)
		put_boldly(&put, device);
	else
		put_carefully(&put, device);
}
