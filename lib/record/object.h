/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * The life of an object, in the order in which others may see it:
 *
 *   insert  intent; slot writing, body, live; index; counters; ALLOC; tail
 *   remove  intent; slot free (CAS: one winner); index; counters; FREE; tail;
 *           only then is the slot used again
 *   shrink  intent; smaller place (CAS: one winner); counters; SHRINK; tail
 *
 * An object on several devices is one object: one slot, one index entry, one record.
 * Counters are per device. Each change of a slot has a record with its generation, so
 * that the aggregator's mirror follows whatever the order across rings.
 *
 * Replacing an object: the new slot goes live, then the old slot is freed. In between,
 * both are live with one key; so are two objects of one id that two threads allocate at
 * once. The rank decides which one stays: a new object's rank is one more than that of
 * any object it found, and of two equal ranks the higher slot number wins. A thread that
 * sees a pair frees the earlier object; the latest one is never freed by this. An object
 * is inserted before its thread looks for others, so each pair is seen at least once.
 * Objects that are orphaned on all their devices are left alone.
 *
 * A kernel loaded again with the same size and cores is a dispatch. When two threads
 * load it first at once, one of the two slots is given up "uncounted": the records
 * inform the mirror, and the counters show one load and one dispatch.
 *
 * This header and hooks.c have the common path, inlined so that constants fold;
 * insert.c, remove.c and kernel.c have the rare cases. All of it is lock-free
 * and runs inside a hook.
 */
#ifndef TTM_RECORD_OBJECT_H
#define TTM_RECORD_OBJECT_H

#include "record/counters.h"
#include "record/index.h"
#include "record/place.h"
#include "record/ring.h"

/* An object as the caller of a hook described it. */
struct ttm_object {
	unsigned figure;
	unsigned flags; /* enum ttm_flag */
	uint32_t cores; /* count and core set, as in TTM_W7: bits 40-63 */
	uint64_t id;
	uint64_t address;
	uint64_t size;  /* CB: per core; kernel: of the binary */
	uint64_t w5;    /* program; buffer: used bytes and banks */
	uint64_t bytes; /* used on each device */
};

/* The words that stay the same in an object's slot until the object ends. */
struct ttm_before {
	uint32_t slot; /* TTM_SLOT_NONE: no object */
	uint64_t w1;
	uint64_t w6;
};

/* -- rare cases, with arguments by value: see docs/recording.md ---------------------- */

/* Inserts an object where the usual path below does not apply. */
void ttm_insert_slow(struct ttm_ring *ring, struct ttm_where where,
	struct ttm_object object);

/*
 * Checks for others with the key of an object that went live without a look. The words
 * of its slot are in the ring's next record. `entry_at` NULL: the object is not in the
 * index yet.
 */
void ttm_insert_check(
	struct ttm_ring *ring, struct ttm_where where, uint64_t *entry_at);

/* Checks the same for a CB that replaced another, after both records are written. */
void ttm_replace_check(struct ttm_ring *ring, struct ttm_where where,
	uint64_t *entry_at, struct ttm_words words);

/*
 * Completes an object that went live to replace `before`, when `before` is gone or the
 * bucket was full (`entry_at` NULL).
 */
void ttm_replace_finish(struct ttm_ring *ring, struct ttm_where where,
	uint64_t *entry_at, struct ttm_words words, struct ttm_before before);

/* Loads a kernel that is not live on its place, but may be on one that overlaps. */
void ttm_kernel_load_slow(struct ttm_ring *ring, struct ttm_where where,
	struct ttm_object object);

/* Ends the same kernel of other threads on these devices, after ours was inserted. */
void ttm_kernel_settle(
	struct ttm_ring *ring, struct ttm_where where, uint64_t kernel);

/*
 * Frees the objects with this key on these devices, through whatever place they were
 * allocated. The first object ends the operation that has begun.
 */
void ttm_remove_slow(struct ttm_ring *ring, struct ttm_where where,
	unsigned figure, uint64_t program, uint64_t id);

