/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * A hook's way in and out. A thread takes a seat with its first event and leaves
 * it when it ends; the seat has a lane for each depth of nested signal handlers,
 * so that a handler never writes where the code it interrupted was writing.
 */
#ifndef TTM_RECORD_SEAT_H
#define TTM_RECORD_SEAT_H

#include "record/lane.h"
#include "record/process.h"

/*
 * The seat of this thread, or one of a process that is over (stopped, or of our
 * parent): the seat knows. One word, so that a handler finds it changed or not.
 * Small: with more than 16 bytes dlopen from Python and friends fails.
 */
extern __thread struct ttm_seat *ttm_self
	__attribute__((tls_model(TTM_TLS_MODEL), visibility("hidden")));

enum ttm_entry {
	TTM_ENTRY_STARTS,   /* the first event starts the process */
	TTM_ENTRY_NO_START, /* frees and the like: nothing to do before that */
};

/*
 * The rare ways in. By value, here and in object.h: what a cold call gets by address
 * would have to be in memory on the hot way, too. Without a lane it is over.
 */
struct ttm_hook ttm_hook_enter_slow(enum ttm_entry entry, uint64_t bytes);
struct ttm_hook ttm_hook_deeper(struct ttm_ticket ticket, uint64_t bytes);

/* Whether this thread is inside a hook of `process`. */
bool ttm_hook_is_running(const struct ttm_process *process);

/* Once, when the library is loaded. */
void ttm_seat_key_make(void);

/*
 * True if the hook may go on; ttm_hook_leave() then ends it. Otherwise it is
 * over, and an event that was lost is counted with `bytes`.
 *
 * The depth is raised before anything of the lane is read and lowered last: a
 * handler that comes at any point in between takes the next lane.
 */
static inline bool ttm_hook_enter(
	struct ttm_hook *hook, enum ttm_entry entry, uint64_t bytes)
{
	struct ttm_process *process = ttm_process_now();
	struct ttm_seat *seat = ttm_self;
	uint32_t depth;

	/* No seat is of no process: this finds that none is running, too. */
	if (TTM_UNLIKELY(!seat || seat->process != process)) {
		*hook = ttm_hook_enter_slow(entry, bytes);
		return hook->lane != NULL;
	}
	hook->process = process;
	hook->seat = seat;
	depth = ttm_load32(&hook->seat->depth); /* relaxed: own thread only */
	ttm_store32(&hook->seat->depth, depth + 1);
	ttm_fence_signal();
	hook->depth = depth;
	/* A branch, which is foretold, so that the lane need not wait for the
	 * depth. */
	if (TTM_LIKELY(depth == 0))
		hook->lane = hook->seat->lanes[0];
	else
		hook->lane = depth < TTM_DEPTHS ? hook->seat->lanes[depth] :
						  NULL;
	if (TTM_LIKELY(hook->lane != NULL))
		return true;
	*hook = ttm_hook_deeper(ttm_ticket(hook), bytes);
	return hook->lane != NULL;
}

/*
 * Stores the depth it found rather than subtract: a handler may have ended with a
 * longjmp.
 */
static inline void ttm_hook_leave(const struct ttm_hook *hook)
{
	ttm_fence_signal();
	ttm_store32(&hook->seat->depth, hook->depth); /* relaxed: own thread */
}

#endif
