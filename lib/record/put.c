/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* The rare ways of an object to come, and those of CBs and kernels: see object.h. */
#include "record/again.h"
#include "record/found.h"

/* Some microseconds, for a thread that runs; who does not is not waited for. */
#define WITHDRAWAL_LOOKS 10000u

static void put_lost(struct ttm_put *put, enum ttmem_loss reason)
{
	const uint64_t *w = put->mine.words.w;

	ttm_loss(&put->hook, reason, TTM_W1_DEVICE(w[1]), TTM_W1_FIGURE(w[1]),
		w[2], ttm_words_bytes(&put->mine.words));
}

static void alloc_count(struct ttm_put *put)
{
	ttm_account_alloc(put->device, put->block,
		TTM_W1_FIGURE(put->mine.words.w[1]), put->era,
		ttm_words_bytes(&put->mine.words));
	TTM_TESTPOINT("alloc counted");
}

static void alloc_write(
	struct ttm_words *record, unsigned flags, const struct ttm_words *words)
{
	alloc_begin(record, flags, words);
	ttm_record_end(record, words);
}

static void alloc_count_commit(struct ttm_put *put)
{
	alloc_count(put);
	alloc_write(ttm_lane_record(put->hook.lane, 0), 0, &put->mine.words);
	ttm_lane_end(put->hook.lane, 1);
}

static bool is_later(const struct ttm_found *a, const struct ttm_found *b)
{
	int8_t turns = (int8_t)(TTM_W1_TURN(a->words.w[1]) -
		TTM_W1_TURN(b->words.w[1]));

	/* Half-way round, each would be earlier than the other. */
	if (turns == 0 || turns == INT8_MIN)
		return a->slot > b->slot;
	return turns > 0;
}

static bool is_same_kernel(
	const struct ttm_found *found, const struct ttm_put *put)
{
	const uint64_t *a = found->words.w, *b = put->mine.words.w;

	return TTM_W1_FIGURE(b[1]) >= TTMEM_FIGURE_KERNEL &&
		kernel_is_same(a[1], a[4], a[7], TTM_W1_FIGURE(b[1]),
			TTM_W1_FLAGS(b[1]), b[4], TTM_W7_CORES(b[7]));
}

static void dispatch_count(struct ttm_put *put, const struct ttm_found *found)
{
	ttm_lane_begin(put->hook.lane);
	dispatch_commit(&put->hook, put->block, found->words.w[1],
		found->words.w[2], ttm_clock_now());
}

/* What is live under the key now: a dispatch, or the turn of the new object. */
static bool put_is_dispatch(struct ttm_put *put, uint8_t *ret_turn)
{
	struct ttm_search search;
	struct ttm_found found;
	uint8_t turn = 0, next;

	put->before_w0 = 0;

	ttm_search_key(&search, put->hook.process, &put->key);
	while (ttm_found_next(
		put->hook.process, &search, &put->key, TTM_SLOT_NONE, &found)) {
		if (!found_is_of(&found, put->era))
			continue;
		if (is_same_kernel(&found, put)) {
			dispatch_count(put, &found);
			return true;
		}
		next = (uint8_t)(TTM_W1_TURN(found.words.w[1]) + 1);
		if (put->before_w0 && (int8_t)(next - turn) <= 0)
			continue;
		turn = next;
		put->before_slot = found.slot;
		put->before_w0 = found.words.w[0];
	}
	*ret_turn = turn;
	return false;
}

/* Another object with our key, live and of our epoch. */
static bool rival_next(struct ttm_put *put, struct ttm_search *search,
	struct ttm_found *ret_found)
{
	while (ttm_found_next(put->hook.process, search, &put->key,
		put->mine.slot, ret_found))
		if (found_is_of(ret_found, put->era))
			return true;
	return false;
}

