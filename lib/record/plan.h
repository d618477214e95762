/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * The CBs of a program on a device, found together and ended together.
 *
 * A plan is a record of private memory with the slots of up to eight CBs, those with the
 * ids 8n to 8n + 7. The index leads to the plan. Its word has, for each of the eight, a bit
 * while it is there (0-7) and one for the side on which its slot stands (8-15), and above
 * these how many times it has changed. Whoever wants a CB, or all of them, takes them out
 * of the word by one CAS, and has their slots to itself then. The count never goes back,
 * whatever the plan is used for: a CAS fails if anything was done since the word was read.
 *
 * Only the lane that a plan belongs to puts CBs in, so that it may write their slots
 * there beforehand. A CB that is planned anew goes to the other side, and one CAS lets it
 * come and the old one go. Other lanes that have CBs of the same program have plans of
 * their own, and then one CB may be in two of them: who puts one in looks for others after,
 * as everywhere (see object.h).
 *
 * So that lanes which share a program do not read each other's words all the time, the
 * entry of a plan says which CBs it may have. It says "all" while it is the only one; its
 * lane makes that fewer when it has met another, and from then on says so before it puts a
 * further one in.
 *
 * Who takes the last CB out clears the entry of the index and gives the plan back to its
 * lane: nobody else may use it again, for the lane may be about to write into it.
 *
 * word     stored by                        loaded by      promises
 * entry    its lane (CAS); who clears it    everybody      no CB is in that it may not have
 * word     its lane; who takes out (CAS)    everybody      the rest is as it was if this is
 * next     its lane; who gives it back      its lane       see lane->plans_back
 * others   its lane, while nothing is in    everybody      nothing without the word
 * slots    its lane, of what is not in      everybody      likewise
 *
 * Lock-free; inside a hook.
 */
#ifndef TTM_RECORD_PLAN_H
#define TTM_RECORD_PLAN_H

#include "record/find.h"
#include "record/index.h"
#include "record/process.h"

struct ttm_plan {
	_Alignas(128) uint64_t word;
	uint64_t program;
	uint64_t ids;  /* of its CBs, divided by TTM_PLAN_LEN */
	uint64_t home; /* TTM_PLAN_HOME(lane, epoch and device) */
	uint32_t number;
	uint32_t next;                  /* of those that are free: number + 1 */
	uint8_t turns[TTM_PLAN_LEN][2]; /* of each side; its lane's alone */
	uint64_t reserved[9];
	void *slots[TTM_PLAN_LEN][2]; /* struct ttm_words, of each side */
};

_Static_assert(sizeof(struct ttm_plan) == 256, "two pairs of lines");

/* The lane is where w1 of a slot has the slot's number. */
#define TTM_PLAN_HOME(lane, w1)                                                \
	((w1) | TTM_W1(lane, 0, 0, TTMEM_FIGURE_CB, 0, 0))
#define TTM_PLAN_LANE(home) TTM_W1_SLOT(home)

#define TTM_PLAN_THERE(word) ((unsigned)((word)&0xff))
#define TTM_PLAN_HAS(word, at) ((word) >> (at)&1)
#define TTM_PLAN_SIDE(word, at) ((word) >> (8 + (at)) & 1)
#define TTM_PLAN_CHANGE 0x10000ull
#define TTM_PLAN_WITH(word, at) (((word) + TTM_PLAN_CHANGE) | 1ull << (at))
#define TTM_PLAN_WITHOUT(word, bits) (((word) + TTM_PLAN_CHANGE) - (bits))
#define TTM_PLAN_TURNED(word, at)                                              \
	(((word) + TTM_PLAN_CHANGE) ^ 0x100ull << (at))

static inline struct ttm_plan *ttm_plan_at(
	const struct ttm_process *process, uint32_t number)
{
	struct ttm_plan *first = ttm_pointer_load(&process->plans[0]), *region;

	if (TTM_LIKELY(number < TTM_PLANS_PER_REGION))
		return &first[number];
	region = ttm_pointer_load(
		&process->plans[number / TTM_PLANS_PER_REGION]);
	return &region[number % TTM_PLANS_PER_REGION];
}

static inline struct ttm_words *plan_slot(
	struct ttm_plan *plan, uint64_t word, unsigned at)
{
	/* The word shows whether it is of one moment with it. */
	return ttm_pointer_load(&plan->slots[at][TTM_PLAN_SIDE(word, at)]);
}

