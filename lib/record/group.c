/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#include "record/group.h"

#include "record/again.h"
#include "record/device.h"

/* -- announcements ------------------------------------------------------------------ */

TTM_COLD void ttm_single_announce_first(
	struct ttm_process *process, unsigned device)
{
	uint64_t seen;

	do
		seen = ttm_load(&process->singles); /* relaxed: the CAS */
	/* pairs(single): full, with group_put: it is entered after this */
	while (!ttm_cas(&process->singles, seen, seen | 1ull << device));
}

static TTM_COLD void group_announce_first(struct ttm_process *process)
{
	/* pairs(group): full, with ttm_group_may_have: one is entered after
	 * this */
	ttm_cas(&process->groups, 0, 1);
}

bool ttm_group_may_have_rarely(
	const struct ttm_process *process, const struct ttm_key *key)
{
	unsigned device = key->w1 % TTM_DEVICES_MAX;
	struct ttm_key group;

	ttm_key_of_group(&group, key, device / TTM_OCTET_LEN);
	return ttm_index_has_other(process, group.bucket_hash, group.tag, 0);
}

/* -- octets -------------------------------------------------------------------------- */

uint64_t ttm_octet_with(struct ttm_process *process, uint32_t slot)
{
	/* pairs(octet): acquire, with group_put: the slot is read after, and so
	 * is of this use, or of a later one */
	uint64_t word = ttm_load_acquire(
		ttm_octet_word(process, ttm_octet_of(slot)));

	return word & ttm_octet_bit(slot) ? word : 0;
}

bool ttm_octet_claim(struct ttm_process *process, uint32_t slot, uint64_t seen)
{
	uint64_t *word = ttm_octet_word(process, ttm_octet_of(slot)), now;
	unsigned bit = ttm_octet_bit(slot);

	do {
		now = ttm_load(word); /* relaxed: the CAS decides */
		if (TTM_OCTET_USE(now) != TTM_OCTET_USE(seen) || !(now & bit))
			return false;
		/* pairs(octet): full, with the same line of others: one has it */
	} while (!ttm_cas(word, now, TTM_OCTET_CLAIMED(now, bit)));
	TTM_TESTPOINT("octet claimed");
	return true;
}

/* Its last objects are gone. */
static TTM_INLINE void octet_end(
	const struct ttm_hook *hook, uint32_t octet, uint64_t *place)
{
	ttm_index_clear(place);
	ttm_octet_put(hook->process, hook->lane, octet);
}

void ttm_octet_leave(const struct ttm_hook *hook, uint32_t octet,
	uint64_t *place, unsigned bits)
{
	uint64_t *word = ttm_octet_word(hook->process, octet);
	uint64_t going = (uint64_t)bits << 8;

	/* pairs(octet): full, with the same line of others: who is last clears
	 * the entry, and all are done with the slots */
	if ((ttm_fetch_add(word, -going) & 0xffff) == going)
		octet_end(hook, octet, place);
}

/* Whether the lane can count on each device of the mask. */
static TTM_INLINE bool lane_has_blocks(
	const struct ttm_hook *hook, uint64_t mask)
{
	struct ttm_lane *lane = hook->lane;
	uint64_t missing = mask & ~lane->blocks_seen;
	unsigned device;

	while (TTM_UNLIKELY(missing)) {
		device = ttm_mask_take(&missing);
		if (!ttm_lane_block(hook->process, lane, device))
			return false;
		lane->blocks_seen |= 1ull << device;
	}
	return true;
}

/* One octet's part of an event. */
struct group {
	unsigned first;   /* device of its eight */
	unsigned members; /* a bit for each of these that takes part */
	unsigned len;     /* how many */
	uint32_t octet;
	uint64_t word; /* of the octet, as it was put or found */
	struct ttm_words *slots;
	uint64_t *place;
	struct ttm_way way;
	uint64_t eras[TTM_OCTET_LEN];
};

static TTM_INLINE bool group_has(const struct group *group, unsigned at)
{
	return group->members >> at & 1;
}