/*
 * Whether an earlier rival is ours to end: if our object still stands now that the rival
 * has been seen, for then there was a pair, or if we meant to replace it. Otherwise ours
 * was ended meanwhile, and the rival may be of a later time: so late that its turn has
 * come round, or of a key that was freed and allocated again.
 */
static bool put_may_end(
	const struct ttm_put *put, const struct ttm_found *rival)
{
	const struct ttm_words *slot = ttm_slot_at(
		put->hook.process, put->mine.slot);

	/* pairs(slot-reuse): acquire, with slot_begin: after the rival */
	ttm_fence_acquire();
	return ttm_load(&slot->w[0]) == put->mine.words.w[0] ||
		(put->before_w0 == rival->words.w[0] &&
			put->before_slot == rival->slot);
}

/* The slot goes back as if nothing had been; false if somebody else freed it. */
static bool put_withdraw(struct ttm_put *put)
{
	if (!ttm_found_free(&put->hook, &put->mine))
		return false;
	ttm_found_commit(
		&put->hook, &put->mine, TTM_FLAG_UNCOUNTED, ttm_clock_now());
	return true;
}

/* A later object of our key is live: ours was replaced before it was counted. */
static void put_superseded(struct ttm_put *put, const struct ttm_found *later)
{
	if (!is_same_kernel(later, put)) {
		alloc_count_commit(put);
		ttm_found_end(&put->hook, put->block, &put->mine,
			TTM_FLAG_REPLACED, ttm_clock_now());
		return;
	}
	if (put_withdraw(put))
		dispatch_count(put, later);
	else
		alloc_count_commit(put); /* the later one took ours over */
}

/* One operation with two records: an object goes, ours comes. */
static void put_instead_of(struct ttm_put *put, const struct ttm_found *earlier,
	unsigned free_flags, unsigned alloc_flags)
{
	struct ttm_lane *lane = put->hook.lane;

	ttm_lane_begin_several(lane, 2);
	free_write(ttm_lane_record(lane, 0), free_flags, put->mine.words.w[6],
		&earlier->words);
	alloc_write(ttm_lane_record(lane, 1), alloc_flags, &put->mine.words);
	ttm_lane_end(lane, 2);
	ttm_found_recycle(&put->hook, earlier);
}

/*
 * Counted as one step: the peak does not hold the two together. If it is a kernel
 * that another thread loaded a moment ago, its load stands and ours is a dispatch.
 * False if the earlier one is gone already.
 */
static bool put_replaces(struct ttm_put *put, const struct ttm_found *earlier)
{
	if (!ttm_found_free(&put->hook, earlier))
		return false;
	if (is_same_kernel(earlier, put)) {
		put_instead_of(
			put, earlier, TTM_FLAG_UNCOUNTED, TTM_FLAG_UNCOUNTED);
		dispatch_count(put, &put->mine);
	} else {
		ttm_found_count_free(&put->hook, put->device, put->block,
			earlier, TTM_FLAG_REPLACED);
		alloc_count(put);
		put_instead_of(put, earlier, TTM_FLAG_REPLACED, 0);
	}
	return true;
}

/*
 * The same kernel once more: its thread entered it without a look, sees ours, and is
 * about to withdraw it. Ended here it would have been loaded twice.
 */
static bool rival_withdraws(
	const struct ttm_put *put, const struct ttm_found *rival)
{
	const struct ttm_words *slot = ttm_slot_at(
		put->hook.process, rival->slot);
	unsigned looks;

	for (looks = 0; is_same_kernel(rival, put) && looks < WITHDRAWAL_LOOKS;
		looks++)
		/* relaxed: only whether it is another */
		if (ttm_load(&slot->w[0]) != rival->words.w[0])
			return true;
	return false;
}

/*
 * Those that were seen are not of one moment: the same thread may have withdrawn one
 * and entered another. So the first that is still there is replaced.
 */
