/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* The rare ways of an object: see object.h. */
#include "record/object.h"

/*
 * The next live object with this key, of whatever epoch, in another slot than
 * `except`.
 */
static bool found_next(struct ttm_process *process, struct ttm_probe *probe,
	const struct ttm_key *key, uint32_t except, struct ttm_found *ret_found)
{
	uint64_t *place, entry = 0;

	while ((place = ttm_probe_next(probe, &entry)) != NULL)
		if ((entry ^ key->tag) >> 24 == 0 &&
			ttm_entry_slot(entry) != except &&
			entry_leads_to(process, place, entry, key, ret_found))
			return true;
	return false;
}

/* -- the end of an object -------------------------------------------------------- */

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

static struct ttm_device *found_device(
	struct ttm_hook *hook, const struct ttm_found *found)
{
	return &hook->process->devices[TTM_W1_DEVICE(found->words.w[1])];
}

/* An operation of its own; somebody else may be faster. */
static void found_end(struct ttm_hook *hook, struct ttm_block_device *block,
	const struct ttm_found *found, unsigned flags)
{
	ttm_lane_begin(hook->lane);
	if (!slot_free(hook->process, found)) {
		noop_commit(hook);
		return;
	}
	free_count(hook, found_device(hook, found), block, found, flags);
	free_commit(hook, found, flags, ttm_clock_now());
}

/*
 * Of the current epoch if there is one, else an orphan. Objects of the current epoch
 * with one key are the same object to the caller.
 */
TTM_COLD struct ttm_found ttm_key_find_anywhere(
	struct ttm_process *process, struct ttm_key key, uint64_t era)
{
	struct ttm_found found, orphan = { 0 };
	struct ttm_probe probe;

	ttm_probe_start(&probe, process, key.bucket_hash);
	while (found_next(process, &probe, &key, TTM_SLOT_NONE, &found)) {
		if (found_is_of(&found, era))
			return found;
		orphan = found;
	}
	return orphan;
}

TTM_COLD void ttm_remove_lost(
	struct ttm_hook hook, unsigned device, unsigned figure, uint64_t id)
{
	ttm_loss(&hook, TTMEM_LOSS_NO_SLOT, device, figure, id, 0);
}

TTM_COLD void ttm_remove_unknown(
	struct ttm_hook hook, unsigned device, unsigned figure, uint64_t id)
{
	ttm_anomaly_commit(
		&hook, TTMEM_ANOMALY_FREE_UNKNOWN, device, figure, id);
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
	struct ttm_found found;
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
	while (key_find(hook->process, &key, era, &found))
		found_end(hook, block, &found, 0);
}

/* A slot met in a scan: where the index has it. */
static bool found_locate(struct ttm_process *process, struct ttm_found *found)
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
	struct ttm_found found;
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

static void put_lost(struct ttm_put *put, enum ttmem_loss reason)
{
	const uint64_t *w = put->mine.words.w;

	ttm_loss(&put->hook, reason, TTM_W1_DEVICE(w[1]), TTM_W1_FIGURE(w[1]),
		w[2], ttm_words_bytes(&put->mine.words));
}