static TTM_INLINE void group_set_members(struct group *group, unsigned members)
{
	group->members = members;
	group->len = TTM_LIKELY(members == 0xff) ? TTM_OCTET_LEN :
						   ttm_byte_bits(members);
}

/* Takes an eight out of the mask; false if fewer than two of its devices are in. */
static TTM_INLINE bool group_take(struct group *ret_group, uint64_t *mask)
{
	unsigned first = (unsigned)__builtin_ctzll(*mask) &
		~(TTM_OCTET_LEN - 1);

	group_set_members(ret_group, *mask >> first & 0xff);
	*mask &= ~(0xffull << first);
	ret_group->first = first;
	return ret_group->len >= 2;
}

static TTM_INLINE uint64_t group_mask(const struct group *group)
{
	return (uint64_t)group->members << group->first;
}

/* `key` is on no device. */
static TTM_INLINE void group_way(const struct ttm_hook *hook,
	const struct ttm_key *key, struct group *group)
{
	struct ttm_way *way = &group->way;

	ttm_key_of_group(&way->key, key, group->first / TTM_OCTET_LEN);
	way->level = ttm_level_newest(hook->process);
	way->bucket = ttm_level_bucket(way->level, way->key.bucket_hash);
	ttm_prefetch_write(way->bucket);
}

/* -- it comes ------------------------------------------------------------------------- */

/* Slots and records; the operation has begun. */
static TTM_INLINE void group_write(const struct ttm_hook *hook,
	const struct ttm_draft *draft, uint64_t now, struct group *group)
{
	const struct ttm_device *device = &hook->process->devices[group->first];
	const uint64_t record_w1 = TTM_W1(0, 0, 0, 0, 0, TTM_RECORD_ALLOC);
	/* Slot and device of a member are so many more than the first ones'. */
	const uint64_t step = TTM_W1(1, 0, 1, 0, 0, 0);
	uint64_t w1 = draft->words.w[1] |
		TTM_W1(group->octet, 0, group->first, 0, 0, 0);
	struct ttm_words *slot = group->slots, *record;
	struct ttm_words *records = hook->lane->records;
	uint64_t tail = hook->lane->tail;
	struct ttm_words words = draft->words;
	unsigned at;

	words.w[6] = now;
	for (at = 0; at < TTM_OCTET_LEN; at++, slot++, device++, w1 += step) {
		if (!group_has(group, at))
			continue;
		group->eras[at] = ttm_device_era(device);
		record = &records[tail++ % TTM_LANE_RECORDS];
		words.w[1] = w1 |
			TTM_W1(0, TTM_ERA_EPOCH(group->eras[at]), 0, 0, 0, 0);
		slot_begin(slot, &words);
		slot_end(slot, &words);
		ttm_record_write(record, words.w[0], words.w[1] | record_w1,
			words.w[3], &words);
	}
}

static TTM_INLINE void group_count(const struct ttm_hook *hook,
	const struct ttm_draft *draft, unsigned figure, struct group *group)
{
	struct ttm_device *devices = &hook->process->devices[group->first];
	struct ttm_block_device **blocks = &hook->lane->blocks[group->first];
	unsigned at;

	for (at = 0; at < TTM_OCTET_LEN; at++)
		if (group_has(group, at))
			ttm_account_alloc(&devices[at], blocks[at], figure,
				group->eras[at], draft->bytes);
	TTM_TESTPOINT("alloc counted");
}

/* Whether a member may be there by itself, too. `key` is on no device. */
static bool group_may_meet(const struct ttm_process *process,
	const struct group *group, const struct ttm_key *key)
{
	struct ttm_key member;
	unsigned at;

	for (at = 0; at < TTM_OCTET_LEN; at++) {
		member = *key;
		ttm_key_on(&member, group->first + at);
		if (group_has(group, at) &&
			ttm_index_has_other(
				process, member.bucket_hash, member.tag, 0))
			return true;
	}
	return false;
}

/* Whether a member is given up: it met another, or has no place in the index. */
static bool member_yields(struct ttm_seat *seat, const struct group *group,
	unsigned at, const struct ttm_words *words)
{
	if (group->place)
		return ttm_put_yields(seat, group->eras[at], group->place,
			group->word, words);
	/* Nobody else can have it. */
	ttm_octet_claim(seat->process, group->octet + at, group->word);
	slot_free_owned(&group->slots[at], words->w[0]);
	return true;
}

