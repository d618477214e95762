/* SPDX-License-Identifier: Apache-2.0 */
/* event -> [lane] -> drain -> apply -> publish -> read -> render */
/*
 * The ring of a thread, and how a hook gets it.
 *
 * A thread takes a ring with its first event and leaves it when the thread ends. A hook
 * that a signal handler calls while its thread is inside another hook would write where
 * that hook is writing. Such an event is counted as lost and has no other effect. If a
 * handler leaves a hook by siglongjmp, the thread stays "inside": all its later events
 * are counted as lost, until tracking is stopped and started again.
 *
 * The writer never waits, and a reader that was lapped detects it:
 *
 *   writer  intent = t + 1; release fence; slot, counters, record; tail = t + 1
 *   reader  tail (acquire); copy; acquire fence; intent;
 *           keep record i if intent - i <= 2,048
 *
 * If the reader copied any byte of a newer record, the fence makes it see the intent
 * of that record, and it drops the copy. `intent` is raised before the slot changes,
 * so that a kill inside an operation is visible. An operation that replaces an object
 * has two records, and raises `tail` by both at once. Wait-free; one writer at a time
 * (the owner).
 */
#ifndef TTM_RECORD_RING_H
#define TTM_RECORD_RING_H

#include "record/process.h"

/* Gives memory to the next records: see ring.c. */
void ttm_ring_extend(struct ttm_ring *ring);

/* Begins an operation with one record or two, or raises one that has begun to two. */
static TTM_INLINE void ttm_ring_begin(struct ttm_ring *ring, uint64_t records)
{
	if (TTM_UNLIKELY(ring->tail >= ring->limit))
		ttm_ring_extend(ring);
	/* relaxed: ordered by the fence */
	ttm_store(&ring->control->intent, ring->tail + records);
	/* pairs(lane-intent): release, with the drain's fence before it
	 * loads intent: a reader that sees any byte of what follows sees the
	 * intent */
	ttm_fence_release();
	TTM_TESTPOINT("intent raised");
}

/* Returns where the next record goes, or one `ahead` of it. */
static TTM_INLINE struct ttm_words *ttm_ring_record(
	const struct ttm_ring *ring, unsigned ahead)
{
	return &ring->records[(ring->tail + ahead) % TTM_LANE_RECORDS];
}

/* Returns the record after this one. */
static TTM_INLINE struct ttm_words *ttm_ring_record_after(
	const struct ttm_ring *ring, struct ttm_words *record)
{
	record++;
	return TTM_UNLIKELY(record == ring->records + TTM_LANE_RECORDS) ?
		ring->records :
		record;
}

/* Writes a record about an object except w6 and w7; w0, w1 and w3 are arguments. */
static TTM_INLINE void ttm_record_begin(struct ttm_words *record, uint64_t w0,
	uint64_t w1, uint64_t w3, const struct ttm_words *words)
{
	/* relaxed: between the intent and the tail */
	ttm_pair_store(&record->w[0], ttm_pair_of(w0, w1));
	ttm_pair_store(&record->w[2], ttm_pair_of(words->w[2], w3));
	ttm_pair_store(&record->w[4], ttm_pair_of(words->w[4], words->w[5]));
}

static TTM_INLINE void ttm_record_end(
	struct ttm_words *record, const struct ttm_words *words)
{
	/* relaxed: as above */
	ttm_pair_store(&record->w[6], ttm_pair_of(words->w[6], words->w[7]));
	TTM_TESTPOINT("record written");
}

static TTM_INLINE void ttm_record_write(struct ttm_words *record, uint64_t w0,
	uint64_t w1, uint64_t w3, const struct ttm_words *words)
{
	ttm_record_begin(record, w0, w1, w3, words);
	ttm_record_end(record, words);
}

