/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Insertions that find another object with their key: see object.h. */
#include "record/object.h"

/* Some microseconds: enough for a thread that runs; a stopped one is not waited for. */
#define WITHDRAWAL_LOOKS 10000u
#define WITHDRAWALS_MAX 100u

/* -- the beginning of an object ------------------------------------------------------------ */

/*
 * An insertion that is under way. `mine` is the new object; its words are set first.
 * `before` is the latest object that was found before the insertion: it may be ended
 * even if `mine` is gone, see may_end().
 */
struct insertion {
	struct ttm_ring *ring;
	struct ttm_where where;
	struct ttm_before before;
	struct ttm_key key;
	struct ttm_found mine;
	unsigned withdrawals; /* of a kernel, for a later one */
};

static void insertion_lost(struct insertion *in, enum ttmem_loss reason)
{
	const uint64_t *w = in->mine.words.w;

	ttm_loss(in->ring, reason, in->where.place, TTM_W1_FIGURE(w[1]), w[2],
		ttm_words_bytes(&in->mine.words));
}

static void alloc_count(struct insertion *in)
{
	members_alloc(in->ring, in->where.members,
		TTM_W1_FIGURE(in->mine.words.w[1]),
		ttm_words_allocated(in->ring->process, &in->mine.words),
		ttm_words_bytes(&in->mine.words));
}

static void alloc_write(
	struct ttm_words *record, unsigned flags, const struct ttm_words *words)
{
	alloc_begin(record, flags, words);
	ttm_record_end(record, words);
}

static void alloc_count_commit(struct insertion *in)
{
	alloc_count(in);
	alloc_write(ttm_ring_record(in->ring, 0), 0, &in->mine.words);
	ttm_ring_end(in->ring, 1);
}

static bool is_later(const struct ttm_found *a, const struct ttm_found *b)
{
	int8_t ranks = (int8_t)(TTM_W1_RANK(a->words.w[1]) -
		TTM_W1_RANK(b->words.w[1]));

	/* At half the range, each object would be earlier than the other. */
	if (ranks == 0 || ranks == INT8_MIN)
		return a->slot > b->slot;
	return ranks > 0;
}

static bool is_same_kernel(
	const struct ttm_found *found, const struct insertion *in)
{
	return ttm_words_are_same_kernel(&found->words, &in->mine.words);
}

static void dispatch_count(struct insertion *in, const struct ttm_found *found)
{
	ttm_ring_begin(in->ring, 1);
	dispatch_commit(in->ring, in->where.place, in->where.members,
		found->words.w[1], found->words.w[2], ttm_clock_now());
}

/*
 * Looks for a live object with the key: counts a dispatch, or returns the rank of the
 * new object.
 */
static bool insertion_is_dispatch(struct insertion *in, uint8_t *ret_rank)
{
	struct ttm_process *process = in->ring->process;
	struct ttm_search search;
	uint8_t rank = 0, next;
	struct ttm_found found;

	in->before = (struct ttm_before){ .slot = TTM_SLOT_NONE };
	ttm_search_key(&search, process, &in->key);
	while (ttm_found_next(
		process, &search, &in->key, TTM_SLOT_NONE, &found)) {
		if (!ttm_found_is_current(process, &found))
			continue;
		/* A kernel that was unloaded from some of the devices is
		 * loaded again. */
		if (is_same_kernel(&found, in) &&
			ttm_found_members(process, &found) ==
				in->where.members) {
			dispatch_count(in, &found);
			return true;
		}
		next = (uint8_t)(TTM_W1_RANK(found.words.w[1]) + 1);
		if (in->before.slot != TTM_SLOT_NONE &&
			(int8_t)(next - rank) <= 0)
			continue;
		rank = next;
		in->before = (struct ttm_before){ found.slot, found.words.w[1],
			found.words.w[6] };
	}
	*ret_rank = rank;
	return false;
}

/* Finds another object with our key, current like ours. */
static bool rival_next(struct insertion *in, struct ttm_search *search,
	struct ttm_found *ret_found)
{
	struct ttm_process *process = in->ring->process;

	while (ttm_found_next(
		process, search, &in->key, in->mine.slot, ret_found))
		if (ttm_found_is_current(process, &in->mine) &&
			ttm_found_is_current(process, ret_found))
			return true;
	return false;
}