/*
 * There may be others with one of the keys, or no place in the index: what meets another
 * is given up, and put by itself then. Its record says that it has gone again.
 */
static TTM_COLD void group_meets(struct ttm_seat *seat, struct group group,
	struct ttm_object object, uint64_t now)
{
	const struct ttm_hook hook = ttm_hook_of(seat);
	unsigned at, records = 0, gone = 0;
	uint64_t nowhere = 0, left;
	struct ttm_words *record, words;

	if (!group.place)
		group.place = ttm_index_insert_slow(hook.process,
			group.way.key.bucket_hash,
			ttm_entry(&group.way.key, group.octet));
	for (at = 0; at < TTM_OCTET_LEN; at++) {
		if (!group_has(&group, at))
			continue;
		record = ttm_lane_record(hook.lane, records++);
		words = *record;
		words.w[1] = TTM_W1_WITH(words.w[1], group.octet + at, 0);
		if (member_yields(seat, &group, at, &words)) {
			free_write(record, TTM_FLAG_UNCOUNTED, now, &words);
			gone |= 1u << at;
		} else {
			ttm_account_alloc(
				&hook.process->devices[group.first + at],
				hook.lane->blocks[group.first + at],
				object.figure, group.eras[at], object.size);
		}
	}
	TTM_TESTPOINT("alloc counted");
	ttm_lane_end(hook.lane, group.len);
	if (gone)
		ttm_octet_leave(&hook, group.octet,
			group.place ? group.place : &nowhere, gone);
	for (left = (uint64_t)gone << group.first; left;)
		ttm_put_carefully(seat, ttm_mask_take(&left), object, now);
}

static TTM_INLINE bool group_put(const struct ttm_hook *hook,
	struct group *group, const struct ttm_object *object,
	const struct ttm_draft *draft, uint64_t now)
{
	struct ttm_process *process = hook->process;
	struct ttm_lane *lane = hook->lane;
	uint64_t entry, *word;

	group_way(hook, &draft->key, group);
	if (!lane_has_blocks(hook, group_mask(group)) ||
		!ttm_octet_take(process, lane, &group->octet))
		return false;
	group->slots = ttm_slot_at(process, group->octet);
	entry = ttm_entry(&group->way.key, group->octet);
	word = ttm_octet_word(process, group->octet);
	/* relaxed: it only grows, and before the CAS that enters the group */
	if (TTM_UNLIKELY(ttm_load(&process->groups) == 0))
		group_announce_first(process);
	ttm_lane_begin_several(lane, group->len);
	group_write(hook, draft, now, group);
	/* relaxed: it is ours. But who has an entry of an earlier use may look
	 * at it before it is entered.
	 * pairs(octet): release, with ttm_octet_with and group_find: the slots
	 * are whole */
	group->word = TTM_OCTET_NEXT(ttm_load(word), group->members);
	ttm_store_release(word, group->word);
	group->place = ttm_bucket_put(group->way.bucket, entry);
	TTM_TESTPOINT("index entered");
	/* pairs(single): acquire, with ttm_single_announce_first: of two that
	 * enter at once at least one sees the other announced */
	if (TTM_UNLIKELY(!group->place ||
		    ttm_index_may_have_other(process, group->way.level,
			    group->way.bucket, &group->way.key, group->place,
			    entry) ||
		    (ttm_load_acquire(&process->singles) & group_mask(group) &&
			    group_may_meet(process, group, &draft->key)))) {
		group_meets(hook->seat, *group, object_copy(object), now);
		return true;
	}
	group_count(hook, draft, object->figure, group);
	ttm_lane_end(lane, group->len);
	return true;
}