/* Its lane alone asks for it. */
static inline uint8_t plan_turn(
	const struct ttm_plan *plan, uint64_t word, unsigned at)
{
	return plan->turns[at][TTM_PLAN_SIDE(word, at)];
}

/* Before the word says so. */
static inline void plan_slot_set(struct ttm_plan *plan, uint64_t word,
	unsigned at, struct ttm_words *slot, uint8_t turn)
{
	unsigned side = TTM_PLAN_SIDE(word, at);

	ttm_pointer_set(&plan->slots[at][side], slot);
	plan->turns[at][side] = turn;
}

/* A free plan of the lane's own; false if there is no memory. */
bool ttm_plan_refill(struct ttm_process *process, struct ttm_lane *lane);

static inline bool ttm_plan_take(struct ttm_process *process,
	struct ttm_lane *lane, struct ttm_plan **ret_plan)
{
	if (TTM_UNLIKELY(lane->plans == 0) && !ttm_plan_refill(process, lane))
		return false;
	*ret_plan = ttm_plan_at(process, lane->plans - 1);
	lane->plans = (*ret_plan)->next;
	return true;
}

void ttm_plan_give_back(struct ttm_process *process, struct ttm_plan *plan);

/* One of the lane's own is free. */
static inline void ttm_plan_put(struct ttm_lane *lane, struct ttm_plan *plan)
{
	plan->next = lane->plans;
	ttm_fence_signal();
	lane->plans = plan->number + 1;
}

/* Its last CB was taken out. */
static inline void ttm_plan_end(struct ttm_process *process,
	struct ttm_lane *lane, struct ttm_plan *plan, uint64_t *place)
{
	ttm_index_clear(place);
	/* relaxed: nobody writes it while it is in nobody's hands but ours */
	if (TTM_LIKELY(TTM_PLAN_LANE(ttm_load(&plan->home)) == lane->number))
		ttm_plan_put(lane, plan);
	else
		ttm_plan_give_back(process, plan);
}

/* A plan that the index leads to, as it was at one moment. */
struct ttm_planned {
	struct ttm_plan *plan;
	uint64_t *place;
	uint64_t entry;
	uint64_t word;
};

/* What the entry leads to, as it is now. */
static TTM_INLINE void plan_read(
	const struct ttm_process *process, struct ttm_planned *planned)
{
	planned->plan = ttm_plan_at(process, ttm_entry_slot(planned->entry));
	/* pairs(plan): acquire, with ttm_plan_show: the rest is of this use, or
	 * of a later one, and then the word has changed */
	planned->word = ttm_load_acquire(&planned->plan->word);
}

/*
 * As entry_stands(), for a plan's: which CBs it may have is not looked at, for its lane
 * changes that.
 */
static TTM_INLINE bool plan_entry_stands(const uint64_t *place, uint64_t entry)
{
	/* relaxed: after the word's acquire */
	return ((ttm_load(place) ^ entry) & ~TTM_TAG_MAY) == 0;
}

/* The next in that bucket that may have the CB: see plan_point. */
static TTM_INLINE bool plan_point_next(const struct ttm_bucket *bucket,
	const struct ttm_key *key, struct ttm_planned *planned,
	bool *ret_others)
{
	/* pairs(index-entry): acquire, with ttm_bucket_put */
	planned->entry = ttm_load_acquire(++planned->place);
	if (ttm_entry_has(planned->entry, ttm_key_wanted(key)))
		return true;
	*ret_others = ttm_bucket_with(bucket, key->tag) != 0;
	if (!*ret_others)
		return false;
	do {
		if (++planned->place == &bucket->entries[TTM_BUCKET_LEN])
			return false;
		/* pairs(index-entry): acquire, as above */
		planned->entry = ttm_load_acquire(planned->place);
	} while (!ttm_entry_has(planned->entry, ttm_key_wanted(key)));
	return true;
}

/*
 * The first in that bucket that may have the CB; false says nothing, but whether there are
 * `others` that have not.
 *
 * One by one, by branches that are foretold: what comes then waits for that entry alone.
 * Mostly it is the first, and says "all"; the second where two lanes plan a program.
 */
