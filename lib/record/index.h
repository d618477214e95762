/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * From an object's key to its slot: private to the process, lock-free, safe in
 * signal handlers, and it grows without moving anything.
 *
 * Levels of buckets. A bucket is a cache line of seven entries and a link to an
 * overflow line. When a level has too many of those, a level eight times as large
 * is added and takes all further entries; a search looks through all levels, the
 * newest first. A freed entry is stored as 0 and used again.
 *
 * An entry is a hint: whoever finds one compares the key in the slot, and takes
 * the object only by a CAS on the slot's own word. A CB's bucket is chosen by its
 * program alone, so that destroying a program finds all of them in one chain.
 *
 * A slot is live before its entry goes in, and the key is looked up again after:
 * of two threads that insert one key at once, at least one sees the other. See
 * object.h for who then wins.
 */
#ifndef TTM_RECORD_INDEX_H
#define TTM_RECORD_INDEX_H

#include "record/process.h"

struct ttm_key {
	uint64_t id;
	uint64_t program;      /* CB only, else 0 */
	uint64_t program_mask; /* all ones for a CB: w5 is part of the key */
	/* TTM_W1_KEY: one, or three since the kernel types are one class */
	unsigned w1, w1_or, w1_or_else;
	uint64_t bucket_hash;
	uint64_t tag; /* in bits 24-63, never 0: no empty entry looks like it */
};

static inline uint64_t ttm_hash(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)(a ^ 0xa0761d6478bd642full) *
		(b ^ 0xe7037ed1a0b428dbull);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t ttm_tag(uint64_t hash)
{
	return (hash | 1u << 24) & ~0xffffffull;
}

static inline void ttm_key_set(struct ttm_key *ret_key, unsigned device,
	unsigned figure, uint64_t program, uint64_t id)
{
	unsigned w1 = figure << 6 | device;

	if (figure >= TTMEM_FIGURE_KERNEL)
		w1 = TTMEM_FIGURE_KERNEL << 6 | device;
	ret_key->id = id;
	ret_key->w1 = w1;
	ret_key->w1_or = w1;
	ret_key->w1_or_else = w1;
	if (figure >= TTMEM_FIGURE_KERNEL) {
		ret_key->w1_or = TTMEM_FIGURE_KERNEL_FABRIC << 6 | device;
		ret_key->w1_or_else = TTMEM_FIGURE_KERNEL_DISPATCH << 6 |
			device;
	}
	if (figure == TTMEM_FIGURE_CB) {
		ret_key->program = program;
		ret_key->program_mask = UINT64_MAX;
		ret_key->bucket_hash = ttm_hash(program, w1);
		ret_key->tag = ttm_tag(ttm_hash(id, ret_key->bucket_hash));
	} else {
		ret_key->program = 0;
		ret_key->program_mask = 0;
		ret_key->bucket_hash = ttm_hash(id, w1);
		ret_key->tag = ttm_tag(ret_key->bucket_hash);
	}
}

/* A walk over the entries where a key may be. */
struct ttm_probe {
	const struct ttm_level *level;
	struct ttm_bucket *bucket;
	uint64_t hash;
	unsigned at;
};

static inline struct ttm_level *ttm_level_newest(
	const struct ttm_process *process)
{
	return ttm_pointer_load(&process->newest_level);
}

static inline struct ttm_bucket *ttm_level_bucket(
	const struct ttm_level *level, uint64_t hash)
{
	return &level->lines[hash & level->mask];
}

static inline void ttm_probe_start(struct ttm_probe *probe,
	const struct ttm_process *process, uint64_t bucket_hash)
{
	probe->level = ttm_level_newest(process);
	probe->bucket = ttm_level_bucket(probe->level, bucket_hash);
	probe->hash = bucket_hash;
	probe->at = 0;
}

static inline bool ttm_probe_next_bucket(struct ttm_probe *probe)
{
	/* pairs(index-line): acquire, with overflow_append */
	uint64_t next = ttm_load_acquire(&probe->bucket->next);

	probe->at = 0;
	if (TTM_UNLIKELY(next != 0)) {
		probe->bucket = &probe->level->lines[probe->level->mask + next];
		return true;
	}
	probe->level = probe->level->older;
	if (TTM_LIKELY(!probe->level))
		return false;
	probe->bucket = ttm_level_bucket(probe->level, probe->hash);
	return true;
}