/*
 * Returns whether an earlier rival may be ended: if our object is still live after the
 * rival was seen, because then there was a pair, or if ours was to replace it.
 * Otherwise ours was ended meanwhile, and the rival may be later: its rank has wrapped,
 * or its key was freed and allocated again.
 */
static bool may_end(const struct insertion *in, const struct ttm_found *rival)
{
	struct ttm_found mine = in->mine;

	/* pairs(slot-reuse): acquire, with slot_begin: after the rival. w0
	 * is left out, because it changes when a part of the object is
	 * freed. */
	ttm_fence_acquire();
	if (ttm_found_renew(in->ring->process, &mine))
		return true;
	return in->before.slot == rival->slot &&
		in->before.w1 == rival->words.w[1] &&
		in->before.w6 == rival->words.w[6];
}

/*
 * Withdraws the insertion: frees the slot uncounted. Returns false if another thread
 * freed the object or a part of it: that free was counted, so the allocation must be
 * counted, too.
 */
static bool insertion_withdraw(struct insertion *in)
{
	if (!slot_free(ttm_slot_at(in->ring->process, in->mine.slot),
		    in->mine.words.w[0]))
		return false;
	ttm_index_clear(in->mine.entry_at);
	ttm_found_commit(
		in->ring, &in->mine, TTM_FLAG_UNCOUNTED, ttm_clock_now());
	return true;
}

static void insert_careful(struct insertion *in);

/*
 * Handles a later live object of our key, which replaced ours before ours was counted.
 */
static void insertion_superseded(
	struct insertion *in, const struct ttm_found *later)
{
	if (!is_same_kernel(later, in)) {
		alloc_count_commit(in);
		ttm_found_end(in->ring, &in->mine, TTM_FLAG_REPLACED,
			ttm_clock_now());
		return;
	}
	if (insertion_withdraw(in)) {
		/* Look again: the later kernel may be withdrawn, too, if it was
		 * inserted without a look (insertion_check). */
		if (in->withdrawals++ < WITHDRAWALS_MAX)
			insert_careful(in);
		else
			dispatch_count(in, later);
		return;
	}
	/* The later object replaced ours, or a part of ours was freed. */
	alloc_count_commit(in);
	if (ttm_found_renew(in->ring->process, &in->mine))
		ttm_found_end(in->ring, &in->mine, TTM_FLAG_REPLACED,
			ttm_clock_now());
}

/* Writes one operation with two records: an object ends, ours begins. */
static void insert_instead_of(struct insertion *in,
	const struct ttm_found *earlier, unsigned free_flags,
	unsigned alloc_flags)
{
	struct ttm_ring *ring = in->ring;

	ttm_ring_begin(ring, 2);
	ttm_free_write(ttm_ring_record(ring, 0), free_flags,
		in->mine.words.w[6], &earlier->words);
	alloc_write(ttm_ring_record(ring, 1), alloc_flags, &in->mine.words);
	ttm_ring_end(ring, 2);
	ttm_found_recycle(in->ring, earlier);
}

/*
 * Replaces the earlier object, which is freed first, so that the peak does not contain
 * both. If it is a kernel that another thread has just loaded, its load stays and ours
 * is a dispatch. Returns false if the earlier object is gone.
 */
static bool insertion_replaces(struct insertion *in, struct ttm_found *earlier)
{
	uint64_t members;

	if (!ttm_found_free(in->ring->process, earlier))
		return false;
	members = ttm_found_members(in->ring->process, earlier);
	if (is_same_kernel(earlier, in) && members == in->where.members) {
		insert_instead_of(
			in, earlier, TTM_FLAG_UNCOUNTED, TTM_FLAG_UNCOUNTED);
		dispatch_count(in, &in->mine);
	} else {
		ttm_found_count(in->ring, earlier, members, TTM_FLAG_REPLACED);
		alloc_count(in);
		insert_instead_of(in, earlier, TTM_FLAG_REPLACED, 0);
	}
	return true;
}

/*
 * Waits a moment for a rival kernel to be withdrawn. Its thread inserted the same
 * kernel without a look, sees ours, and is about to withdraw it; ending it here would
 * count two loads.
 */
