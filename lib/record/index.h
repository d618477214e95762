/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * The index from an object's key to its slot: private to the process, lock-free, safe
 * in signal handlers. The index grows without moving an entry.
 *
 * The index has levels of buckets, in parts by place. A bucket is a cache line of seven
 * entries and a link to an overflow line. When a level has too many overflow lines, a
 * level eight times as large is added and takes all further entries; a search visits
 * all levels, the newest first. A freed entry is stored as 0 and used again.
 *
 * An entry is a hint: a reader compares the key in the slot, and takes the object only
 * by a CAS on the slot's word.
 *
 * A slot is live before its entry is inserted, and the key is looked up again
 * afterwards: of two threads that insert one key at once, at least one sees the other.
 * See object.h for the winner.
 */
#ifndef TTM_RECORD_INDEX_H
#define TTM_RECORD_INDEX_H

#include "record/process.h"

struct ttm_key {
	uint64_t id;
	uint64_t program;      /* CB only, else 0 */
	uint64_t program_mask; /* all ones for a CB: w5 is part of the key */
	unsigned place;        /* of allocation */
	unsigned figure;       /* the kernel types are one class */
	uint64_t bucket_hash;
	/* In bits 24-63; bit 32 is set: see ttm_bucket_with. */
	uint64_t tag;
};

static inline uint64_t ttm_hash(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)(a ^ 0xa0761d6478bd642full) *
		(b ^ 0xe7037ed1a0b428dbull);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Returns the line of an id. Consecutive ids, such as those of a counter, have
 * consecutive lines: the caches prefetch the next line, and a line is used again only
 * after as many ids as there are lines. Even and odd ids have a half each, so two
 * threads that take turns with a counter keep to their own lines and the lines fetched
 * along with them. The upper bits are folded in above the lowest, which spreads ids
 * that are multiples, as addresses are.
 */
static inline uint64_t ttm_line(uint64_t id, unsigned figure)
{
	uint64_t upper = id >> 12;

	upper ^= upper >> 12;
	upper ^= upper >> 24;
	return id + (upper << 1) + (uint64_t)figure * 0x9e6u;
}

/* Returns the part of a place: threads with a device each then share no lines. */
static inline unsigned ttm_part(unsigned place)
{
	return place % TTM_INDEX_PARTS;
}

/*
 * Returns the hash: the line, whose lowest bit is the half, above the part; these bits
 * together are one of TTM_INDEX_HALVES.
 */
static inline uint64_t ttm_bucket_hash(
	uint64_t id, unsigned figure, unsigned part)
{
	return ttm_line(id, figure) * TTM_INDEX_PARTS + part;
}

static inline uint64_t ttm_tag(uint64_t hash)
{
	return (hash | 1ull << 32) & ~0xffffffull;
}

/*
 * The CBs of a program on a place share TTM_CB_LINES lines, so that the end of the
 * program finds all of them there. A multiplication spreads ids that are small numbers
 * or addresses.
 */
#define TTM_CB_LINES 2u

static inline uint64_t ttm_cb_line(uint64_t cb)
{
	return cb * 0x9e3779b97f4a7c15ull >> 63;
}

static inline uint64_t ttm_cb_bucket_hash(
	uint64_t program, uint64_t line, unsigned part)
{
	return (ttm_line(program, TTMEM_FIGURE_CB) * TTM_CB_LINES + line) *
		TTM_INDEX_PARTS +
		part;
}

/*
 * Each place has its own tag, because places of one part share lines and mostly have
 * the same ids.
 */
static inline uint64_t ttm_tag_of_place(unsigned place)
{
	return (uint64_t)place << 50;
}

static inline void ttm_key_set(struct ttm_key *ret_key, unsigned place,
	unsigned figure, uint64_t program, uint64_t id)
{
	unsigned part = ttm_part(place);

	if (figure >= TTMEM_FIGURE_KERNEL)
		figure = TTMEM_FIGURE_KERNEL;
	ret_key->id = id;
	ret_key->place = place;
	ret_key->figure = figure;
	if (figure == TTMEM_FIGURE_CB) {
		ret_key->program = program;
		ret_key->program_mask = UINT64_MAX;
		ret_key->bucket_hash = ttm_cb_bucket_hash(
			program, ttm_cb_line(id), part);
		ret_key->tag = ttm_tag((program ^ id * 0xe7037ed1a0b428dbull) *
			0x9e3779b97f4a7c15ull);
	} else {
		ret_key->program = 0;
		ret_key->program_mask = 0;
		ret_key->bucket_hash = ttm_bucket_hash(id, figure, part);
		ret_key->tag = ttm_tag(
			(id ^ (uint64_t)figure << 59) * 0x9e3779b97f4a7c15ull);
	}
	ret_key->tag ^= ttm_tag_of_place(place);
}