static TTM_INLINE void ttm_ring_end(struct ttm_ring *ring, unsigned records)
{
	uint64_t tail = ring->tail + records;

	/* pairs(lane-tail): release, with the drain's load of tail: records,
	 * slots and counters are complete */
	ttm_store_release(&ring->control->tail, tail);
	ring->tail = tail;
	TTM_TESTPOINT("tail raised");
}

/*
 * Makes the counter block of a ring for a device entry (TTM_BLOCK_LANE_WIDE: its own);
 * returns NULL if the segment cannot grow.
 */
void *ttm_block_make(
	struct ttm_process *process, uint32_t ring, unsigned device);

/* Makes room for a block, so that making one will hardly fail. */
bool ttm_block_has_room(struct ttm_process *process);

bool ttm_ring_blocks_make(struct ttm_ring *ring, uint64_t members);

/*
 * Returns whether the ring has counter blocks of all these devices; makes missing ones.
 */
static TTM_INLINE bool ttm_ring_blocks(struct ttm_ring *ring, uint64_t members)
{
	return TTM_LIKELY((members & ~ring->blocks_made) == 0) ||
		ttm_ring_blocks_make(ring, members);
}

/*
 * -- free slots ---------------------------------------------------------------------
 *
 * A few in each ring, the rest in one stack of batches. Batches move in both directions,
 * so that threads that only free feed threads that only allocate. Lock-free;
 * async-signal-safe (a nested hook uses no ring).
 */

/* Reserves address space for the first slots; without it they are anywhere. */
void ttm_supply_init(struct ttm_process *process);
void ttm_supply_drop(struct ttm_process *process);

void ttm_supply_spill(struct ttm_ring *ring);

/*
 * Fills the ring's cache to at least `slots` slots; returns false if the segment cannot
 * grow.
 */
bool ttm_supply_reserve(struct ttm_ring *ring, uint32_t slots);

/* Returns all slots of the ring, when its thread ends. */
void ttm_supply_return(struct ttm_ring *ring);

/*
 * Returns the slot that ttm_supply_take_peeked() takes; false if the cache is empty.
 */
static inline bool ttm_supply_peek(const struct ttm_ring *ring,
	uint32_t *ret_slot, struct ttm_words **ret_at)
{
	if (TTM_UNLIKELY(ring->cache_len == 0))
		return false;
	*ret_slot = ring->cache[ring->cache_len - 1];
	*ret_at = ring->cache_at[ring->cache_len - 1];
	return true;
}

static inline void ttm_supply_take_peeked(struct ttm_ring *ring)
{
	ring->cache_len--;
}

static inline void ttm_supply_put(
	struct ttm_ring *ring, uint32_t slot, struct ttm_words *at)
{
	if (TTM_UNLIKELY(ring->cache_len == TTM_CACHE_LEN))
		ttm_supply_spill(ring);
	/* Store the slot before the length: see ttm_supply_spill. */
	ring->cache[ring->cache_len] = slot;
	ring->cache_at[ring->cache_len] = at;
	ttm_fence_signal();
	ring->cache_len++;
}

/* -- hooks ---------------------------------------------------------------------- */

/*
 * The ring of this thread, which may belong to an ended process (stopped, or our
 * parent's): the ring names its process. One word, so that a handler sees the old or
 * the new value. Small, because dlopen from Python and others fails with more than 16
 * bytes.
 */
extern __thread struct ttm_ring *ttm_self
	__attribute__((tls_model(TTM_TLS_MODEL), visibility("hidden")));

enum ttm_entry {
	TTM_ENTRY_STARTS,   /* the first event starts the process */
	TTM_ENTRY_NO_START, /* frees and others, which need no process */
};

/* The rare ways into a hook; they return as ttm_hook_enter() does. */
struct ttm_ring *ttm_hook_enter_slow(enum ttm_entry entry, uint64_t bytes);
struct ttm_ring *ttm_hook_nested(enum ttm_entry entry, uint64_t bytes);
struct ttm_ring *ttm_hook_first(struct ttm_ring *ring, uint64_t bytes);

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
void ttm_ring_key_make(void);