/* The next entry in use, or NULL at the end; *ret_entry is its value. */
static inline uint64_t *ttm_probe_next(
	struct ttm_probe *probe, uint64_t *ret_entry)
{
	uint64_t entry, *place;

	do {
		while (probe->at < 7) {
			place = &probe->bucket->entries[probe->at++];
			/* pairs(index-entry): acquire, with ttm_bucket_put: the
			 * slot is written */
			entry = ttm_load_acquire(place);
			if (entry) {
				*ret_entry = entry;
				return place;
			}
		}
	} while (ttm_probe_next_bucket(probe));
	return NULL;
}

/*
 * The first entry of a bucket with this tag, or 0; *ret_at is its number. One of
 * the two loops that have to be fast.
 */
static inline uint64_t ttm_bucket_find(
	const struct ttm_bucket *bucket, uint64_t tag, unsigned *ret_at)
{
	uint64_t entry;
	unsigned i;

#pragma GCC unroll 7
	for (i = 0; i < 7; i++) {
		/* pairs(index-entry): acquire, with ttm_bucket_put */
		entry = ttm_load_acquire(&bucket->entries[i]);
		if (TTM_UNLIKELY((entry ^ tag) >> 24 == 0)) {
			*ret_at = i;
			return entry;
		}
	}
	return 0;
}

/*
 * Whether the key may be in the index in another entry than `mine`, which may be
 * 0. The other fast loop: an answer "no" is certain and needs no slot.
 */
static inline bool ttm_index_may_have(const struct ttm_process *process,
	uint64_t bucket_hash, uint64_t tag, uint64_t mine)
{
	struct ttm_probe probe;
	uint64_t entry;
	unsigned i;

	ttm_probe_start(&probe, process, bucket_hash);
	do {
#pragma GCC unroll 7
		for (i = 0; i < 7; i++) {
			/* pairs(index-entry): acquire, with ttm_bucket_put */
			entry = ttm_load_acquire(&probe.bucket->entries[i]);
			if (TTM_UNLIKELY((entry ^ tag) >> 24 == 0) &&
				entry != mine)
				return true;
		}
	} while (ttm_probe_next_bucket(&probe));
	return false;
}

static inline uint64_t ttm_entry(const struct ttm_key *key, uint32_t slot)
{
	return key->tag | (slot + 1);
}

static inline uint32_t ttm_entry_slot(uint64_t entry)
{
	return (uint32_t)(entry & 0xffffff) - 1;
}

int ttm_index_init(struct ttm_process *process);
void ttm_index_drop(struct ttm_process *process);

uint64_t *ttm_index_insert_slow(
	struct ttm_process *process, uint64_t bucket_hash, uint64_t entry);

static inline uint64_t *ttm_bucket_put(
	struct ttm_bucket *bucket, uint64_t entry)
{
	unsigned i;

	for (i = 0; i < 7; i++) {
		/* relaxed: the CAS decides */
		if (ttm_load(&bucket->entries[i]) != 0)
			continue;
		/* pairs(index-entry): full, with whoever probes, and with
		 * ttm_index_clear */
		if (TTM_LIKELY(ttm_cas(&bucket->entries[i], 0, entry))) {
			/* pairs(index-insert): full, with the same line on
			 * another thread: of two equal keys at least one sees
			 * the other when it looks again */
			ttm_fence_after_cas();
			return &bucket->entries[i];
		}
	}
	return NULL;
}

/*
 * Puts the slot in. The place is the caller's to clear after it has won the CAS
 * that frees the slot. NULL without memory. Orders the insertion before whatever
 * the caller loads next.
 */
static inline uint64_t *ttm_index_insert(
	struct ttm_process *process, uint64_t bucket_hash, uint64_t entry)
{
	uint64_t *place = ttm_bucket_put(
		ttm_level_bucket(ttm_level_newest(process), bucket_hash),
		entry);

	if (TTM_LIKELY(place != NULL))
		return place;
	return ttm_index_insert_slow(process, bucket_hash, entry);
}

static inline void ttm_index_clear(uint64_t *place)
{
	/* pairs(index-entry): release, with the CAS of ttm_index_insert: the
	 * slot was freed before */
	ttm_store_release(place, 0);
}

#endif