static bool put_replaces_any(struct ttm_put *put)
{
	struct ttm_found rival;
	struct ttm_search search;
	bool replaced = false;

	ttm_search_key(&search, put->hook.process, &put->key);
	while (rival_next(put, &search, &rival)) {
		if (is_later(&rival, &put->mine) || !put_may_end(put, &rival))
			continue;
		if (!replaced)
			replaced = put_replaces(put, &rival);
		else if (!rival_withdraws(put, &rival))
			ttm_found_end(&put->hook, put->block, &rival,
				TTM_FLAG_REPLACED, ttm_clock_now());
	}
	return replaced;
}

/* There may be other live objects with our key: see object.h. */
static void put_settle(struct ttm_put *put)
{
	struct ttm_found rival;
	struct ttm_search search;
	bool alone = true;

	ttm_search_key(&search, put->hook.process, &put->key);
	while (rival_next(put, &search, &rival)) {
		if (is_later(&rival, &put->mine)) {
			put_superseded(put, &rival);
			return;
		}
		alone = false;
	}
	if (alone || !put_replaces_any(put))
		alloc_count_commit(put);
}

/* The slot is not in the index, so nobody else can have freed it. */
static void put_without_index(struct ttm_put *put)
{
	uint64_t nowhere = 0;

	put->mine.place = &nowhere;
	put_withdraw(put);
	put_lost(put, TTMEM_LOSS_NO_INDEX);
}

static bool put_index(struct ttm_put *put)
{
	put->mine.place = ttm_index_insert(put->hook.process,
		put->key.bucket_hash, ttm_entry(&put->key, put->mine.slot));
	return put->mine.place != NULL;
}

/* Slot and index entry; nothing is counted yet. False if that failed. */
static bool put_enter(struct ttm_put *put, uint8_t turn)
{
	const struct ttm_hook *hook = &put->hook;
	uint64_t *w1 = &put->mine.words.w[1];
	struct ttm_words *shared;
	bool entered;

	if (!ttm_supply_take(hook->process, hook->lane, &put->mine.slot)) {
		put_lost(put, TTMEM_LOSS_NO_SLOT);
		return false;
	}
	*w1 = TTM_W1_WITH(*w1, put->mine.slot, turn);
	ttm_lane_begin(hook->lane);
	shared = ttm_slot_at(hook->process, put->mine.slot);
	slot_begin(shared, &put->mine.words);
	slot_end(shared, &put->mine.words);
	entered = put_index(put);
	TTM_TESTPOINT("index entered");
	if (!entered)
		put_without_index(put);
	return entered;
}

static void put_carefully(struct ttm_put *put)
{
	uint8_t turn = 0;

	if (!put_is_dispatch(put, &turn) && put_enter(put, turn))
		put_settle(put);
}

/* After it entered without a look. */
static void put_meets(struct ttm_put *put)
{
	struct ttm_found rival;
	struct ttm_search search;

	ttm_search_key(&search, put->hook.process, &put->key);
	if (rival_next(put, &search, &rival) && put_withdraw(put))
		put_carefully(put);
	else
		alloc_count_commit(put);
}

/* False if there is no room to count it. */
static bool put_prepare(struct ttm_put *put, struct ttm_seat *seat,
	unsigned device, const struct ttm_object *object, uint64_t now)
{
	struct ttm_draft draft;

	put->hook = ttm_hook_of(seat);
	put->before_w0 = 0;
	put->device = &put->hook.process->devices[device];
	put->block = ttm_lane_block(put->hook.process, put->hook.lane, device);
	put->era = ttm_device_era(put->device);
	ttm_key_set(
		&put->key, device, object->figure, object->program, object->id);
	draft_fill(&draft, put->hook.seat, object);
	put->mine.words = draft.words;
	put->mine.words.w[1] |= TTM_W1(
		0, TTM_ERA_EPOCH(put->era), device, 0, 0, 0);
	put->mine.words.w[6] = now;
	put->mine.octet = 0;
	if (object->figure < TTMEM_FIGURE_CB)
		ttm_single_announce(put->hook.process, device);
	if (put->block)
		return true;
	put_lost(put, TTMEM_LOSS_NO_SLOT);
	return false;
}