/*
 * Begins a hook. Returns the thread's ring if the hook may go on; ttm_hook_leave() then
 * ends it. Otherwise returns NULL: the hook is over, and a lost event is counted with
 * `bytes`.
 *
 * `inside` is set before anything of the ring is read and cleared last, so that a
 * handler that comes in between finds it set. It is also set before the process is
 * looked up: see ttm_hooks_await().
 */
static inline struct ttm_ring *ttm_hook_enter(
	enum ttm_entry entry, uint64_t bytes)
{
	struct ttm_ring *ring = ttm_self;

	if (TTM_UNLIKELY(!ring))
		return ttm_hook_enter_slow(entry, bytes);
	/* relaxed: own thread only */
	if (TTM_UNLIKELY(ttm_load32(&ring->inside) != 0))
		return ttm_hook_nested(entry, bytes);
	/* pairs(hook-inside): full, by the fence for the compiler below,
	 * which hooks_show() makes one for the processor: the thread that
	 * stops the process sees this store, or this thread sees the stop */
	ttm_store32(&ring->inside, 1);
	ttm_fence_signal();
	/* A ring always has a process, so this test fails without a running
	 * process, too. */
	if (TTM_UNLIKELY(ring->process != ttm_process_now())) {
		/* pairs(hook-left): release, as in ttm_hook_leave */
		ttm_store32_release(&ring->inside, 0);
		return ttm_hook_enter_slow(entry, bytes);
	}
	return TTM_LIKELY(ring->records != NULL) ? ring :
						   ttm_hook_first(ring, bytes);
}

static inline void ttm_hook_leave(struct ttm_ring *ring)
{
	/* pairs(hook-left): release, with others_are_there: the hook's
	 * stores are complete */
	ttm_store32_release(&ring->inside, 0);
}

/* Returns the innermost scope of the thread; name 0 if there is none. */
static inline struct ttm_scope ttm_scope_now(const struct ttm_ring *ring)
{
	uint32_t len = ring->scopes_len;

	return ring->scopes[len < TTM_SCOPES_MAX ? len : TTM_SCOPES_MAX];
}

/* -- records that change no slot: other events, anomalies and losses ---------------- */

struct ttm_note {
	enum ttm_record_type type;
	unsigned place;  /* 0: the event names no device */
	unsigned figure; /* or TTM_FIGURE_NONE */
	uint32_t slot;   /* or TTM_SLOT_NONE */
	uint64_t w2, w4, w5;
};

/* Ends an operation that has begun with this record. */
void ttm_note_commit(struct ttm_ring *ring, const struct ttm_note *note);

/* Ends an operation that turned out to change nothing. */
void ttm_noop_commit(struct ttm_ring *ring);

/* Writes the same to records `from` to `to` of an operation, which were promised. */
void ttm_noops_write(const struct ttm_ring *ring, unsigned from, unsigned to);

/* Counts, and writes a record; the first ends an operation that has begun. */
void ttm_anomaly_commit(struct ttm_ring *ring, enum ttmem_anomaly reason,
	unsigned place, unsigned figure, uint64_t id);
void ttm_anomaly(struct ttm_ring *ring, enum ttmem_anomaly reason,
	unsigned place, unsigned figure, uint64_t id);
void ttm_loss(struct ttm_ring *ring, enum ttmem_loss reason, unsigned place,
	unsigned figure, uint64_t id, uint64_t bytes);

/*
 * Counts an event whose device argument stands for no device. A device that got no entry
 * although entries are left had no memory for it: then the event is lost.
 */
void ttm_device_missing(struct ttm_ring *ring, enum ttmem_anomaly reason,
	unsigned figure, uint64_t id, uint64_t bytes);

/* Counts only, because another record reports the event. */
static inline void ttm_anomaly_count(
	struct ttm_ring *ring, enum ttmem_anomaly reason)
{
	ttm_own_add(&ring->own_block->anomalies[reason], 1);
}

#endif