TTM_SLOW void ttm_group_put(struct ttm_seat *seat, uint32_t device,
	unsigned figure, uint64_t id, uint64_t address, uint64_t size,
	uint64_t charged)
{
	const struct ttm_hook hook = ttm_hook_of(seat);
	const struct ttm_object object = {
		.figure = figure,
		.id = id,
		.address = address,
		.size = size,
		.program = charged,
		.bytes = size,
	};
	enum ttmem_anomaly reason;
	uint64_t mask = ttm_device_mask(hook.process, device, true, &reason);
	uint64_t now = ttm_clock_now(), left = 0;
	struct ttm_draft draft;
	struct group group;

	if (TTM_UNLIKELY(!mask)) {
		ttm_anomaly(&hook, reason, TTM_DEVICE_NONE, object.figure,
			object.id);
		return;
	}
	draft_fill(&draft, hook.seat, &object);
	ttm_key_begin(&draft.key, object.figure, 0, object.id);
	do
		if (!group_take(&group, &mask) ||
			!group_put(&hook, &group, &object, &draft, now))
			left |= group_mask(&group);
	while (TTM_UNLIKELY(mask));
	while (TTM_UNLIKELY(left))
		ttm_object_put(
			&hook, ttm_mask_take(&left), &object, &draft, &now);
}

/* -- it goes -------------------------------------------------------------------------- */

/* What a removal is about, for all members. */
struct removal {
	unsigned figure;
	uint64_t id;
	ttm_pair id_now;
};

/* Whether all members are of the current epochs of their devices; sets eras. */
static TTM_INLINE bool group_is_current(
	const struct ttm_hook *hook, struct group *group)
{
	const struct ttm_device *device = &hook->process->devices[group->first];
	const struct ttm_words *slot = group->slots;
	uint64_t differs = 0;
	unsigned at;

	for (at = 0; at < TTM_OCTET_LEN; at++, slot++, device++) {
		if (!group_has(group, at))
			continue;
		group->eras[at] = ttm_device_era(device);
		/* relaxed: as in slot_read */
		differs |= ttm_load(&slot->w[1]) ^
			TTM_W1(0, TTM_ERA_EPOCH(group->eras[at]), 0, 0, 0, 0);
	}
	return TTM_LIKELY(TTM_W1_EPOCH(differs) == 0);
}

/*
 * Whether the index has the group where nearly all are, and it is as usual; false says
 * nothing. The members that are not there any more are left out.
 */
static TTM_INLINE bool group_find(const struct ttm_hook *hook,
	struct group *group, const struct removal *removal)
{
	struct ttm_bucket *bucket = group->way.bucket;
	const struct ttm_words *slot;
	uint64_t entry, w1;
	unsigned at;

	if (!ttm_bucket_find(bucket, group->way.key.tag, &entry, &at))
		return false;
	group->place = &bucket->entries[at];
	group->octet = ttm_entry_slot(entry);
	group->slots = ttm_slot_at(hook->process, group->octet);
	for (at = 0; at < TTM_OCTET_LEN; at++)
		ttm_prefetch_write(&group->slots[at]);
	/* pairs(octet): acquire, with group_put: all of the below is of this
	 * use, or of a later one, and then the claim fails */
	group->word = ttm_load_acquire(
		ttm_octet_word(hook->process, group->octet));
	group_set_members(group, group->members & TTM_OCTET_THERE(group->word));
	if (TTM_UNLIKELY(!group->members))
		return false;
	/* What is there is of one buffer. */
	slot = &group->slots[__builtin_ctz(group->members)];
	/* pairs(slot): acquire, with slot_end: the body is whole */
	if (TTM_W0_STATE(ttm_load_acquire(&slot->w[0])) != TTM_SLOT_LIVE)
		return false;
	/* relaxed: as in slot_read */
	w1 = ttm_load(&slot->w[1]);
	return TTM_LIKELY(TTM_W1_FIGURE(w1) == removal->figure &&
		ttm_load(&slot->w[2]) == removal->id &&
		entry_stands(group->place, entry) &&
		group_is_current(hook, group));
}

/* It was claimed. */
static TTM_INLINE void member_remove(struct ttm_device *device,
	struct ttm_block_device *block, uint64_t era, struct ttm_words *slot,
	struct ttm_words *record, const struct removal *removal)
{
	/* relaxed: nobody else writes them */
	uint64_t w0 = ttm_load(&slot->w[0]), w1 = ttm_load(&slot->w[1]);
	uint64_t bytes = ttm_load(&slot->w[4]);
	ttm_pair w4 = ttm_pair_load(&slot->w[4]);
	ttm_pair w6 = ttm_pair_load(&slot->w[6]);