/* Frees the buffer with this id on each of the devices, of whatever kind it is there. */
void ttm_remove_any(
	struct ttm_ring *ring, const struct ttm_where *where, uint64_t id);

/* Frees all CBs of a program, and the kernel of that id, on these devices. */
void ttm_program_remove(
	struct ttm_ring *ring, const struct ttm_where *where, uint64_t program);

/* Frees all CBs on these devices: looks at every slot. `unused`: as the calls above. */
void ttm_cbs_remove(
	struct ttm_ring *ring, const struct ttm_where *where, uint64_t unused);

/* -- keys and slots -------------------------------------------------------------- */

/* The bucket of a key in the newest level of the index. */
struct ttm_way {
	struct ttm_key key;
	struct ttm_level *level; /* the newest */
	struct ttm_bucket *bucket;
};

static TTM_INLINE void way_set(struct ttm_way *ret_way,
	const struct ttm_process *process, unsigned place, unsigned figure,
	uint64_t program, uint64_t id)
{
	ttm_key_set(&ret_way->key, place, figure, program, id);
	ret_way->level = ttm_level_newest(process);
	ret_way->bucket = ttm_level_bucket(
		ret_way->level, ret_way->key.bucket_hash);
}

/* A live slot as it was at one moment. The rest of its words is read later. */
struct ttm_seen {
	uint64_t *entry_at; /* its place in the index */
	struct ttm_words *shared;
	uint64_t entry;
	uint64_t w0;
	uint64_t w1;
};

static TTM_INLINE bool figure_is(unsigned figure, const struct ttm_key *key)
{
	return figure == key->figure ||
		(key->figure == TTMEM_FIGURE_KERNEL &&
			figure > TTMEM_FIGURE_KERNEL && figure < TTMEM_FIGURES);
}

/*
 * Returns whether the entry that led to a slot is still there after the slot was seen
 * live. An entry is cleared before its slot is used again: if it is gone, it belonged
 * to an earlier object, and its place in the index may be another object's by now.
 */
static TTM_INLINE bool entry_stands(const uint64_t *entry_at, uint64_t entry)
{
	/* relaxed: after the acquire that read the slot */
	return ttm_load(entry_at) == entry;
}

/*
 * Finds the first entry with the key's tag in the first bucket, which is nearly always
 * the right one. False is inconclusive. The slot is not read yet.
 */
static TTM_INLINE bool key_point(struct ttm_process *process,
	struct ttm_bucket *bucket, const struct ttm_key *key,
	struct ttm_seen *ret_seen)
{
	uint64_t *entry = &ret_seen->entry;
	unsigned at;

	if (TTM_UNLIKELY(!ttm_bucket_find(bucket, key->tag, entry, &at)))
		return false;
	ret_seen->entry_at = &bucket->entries[at];
	ret_seen->shared = ttm_slot_at(process, ttm_entry_slot(*entry));
	return true;
}

/*
 * Returns whether the entry leads to an object with this key that is whole (on all
 * devices of its place) and younger than any close. False is inconclusive. The slot's
 * words belong to one object only if w0 is still the same afterwards.
 */
static TTM_INLINE bool key_glance(
	const struct ttm_key *key, uint64_t closes, struct ttm_seen *seen)
{
	const uint64_t *w = seen->shared->w;

	/* pairs(slot): acquire, with slot_end: the body is whole */
	seen->w0 = ttm_load_acquire(&w[0]);
	/* relaxed: a change in between shows in w0, and the CAS would fail */
	seen->w1 = ttm_load(&w[1]);
	return TTM_LIKELY(
		(seen->w0 & 0xffff) == TTM_W0(0, key->place, TTM_SLOT_LIVE) &&
		TTM_W1_STAMP(seen->w1) == (uint16_t)closes &&
		figure_is(TTM_W1_FIGURE(seen->w1), key) &&
		ttm_load(&w[2]) == key->id &&
		(!key->program_mask || ttm_load(&w[5]) == key->program) &&
		entry_stands(seen->entry_at, seen->entry));
}

