/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Kernels that are loaded on several places. A kernel is loaded once on each device. */
#include "record/found.h"
#include "record/note.h"

/* -- kernels on places that overlap ---------------------------------------------------------- */

/*
 * Handles the kernel of this key on another place, on the devices of `where`: the same
 * kernel is dispatched there, another kernel leaves them. Returns the devices of the
 * dispatch.
 */
static uint64_t kernel_elsewhere(const struct ttm_hook *hook,
	const struct ttm_where *where, unsigned place,
	const struct ttm_object *object, uint64_t now)
{
	uint64_t members, left;
	struct ttm_words words;
	struct ttm_found found;
	struct ttm_key key;

	ttm_key_set(&key, place, object->figure, 0, object->id);
	words_fill(&words, hook->seat, object, place, 0);
	while (ttm_key_find(hook->process, &key, where->members, &found)) {
		members = ttm_found_current(hook->process, &found) &
			where->members;
		if (!members)
			return 0;
		ttm_lane_begin(hook->lane);
		if (ttm_words_are_same_kernel(&found.words, &words)) {
			dispatch_commit(hook,
				ttm_place_of(hook->process, members, true),
				members, found.words.w[1], object->id, now);
			return members;
		}
		if (ttm_found_leave(hook, &found, members, TTM_FLAG_REPLACED,
			    now, &left))
			return 0;
	}
	return 0;
}

/*
 * Settles a race with threads that load the kernel at the same time on overlapping
 * places. Each thread inserts its kernel and then looks for others: on the devices that
 * two share, the one in the higher slot stays.
 */
TTM_COLD void ttm_kernel_settle(
	struct ttm_seat *seat, struct ttm_where where, uint64_t kernel)
{
	const struct ttm_hook hook = ttm_hook_of(seat);
	struct ttm_process *process = hook.process;
	uint64_t members, left, now = ttm_clock_now();
	struct ttm_key own_key, key;
	struct ttm_overlap overlap;
	struct ttm_found own, other;
	unsigned place;

	ttm_key_set(&own_key, where.place, TTMEM_FIGURE_KERNEL, 0, kernel);
	ttm_overlap_start(&overlap, where.members, where.place);
	while ((place = ttm_overlap_next(process, &overlap))) {
		if (!ttm_key_find(process, &own_key, where.members, &own))
			return;
		members = ttm_found_current(process, &own);
		ttm_key_set(&key, place, TTMEM_FIGURE_KERNEL, 0, kernel);
		if (!members || !ttm_key_find(process, &key, members, &other))
			continue;
		members &= ttm_found_current(process, &other);
		if (!members)
			continue;
		ttm_lane_begin(hook.lane);
		if (!ttm_found_leave(&hook,
			    own.slot < other.slot ? &own : &other, members,
			    TTM_FLAG_REPLACED, now, &left))
			ttm_noop_commit(&hook);
	}
}

TTM_SLOW void ttm_kernel_load_slow(
	struct ttm_seat *seat, struct ttm_where where, struct ttm_object object)
{
	const struct ttm_hook hook = ttm_hook_of(seat);
	uint64_t now = ttm_clock_now();
	struct ttm_overlap overlap;
	uint64_t members = where.members;
	unsigned place;

	if (!ttm_blocks_or_loss(
		    &hook, &where, object.figure, object.id, object.bytes))
		return;
	ttm_overlap_start(&overlap, where.members, 0);
	while (members && (place = ttm_overlap_next(hook.process, &overlap)))
		members &= ~kernel_elsewhere(
			&hook, &where, place, &object, now);
	if (ttm_load(&hook.lane->control->intent) != hook.lane->tail)
		ttm_noop_commit(&hook);
	if (!members)
		return;
	if (members != where.members) {
		where.members = members;
		where.place = ttm_place_of(hook.process, members, false);
	}
	ttm_insert_slow(seat, where, object);
	if (where.place)
		ttm_kernel_settle(seat, where, object.id);
}