TTM_SLOW void ttm_put_carefully(struct ttm_seat *seat, unsigned device,
	struct ttm_object object, uint64_t now)
{
	struct ttm_put put; /* not zeroed: it is large */

	if (put_prepare(&put, seat, device, &object, now))
		put_carefully(&put);
}

TTM_COLD void ttm_put_rarely(
	struct ttm_seat *seat, unsigned device, struct ttm_object object)
{
	struct ttm_put put; /* not zeroed: it is large */

	if (put_prepare(&put, seat, device, &object, ttm_clock_now()) &&
		put_enter(&put, 0))
		put_meets(&put);
}

/* False if there is no place for it in the index, and it is given up. */
static bool put_resume(struct ttm_put *put, struct ttm_seat *seat, uint64_t era,
	uint64_t *place, const struct ttm_words *words)
{
	unsigned device = TTM_W1_DEVICE(words->w[1]);

	put->hook = ttm_hook_of(seat);
	put->before_w0 = 0;
	put->device = &put->hook.process->devices[device];
	put->block = ttm_lane_block(put->hook.process, put->hook.lane, device);
	put->era = era;
	put->mine.place = place;
	put->mine.slot = TTM_W1_SLOT(words->w[1]);
	put->mine.octet = 0;
	put->mine.words = *words;
	ttm_key_set_of(&put->key, words);
	if (place || put_index(put))
		return true;
	put_without_index(put);
	return false;
}

TTM_COLD void ttm_put_meets(
	struct ttm_seat *seat, uint64_t era, uint64_t *place)
{
	struct ttm_hook hook = ttm_hook_of(seat);
	struct ttm_words words = *ttm_lane_record(hook.lane, 0);
	struct ttm_put put; /* not zeroed: it is large */

	/* In a record it is the type; the object's turn is its first. */
	words.w[1] = TTM_W1_WITH(words.w[1], TTM_W1_SLOT(words.w[1]), 0);
	if (put_resume(&put, seat, era, place, &words))
		put_meets(&put);
}

TTM_COLD void ttm_put_settle(struct ttm_seat *seat, uint64_t era,
	uint64_t *place, struct ttm_words words, uint64_t before_w0,
	uint32_t before_slot)
{
	struct ttm_put put; /* not zeroed: it is large */

	if (!put_resume(&put, seat, era, place, &words))
		return;
	put.before_w0 = before_w0;
	put.before_slot = before_slot;
	put_settle(&put);
}

TTM_COLD void ttm_put_met(struct ttm_seat *seat, uint64_t era, uint64_t *place,
	struct ttm_words words)
{
	struct ttm_search search;
	struct ttm_found rival;
	struct ttm_put put; /* not zeroed: it is large */

	put_resume(&put, seat, era, place, &words);
	ttm_search_key(&search, put.hook.process, &put.key);
	while (rival_next(&put, &search, &rival)) {
		if (is_later(&rival, &put.mine)) {
			ttm_found_end(&put.hook, put.block, &put.mine,
				TTM_FLAG_REPLACED, ttm_clock_now());
			return;
		}
		if (put_may_end(&put, &rival))
			ttm_found_end(&put.hook, put.block, &rival,
				TTM_FLAG_REPLACED, ttm_clock_now());
	}
}

TTM_COLD bool ttm_put_yields(struct ttm_seat *seat, uint64_t era,
	uint64_t *place, uint64_t octet, const struct ttm_words *words)
{
	struct ttm_search search;
	struct ttm_found rival;
	struct ttm_put put; /* not zeroed: it is large */

	put_resume(&put, seat, era, place, words);
	put.mine.octet = octet;
	ttm_search_key(&search, put.hook.process, &put.key);
	return rival_next(&put, &search, &rival) &&
		ttm_found_free(&put.hook, &put.mine);
}