static TTM_INLINE uint64_t bytes_of(
	unsigned figure, uint64_t w1, uint64_t w4, uint64_t w5, uint64_t w7)
{
	if (figure < TTMEM_FIGURE_CB)
		return TTM_W5_USED(w5);
	return TTM_W1_FLAGS(w1) & TTM_FLAG_BORROWED ?
		0 :
		TTM_W4_SIZE(w4) * TTM_W7_CORES(w7);
}

/* -- counters of all devices of an object ------------------------------------------ */

/*
 * Returns whether a device was closed after the allocation of an object; the count of
 * closes was `allocated` then.
 */
static TTM_INLINE bool era_is_newer(uint64_t era, uint32_t allocated)
{
	return (int32_t)(TTM_ERA_EPOCH(era) - allocated) > 0;
}

/* Counts a change on all these devices. `allocated`: as above. */
static TTM_INLINE void members_count(struct ttm_ring *ring, uint64_t members,
	uint32_t allocated, const struct ttm_change *change)
{
	struct ttm_device *device;
	unsigned entry;
	uint64_t era;

	do {
		entry = ttm_mask_take(&members);
		device = &ring->process->devices[entry];
		era = ttm_device_era(device);
		ttm_device_count(device, ring->blocks[entry], change, era,
			TTM_UNLIKELY(era_is_newer(era, allocated)));
		TTM_TESTPOINT("member counted");
	} while (members);
	TTM_TESTPOINT("members counted");
}

static TTM_INLINE void members_alloc(struct ttm_ring *ring, uint64_t members,
	unsigned figure, uint32_t allocated, uint64_t bytes)
{
	const struct ttm_change change = {
		.figure = figure, .allocs = 1, .bytes_allocated = bytes
	};

	members_count(ring, members, allocated, &change);
}

static TTM_INLINE void members_free(struct ttm_ring *ring, uint64_t members,
	unsigned figure, uint32_t allocated, uint64_t bytes)
{
	const struct ttm_change change = {
		.figure = figure, .frees = 1, .bytes_freed = bytes
	};

	members_count(ring, members, allocated, &change);
}

/* -- the end of an object -------------------------------------------------------- */

/*
 * Frees a slot by a CAS: one of all threads that try gets true, and owns the slot with
 * its body.
 */
static TTM_INLINE bool slot_free(struct ttm_words *shared, uint64_t live)
{
	/* pairs(slot): full, with key_glance and the aggregator's scan */
	if (TTM_UNLIKELY(!ttm_cas(&shared->w[0], live, TTM_W0_FREE(live))))
		return false;
	TTM_TESTPOINT("slot freed");
	return true;
}

static TTM_INLINE bool seen_free(const struct ttm_seen *seen)
{
	if (TTM_UNLIKELY(!slot_free(seen->shared, seen->w0)))
		return false;
	ttm_index_clear(seen->entry_at);
	return true;
}

/* Words that a free record copies, read before the object is freed. */
struct ttm_rest {
	ttm_pair w4, w6; /* and the next word */
	uint64_t bytes;
};

static TTM_INLINE void slot_rest(
	struct ttm_rest *ret_rest, const struct ttm_seen *seen, unsigned figure)
{
	const uint64_t *w = seen->shared->w;

