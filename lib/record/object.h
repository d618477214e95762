/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * The life of an object, in the order in which others may see it:
 *
 *   put     intent; slot writing, body, live; index; counters; ALLOC; tail
 *   remove  intent; slot free (CAS: one winner); index; counters; FREE; tail;
 *           only then is the slot used again (in a group, see group.h, the CAS is
 *           before the slot, and the index follows the last one)
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
#include "record/find.h"
#include "record/group.h"
#include "record/index.h"
#include "record/lane.h"
#include "record/note.h"
#include "record/process.h"
#include "record/scope.h"
#include "record/supply.h"

/*
 * A put on its way. `mine` is the new object; its words are set first of all. The latest
 * that it saw before it entered it may end even if its own is gone by then: see
 * put_may_end(). w0 is 0 if there was nothing.
 */
struct ttm_put {
	struct ttm_hook hook;
	uint64_t before_w0;
	uint32_t before_slot;
	struct ttm_device *device;
	struct ttm_block_device *block;
	uint64_t era;
	struct ttm_key key;
	struct ttm_found mine;
};

/*
 * One of a group (see group.h) that has entered, in an octet with that word: whether it
 * met another of its key and was given up, as by ttm_put_meets. Nothing is counted or
 * recorded.
 */
bool ttm_put_yields(struct ttm_seat *seat, uint64_t era, uint64_t *place,
	uint64_t octet, const struct ttm_words *words);

struct ttm_spot;

/* -- put.c, object.c: what is rare, by value: see seat.h --------------------------------- */

/* The whole of it, where the usual way below does not go. */
void ttm_put_rarely(
	struct ttm_seat *seat, unsigned device, struct ttm_object object);
void ttm_remove_rarely(struct ttm_seat *seat, unsigned device, unsigned figure,
	uint64_t program, uint64_t id);

/*
 * The slot is live, and was entered without a look: there may be others with its key.
 * Its words are in the lane's next record. `place` NULL: not entered yet, for its
 * bucket was full, or contended.
 */
void ttm_put_meets(struct ttm_seat *seat, uint64_t era, uint64_t *place);

/* The same for a CB that replaced another, after both records are written. */
void ttm_put_met(struct ttm_seat *seat, uint64_t era, uint64_t *place,
	struct ttm_words words);

/*
 * Ends the put of an object that went live to replace the object `before`, when the usual
 * way failed: the bucket was full (`place` NULL), or `before` is gone.
 */
void ttm_put_settle(struct ttm_seat *seat, uint64_t era, uint64_t *place,
	struct ttm_words words, uint64_t before_w0, uint32_t before_slot);

/* All that the index has of a kernel, of whatever epoch. */
void ttm_kernel_remove_rest(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_key *key, uint64_t now);

/* Looks before it enters: for what is often replaced, or dispatched again. */
void ttm_put_carefully(struct ttm_seat *seat, unsigned device,
	struct ttm_object object, uint64_t now);

/*
 * The kind of buffer that has this id, first of the current epoch; DRAM if none. By
 * the time it is used another thread may have freed it.
 */
unsigned ttm_object_kind(
	struct ttm_process *process, unsigned device, uint64_t id);

/* -- arguments of the rare calls ------------------------------------------------ */

/*
 * Copied field by field, and only where the call is: a struct that is copied whole
 * would be kept in memory on the usual way, too.
 */
static TTM_INLINE struct ttm_object object_copy(const struct ttm_object *object)
{
	return (struct ttm_object){
		.figure = object->figure,
		.flags = object->flags,
		.cores = object->cores,
		.id = object->id,
		.address = object->address,
		.size = object->size,
		.program = object->program,
		.bytes = object->bytes,
	};
}

/* -- on the way ------------------------------------------------------------------ */

/*
 * One event on several devices has one time: then `now` points to it, else it is NULL.
 */
static TTM_INLINE uint64_t event_time(const uint64_t *now)
{
	return now ? *now : ttm_clock_now();
}

/* A device as an event finds it. */
struct ttm_spot {
	struct ttm_device *device;
	struct ttm_block_device *block; /* NULL: the lane has none yet */
	uint64_t era;
	uint64_t w1; /* epoch and device */
	unsigned entry;
};

