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
#include "record/find.h"
#include "record/index.h"
#include "record/lane.h"
#include "record/note.h"
#include "record/process.h"
#include "record/scope.h"
#include "record/supply.h"

/* What a hook says of an object. */
struct ttm_object {
	unsigned figure;
	unsigned flags; /* enum ttm_flag */
	uint32_t cores; /* 0 for a buffer */
	uint64_t id;
	uint64_t address;
	uint64_t size;    /* CB: per core; kernel: of the binary */
	uint64_t program; /* buffer: charged bytes */
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

/* The whole of it, where the usual way below does not go. */
void ttm_put_rarely(
	struct ttm_ticket ticket, unsigned device, struct ttm_object object);
void ttm_remove_rarely(struct ttm_ticket ticket, unsigned device,
	unsigned figure, uint64_t program, uint64_t id);

/*
 * The slot is live, and was entered without a look: there may be others with its key.
 * Its words are in the lane's next record. `place` NULL: not entered yet, for its
 * bucket was full, or contended.
 */
void ttm_put_meets(struct ttm_ticket ticket, uint64_t era, uint64_t *place);

/* Where it has looked, and found at least one; the record is not written yet. */
void ttm_put_settles(struct ttm_ticket ticket, uint64_t era, uint64_t *place,
	struct ttm_words words);

/* Looks before it enters: for what is often replaced, or dispatched again. */
void ttm_put_carefully(struct ttm_ticket ticket, unsigned device,
	struct ttm_object object, uint64_t now);

/*
 * The kind of buffer that has this id, first of the current epoch; DRAM if none. By
 * the time it is used another thread may have freed it.
 */
unsigned ttm_object_kind(
	struct ttm_process *process, unsigned device, uint64_t id);

/* All CBs of a program and its kernel; all CBs of a device. */
void ttm_object_remove_program(
	struct ttm_hook *hook, unsigned device, uint64_t program, uint64_t now);
void ttm_object_remove_cbs(
	struct ttm_hook *hook, unsigned device, uint64_t now);

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

/* Where the index has a key, or will have it. */
struct ttm_way {
	struct ttm_key key;
	struct ttm_level *level; /* the newest */
	struct ttm_bucket *bucket;
};

static TTM_INLINE void way_set(struct ttm_way *ret_way,
	const struct ttm_hook *hook, unsigned device, unsigned figure,
	uint64_t program, uint64_t id)
{
	ttm_key_set(&ret_way->key, device, figure, program, id);
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
static TTM_INLINE bool slot_free(
	struct ttm_words *shared, uint64_t live, uint64_t *place)
{
	/* pairs(slot): full, with slot_read and the aggregator's scan */
	if (TTM_UNLIKELY(!ttm_cas(
		    &shared->w[0], live, TTM_W0_NEXT(live, TTM_SLOT_FREE))))
		return false;
	TTM_TESTPOINT("slot freed");
	ttm_index_clear(place);
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
		ttm_pair_of(TTM_W0_NEXT(seen->w0, TTM_SLOT_FREE),
			TTM_W1_AS_RECORD(seen->w1, flags, TTM_RECORD_FREE)));
	ttm_pair_store(&record->w[2], ttm_pair_of(id, now));
	ttm_pair_store(&record->w[4], rest->w4);
	ttm_pair_store(&record->w[6], rest->w6);
	TTM_TESTPOINT("record written");
}

static TTM_INLINE void free_write(struct ttm_words *record, unsigned flags,
	uint64_t now, const struct ttm_words *words)
{
	ttm_record_write(record, TTM_W0_NEXT(words->w[0], TTM_SLOT_FREE),
		TTM_W1_AS_RECORD(words->w[1], flags, TTM_RECORD_FREE), now,
		words);
}

static TTM_INLINE void free_commit(struct ttm_hook *hook,
	struct ttm_words *record, uint32_t slot, unsigned flags, uint64_t now,
	const struct ttm_words *words)
{
	free_write(record, flags, now, words);
	ttm_lane_end(hook->lane, 1);
	ttm_supply_put(hook->process, hook->lane, slot,
		ttm_slot_at(hook->process, slot));
}

static TTM_INLINE void ttm_object_remove(struct ttm_hook *hook, unsigned device,
	unsigned figure, uint64_t program, uint64_t id, const uint64_t *at)
{
	struct ttm_device *entry = &hook->process->devices[device];
	struct ttm_block_device *block = ttm_lane_block_made(
		hook->lane, device);
	struct ttm_words *record = ttm_lane_record(hook->lane, 0);
	uint64_t era = ttm_device_era(entry), now;
	struct ttm_rest rest;
	struct ttm_seen seen;
	struct ttm_way way;

	way_set(&way, hook, device, figure, program, id);
	/* It is on its way while the clock is read, which holds up everything
	 * behind it. */
	ttm_prefetch_write(way.bucket);
	ttm_lane_begin(hook->lane);
	now = event_time(at);
	if (TTM_UNLIKELY(!block ||
		    !key_point(hook->process, way.bucket, &way.key, &seen) ||
		    !key_glance(&way.key, era, &seen)))
		goto rare;
	slot_rest(&rest, &seen, figure);
	if (TTM_UNLIKELY(!slot_free(seen.shared, seen.w0, seen.place)))
		goto rare;
	if (figure >= TTMEM_FIGURE_KERNEL)
		figure = TTM_W1_FIGURE(seen.w1);
	ttm_account_free(entry, block, figure, era, rest.bytes, false);
	TTM_TESTPOINT("free counted");
	rest_write(record, 0, id, now, &seen, &rest);
	ttm_lane_end(hook->lane, 1);
	ttm_supply_put(hook->process, hook->lane, ttm_entry_slot(seen.entry),
		seen.shared);
	return;
rare:
	ttm_remove_rarely(ttm_ticket(hook), device, figure, program, id);
}

/* -- the beginning of an object ---------------------------------------------------- */

/* The slot's body but for w6 and w7; sets words->w[0], with which it will be live. */
static TTM_INLINE void slot_begin(
	struct ttm_words *shared, struct ttm_words *words)
{
	/* relaxed: a free slot belongs to whoever took it */
	uint64_t writing = TTM_W0_NEXT(
		ttm_load(&shared->w[0]), TTM_SLOT_WRITING);