static bool rival_withdraws(
	const struct insertion *in, const struct ttm_found *rival)
{
	const struct ttm_words *slot = ttm_slot_at(
		in->ring->process, rival->slot);
	unsigned looks;

	for (looks = 0; is_same_kernel(rival, in) && looks < WITHDRAWAL_LOOKS;
		looks++)
		/* relaxed: only whether w0 has changed */
		if (ttm_load(&slot->w[0]) != rival->words.w[0])
			return true;
	return false;
}

/*
 * Replaces the first earlier rival that is still live. The rivals that were seen are
 * not of one moment: one thread may have withdrawn one and inserted another.
 */
static bool insertion_replaces_any(struct insertion *in)
{
	struct ttm_search search;
	bool replaced = false;
	struct ttm_found rival;

	ttm_search_key(&search, in->ring->process, &in->key);
	while (rival_next(in, &search, &rival)) {
		if (is_later(&rival, &in->mine) || !may_end(in, &rival))
			continue;
		if (!replaced)
			replaced = insertion_replaces(in, &rival);
		else if (!rival_withdraws(in, &rival))
			ttm_found_end(in->ring, &rival, TTM_FLAG_REPLACED,
				ttm_clock_now());
	}
	return replaced;
}

/* Completes an insertion when other live objects may have our key: see object.h. */
static void insertion_settle(struct insertion *in)
{
	struct ttm_search search;
	struct ttm_found rival;
	bool alone = true;

	ttm_search_key(&search, in->ring->process, &in->key);
	while (rival_next(in, &search, &rival)) {
		if (is_later(&rival, &in->mine)) {
			insertion_superseded(in, &rival);
			return;
		}
		alone = false;
	}
	if (alone || !insertion_replaces_any(in))
		alloc_count_commit(in);
}

/*
 * Gives the insertion up. The slot is not in the index, so no other thread can have
 * freed it.
 */
static void insertion_without_index(struct insertion *in)
{
	uint64_t nowhere = 0;

	in->mine.entry_at = &nowhere;
	insertion_withdraw(in);
	insertion_lost(in, TTMEM_LOSS_NO_INDEX);
}

static bool insertion_index(struct insertion *in)
{
	in->mine.entry = ttm_entry(&in->key, in->mine.slot);
	in->mine.entry_at = ttm_index_insert(
		in->ring->process, in->key.bucket_hash, in->mine.entry);
	return in->mine.entry_at != NULL;
}

/*
 * Takes and fills a slot, and inserts its index entry; nothing is counted yet. Returns
 * false if that failed.
 */
static bool insertion_begin(struct insertion *in, uint8_t rank)
{
	struct ttm_ring *ring = in->ring;
	uint64_t *w1 = &in->mine.words.w[1];
	struct ttm_words *shared;
	bool done;

	if (!ttm_supply_reserve(ring, 1) ||
		!ttm_supply_peek(ring, &in->mine.slot, &shared)) {
		insertion_lost(in, TTMEM_LOSS_NO_SLOT);
		return false;
	}
	ttm_supply_take_peeked(ring);
	*w1 = TTM_W1_WITH(*w1, in->mine.slot, rank);
	ttm_place_use(ring->process, in->where.place);
	ttm_ring_begin(ring, 1);
	slot_begin(shared, &in->mine.words, in->where.place);
	slot_end(shared, &in->mine.words);
	done = insertion_index(in);
	TTM_TESTPOINT("index entered");
	if (!done)
		insertion_without_index(in);
	return done;
}

static void insert_careful(struct insertion *in)
{
	uint8_t rank = 0;

	if (!insertion_is_dispatch(in, &rank) && insertion_begin(in, rank))
		insertion_settle(in);
}

/* Checks for others after an insertion without a look. */
static void insertion_check(struct insertion *in)
{
	struct ttm_search search;
	struct ttm_found rival;

	ttm_search_key(&search, in->ring->process, &in->key);
	if (!rival_next(in, &search, &rival))
		alloc_count_commit(in);
	else if (insertion_withdraw(in))
		insert_careful(in);
	else
		insertion_settle(in);
}