static inline struct ttm_level *ttm_level_newest(
	const struct ttm_process *process)
{
	return ttm_pointer_load(&process->newest_level);
}

static inline struct ttm_bucket *ttm_level_bucket(
	const struct ttm_level *level, uint64_t hash)
{
	uint64_t offset = hash * (TTM_BUCKET_SIZE / TTM_INDEX_HALVES);

	/* The bits below a bucket's size choose the half. */
	return (struct ttm_bucket *)(void
			*)(level->halves[hash % TTM_INDEX_HALVES] +
		(offset & level->mask));
}

#define TTM_BUCKET_ENTRIES 0x7fu /* all of them, as bits */

/*
 * Returns the entries of a bucket with this tag in their upper half, a bit for each; 0
 * for the tag: those that are empty. The upper half of an entry is never 0 and that of
 * `next` is always 0, which keeps the two apart.
 */
static inline unsigned ttm_bucket_with(
	const struct ttm_bucket *bucket, uint64_t tag)
{
	/* pairs(index-entry): acquire, with ttm_bucket_put */
	return ttm_line_find_acquire(
		(const uint64_t *)(const void *)bucket, (uint32_t)(tag >> 32));
}

/* Finds the first entry of a bucket with this tag, and its number. */
static inline bool ttm_bucket_find(const struct ttm_bucket *bucket,
	uint64_t tag, uint64_t *ret_entry, unsigned *ret_at)
{
	unsigned found;

	/* pairs(index-entry): acquire, with ttm_bucket_put */
	*ret_entry = ttm_load_acquire(&bucket->entries[0]);
	/* The first entry is mostly alone in its bucket: then nothing waits
	 * for the others. */
	*ret_at = 0;
	if (TTM_LIKELY((*ret_entry ^ tag) >> 24 == 0))
		return true;
	found = ttm_bucket_with(bucket, tag);
	if (TTM_UNLIKELY(!found))
		return false;
	*ret_at = (unsigned)__builtin_ctz(found);
	/* pairs(index-entry): acquire, with ttm_bucket_put */
	*ret_entry = ttm_load_acquire(&bucket->entries[*ret_at]);
	return TTM_LIKELY((*ret_entry ^ tag) >> 24 == 0);
}

/*
 * A walk over the entries with a tag (0: over all that are in use), in the buckets that
 * may have a key, the newest level first.
 */
struct ttm_search {
	const struct ttm_level *level;
	struct ttm_bucket *bucket;
	uint64_t hash;
	uint64_t tag;
	unsigned found; /* those of this bucket that are still to come */
};

static inline void search_bucket(
	struct ttm_search *search, struct ttm_bucket *bucket)
{
	unsigned found = ttm_bucket_with(bucket, search->tag);

	search->bucket = bucket;
	search->found = search->tag ? found : ~found & TTM_BUCKET_ENTRIES;
}

static inline void ttm_search_start(struct ttm_search *search,
	const struct ttm_process *process, uint64_t bucket_hash, uint64_t tag)
{
	search->level = ttm_level_newest(process);
	search->hash = bucket_hash;
	search->tag = tag;
	search_bucket(search, ttm_level_bucket(search->level, bucket_hash));
}

static inline bool search_next_bucket(struct ttm_search *search)
{
	/* pairs(index-line): acquire, with overflow_append */
	uint64_t next = ttm_load_acquire(&search->bucket->next);

	if (TTM_UNLIKELY(next != 0)) {
		search_bucket(search, &search->level->overflow[next - 1]);
		return true;
	}
	search->level = search->level->older;
	if (TTM_LIKELY(!search->level))
		return false;
	search_bucket(search, ttm_level_bucket(search->level, search->hash));
	return true;
}