	/* relaxed: the CAS shows whether the words are of one object */
	ret_rest->w4 = ttm_pair_load(&w[4]);
	ret_rest->w6 = ttm_pair_load(&w[6]);
	ret_rest->bytes = bytes_of(figure, seen->w1, ttm_load(&w[4]),
		ttm_load(&w[5]), ttm_load(&w[7]));
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

/*
 * Frees the object that was seen, in an operation that has begun. Returns false if the
 * object is gone or changed; nothing has happened then.
 */
static TTM_INLINE bool seen_end(struct ttm_ring *ring, uint64_t members,
	unsigned figure, uint64_t closes, uint64_t id, uint64_t now,
	const struct ttm_seen *seen)
{
	struct ttm_rest rest;

	slot_rest(&rest, seen, figure);
	if (TTM_UNLIKELY(!seen_free(seen)))
		return false;
	if (figure >= TTMEM_FIGURE_KERNEL)
		figure = TTM_W1_FIGURE(seen->w1);
	members_free(ring, members, figure, (uint32_t)closes, rest.bytes);
	rest_write(ttm_ring_record(ring, 0), 0, id, now, seen, &rest);
	ttm_ring_end(ring, 1);
	ttm_supply_put(ring, ttm_entry_slot(seen->entry), seen->shared);
	return true;
}

static TTM_INLINE void ttm_object_remove(struct ttm_ring *ring,
	const struct ttm_where *where, unsigned figure, uint64_t program,
	uint64_t id)
{
	uint64_t closes, now;
	struct ttm_seen seen;
	struct ttm_way way;

	way_set(&way, ring->process, where->place, figure, program, id);
	/* The clock holds up everything behind it; the bucket arrives
	 * meanwhile. */
	ttm_prefetch_write(way.bucket);
	ttm_ring_begin(ring, 1);
	now = ttm_clock_now();
	closes = ttm_closes(ring->process);
	if (TTM_UNLIKELY(!ttm_ring_blocks(ring, where->members) ||
		    !key_point(ring->process, way.bucket, &way.key, &seen) ||
		    !key_glance(&way.key, closes, &seen) ||
		    !seen_end(ring, where->members, figure, closes, id, now,
			    &seen)))
		ttm_remove_slow(ring, *where, figure, program, id);
}

/* -- the beginning of an object ---------------------------------------------------- */

/*
 * Writes the slot's body except w6 and w7, and sets words->w[0] to the value that makes
 * it live.
 */
static TTM_INLINE void slot_begin(
	struct ttm_words *shared, struct ttm_words *words, unsigned place)
{
	/* relaxed: a free slot belongs to the thread that took it */
	uint64_t writing = TTM_W0_WRITING(ttm_load(&shared->w[0]), place);