static TTM_INLINE bool plan_point(const struct ttm_process *process,
	struct ttm_bucket *bucket, const struct ttm_key *key,
	struct ttm_planned *ret_planned, bool *ret_others)
{
	struct ttm_planned planned = { .place = &bucket->entries[0] };

	/* pairs(index-entry): acquire, with ttm_bucket_put */
	planned.entry = ttm_load_acquire(planned.place);
	if (TTM_UNLIKELY((planned.entry ^ key->tag) >> 24 != 0) &&
		!ttm_entry_has(planned.entry, ttm_key_wanted(key)) &&
		!plan_point_next(bucket, key, &planned, ret_others))
		return false;
	plan_read(process, &planned);
	*ret_planned = planned;
	return true;
}

/* Whether it is for CBs of that program, with such ids. */
static TTM_INLINE bool plan_has_key(
	const struct ttm_planned *planned, uint64_t program, uint64_t id)
{
	/* relaxed: the word shows whether they are of one moment */
	return TTM_LIKELY(ttm_load(&planned->plan->program) == program &&
		ttm_load(&planned->plan->ids) == id / TTM_PLAN_LEN);
}

/*
 * Whether it is one of the lane's own with something in it: TTM_PLAN_HOME. Its entry stands
 * then, for nobody else can have filled it anew.
 */
static TTM_INLINE bool plan_is_own(const struct ttm_planned *planned,
	uint64_t home, uint64_t program, uint64_t id)
{
	/* relaxed: as above */
	return TTM_LIKELY(plan_has_key(planned, program, id) &&
		ttm_load(&planned->plan->home) == home &&
		TTM_PLAN_THERE(planned->word) != 0);
}

/* Whether these are on that device, and of that epoch: w1 has both. */
static TTM_INLINE bool plan_is_on(
	const struct ttm_planned *planned, uint64_t w1)
{
	uint64_t home = ttm_load(&planned->plan->home); /* relaxed: as above */

	return TTM_LIKELY(((home ^ TTM_PLAN_HOME(0, w1)) & TTM_W1_OWNER) == 0);
}

/*
 * A plan of the lane's own, which is in nobody else's hands, gets its first CB; ttm_plan_show()
 * when the slot is live: who has an entry of an earlier use may look before it is entered.
 */
static TTM_INLINE uint64_t ttm_plan_fill(struct ttm_plan *plan, uint64_t home,
	uint64_t program, uint64_t id, struct ttm_words *slot, uint8_t turn)
{
	unsigned at = id % TTM_PLAN_LEN;
	uint64_t word = ttm_load(&plan->word); /* relaxed: ours */

	/* relaxed: before the word */
	ttm_store(&plan->program, program);
	ttm_store(&plan->ids, id / TTM_PLAN_LEN);
	ttm_store(&plan->home, home);
	plan_slot_set(plan, word, at, slot, turn);
	return TTM_PLAN_WITH(word, at);
}

static TTM_INLINE void ttm_plan_show(struct ttm_plan *plan, uint64_t word)
{
	/* pairs(plan): release, with plan_point: plan and slot are whole */
	ttm_store_release(&plan->word, word);
}

/* A further CB comes into a plan of the lane's own. */
static TTM_INLINE bool ttm_plan_add(struct ttm_plan *plan, uint64_t word,
	unsigned at, struct ttm_words *slot, uint8_t turn)
{
	/* relaxed: before the CAS; what is not in is the lane's to write */
	plan_slot_set(plan, word, at, slot, turn);
	/* pairs(plan): full, with the same line of others, and with plan_point */
	if (TTM_UNLIKELY(!ttm_cas(&plan->word, word, TTM_PLAN_WITH(word, at))))
		return false;
	/* pairs(index-insert): full, as in place_take */
	ttm_fence_after_cas();
	return true;
}

/* One that is in is replaced: it is the caller's then. */
static TTM_INLINE bool ttm_plan_turn(struct ttm_plan *plan, uint64_t word,
	unsigned at, struct ttm_words *slot, uint8_t turn)
{
	uint64_t turned = TTM_PLAN_TURNED(word, at);

	/* relaxed: as above */
	plan_slot_set(plan, turned, at, slot, turn);
	/* pairs(plan): full, as above */
	if (TTM_UNLIKELY(!ttm_cas(&plan->word, word, turned)))
		return false;
	/* pairs(index-insert): full, as in place_take */
	ttm_fence_after_cas();
	return true;
}

