/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* The supply of free slots: extents of slots, and the stack of batches. */
#include <string.h>
#include <sys/mman.h>

#include "record/ring.h"
#include "record/segment.h"

#define STEP_LEN 128u /* slots that get memory in one step */
#define SLOT_SIZE sizeof(struct ttm_words)
#define STEP_SIZE ((uint32_t)(STEP_LEN * SLOT_SIZE))
#define LINKS_SIZE (TTM_SLOTS_PER_EXTENT * sizeof(struct ttm_link))
#define RUN_SIZE ((size_t)TTM_RUN_EXTENTS * TTM_EXTENT_SIZE)

void ttm_supply_init(struct ttm_process *process)
{
	void *run = mmap(NULL, RUN_SIZE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	process->run = run == MAP_FAILED ? NULL : run;
}

void ttm_supply_drop(struct ttm_process *process)
{
	if (process->run)
		munmap(process->run, RUN_SIZE);
}

static struct ttm_link *link_at(struct ttm_process *process, uint32_t slot)
{
	struct ttm_link *links = ttm_pointer_load(
		&process->links[slot / TTM_SLOTS_PER_EXTENT]);

	return &links[slot % TTM_SLOTS_PER_EXTENT];
}

/*
 * The stack's head is tag << 32 | slot + 1. Every change raises the tag, so that a head
 * that was popped and pushed again is recognised.
 */
static uint64_t head_with(uint64_t head, uint32_t first)
{
	return ((head >> 32) + 1) << 32 | first;
}

/* `first` and `last` are slot + 1 of a chain of batches. */
static void stack_push(
	struct ttm_process *process, uint32_t first, uint32_t last)
{
	uint64_t *stack = &process->free_batches;
	struct ttm_link *link = link_at(process, last - 1);
	uint64_t head;

	do {
		head = ttm_load(stack); /* relaxed: CAS */
		ttm_store32(&link->next_batch, (uint32_t)head);
		/* pairs(supply): full, with stack_pop: the links are written */
	} while (!ttm_cas(stack, head, head_with(head, first)));
}

static bool stack_pop(struct ttm_process *process, uint32_t *ret_first)
{
	uint64_t *stack = &process->free_batches;
	uint64_t head;
	uint32_t first, next;

	do {
		/* pairs(supply): acquire, with stack_push */
		head = ttm_load_acquire(stack);
		first = (uint32_t)head;
		if (first == 0)
			return false;
		/* relaxed: if another thread took it, the tag has changed */
		next = ttm_load32(&link_at(process, first - 1)->next_batch);
	} while (!ttm_cas(stack, head, head_with(head, next)));
	*ret_first = first;
	return true;
}

/* relaxed links: a batch belongs to one thread between push and pop */
static uint32_t batch_chain(
	struct ttm_process *process, const uint32_t *slots, unsigned slots_len)
{
	unsigned i;

	for (i = 0; i < slots_len; i++)
		ttm_store32(&link_at(process, slots[i])->next,
			i + 1 < slots_len ? slots[i + 1] + 1 : 0);
	return slots[0] + 1;
}

/*
 * Pushes the slots of a step, the lowest on top, so that a small process uses few
 * pages.
 */
static void step_push(struct ttm_process *process, uint32_t base)
{
	uint32_t slots[TTM_BATCH_LEN], first = 0, previous = 0, n, i;

	for (n = 0; n < STEP_LEN; n += TTM_BATCH_LEN) {
		for (i = 0; i < TTM_BATCH_LEN; i++)
			slots[i] = base + n + TTM_BATCH_LEN - 1 - i;
		i = batch_chain(process, slots, TTM_BATCH_LEN);
		if (previous)
			ttm_store32(&link_at(process, previous - 1)->next_batch,
				i); /* relaxed: published by stack_push */
		else
			first = i;
		previous = i;
	}
	stack_push(process, first, previous);
}

/*
 * Moves an extent that no other thread has seen yet to its place in the run. An extent
 * that cannot be there stays where it is.
 */
static void *run_place(struct ttm_process *process, uint32_t ordinal,
	uint32_t index, void *extent)
{
	void *place = process->run + (size_t)ordinal * TTM_SLOTS_PER_EXTENT;

	if (!process->run || ordinal >= TTM_RUN_EXTENTS)
		return extent;
	return ttm_extent_move(process, index, extent, place);
}

/* Extends the run after an extent was stored in process->slots. */
static void run_extend(struct ttm_process *process)
{
	uint32_t len, ordinal;

	for (;;) {
		/* Of two threads that store neighbours at once, one sees
		 * both. */
		ttm_fence_after_cas();
		len = ttm_load32(&process->run_len); /* relaxed: the CAS */
		ordinal = len / TTM_SLOTS_PER_EXTENT;
		if (!process->run || ordinal >= TTM_RUN_EXTENTS ||
			ttm_pointer_load(&process->slots[ordinal].memory) !=
				(void *)(process->run + len))
			return;
		/* pairs(slot-run): full, with ttm_slot_at */
		ttm_cas32(&process->run_len, len, len + TTM_SLOTS_PER_EXTENT);
	}
}

/* Adds an extent without memory; returns false if another thread takes this ordinal. */
static bool extent_add(struct ttm_process *process, uint32_t ordinal)
{
	struct ttm_extent *slots = &process->slots[ordinal];
	struct ttm_link *links = ttm_private_memory(LINKS_SIZE);
	void *extent = NULL;
	uint32_t index;

	if (links)
		extent = ttm_extent_claim(process, &index);
	/* Claim the links first: every thread that sees a slot needs them. */
	if (extent && !ttm_pointer_set_once(&process->links[ordinal], links)) {
		ttm_extent_abandon(process, index, extent);
		extent = NULL;
	}
	if (!extent) {
		if (links)
			ttm_private_memory_drop(links, LINKS_SIZE);
		return false;
	}
	extent = run_place(process, ordinal, index, extent);
	slots->number = index + 1;
	ttm_pointer_set_once(&slots->memory, extent);
	run_extend(process);
	ttm_extent_enter(process, index, TTM_EXTENT_SLOTS, ordinal);
	return true;
}

/*
 * Gives memory to the next STEP_LEN slots of an extent; returns false if it has no
 * more, or there is no memory.
 */
static bool extent_step(struct ttm_process *process, uint32_t ordinal)
{
	struct ttm_extent *slots = &process->slots[ordinal];
	uint32_t ready = ttm_load32(&slots->ready); /* relaxed: the CAS */

	while (ready < TTM_EXTENT_SIZE &&
		ttm_extent_allocate(process, slots, ready, STEP_SIZE)) {
		TTM_TESTPOINT("slots allocated");
		/* pairs(ready): full, with ttm_extent_ready_len */
		if (ttm_cas32(&slots->ready, ready, ready + STEP_SIZE)) {
			step_push(process,
				ordinal * TTM_SLOTS_PER_EXTENT +
					ready / SLOT_SIZE);
			return true;
		}
		ready = ttm_load32(&slots->ready); /* relaxed: as above */
	}
	return false;
}

/*
 * Adds slots. They get memory in small steps, so that no hook pays for many. Several
 * threads that find the supply empty at once may each take a step or add an extent:
 * nobody waits for another thread.
 */
static bool supply_grow(struct ttm_process *process)
{
	uint32_t ordinal, open = TTM_SLOT_EXTENTS_MAX;

	/* While growth is blocked, hooks do not call the kernel. */
	if (ttm_growth_is_blocked(process))
		return false;
	/* relaxed: only the first extent to look at */
	for (ordinal = ttm_load32(&process->slots_open);
		ordinal < TTM_SLOTS_MAX / TTM_SLOTS_PER_EXTENT; ordinal++) {
		if (!ttm_pointer_load(&process->links[ordinal]) &&
			!extent_add(process, ordinal) &&
			!ttm_pointer_load(&process->links[ordinal]))
			return false;
		if (!ttm_pointer_load(&process->slots[ordinal].memory)) {
			/* Another thread is adding it: look again later. */
			open = ordinal < open ? ordinal : open;
			continue;
		}
		if (extent_step(process, ordinal)) {
			open = ordinal < open ? ordinal : open;
			ttm_store32(&process->slots_open, open);
			return true;
		}
		if (ttm_growth_is_blocked(process))
			return false;
	}
	return false;
}

/*
 * Adds the next extent after the last step of one: a hook that took that step too, would
 * pay for both. Each extent is tried once here, because a failure pauses all growth.
 */
static void extent_prepare(struct ttm_process *process)
{
	/* relaxed: only hints; the CAS chooses one thread */
	uint32_t next = ttm_load32(&process->slots_open) + 1;
	uint32_t tried = ttm_load32(&process->slots_prepared);

	if (ttm_load32(&process->slots[next - 1].ready) == TTM_EXTENT_SIZE &&
		next < TTM_SLOTS_MAX / TTM_SLOTS_PER_EXTENT && tried < next &&
		!ttm_pointer_load(&process->links[next]) &&
		!ttm_growth_is_blocked(process) &&
		ttm_cas32(&process->slots_prepared, tried, next))
		extent_add(process, next);
}

/* Adds a batch to the cache, which has room for it; false: the segment cannot grow. */
static bool cache_refill(struct ttm_ring *ring)
{
	struct ttm_process *process = ring->process;
	uint32_t at, len = ring->cache_len, end = len + TTM_BATCH_LEN;
	bool grown = false;

	for (; !stack_pop(process, &at); grown = true)
		if (!supply_grow(process))
			return false;
	if (!grown)
		extent_prepare(process);
	for (; at && len < end; len++) {
		ring->cache[len] = at - 1;
		ring->cache_at[len] = ttm_slot_at(process, at - 1);
		at = ttm_load32(&link_at(process, at - 1)->next); /* ours */
	}
	ttm_fence_signal();
	ring->cache_len = len;
	return true;
}

TTM_COLD bool ttm_supply_reserve(struct ttm_ring *ring, uint32_t slots)
{
	while (ring->cache_len < slots)
		if (!cache_refill(ring))
			return false;
	return true;
}

/*
 * Returns the oldest slots to the stack and keeps those freed last, which are still in
 * the caches. Until its own share is written back, the ring has no slots: a thread that
 * is cancelled in between loses slots, but no slot has two owners.
 */
TTM_COLD void ttm_supply_spill(struct ttm_ring *ring)
{
	uint32_t cache[TTM_BATCH_LEN], len = ring->cache_len, spilled, first;

	spilled = len < TTM_BATCH_LEN ? len : TTM_BATCH_LEN;
	memcpy(cache, ring->cache, spilled * sizeof(cache[0]));
	ring->cache_len = 0;
	ttm_fence_signal();
	memmove(ring->cache, ring->cache + spilled,
		(len - spilled) * sizeof(ring->cache[0]));
	memmove(ring->cache_at, ring->cache_at + spilled,
		(len - spilled) * sizeof(ring->cache_at[0]));
	ttm_fence_signal();
	ring->cache_len = len - spilled;
	first = batch_chain(ring->process, cache, spilled);
	stack_push(ring->process, first, first);
}

void ttm_supply_return(struct ttm_ring *ring)
{
	while (ring->cache_len)
		ttm_supply_spill(ring);
}