static TTM_INLINE void spot_set(
	struct ttm_spot *ret_spot, const struct ttm_hook *hook, unsigned device)
{
	ret_spot->device = &hook->process->devices[device];
	ret_spot->block = ttm_lane_block_made(hook->lane, device);
	ret_spot->era = ttm_device_era(ret_spot->device);
	ret_spot->w1 = TTM_W1(0, TTM_ERA_EPOCH(ret_spot->era), device, 0, 0, 0);
	ret_spot->entry = device;
}

/* Where the index has a key, or will have it. */
struct ttm_way {
	struct ttm_key key;
	struct ttm_level *level; /* the newest */
	struct ttm_bucket *bucket;
};

/* `key` is on no device yet. */
static TTM_INLINE void way_set(struct ttm_way *ret_way,
	const struct ttm_hook *hook, const struct ttm_key *key, unsigned device)
{
	ret_way->key = *key;
	ttm_key_on(&ret_way->key, device);
	ret_way->level = ttm_level_newest(hook->process);
	ret_way->bucket = ttm_level_bucket(
		ret_way->level, ret_way->key.bucket_hash);
}

static TTM_INLINE uint64_t object_bytes(
	unsigned figure, unsigned flags, uint64_t size, uint64_t cores)
{
	if (figure < TTMEM_FIGURE_CB)
		return size;
	return flags & TTM_FLAG_BORROWED ? 0 : size * cores;
}

/* -- the end of an object -------------------------------------------------------- */

/* Of all who try, one gets true: it owns the slot then, and its body stands. */
static TTM_INLINE bool slot_free(struct ttm_words *shared, uint64_t live)
{
	/* pairs(slot): full, with slot_read and the aggregator's scan */
	if (TTM_UNLIKELY(!ttm_cas(&shared->w[0], live, TTM_W0_FREE(live))))
		return false;
	TTM_TESTPOINT("slot freed");
	return true;
}

/* Frees a slot that no other thread can free: claimed with its octet, or without an
 * index entry. */
static TTM_INLINE void slot_free_owned(struct ttm_words *shared, uint64_t live)
{
	/* pairs(slot): release, with slot_read and the aggregator's scan */
	ttm_store_release(&shared->w[0], TTM_W0_FREE(live));
	TTM_TESTPOINT("slot freed");
}

static TTM_INLINE bool seen_free(const struct ttm_seen *seen)
{
	if (TTM_UNLIKELY(!slot_free(seen->shared, seen->w0)))
		return false;
	ttm_index_clear(seen->place);
	return true;
}

/* What a free tells of an object that was seen, read before it is freed. */
struct ttm_rest {
	ttm_pair w4, w6; /* and the next */
	uint64_t bytes;
};

static TTM_INLINE void slot_rest(
	struct ttm_rest *ret_rest, const struct ttm_seen *seen, unsigned figure)
{
	const uint64_t *w = seen->shared->w;

	/* relaxed: the CAS shows whether they are of one object */
	ret_rest->w4 = ttm_pair_load(&w[4]);
	ret_rest->w6 = ttm_pair_load(&w[6]);
	ret_rest->bytes = object_bytes(figure, TTM_W1_FLAGS(seen->w1),
		ttm_load(&w[4]), TTM_W7_CORES(ttm_load(&w[7])));
}

static TTM_INLINE void rest_write(struct ttm_words *record, unsigned flags,
	uint64_t id, uint64_t now, const struct ttm_seen *seen,
	const struct ttm_rest *rest)
{
	/* relaxed: between the intent and the tail */
	ttm_pair_store(&record->w[0],
		ttm_pair_of(TTM_W0_FREE(seen->w0),
			TTM_W1_AS_RECORD(seen->w1, flags, TTM_RECORD_FREE)));
	ttm_pair_store(&record->w[2], ttm_pair_of(id, now));
	ttm_pair_store(&record->w[4], rest->w4);
	ttm_pair_store(&record->w[6], rest->w6);
	TTM_TESTPOINT("record written");
}