	ttm_store(&shared->w[0], writing);
	/* pairs(slot-reuse): release, with slot_copy and the aggregator's
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
	/* pairs(slot): release, with key_glance and the aggregator's scan: the
	 * body is whole */
	ttm_store_release(&shared->w[0], words->w[0]);
	TTM_TESTPOINT("slot live");
}

/* Writes the record except w6 and w7. */
static TTM_INLINE void alloc_begin(
	struct ttm_words *record, unsigned flags, const struct ttm_words *words)
{
	ttm_record_begin(record, words->w[0],
		TTM_W1_AS_RECORD(words->w[1], flags, TTM_RECORD_ALLOC),
		words->w[3], words);
}

/* Fills the words of an object except w0, w6, the slot and the rank. */
static TTM_INLINE void words_fill(struct ttm_words *words,
	const struct ttm_ring *ring, const struct ttm_object *object,
	unsigned place, uint64_t closes)
{
	struct ttm_scope scope = ttm_scope_now(ring);
	uint64_t *w = words->w;

	w[1] = TTM_W1(
		0, closes, object->figure, object->flags | scope.flags, 0);
	w[2] = object->id;
	w[3] = object->address;
	w[4] = TTM_W4(object->size, place);
	w[5] = object->w5;
	w[7] = TTM_W7(scope.name, 0, object->cores, 0);
}

/* -- kernels ------------------------------------------------------------------------ */

/*
 * Returns whether a kernel is the same in all respects: loading it is a dispatch then.
 */
static TTM_INLINE bool kernel_is_same(uint64_t w1, uint64_t w4, uint64_t w7,
	unsigned figure, unsigned flags, uint64_t size, uint32_t cores)
{
	return TTM_W1_FIGURE(w1) == figure && TTM_W4_SIZE(w4) == size &&
		w7 >> 40 == cores &&
		((TTM_W1_FLAGS(w1) ^ flags) & TTM_FLAG_IN_RING) == 0;
}

static TTM_INLINE void dispatch_commit(struct ttm_ring *ring, unsigned place,
	uint64_t members, uint64_t w1, uint64_t id, uint64_t now)
{
	unsigned type = TTM_W1_FIGURE(w1) - TTMEM_FIGURE_KERNEL;
	const struct ttm_words words = { {
		[2] = id,
		[7] = TTM_W7(ttm_scope_now(ring).name, 0, 0, 0),
	} };

	while (members)
		ttm_own_add(&ring->blocks[ttm_mask_take(&members)]
				     ->dispatches[type],
			1);
	TTM_TESTPOINT("dispatch counted");
	ttm_record_write(ttm_ring_record(ring, 0), TTM_W0(0, place, 0),
		TTM_W1(TTM_W1_SLOT(w1), TTM_W1_STAMP(w1), TTM_W1_FIGURE(w1), 0,
			TTM_RECORD_DISPATCH),
		now, &words);
	ttm_ring_end(ring, 1);
}

/*
 * -- objects that a search of the index found ----------------------------------------
 *
 * A search holds no lock on them: a thread takes an object only by a CAS on its slot,
 * which fails if the slot has changed.
 */

/* A live slot as it was at one moment, and its place in the index. */
struct ttm_found {
	uint64_t *entry_at;
	uint64_t entry;
	uint32_t slot;
	struct ttm_words words;
};

/*
 * Copies a live slot; returns false if it is not live. An object that shrinks meanwhile
 * is still live, so the copy is repeated; each repetition means that another thread has
 * made progress.
 */
bool ttm_slot_copy(const struct ttm_words *shared, struct ttm_words *ret_words);

/*
 * Finds the next live object with this key, orphaned or not, in another slot than
 * `except`.
 */
bool ttm_found_next(struct ttm_process *process, struct ttm_search *search,
	const struct ttm_key *key, uint32_t except,
	struct ttm_found *ret_found);

uint64_t ttm_found_members(
	const struct ttm_process *process, const struct ttm_found *found);

/* Returns the count of closes when the object was allocated. */
uint32_t ttm_words_allocated(
	const struct ttm_process *process, const struct ttm_words *words);

/* Returns the devices on which the object is live and not orphaned. */
uint64_t ttm_found_current(
	const struct ttm_process *process, const struct ttm_found *found);

/* Returns whether the object is current: live, and not orphaned on all its devices. */
bool ttm_found_is_current(
	const struct ttm_process *process, const struct ttm_found *found);

/*
 * Finds the object with this key that has a part on `members`: one that is not orphaned
 * there comes first. To the caller all current objects with one key are the same.
 */
bool ttm_key_find(struct ttm_process *process, const struct ttm_key *key,
	uint64_t members, struct ttm_found *ret_found);

/*
 * Reads the slot again after a CAS that failed. Returns true if it still holds the same
 * object, on fewer devices.
 */
bool ttm_found_renew(struct ttm_process *process, struct ttm_found *found);

/* Frees an object as seen_free() does, whatever devices it is still on. */
bool ttm_found_free(struct ttm_process *process, struct ttm_found *found);

void ttm_found_count(struct ttm_ring *ring, const struct ttm_found *found,
	uint64_t members, unsigned flags);

void ttm_free_write(struct ttm_words *record, unsigned flags, uint64_t now,
	const struct ttm_words *words);

void ttm_found_recycle(struct ttm_ring *ring, const struct ttm_found *found);

/*
 * Writes the record of a free that was won and counted; then the slot may be used
 * again.
 */
void ttm_found_commit(struct ttm_ring *ring, const struct ttm_found *found,
	unsigned flags, uint64_t now);

/*
 * Removes the object from these devices: it ends, or stays on the others. In an
 * operation that has begun. Returns false if another thread was faster; nothing has
 * happened then. *ret_left: the devices that the object left.
 */
bool ttm_found_leave(struct ttm_ring *ring, struct ttm_found *found,
	uint64_t members, unsigned flags, uint64_t now, uint64_t *ret_left);

/* Ends the whole object in an operation of its own; another thread may be faster. */
void ttm_found_end(struct ttm_ring *ring, struct ttm_found *found,
	unsigned flags, uint64_t now);

bool ttm_blocks_or_loss(struct ttm_ring *ring, const struct ttm_where *where,
	unsigned figure, uint64_t id, uint64_t bytes);

bool ttm_words_are_same_kernel(
	const struct ttm_words *one, const struct ttm_words *other);

#endif
