/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Entering and leaving a hook. A thread takes a seat with its first event and leaves it
 * when the thread ends; the seat has the lane that the thread writes.
 *
 * A hook that a signal handler calls while its thread is inside another hook would
 * write where that hook is writing. Such an event is counted as lost and has no other
 * effect. If a handler leaves a hook by siglongjmp, the thread stays "inside": all its
 * later events are counted as lost, until tracking is stopped and started again.
 */
#ifndef TTM_RECORD_SEAT_H
#define TTM_RECORD_SEAT_H

#include "record/lane.h"
#include "record/process.h"

/*
 * The seat of this thread, which may belong to an ended process (stopped, or our
 * parent's): the seat names its process. One word, so that a handler sees the old or
 * the new value. Small, because dlopen from Python and others fails with more than 16
 * bytes.
 */
extern __thread struct ttm_seat *ttm_self
	__attribute__((tls_model(TTM_TLS_MODEL), visibility("hidden")));

enum ttm_entry {
	TTM_ENTRY_STARTS,   /* the first event starts the process */
	TTM_ENTRY_NO_START, /* frees and others, which need no process */
};

/*
 * The rare ways into a hook. The hook is returned by value: passed by address, it would
 * have to be in memory on the usual path, too. A hook without a lane is over.
 */
struct ttm_hook ttm_hook_enter_slow(enum ttm_entry entry, uint64_t bytes);
struct ttm_hook ttm_hook_nested(enum ttm_entry entry, uint64_t bytes);
struct ttm_hook ttm_hook_first(struct ttm_seat *seat, uint64_t bytes);

/* Returns whether this thread is inside a hook of `process`. */
bool ttm_hook_is_running(const struct ttm_process *process);

/*
 * Waits, after the process was removed from the root, until no other thread is inside a
 * hook of it: what they record is then complete in the segment. A thread that does not
 * return, because it is stopped or its handler left the hook by siglongjmp, is waited
 * for a tenth of a second; its operation stays half done, as after a kill.
 */
void ttm_hooks_await(const struct ttm_process *process);

/* Makes the thread-specific key; called once, when the library is loaded. */
void ttm_seat_key_make(void);

/*
 * Begins a hook. Returns true if the hook may go on; ttm_hook_leave() then ends it.
 * Otherwise the hook is over, and a lost event is counted with `bytes`.
 *
 * `inside` is set before anything of the lane is read and cleared last, so that a
 * handler that comes in between finds it set. It is also set before the process is
 * looked up: see ttm_hooks_await().
 */
static inline bool ttm_hook_enter(
	struct ttm_hook *hook, enum ttm_entry entry, uint64_t bytes)
{
	struct ttm_seat *seat = ttm_self;
	struct ttm_process *process;

	if (TTM_UNLIKELY(!seat)) {
		*hook = ttm_hook_enter_slow(entry, bytes);
		return hook->lane != NULL;
	}
	/* relaxed: own thread only */
	if (TTM_UNLIKELY(ttm_load32(&seat->inside) != 0)) {
		*hook = ttm_hook_nested(entry, bytes);
		return hook->lane != NULL;
	}
	/* pairs(hook-inside): full, by the fence for the compiler below,
	 * which hooks_show() makes one for the processor: the thread that
	 * stops the process sees this store, or this thread sees the stop */
	ttm_store32(&seat->inside, 1);
	ttm_fence_signal();
	process = ttm_process_now();
	/* A seat always has a process, so this test fails without a running
	 * process, too. */
	if (TTM_UNLIKELY(seat->process != process)) {
		/* pairs(hook-left): release, as in ttm_hook_leave */
		ttm_store32_release(&seat->inside, 0);
		*hook = ttm_hook_enter_slow(entry, bytes);
		return hook->lane != NULL;
	}
	hook->process = process;
	hook->seat = seat;
	hook->lane = seat->lane;
	if (TTM_LIKELY(hook->lane != NULL))
		return true;
	*hook = ttm_hook_first(seat, bytes);
	return hook->lane != NULL;
}

static inline void ttm_hook_leave(const struct ttm_hook *hook)
{
	/* pairs(hook-left): release, with others_are_there: the hook's
	 * stores are complete */
	ttm_store32_release(&hook->seat->inside, 0);
}

#endif
