/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Kernels that are loaded on several places. A kernel is loaded once on each device. */
#include "record/object.h"

/* -- kernels on places that overlap ---------------------------------------------------------- */

/*
 * Handles the kernel of this key on another place, on the devices of `where`: the same
 * kernel is dispatched there, another kernel leaves them. Returns the devices of the
 * dispatch.
 */
static uint64_t kernel_elsewhere(struct ttm_ring *ring,
	const struct ttm_where *where, unsigned place,
	const struct ttm_object *object, uint64_t now)
{
	uint64_t members, left;
	struct ttm_words words;
	struct ttm_found found;
	struct ttm_key key;

	ttm_key_set(&key, place, object->figure, 0, object->id);
	words_fill(&words, ring, object, place, 0);
	while (ttm_key_find(ring->process, &key, where->members, &found)) {
		members = ttm_found_current(ring->process, &found) &
			where->members;
		if (!members)
			return 0;
		ttm_ring_begin(ring, 1);
		if (ttm_words_are_same_kernel(&found.words, &words)) {
			dispatch_commit(ring,
				ttm_place_of(ring->process, members, true),
				members, found.words.w[1], object->id, now);
			return members;
		}
		if (ttm_found_leave(ring, &found, members, TTM_FLAG_REPLACED,
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
	struct ttm_ring *ring, struct ttm_where where, uint64_t kernel)
{
	struct ttm_process *process = ring->process;
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
		ttm_ring_begin(ring, 1);
		if (!ttm_found_leave(ring,
			    own.slot < other.slot ? &own : &other, members,
			    TTM_FLAG_REPLACED, now, &left))
			ttm_noop_commit(ring);
	}
}

TTM_SLOW void ttm_kernel_load_slow(
	struct ttm_ring *ring, struct ttm_where where, struct ttm_object object)
{
	uint64_t now = ttm_clock_now();
	struct ttm_overlap overlap;
	uint64_t members = where.members;
	unsigned place;

	if (!ttm_blocks_or_loss(
		    ring, &where, object.figure, object.id, object.bytes))
		return;
	ttm_overlap_start(&overlap, where.members, 0);
	while (members && (place = ttm_overlap_next(ring->process, &overlap)))
		members &= ~kernel_elsewhere(ring, &where, place, &object, now);
	if (ttm_load(&ring->control->intent) != ring->tail)
		ttm_noop_commit(ring);
	if (!members)
		return;
	if (members != where.members) {
		where.members = members;
		where.place = ttm_place_of(ring->process, members, false);
	}
	ttm_insert_slow(ring, where, object);
	if (where.place)
		ttm_kernel_settle(ring, where, object.id);
}