	ttm_store(&shared->w[0], writing);
	/* pairs(slot-reuse): release, with slot_read and the aggregator's
	 * scan: no part of the new body is seen with the old w0 */
	ttm_fence_release();
	TTM_TESTPOINT("slot writing");
	ttm_store(&shared->w[1], words->w[1]);
	ttm_pair_store(&shared->w[2], ttm_pair_of(words->w[2], words->w[3]));
	ttm_pair_store(&shared->w[4], ttm_pair_of(words->w[4], words->w[5]));
	words->w[0] = TTM_W0_NEXT(writing, TTM_SLOT_LIVE);
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

/* All but w0, the slot in w1, and the time. */
static TTM_INLINE void words_set(struct ttm_words *ret_words,
	const struct ttm_seat *seat, uint64_t era, unsigned device,
	const struct ttm_object *object)
{
	struct ttm_scope scope = ttm_scope_now(seat);

	ret_words->w[1] = TTM_W1(0, TTM_ERA_EPOCH(era), device, object->figure,
		object->flags | scope.flags, 0);
	ret_words->w[2] = object->id;
	ret_words->w[3] = object->address;
	ret_words->w[4] = object->size;
	ret_words->w[5] = object->program;
	ret_words->w[7] = TTM_W7(scope.name, 0, object->cores);
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
static TTM_INLINE void put_boldly(const struct ttm_hook *hook, unsigned device,
	const struct ttm_object *object, const struct ttm_way *way,
	const uint64_t *now)
{
	struct ttm_device *entry = &hook->process->devices[device];
	struct ttm_block_device *block = ttm_lane_block_made(
		hook->lane, device);
	struct ttm_words *record = ttm_lane_record(hook->lane, 0), *shared;
	uint64_t era = ttm_device_era(entry), *place;
	struct ttm_lane *lane = hook->lane;
	struct ttm_words words;
	uint32_t slot;

	if (TTM_UNLIKELY(!block || !ttm_supply_peek(lane, &slot, &shared))) {
		ttm_put_rarely(ttm_ticket(hook), device, object_copy(object));
		return;
	}
	ttm_prefetch_write(shared);
	ttm_prefetch_write(way->bucket);
	words_set(&words, hook->seat, era, device, object);
	words.w[1] |= slot;
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
			    ttm_entry(&way->key, slot)))) {
		ttm_put_meets(ttm_ticket(hook), era, place);
		return;
	}
	ttm_account_alloc(entry, block, object->figure, era,
		object_bytes(object->figure, object->flags, object->size,
			object->cores));
	TTM_TESTPOINT("alloc counted");
	ttm_lane_end(lane, 1);
}