TTM_COLD void ttm_put_lost(struct ttm_put put, enum ttmem_loss reason)
{
	put_lost(&put, reason);
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

/* A kernel that is the same in all respects: loading it is a dispatch. */
static bool is_same_kernel(
	const struct ttm_found *found, const struct ttm_put *put)
{
	const uint64_t *a = found->words.w, *b = put->mine.words.w;

	return TTM_W1_FIGURE(a[1]) >= TTMEM_FIGURE_KERNEL &&
		TTM_W1_FIGURE(a[1]) == TTM_W1_FIGURE(b[1]) && a[4] == b[4] &&
		TTM_W7_CORES(a[7]) == TTM_W7_CORES(b[7]) &&
		((a[1] ^ b[1]) & TTM_W1(0, 0, 0, 0, TTM_FLAG_IN_RING, 0)) == 0;
}

static void dispatch_count(struct ttm_put *put, const struct ttm_found *found)
{
	uint64_t w1 = found->words.w[1];
	struct ttm_note note = {
		.type = TTM_RECORD_DISPATCH,
		.device = TTM_W1_DEVICE(w1),
		.figure = TTM_W1_FIGURE(w1),
		.slot = found->slot,
		.epoch = TTM_W1_EPOCH(w1),
		.w2 = found->words.w[2],
	};

	ttm_lane_begin(put->hook.lane);
	ttm_own_add(
		&put->block->dispatches[note.figure - TTMEM_FIGURE_KERNEL], 1);
	TTM_TESTPOINT("dispatch counted");
	ttm_note_commit(&put->hook, &note);
}

/* What is live under the key now: a dispatch, or the turn of the new object. */
static bool put_is_dispatch(struct ttm_put *put, uint8_t *ret_turn)
{
	struct ttm_probe probe;
	struct ttm_found found;
	uint8_t turn = 0, next;
	unsigned rivals = 0;

	ttm_probe_start(&probe, put->hook.process, put->key.bucket_hash);
	while (found_next(
		put->hook.process, &probe, &put->key, TTM_SLOT_NONE, &found)) {
		if (!found_is_of(&found, put->era))
			continue;
		if (is_same_kernel(&found, put)) {
			dispatch_count(put, &found);
			return true;
		}
		next = (uint8_t)(TTM_W1_TURN(found.words.w[1]) + 1);
		if (rivals++ == 0 || (int8_t)(next - turn) > 0)
			turn = next;
	}
	*ret_turn = turn;
	return false;
}

/* Another object with our key, live and of our epoch. */
static bool rival_next(struct ttm_put *put, struct ttm_probe *probe,
	struct ttm_found *ret_found)
{
	while (found_next(
		put->hook.process, probe, &put->key, put->mine.slot, ret_found))
		if (found_is_of(ret_found, put->era))
			return true;
	return false;
}

/* The slot goes back as if nothing had been; false if somebody else freed it. */
static bool put_withdraw(struct ttm_put *put)
{
	if (!slot_free(put->hook.process, &put->mine))
		return false;
	free_commit(
		&put->hook, &put->mine, TTM_FLAG_UNCOUNTED, ttm_clock_now());
	return true;
}

/* A later object of our key is live: ours was replaced before it was counted. */
static void put_superseded(struct ttm_put *put, const struct ttm_found *later)
{
	if (!is_same_kernel(later, put)) {
		alloc_count_commit(put);
		found_end(
			&put->hook, put->block, &put->mine, TTM_FLAG_REPLACED);
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

	ttm_lane_begin_second(lane);
	free_write(&put->hook, earlier, free_flags, put->mine.words.w[6]);
	alloc_write(put, 1, alloc_flags);
	ttm_lane_end(lane, 2);
	ttm_supply_put(put->hook.process, lane, earlier->slot);
}

/*
 * Counted as one step: the peak does not hold the two together. If it is a kernel
 * that another thread loaded a moment ago, its load stands and ours is a dispatch.
 */
static void put_replaces(struct ttm_put *put, const struct ttm_found *earlier)
{
	if (!slot_free(put->hook.process, earlier)) {
		alloc_count_commit(put);
	} else if (is_same_kernel(earlier, put)) {
		put_instead_of(
			put, earlier, TTM_FLAG_UNCOUNTED, TTM_FLAG_UNCOUNTED);
		dispatch_count(put, &put->mine);
	} else {
		free_count(&put->hook, put->device, put->block, earlier,
			TTM_FLAG_REPLACED);
		alloc_count(put);
		put_instead_of(put, earlier, TTM_FLAG_REPLACED, 0);
	}
}

/* There may be other live objects with our key: see object.h. */
static void put_settle(struct ttm_put *put)
{
	struct ttm_found rival, earlier;
	struct ttm_probe probe;
	unsigned rivals = 0;

	ttm_probe_start(&probe, put->hook.process, put->key.bucket_hash);
	while (rival_next(put, &probe, &rival)) {
		if (is_later(&rival, &put->mine)) {
			put_superseded(put, &rival);
			return;
		}
		earlier = rival;
		rivals++;
	}
	if (rivals == 0) {
		alloc_count_commit(put);
		return;
	}
	put_replaces(put, &earlier);
	if (rivals == 1)
		return;
	ttm_probe_start(&probe, put->hook.process, put->key.bucket_hash);
	while (rival_next(put, &probe, &rival))
		if (!is_later(&rival, &put->mine))
			found_end(&put->hook, put->block, &rival,
				TTM_FLAG_REPLACED);
}

/* The slot is not in the index, so nobody else can have freed it. */
TTM_COLD void ttm_put_without_index(struct ttm_put put)
{
	uint64_t nowhere = 0;

	put.mine.place = &nowhere;
	put_withdraw(&put);
	put_lost(&put, TTMEM_LOSS_NO_INDEX);
}

static void put_carefully(struct ttm_put *put)
{
	uint8_t turn = 0;

	if (ttm_index_may_have(
		    put->hook.process, put->key.bucket_hash, put->key.tag, 0) &&
		put_is_dispatch(put, &turn))
		return;
	if (!put_enter(put, turn))
		return;
	if (put_may_have_rivals(put))
		put_settle(put);
	else
		alloc_count_commit(put);
}

TTM_SLOW void ttm_put_carefully(struct ttm_put put)
{
	put_carefully(&put);
}

TTM_COLD void ttm_put_meets(struct ttm_put put)
{
	struct ttm_found rival;
	struct ttm_probe probe;

	ttm_probe_start(&probe, put.hook.process, put.key.bucket_hash);
	if (rival_next(&put, &probe, &rival) && put_withdraw(&put))
		put_carefully(&put);
	else
		alloc_count_commit(&put);
}