static TTM_INLINE void free_write(struct ttm_words *record, unsigned flags,
	uint64_t now, const struct ttm_words *words)
{
	ttm_record_write(record, TTM_W0_FREE(words->w[0]),
		TTM_W1_AS_RECORD(words->w[1], flags, TTM_RECORD_FREE), now,
		words);
}

/*
 * What was seen goes, in an operation that has begun; false if it went meanwhile, or
 * changed, and nothing has happened yet.
 */
static TTM_INLINE bool seen_end(const struct ttm_hook *hook,
	const struct ttm_spot *spot, unsigned figure, uint64_t id, uint64_t now,
	const struct ttm_seen *seen)
{
	struct ttm_rest rest;

	slot_rest(&rest, seen, figure);
	if (TTM_UNLIKELY(!seen_free(seen)))
		return false;
	if (figure >= TTMEM_FIGURE_KERNEL)
		figure = TTM_W1_FIGURE(seen->w1);
	ttm_account_free(spot->device, spot->block, figure, spot->era, 1,
		rest.bytes, false);
	TTM_TESTPOINT("free counted");
	rest_write(ttm_lane_record(hook->lane, 0), 0, id, now, seen, &rest);
	ttm_lane_end(hook->lane, 1);
	ttm_supply_put(hook->process, hook->lane, ttm_entry_slot(seen->entry),
		seen->shared);
	return true;
}

/* `key` is that of figure, program and id, on no device yet. */
static TTM_INLINE void ttm_object_remove(const struct ttm_hook *hook,
	unsigned device, unsigned figure, const struct ttm_key *key,
	const uint64_t *at)
{
	struct ttm_seen seen;
	struct ttm_spot spot;
	struct ttm_way way;
	uint64_t now;

	spot_set(&spot, hook, device);
	way_set(&way, hook, key, device);
	/* It is on its way while the clock is read, which holds up everything
	 * behind it. */
	ttm_prefetch_write(way.bucket);
	ttm_lane_begin(hook->lane);
	now = event_time(at);
	if (TTM_UNLIKELY(!spot.block ||
		    !key_point(hook->process, way.bucket, &way.key, &seen) ||
		    !key_glance(&way.key, spot.era, &seen) ||
		    !seen_end(hook, &spot, figure, key->id, now, &seen)))
		ttm_remove_rarely(
			hook->seat, device, figure, key->program, key->id);
}

/* -- the beginning of an object ---------------------------------------------------- */

/* The slot's body but for w6 and w7; sets words->w[0], with which it will be live. */
static TTM_INLINE void slot_begin(
	struct ttm_words *shared, struct ttm_words *words)
{
	/* relaxed: a free slot belongs to whoever took it */
	uint64_t writing = TTM_W0_WRITING(ttm_load(&shared->w[0]));

	ttm_store(&shared->w[0], writing);
	/* pairs(slot-reuse): release, with slot_read and the aggregator's
	 * scan: no part of the new body is seen with the old w0 */
	ttm_fence_release();
	TTM_TESTPOINT("slot writing");
	ttm_store(&shared->w[1], words->w[1]);
	ttm_pair_store(&shared->w[2], ttm_pair_of(words->w[2], words->w[3]));
	ttm_pair_store(&shared->w[4], ttm_pair_of(words->w[4], words->w[5]));
	words->w[0] = TTM_W0_LIVE(writing);
}

static TTM_INLINE void slot_end(
	struct ttm_words *shared, const struct ttm_words *words)
{
	ttm_pair_store(&shared->w[6], ttm_pair_of(words->w[6], words->w[7]));
	/* pairs(slot): release, with slot_read and the aggregator's scan: the
	 * body is whole */
	ttm_store_release(&shared->w[0], words->w[0]);
	TTM_TESTPOINT("slot live");
}

/* All but w6 and w7. */
static TTM_INLINE void alloc_begin(
	struct ttm_words *record, unsigned flags, const struct ttm_words *words)
{
	ttm_record_begin(record, words->w[0],
		TTM_W1_AS_RECORD(words->w[1], flags, TTM_RECORD_ALLOC),
		words->w[3], words);
}