/* -- a kernel again ---------------------------------------------------------------- */

/* A kernel that is the same in all respects: loading it is a dispatch. */
static TTM_INLINE bool kernel_is_same(uint64_t w1, uint64_t w4, uint64_t w7,
	unsigned figure, unsigned flags, uint64_t size, uint32_t cores)
{
	return TTM_W1_FIGURE(w1) == figure && w4 == size &&
		TTM_W7_CORES(w7) == cores &&
		((TTM_W1_FLAGS(w1) ^ flags) & TTM_FLAG_IN_RING) == 0;
}

static TTM_INLINE void dispatch_commit(const struct ttm_hook *hook,
	struct ttm_block_device *block, uint64_t w1, uint64_t id, uint64_t now)
{
	const struct ttm_words words = { {
		[2] = id,
		[7] = TTM_W7(ttm_scope_now(hook->seat).name, 0, 0),
	} };

	ttm_own_add(
		&block->dispatches[TTM_W1_FIGURE(w1) - TTMEM_FIGURE_KERNEL], 1);
	TTM_TESTPOINT("dispatch counted");
	ttm_record_write(ttm_lane_record(hook->lane, 0), 0,
		TTM_W1(TTM_W1_SLOT(w1), TTM_W1_EPOCH(w1), TTM_W1_DEVICE(w1),
			TTM_W1_FIGURE(w1), 0, TTM_RECORD_DISPATCH),
		now, &words);
	ttm_lane_end(hook->lane, 1);
}

/* Whether it was one; false says nothing. `seen` points to its slot. */
static TTM_INLINE bool kernel_dispatched(const struct ttm_hook *hook,
	unsigned device, const struct ttm_object *object,
	const struct ttm_key *key, struct ttm_seen *seen, uint64_t now)
{
	struct ttm_block_device *block = ttm_lane_block_made(
		hook->lane, device);
	uint64_t era = ttm_device_era(&hook->process->devices[device]);
	uint64_t w4, w7;

	if (TTM_UNLIKELY(!block || !key_glance(key, era, seen)))
		return false;
	w4 = ttm_load(&seen->shared->w[4]);
	w7 = ttm_load(&seen->shared->w[7]);
	/* pairs(slot-reuse): acquire, with slot_begin, as in slot_read */
	ttm_fence_acquire();
	if (!kernel_is_same(seen->w1, w4, w7, object->figure, object->flags,
		    object->size, object->cores) ||
		ttm_load(&seen->shared->w[0]) != seen->w0)
		return false;
	ttm_lane_begin(hook->lane);
	dispatch_commit(hook, block, seen->w1, object->id, now);
	return true;
}

/*
 * One that is live already is usual, and so it looks first: behind the clock, where the
 * bucket has arrived meanwhile, but before it if the last one was new, for then this one
 * will be, too. The clock is read again if that was wrong.
 */
static TTM_INLINE void kernel_put(const struct ttm_hook *hook, unsigned device,
	const struct ttm_object *object, const uint64_t *at)
{
	bool is_new = hook->lane->kernels_are_new;
	struct ttm_seen seen;
	struct ttm_way way;
	uint64_t now = 0;

	way_set(&way, hook, device, object->figure, 0, object->id);
	if (!is_new) {
		/* Only read: it may stay in the caches of others, too. */
		__builtin_prefetch(way.bucket);
		now = event_time(at);
	}
	if (!key_point(hook->process, way.bucket, &way.key, &seen)) {
		hook->lane->kernels_are_new = true;
		put_boldly(hook, device, object, &way, at);
		return;
	}
	if (is_new) {
		hook->lane->kernels_are_new = false;
		now = event_time(at);
	}
	if (!kernel_dispatched(hook, device, object, &way.key, &seen, now))
		ttm_put_carefully(
			ttm_ticket(hook), device, object_copy(object), now);
}