static void insert_on(struct ttm_ring *ring, const struct ttm_where *where,
	const struct ttm_object *object, bool careful)
{
	struct insertion in; /* not zeroed: it is large */

	if (!ttm_blocks_or_loss(
		    ring, where, object->figure, object->id, object->bytes))
		return;
	in.ring = ring;
	in.where = *where;
	in.before.slot = TTM_SLOT_NONE;
	in.withdrawals = 0;
	ttm_key_set(
		&in.key, where->place, object->figure, object->w5, object->id);
	words_fill(&in.mine.words, ring, object, where->place,
		ttm_closes(ring->process));
	in.mine.words.w[6] = ttm_clock_now();
	if (careful)
		insert_careful(&in);
	else if (insertion_begin(&in, 0))
		insertion_check(&in);
}

/*
 * Inserts one object per device, because the table of places is full. All slots and
 * counter blocks exist before the first object, so that the event is recorded as a
 * whole or lost.
 */
static void insert_on_each(struct ttm_ring *ring, struct ttm_where where,
	const struct ttm_object *object, bool careful)
{
	uint64_t members = where.members;
	struct ttm_where one;

	if (!ttm_blocks_or_loss(
		    ring, &where, object->figure, object->id, object->bytes))
		return;
	if (!ttm_supply_reserve(
		    ring, (uint32_t)__builtin_popcountll(members))) {
		ttm_loss(ring, TTMEM_LOSS_NO_SLOT, 0, object->figure,
			object->id, object->bytes);
		return;
	}
	while (members) {
		one.members = members & -members;
		one.place = ttm_place_of(ring->process, one.members, false);
		members &= members - 1;
		insert_on(ring, &one, object, careful);
	}
}

TTM_COLD void ttm_insert_slow(
	struct ttm_ring *ring, struct ttm_where where, struct ttm_object object)
{
	bool careful = object.figure >= TTMEM_FIGURE_CB;

	if (!where.place)
		insert_on_each(ring, where, &object, careful);
	else
		insert_on(ring, &where, &object, careful);
}

/*
 * Resumes an insertion that the usual path began; returns false if the index has no
 * room and the object was given up.
 */
static bool insertion_resume(struct insertion *in, struct ttm_ring *ring,
	const struct ttm_where *where, uint64_t *entry_at,
	const struct ttm_words *words)
{
	in->ring = ring;
	in->where = *where;
	in->before.slot = TTM_SLOT_NONE;
	in->withdrawals = 0;
	ttm_key_set(&in->key, where->place, TTM_W1_FIGURE(words->w[1]),
		words->w[5], words->w[2]);
	in->mine.entry_at = entry_at;
	in->mine.slot = TTM_W1_SLOT(words->w[1]);
	in->mine.entry = ttm_entry(&in->key, in->mine.slot);
	in->mine.words = *words;
	if (entry_at || insertion_index(in))
		return true;
	insertion_without_index(in);
	return false;
}

TTM_COLD void ttm_insert_check(
	struct ttm_ring *ring, struct ttm_where where, uint64_t *entry_at)
{
	struct ttm_words words = *ttm_ring_record(ring, 0);
	struct insertion in; /* not zeroed: it is large */

	/* The rank byte holds the type in a record; the object's rank is 0. */
	words.w[1] = TTM_W1_WITH(words.w[1], TTM_W1_SLOT(words.w[1]), 0);
	if (insertion_resume(&in, ring, &where, entry_at, &words))
		insertion_check(&in);
}

TTM_COLD void ttm_replace_finish(struct ttm_ring *ring, struct ttm_where where,
	uint64_t *entry_at, struct ttm_words words, struct ttm_before before)
{
	struct insertion in; /* not zeroed: it is large */

	if (!insertion_resume(&in, ring, &where, entry_at, &words))
		return;
	in.before = before;
	insertion_settle(&in);
}

TTM_COLD void ttm_replace_check(struct ttm_ring *ring, struct ttm_where where,
	uint64_t *entry_at, struct ttm_words words)
{
	struct ttm_search search;
	struct ttm_found rival;
	struct insertion in; /* not zeroed: it is large */

	insertion_resume(&in, ring, &where, entry_at, &words);
	ttm_search_key(&search, in.ring->process, &in.key);
	while (rival_next(&in, &search, &rival)) {
		if (is_later(&rival, &in.mine)) {
			ttm_found_end(in.ring, &in.mine, TTM_FLAG_REPLACED,
				ttm_clock_now());
			return;
		}
		if (may_end(&in, &rival))
			ttm_found_end(in.ring, &rival, TTM_FLAG_REPLACED,
				ttm_clock_now());
	}
}