	slot_free_owned(slot, w0);
	ttm_account_free(device, block, removal->figure, era, 1, bytes, false);
	TTM_TESTPOINT("free counted");
	/* relaxed: between the intent and the tail. The turn in w1 is 0. */
	ttm_pair_store(&record->w[0],
		ttm_pair_of(TTM_W0_FREE(w0),
			w1 | TTM_W1(0, 0, 0, 0, 0, TTM_RECORD_FREE)));
	ttm_pair_store(&record->w[2], removal->id_now);
	ttm_pair_store(&record->w[4], w4);
	ttm_pair_store(&record->w[6], w6);
	TTM_TESTPOINT("record written");
}

/* One operation; false if others are at it, and nothing has happened. */
static TTM_INLINE bool group_remove(const struct ttm_hook *hook,
	struct group *group, const struct removal *removal)
{
	struct ttm_device *device = &hook->process->devices[group->first];
	struct ttm_block_device **block = &hook->lane->blocks[group->first];
	uint64_t *word = ttm_octet_word(hook->process, group->octet);
	uint64_t claimed = TTM_OCTET_CLAIMED(group->word, group->members);
	struct ttm_words *records = hook->lane->records;
	struct ttm_words *slot = group->slots;
	uint64_t tail = hook->lane->tail;
	unsigned at;

	ttm_lane_begin_several(hook->lane, group->len);
	/* pairs(octet): full, with the same line of others: one has them */
	if (TTM_UNLIKELY(!ttm_cas(word, group->word, claimed))) {
		ttm_noops_write(hook->lane, 0, group->len);
		ttm_lane_end(hook->lane, group->len);
		return false;
	}
	TTM_TESTPOINT("octet claimed");
	for (at = 0; at < TTM_OCTET_LEN; at++, slot++, device++, block++)
		if (group_has(group, at))
			member_remove(device, *block, group->eras[at], slot,
				&records[tail++ % TTM_LANE_RECORDS], removal);
	ttm_lane_end(hook->lane, group->len);
	if (TTM_UNLIKELY((claimed & 0xffff) != group->members << 8)) {
		ttm_octet_leave(
			hook, group->octet, group->place, group->members);
		return true;
	}
	/* There are no others: nobody else writes the word.
	 * pairs(octet): release, with ttm_octet_with */
	ttm_store_release(word, TTM_OCTET_GONE(claimed));
	octet_end(hook, group->octet, group->place);
	return true;
}

TTM_SLOW void ttm_group_remove(
	struct ttm_seat *seat, uint32_t device, unsigned figure, uint64_t id)
{
	const struct ttm_hook hook = ttm_hook_of(seat);
	enum ttmem_anomaly reason;
	uint64_t mask = ttm_device_mask(hook.process, device, false, &reason);
	uint64_t now = ttm_clock_now(), left = 0, taken;
	struct removal removal = {
		.figure = figure,
		.id = id,
		.id_now = ttm_pair_of(id, now),
	};
	struct ttm_key key;
	struct group group;
	bool is_group;

	if (TTM_UNLIKELY(!mask)) {
		ttm_anomaly(&hook, reason, TTM_DEVICE_NONE, figure, id);
		return;
	}
	ttm_key_begin(&key, figure, 0, id);
	do {
		taken = mask;
		is_group = group_take(&group, &mask);
		taken &= ~mask;
		if (is_group) {
			group_way(&hook, &key, &group);
			if (lane_has_blocks(&hook, taken) &&
				group_find(&hook, &group, &removal) &&
				group_remove(&hook, &group, &removal))
				taken &= ~group_mask(&group);
		}
		left |= taken;
	} while (TTM_UNLIKELY(mask));
	while (TTM_UNLIKELY(left))
		ttm_object_remove(
			&hook, ttm_mask_take(&left), figure, &key, &now);
}