/* An object on no device yet: what is the same on all members of a mesh. */
struct ttm_draft {
	struct ttm_key key;
	struct ttm_words
		words; /* w1: figure and flags; w0 and w6 are not set */
	uint64_t bytes;
};

static TTM_INLINE void draft_fill(struct ttm_draft *draft,
	const struct ttm_seat *seat, const struct ttm_object *object)
{
	struct ttm_scope scope = ttm_scope_now(seat);
	uint64_t *w = draft->words.w;

	draft->bytes = object->bytes;
	w[1] = TTM_W1(0, 0, 0, object->figure, object->flags | scope.flags, 0);
	w[2] = object->id;
	w[3] = object->address;
	w[4] = object->size;
	w[5] = object->program;
	w[7] = TTM_W7(scope.name, 0, object->cores);
}

/* A kernel's is filled when it turns out to be new. */
static TTM_INLINE void draft_set(struct ttm_draft *ret_draft,
	const struct ttm_seat *seat, const struct ttm_object *object)
{
	ttm_key_begin(
		&ret_draft->key, object->figure, object->program, object->id);
	if (object->figure < TTMEM_FIGURE_KERNEL)
		draft_fill(ret_draft, seat, object);
}

/* w1 of a draft on a device, in a slot. */
static TTM_INLINE uint64_t draft_w1(const struct ttm_draft *draft,
	const struct ttm_spot *spot, uint32_t slot, uint8_t turn)
{
	return draft->words.w[1] | spot->w1 | TTM_W1(slot, 0, 0, 0, 0, turn);
}

static TTM_INLINE struct ttm_words words_copy(const struct ttm_words *words)
{
	return (struct ttm_words){ {
		words->w[0],
		words->w[1],
		words->w[2],
		words->w[3],
		words->w[4],
		words->w[5],
		words->w[6],
		words->w[7],
	} };
}

/*
 * Enters at once and looks then: what is live already, an anomaly for a buffer, may
 * cost more. All that can be written before the clock is read is written then, for
 * reading it takes as long as writing it through, which the CAS waits for.
 */
static TTM_INLINE void put_boldly(const struct ttm_hook *hook,
	const struct ttm_spot *spot, const struct ttm_object *object,
	const struct ttm_draft *draft, const struct ttm_way *way,
	const uint64_t *now)
{
	struct ttm_words *record = ttm_lane_record(hook->lane, 0), *shared;
	struct ttm_words words = draft->words;
	struct ttm_lane *lane = hook->lane;
	uint64_t *place;
	uint32_t slot;

	if (TTM_UNLIKELY(
		    !spot->block || !ttm_supply_peek(lane, &slot, &shared))) {
		ttm_put_rarely(hook->seat, spot->entry, object_copy(object));
		return;
	}
	ttm_prefetch_write(shared);
	ttm_prefetch_write(way->bucket);
	if (object->figure < TTMEM_FIGURE_CB)
		ttm_single_announce(hook->process, spot->entry);
	words.w[1] = draft_w1(draft, spot, slot, 0);
	ttm_supply_take_peeked(lane);
	ttm_lane_begin(lane);
	slot_begin(shared, &words);
	alloc_begin(record, 0, &words);
	words.w[6] = event_time(now);
	ttm_record_end(record, &words);
	slot_end(shared, &words);
	place = ttm_bucket_put(way->bucket, ttm_entry(&way->key, slot));
	TTM_TESTPOINT("index entered");
	if (TTM_UNLIKELY(!place ||
		    ttm_index_may_have_other(hook->process, way->level,
			    way->bucket, &way->key, place,
			    ttm_entry(&way->key, slot)) ||
		    (object->figure < TTMEM_FIGURE_CB &&
			    ttm_group_may_have(hook->process, &way->key)))) {
		ttm_put_meets(hook->seat, spot->era, place);
		return;
	}
	ttm_account_alloc(spot->device, spot->block, object->figure, spot->era,
		draft->bytes);
	TTM_TESTPOINT("alloc counted");
	ttm_lane_end(lane, 1);
}

#endif
