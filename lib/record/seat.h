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

/*
 * After the process was taken from the root: returns when no other thread is inside a
 * hook of it, so that what they record is in the segment as a whole. One that does not
 * come back, because it is stopped or its handler left the hook by siglongjmp, is waited
 * for a tenth of a second; its operation stays half done, as that of one who was killed.
 */
void ttm_hooks_await(const struct ttm_process *process);

/* Once, when the library is loaded. */
void ttm_seat_key_make(void);

/*
 * True if the hook may go on; ttm_hook_leave() then ends it. Otherwise it is
 * over, and an event that was lost is counted with `bytes`.
 *
 * The depth is raised before anything of the lane is read and lowered last: a
 * handler that comes at any point in between takes the next lane. It is raised before
 * the process is asked for, too: see ttm_hooks_await().
 */
static inline bool ttm_hook_enter(
	struct ttm_hook *hook, enum ttm_entry entry, uint64_t bytes)
{
	struct ttm_seat *seat = ttm_self;
	struct ttm_process *process;
	uint32_t depth;

	if (TTM_UNLIKELY(!seat)) {
		*hook = ttm_hook_enter_slow(entry, bytes);
		return hook->lane != NULL;
	}
	depth = ttm_load32(&seat->depth); /* relaxed: own thread only */
	/* pairs(hook-depth): full, by the fence for the compiler below, which
	 * hooks_show() makes one for the processor: who stops the process sees
	 * the depth, or we see that it was stopped */
	ttm_store32(&seat->depth, depth + 1);
	ttm_fence_signal();
	process = ttm_process_now();
	/* No seat is of no process: this finds that none is running, too. */
	if (TTM_UNLIKELY(seat->process != process)) {
		/* pairs(hook-left): release, as in ttm_hook_leave: a handler's
		 * hook may have been in between */
		ttm_store32_release(&seat->depth, depth);
		*hook = ttm_hook_enter_slow(entry, bytes);
		return hook->lane != NULL;
	}
	hook->process = process;
	hook->seat = seat;
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
	/* pairs(hook-left): release, with others_are_there: what it wrote is in */
	ttm_store32_release(&hook->seat->depth, hook->depth);
}

#endif