/* Starts a walk over all entries that may lead to the key. */
static inline void ttm_search_key(struct ttm_search *search,
	const struct ttm_process *process, const struct ttm_key *key)
{
	ttm_search_start(search, process, key->bucket_hash, key->tag);
}

/* Returns the place of the next entry, or NULL at the end; *ret_entry is its value. */
static inline uint64_t *ttm_search_next(
	struct ttm_search *search, uint64_t *ret_entry)
{
	uint64_t *place;

	for (;;) {
		for (; search->found; search->found &= search->found - 1) {
			place = &search->bucket->entries[__builtin_ctz(
				search->found)];
			/* pairs(index-entry): acquire, with ttm_bucket_put: the
			 * slot is written */
			*ret_entry = ttm_load_acquire(place);
			if (*ret_entry == 0 ||
				(search->tag &&
					(*ret_entry ^ search->tag) >> 24 != 0))
				continue;
			search->found &= search->found - 1;
			return place;
		}
		if (!search_next_bucket(search))
			return NULL;
	}
}

/* Returns whether there is an entry with the key's tag besides `mine`. */
bool ttm_index_has_other(const struct ttm_process *process,
	uint64_t bucket_hash, uint64_t tag, uint64_t mine);

/*
 * Returns the same after an insertion at `place` of this bucket of this level: the
 * answer "no" is certain, and needs no slot. The newest level is loaded again, because
 * a rival may be in a level that was added meanwhile.
 */
static inline bool ttm_index_may_have_other(const struct ttm_process *process,
	const struct ttm_level *level, const struct ttm_bucket *bucket,
	const struct ttm_key *key, const uint64_t *place, uint64_t mine)
{
	bool single = !level->older && ttm_level_newest(process) == level;
	unsigned found;

	/* relaxed: a further line that is not visible yet holds nothing from
	 * before our insertion, and later insertions see ours. Our entry is
	 * mostly alone in its bucket. */
	if (TTM_LIKELY(place == bucket->entries && single &&
		    ttm_line_is_zero_from(bucket->entries, 1)))
		return false;
	found = ttm_bucket_with(bucket, key->tag);
	if (TTM_UNLIKELY(found & (found - 1)))
		return true;
	if (TTM_LIKELY(single && ttm_load(&bucket->next) == 0))
		return false;
	return ttm_index_has_other(process, key->bucket_hash, key->tag, mine);
}

static inline uint64_t ttm_entry(const struct ttm_key *key, uint32_t slot)
{
	return key->tag | slot;
}

static inline uint32_t ttm_entry_slot(uint64_t entry)
{
	return (uint32_t)(entry & 0xffffff);
}

int ttm_index_init(struct ttm_process *process);
void ttm_index_drop(struct ttm_process *process);

uint64_t *ttm_index_insert_slow(
	struct ttm_process *process, uint64_t bucket_hash, uint64_t entry);

static inline bool place_take(uint64_t *place, uint64_t entry)
{
	/* relaxed: the CAS decides. pairs(index-entry): full, with every
	 * probe and with ttm_index_clear */
	if (TTM_UNLIKELY(ttm_load(place) != 0 || !ttm_cas(place, 0, entry)))
		return false;
	/* pairs(index-insert): full, with the same line on another thread:
	 * of two equal keys at least one sees the other in its second look */
	ttm_fence_after_cas();
	return true;
}

/* Inserts an entry; returns its place, or NULL if the bucket is full. */
static inline uint64_t *ttm_bucket_put(
	struct ttm_bucket *bucket, uint64_t entry)
{
	unsigned empty;

	/* The first entry is mostly empty. */
	if (TTM_LIKELY(place_take(&bucket->entries[0], entry)))
		return &bucket->entries[0];
	empty = ttm_bucket_with(bucket, 0) & TTM_BUCKET_ENTRIES;
	for (; TTM_LIKELY(empty); empty &= empty - 1)
		if (place_take(&bucket->entries[__builtin_ctz(empty)], entry))
			return &bucket->entries[__builtin_ctz(empty)];
	return NULL;
}

/*
 * Inserts an entry and returns its place, or NULL without memory. The caller clears the
 * place after it has won the CAS that frees the slot. The insertion is ordered before
 * the caller's next load.
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