/* Takes CBs out, all of these bits; they are the caller's then. */
static TTM_INLINE bool plan_take_out(
	struct ttm_plan *plan, uint64_t word, unsigned bits)
{
	/* pairs(plan): full, with the same line of others: one has them */
	return TTM_LIKELY(
		ttm_cas(&plan->word, word, TTM_PLAN_WITHOUT(word, bits)));
}

/* Whether a CB may be in another plan, too, asked after it came: "no" is certain. */
static TTM_INLINE bool plan_may_meet(const struct ttm_process *process)
{
	/* pairs(plan-meet): acquire, with ttm_plan_announce: of two that put a
	 * CB in at once at least one sees the other */
	return TTM_UNLIKELY(ttm_load_acquire(&process->plans_meet) != 0);
}

/*
 * The same of this CB, after it came into a plan that the bucket has at planned->place. Also
 * "maybe" if there is another plan, and this one's entry says "all": see ttm_plan_narrow.
 */
static TTM_INLINE bool plan_may_have_other(const struct ttm_process *process,
	const struct ttm_level *level, const struct ttm_bucket *bucket,
	const struct ttm_key *key, const struct ttm_planned *planned)
{
	bool single = !level->older && ttm_level_newest(process) == level;
	bool says_all = (~planned->entry & TTM_TAG_MAY) == 0;
	uint64_t wanted = says_all ? ttm_key_of_any(key) : ttm_key_wanted(key);
	const uint64_t *first = bucket->entries;
	unsigned i, found;

	/* relaxed: as in ttm_index_may_have_other. Mostly there is one more at
	 * most: two loads and one comparison, where a search takes 3 ns. */
	if (TTM_LIKELY(single && ttm_line_is_zero_from(first, 2) &&
		    (planned->place == first || planned->place == first + 1)))
		return ttm_entry_has(
			ttm_load(&first[planned->place == first]), wanted);
	/* One by one, as in plan_point. relaxed: it is looked for again */
	found = ttm_bucket_with(bucket, key->tag);
	for (i = 0; found >> i != 0; i++)
		if (&bucket->entries[i] != planned->place &&
			ttm_entry_has(ttm_load(&bucket->entries[i]), wanted))
			return true;
	if (TTM_LIKELY(single && ttm_load(&bucket->next) == 0))
		return false;
	return ttm_index_has_other(
		process, key->bucket_hash, wanted, planned->entry);
}

/* -- plan.c: what is rare ----------------------------------------------------------- */

/*
 * A plan was entered: if there is another of the same program, that is announced before
 * anybody looks what is in there.
 */
void ttm_plan_announce(struct ttm_process *process);
void ttm_plan_entered(const struct ttm_hook *hook, const struct ttm_key *key,
	const struct ttm_plan *plan);

/* The object of a key in the plan of an entry; false if it has none. */
bool ttm_plan_leads_to(const struct ttm_process *process, uint64_t *place,
	uint64_t entry, const struct ttm_key *key, struct ttm_found *ret_found);

/* A plan of the lane's own that has that CB, or has it not; wherever it is entered. */
bool ttm_plan_find_own(const struct ttm_hook *hook, const struct ttm_key *key,
	uint64_t home, bool has, struct ttm_planned *ret_planned);

/*
 * The entry of a plan of the lane's own says that it may have that CB, before it has it.
 * False if the plan has ended. And that of one that has met another says which it has.
 */
bool ttm_plan_open(struct ttm_planned *planned, const struct ttm_key *key);
void ttm_plan_narrow(const struct ttm_plan *plan, uint64_t *place,
	const struct ttm_key *key);

/* Whether what was found is in its plan still; takes it out. */
bool ttm_plan_has(struct ttm_process *process, const struct ttm_found *found,
	uint64_t *ret_word);
bool ttm_plan_take_found(
	const struct ttm_hook *hook, const struct ttm_found *found);

/*
 * A CB comes into a plan of the lane's own: one that is there, or found->plan, which was
 * taken before the slot went live. Who finds the slot live then finds no entry any more
 * of what that plan was before. Sets plan and place; false without memory, and then it
 * is in that plan, which the index has not.
 */
bool ttm_plan_enter(const struct ttm_hook *hook, const struct ttm_key *key,
	struct ttm_found *found);

#endif