/*
 * A CB planned anew, the one before in the same bucket; false if it is not so simple,
 * and nothing has happened yet. `seen` points to it.
 */
static TTM_INLINE bool cb_replaced(const struct ttm_hook *hook, unsigned device,
	const struct ttm_object *object, const struct ttm_way *way,
	struct ttm_seen *seen, const uint64_t *at)
{
	struct ttm_device *entry = &hook->process->devices[device];
	struct ttm_lane *lane = hook->lane;
	struct ttm_block_device *block = ttm_lane_block_made(lane, device);
	struct ttm_words *record = ttm_lane_record(lane, 0), *shared;
	uint64_t era = ttm_device_era(entry), now = event_time(at), *place;
	struct ttm_words words;
	struct ttm_rest old;
	uint32_t slot;

	if (TTM_UNLIKELY(!block || !ttm_supply_peek(lane, &slot, &shared) ||
		    !key_glance(&way->key, era, seen)))
		return false;
	slot_rest(&old, seen, TTMEM_FIGURE_CB);
	words_set(&words, hook->seat, era, device, object);
	words.w[1] = TTM_W1_WITH(words.w[1], slot, TTM_W1_TURN(seen->w1) + 1);
	words.w[6] = now;
	ttm_supply_take_peeked(lane);
	ttm_lane_begin(lane);
	slot_begin(shared, &words);
	slot_end(shared, &words);
	place = ttm_bucket_put(way->bucket, ttm_entry(&way->key, slot));
	TTM_TESTPOINT("index entered");
	if (TTM_UNLIKELY(!place ||
		    !ttm_index_has_only(hook->process, way->bucket, &way->key,
			    place, seen->place) ||
		    !slot_free(seen->shared, seen->w0, seen->place))) {
		ttm_put_settles(
			ttm_ticket(hook), era, place, words_copy(&words));
		return true;
	}
	/* In this order: the peak does not hold the two together. */
	ttm_account_free(entry, block, TTMEM_FIGURE_CB, era, old.bytes, false);
	TTM_TESTPOINT("free counted");
	ttm_account_alloc(entry, block, TTMEM_FIGURE_CB, era,
		object_bytes(TTMEM_FIGURE_CB, object->flags, object->size,
			object->cores));
	TTM_TESTPOINT("alloc counted");
	ttm_lane_begin_second(lane);
	rest_write(record, TTM_FLAG_REPLACED, object->id, now, seen, &old);
	record = ttm_lane_record(lane, 1);
	alloc_begin(record, 0, &words);
	ttm_record_end(record, &words);
	ttm_lane_end(lane, 2);
	ttm_supply_put(
		hook->process, lane, ttm_entry_slot(seen->entry), seen->shared);
	return true;
}

static TTM_INLINE void cb_put(const struct ttm_hook *hook, unsigned device,
	const struct ttm_object *object, const uint64_t *now)
{
	struct ttm_seen seen;
	struct ttm_way way;

	way_set(&way, hook, device, TTMEM_FIGURE_CB, object->program,
		object->id);
	if (!key_point(hook->process, way.bucket, &way.key, &seen))
		put_boldly(hook, device, object, &way, now);
	else if (TTM_UNLIKELY(
			 !cb_replaced(hook, device, object, &way, &seen, now)))
		ttm_put_carefully(ttm_ticket(hook), device, object_copy(object),
			event_time(now));
}

static TTM_INLINE void buffer_put(const struct ttm_hook *hook, unsigned device,
	const struct ttm_object *object, const uint64_t *now)
{
	struct ttm_way way;

	way_set(&way, hook, device, object->figure, 0, object->id);
	put_boldly(hook, device, object, &way, now);
}

static TTM_INLINE void ttm_object_put(const struct ttm_hook *hook,
	unsigned device, const struct ttm_object *object, const uint64_t *now)
{
	if (object->figure < TTMEM_FIGURE_CB)
		buffer_put(hook, device, object, now);
	else if (object->figure == TTMEM_FIGURE_CB)
		cb_put(hook, device, object, now);
	else
		kernel_put(hook, device, object, now);
}

#endif
