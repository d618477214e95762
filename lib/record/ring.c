/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#include "record/ring.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/segment.h"

#define REAP_FIRST 16u
#define REAP_PAUSE_NS 100000000u
#define AWAIT_NS 100000000u
#define AWAIT_NAP_NS 100000
/* Below this glibc keeps thread-specific values without allocating. */
#define KEYS_WITHOUT_MALLOC 32u

__thread struct ttm_ring *ttm_self
	__attribute__((tls_model(TTM_TLS_MODEL), visibility("hidden")));

static pthread_key_t ring_key;
static bool ring_key_works;

/*
 * Marks the tid of a vfork child. The child shares its parent thread's memory and ring,
 * so its own tid does not tell whether the owner of the ring is gone.
 */
#define OWNER_IS_UNKNOWN (1ull << 32)

/*
 * The upper bits of an owner count how often the ring was taken, which tells a previous
 * owner from a later one with the same tid.
 */
#define OWNER_USES (1ull << 33)
#define OWNER_WHO (OWNER_USES - 1)

static uint64_t thread_id(const struct ttm_process *process)
{
	uint64_t tid = (uint64_t)syscall(SYS_gettid);

	if ((uint32_t)getpid() != process->header->sealed.pid)
		tid |= OWNER_IS_UNKNOWN;
	return tid;
}

/*
 * Returns whether a thread of the segment's process is gone; a vfork child asks about
 * its parent's threads.
 */
static bool thread_is_gone(const struct ttm_process *process, uint64_t tid)
{
	return !(tid & OWNER_IS_UNKNOWN) &&
		syscall(SYS_tgkill, process->header->sealed.pid, (pid_t)tid,
			0) < 0 &&
		errno == ESRCH;
}

/* -- the shared part ------------------------------------------------------------------------ */

#define RING_FIRST_SIZE 4096u
#define RING_STEP_SIZE 16384u

/* An operation has two records at most. */
static uint64_t ring_limit(const struct ttm_extent *extent)
{
	if (extent->ready == TTM_EXTENT_SIZE)
		return UINT64_MAX;
	return extent->ready / sizeof(struct ttm_words) -
		(TTM_OPERATION_RECORDS_MAX - 1);
}

/*
 * Makes the shared part of a ring. A failed call leaves what it made to the next one.
 * `records` is set last: then the ring is complete.
 */
static bool ring_make(struct ttm_ring *ring)
{
	struct ttm_process *process = ring->process;
	uint32_t number = (uint32_t)(ring - process->rings);
	struct ttm_words *records;

	/* The block first: a ring without a block is useless. */
	if (ttm_growth_is_blocked(process) || !ttm_block_has_room(process) ||
		!ttm_table_prepare(process, TTM_LANES_OFF + 64ull * number, 64))
		return false;
	ttm_raise(&process->header->live.lanes_len, number + 1);
	records = ttm_extent_at(process, &ring->extent, TTM_EXTENT_LANE, number,
		RING_FIRST_SIZE);
	if (!records)
		return false;
	if (!ring->own_block)
		ttm_pointer_set_once((void **)&ring->own_block,
			ttm_block_make(process, number, TTM_BLOCK_LANE_WIDE));
	if (!ring->own_block)
		return false;
	ring->number = number;
	ring->control = &process->controls[number];
	ring->limit = ring_limit(&ring->extent);
	ring->records = records;
	return true;
}

/*
 * Gives memory to a ring during its first lap. If there is none, the rest of the lap
 * goes to private memory: the aggregator finds NOOP records there and scans the slots
 * instead.
 */
TTM_COLD void ttm_ring_extend(struct ttm_ring *ring)
{
	struct ttm_extent *extent = &ring->extent;
	uint32_t step = extent->ready < RING_STEP_SIZE ? extent->ready :
							 RING_STEP_SIZE;
	struct ttm_hold hold;

	if (ttm_extent_allocate(ring->process, extent, extent->ready, step)) {
		extent->ready += step;
		ring->limit = ring_limit(extent);
		return;
	}
	ttm_hold(&hold);
	mmap((char *)extent->memory + extent->ready,
		TTM_EXTENT_SIZE - extent->ready, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ttm_release(&hold);
	ring->limit = UINT64_MAX;
}

/*
 * Adopts a ring. The last owner may have ended inside an operation (cancelled, or by
 * longjmp). Its records beyond the tail are overwritten by NOOP records, so that the
 * reader can go on.
 */
static void ring_adopt(struct ttm_ring *ring)
{
	uint64_t promised;

	/* relaxed: the CAS of the owner has passed the ring to us. The shared
	 * tail is right; our copy may be ahead or behind. In a stopped process
	 * both are meaningless. */
	ring->tail = ttm_load(&ring->control->tail);
	promised = ttm_load(&ring->control->intent) - ring->tail;
	if (promised - 1 < TTM_OPERATION_RECORDS_MAX) {
		ttm_noops_write(ring, 0, (unsigned)promised);
		ttm_ring_end(ring, (unsigned)promised);
	}
	/* relaxed: display only, and ours */
	ttm_store(&ring->control->owner, (uint32_t)ttm_load(&ring->owner));
}

/* -- owners ------------------------------------------------------------------------ */

/*
 * Vacates the ring of a thread that is gone. The kernel may reuse a tid, so the CAS
 * compares the whole word.
 */
static void ring_reap(struct ttm_ring *ring, uint64_t gone)
{
	/* pairs(ring-owner): full, with ring_take */
	ttm_cas(&ring->owner, gone, gone & ~OWNER_WHO);
}

static bool ring_take(struct ttm_ring *ring, uint64_t tid)
{
	uint64_t from = ttm_load(&ring->owner); /* relaxed: the CAS decides */

	/* pairs(ring-owner): full, with ring_vacate: the ring is as the last owner
	 * left it */
	if ((from & OWNER_WHO) ||
		!ttm_cas(&ring->owner, from, (from + OWNER_USES) | tid))
		return false;
	/* pairs(hook-inside): full, with ttm_hooks_await: see there */
	ttm_fence_after_cas();
	return true;
}

static struct ttm_ring *ring_vacant(struct ttm_process *process, uint64_t tid)
{
	/* relaxed: the next look finds rings that this one misses */
	uint64_t i, len = ttm_load(&process->rings_len);

	for (i = 0; i < len && i < TTM_LANES_MAX; i++)
		if (ring_take(&process->rings[i], tid))
			return &process->rings[i];
	return NULL;
}

/*
 * Vacates the rings of threads that are gone. Threads that pthread_create did not make
 * leave no word when they end; neither does a thread whose key destructors ran out of
 * rounds.
 */
static void rings_reap(struct ttm_process *process)
{
	uint64_t i, owner, len = ttm_load(&process->rings_len); /* relaxed */

	for (i = 0; i < len && i < TTM_LANES_MAX; i++) {
		owner = ttm_load(&process->rings[i].owner); /* relaxed: CAS */
		if ((owner & OWNER_WHO) && thread_is_gone(process, owner))
			ring_reap(&process->rings[i], owner);
	}
}

static struct ttm_ring *ring_new(struct ttm_process *process, uint64_t tid)
{
	uint64_t n;

	/* Another thread that looks for vacant rings may take a new one
	 * first. */
	do {
		n = ttm_fetch_add(&process->rings_len, 1);
		if (n >= TTM_LANES_MAX) {
			/* relaxed: only keeps the count in bounds */
			ttm_store(&process->rings_len, TTM_LANES_MAX);
			return NULL;
		}
	} while (!ring_take(&process->rings[n], tid));
	return &process->rings[n];
}

/*
 * Returns whether the kernel should be asked about all owners: each time that the count
 * of rings would pass a power of two, and at most ten times a second once all rings are
 * taken.
 */
static bool reaping_is_due(struct ttm_process *process)
{
	uint64_t len = ttm_load(&process->rings_len), now;

	/* relaxed: the exact moment does not matter */
	if (len < TTM_LANES_MAX)
		return len >= REAP_FIRST && (len & (len - 1)) == 0;
	now = ttm_clock_ns(CLOCK_MONOTONIC_COARSE);
	if (now < ttm_load(&process->reaping_blocked_ns))
		return false;
	ttm_store(&process->reaping_blocked_ns, now + REAP_PAUSE_NS);
	return true;
}

static struct ttm_ring *ring_find(struct ttm_process *process)
{
	uint64_t tid = thread_id(process);
	struct ttm_ring *ring = ring_vacant(process, tid);

	if (!ring && reaping_is_due(process)) {
		rings_reap(process);
		ring = ring_vacant(process, tid);
	}
	if (!ring)
		ring = ring_new(process, tid);
	return ring;
}

static void ring_settle(struct ttm_process *process, struct ttm_ring *ring)
{
	ring->process = process;
	ttm_store32(&ring->inside, 0); /* relaxed: ours */
	ring->scopes_len = 0;
	if (ring->records)
		ring_adopt(ring);
}

static void ring_vacate(struct ttm_ring *ring)
{
	uint64_t owner = ttm_load(&ring->owner); /* relaxed: ours */

	/* pairs(ring-owner): release, with ring_take: the ring is at rest */
	ttm_store_release(&ring->owner, owner & ~OWNER_WHO);
}

static bool thread_has_ring(const struct ttm_process *process)
{
	const struct ttm_ring *ring = ttm_self;

	return ring && ring->process == process;
}

/* From the first line on, a handler finds no ring and takes another. */
static void ring_give_up(struct ttm_ring *ring)
{
	ttm_self = NULL;
	ttm_fence_signal();
	ttm_supply_return(ring);
	ring_vacate(ring);
}

static void ring_leave(void *value)
{
	struct ttm_process *process = ttm_process_now();
	struct ttm_hold hold;

	ttm_hold(&hold);
	/* A ring of a stopped process, or of our parent, is left alone. */
	if (process && thread_has_ring(process) && ttm_self == value)
		ring_give_up(value);
	ttm_release(&hold);
}

bool ttm_hook_is_running(const struct ttm_process *process)
{
	return thread_has_ring(process) &&
		ttm_load32(&ttm_self->inside) != 0; /* relaxed: ours */
}

/* -- hooks under way when tracking stops ------------------------------------------- */

static int membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

/*
 * Makes the `inside` flags of all threads visible; returns false if the kernel refuses.
 */
static bool hooks_show(void)
{
	/* pairs(hook-inside): full, with ttm_hook_enter in every thread */
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 ||
		(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
			membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0);
}

/* Returns whether another thread has a ring; `inside`: whether it is in a hook. */
static bool others_are_there(const struct ttm_process *process, bool inside)
{
	/* relaxed: later rings find the process gone */
	uint64_t i, len = ttm_load(&process->rings_len);
	const struct ttm_ring *ring;

	for (i = 0; i < len && i < TTM_LANES_MAX; i++) {
		ring = &process->rings[i];
		/* pairs(ring-owner): acquire, with ring_vacate: a thread that left
		 * its ring has left its hooks. pairs(hook-left): acquire,
		 * with ttm_hook_leave */
		if (ring != ttm_self &&
			(ttm_load_acquire(&ring->owner) & OWNER_WHO) &&
			(!inside || ttm_load32_acquire(&ring->inside) != 0))
			return true;
	}
	return false;
}

void ttm_hooks_await(const struct ttm_process *process)
{
	const struct timespec nap = { .tv_nsec = AWAIT_NAP_NS };
	uint64_t end = ttm_clock_ns(CLOCK_MONOTONIC) + AWAIT_NS;

	/* pairs(hook-inside): full, with ring_take: a thread that takes a ring
	 * now finds the process gone, or is found here */
	ttm_fence_after_cas();
	if (!others_are_there(process, false))
		return;
	if (!hooks_show())
		nanosleep(&nap,
			NULL); /* long enough for any store to become visible */
	while (others_are_there(process, true) &&
		ttm_clock_ns(CLOCK_MONOTONIC) < end)
		nanosleep(&nap, NULL);
}

void ttm_ring_key_make(void)
{
	ring_key_works = pthread_key_create(&ring_key, ring_leave) == 0 &&
		ring_key < KEYS_WITHOUT_MALLOC;
}

/* Takes a ring for this thread. If a handler takes one meanwhile, that ring stays. */
static bool thread_take_ring(struct ttm_process *process)
{
	struct ttm_ring *before = ttm_self, *ring;

	if (before && before->process == process)
		return true;
	ring = ring_find(process);
	if (!ring)
		return thread_has_ring(process);
	ring_settle(process, ring);
	if (!ttm_pointer_replace((void **)&ttm_self, before, ring))
		ring_vacate(ring);
	if (ring_key_works)
		pthread_setspecific(ring_key, ttm_self);
	return true;
}

/* -- the slow ways in ------------------------------------------------------------- */

static void lost_without_ring(
	struct ttm_process *process, enum ttmem_loss reason, uint64_t bytes)
{
	ttm_fetch_add(&process->header->live.lost_events[reason], 1);
	ttm_fetch_add(&process->header->live.lost_bytes[reason], bytes);
}

static bool thread_get_ready(enum ttm_entry entry, uint64_t bytes)
{
	struct ttm_process *process = ttm_process_now();

	/* Decide whether tracking is on even if this call starts nothing:
	 * otherwise each later hook would ask again. */
	if (!process && ttmem_internal_decide() && entry == TTM_ENTRY_STARTS)
		process = ttm_process_start_lazily();
	if (!process)
		return false;
	/* The thread that starts the process may not have named the file
	 * yet, and a file without a name is lost with its process. If naming
	 * fails, that thread finds out, too. */
	if (!ttm_load32(&process->named)) /* relaxed: see ttm_segment_name */
		ttm_segment_name(process);
	if (thread_take_ring(process))
		return true;
	lost_without_ring(process, TTMEM_LOSS_NO_LANE, bytes);
	return false;
}

TTM_COLD struct ttm_ring *ttm_hook_enter_slow(
	enum ttm_entry entry, uint64_t bytes)
{
	struct ttm_hold hold;
	bool ready;

	ttm_hold(&hold);
	ready = thread_get_ready(entry, bytes);
	ttm_release(&hold);
	return ready ? ttm_hook_enter(entry, bytes) : NULL;
}

TTM_COLD struct ttm_ring *ttm_hook_nested(enum ttm_entry entry, uint64_t bytes)
{
	struct ttm_process *process = ttm_process_now();

	/* Otherwise the interrupted hook belongs to a stopped process or to
	 * our parent: this thread takes a ring of the current process. */
	if (!process || ttm_self->process != process)
		return ttm_hook_enter_slow(entry, bytes);
	lost_without_ring(process, TTMEM_LOSS_NESTED, bytes);
	return NULL;
}

TTM_COLD struct ttm_ring *ttm_hook_first(struct ttm_ring *ring, uint64_t bytes)
{
	if (ring_make(ring)) {
		ring_adopt(ring);
		return ring;
	}
	lost_without_ring(ring->process, TTMEM_LOSS_NO_LANE, bytes);
	ttm_hook_leave(ring);
	return NULL;
}

/* -- records that change no slot ------------------------------------------------------ */

void ttm_note_commit(struct ttm_ring *ring, const struct ttm_note *note)
{
	struct ttm_words record = { {
		TTM_W0(0, note->place, 0),
		TTM_W1(note->slot, 0, note->figure, 0, note->type),
		note->w2,
		ttm_clock_now(),
		note->w4,
		note->w5,
		0,
		TTM_W7(ttm_scope_now(ring).name, 0, 0, 0),
	} };

	ttm_record_write(ttm_ring_record(ring, 0), record.w[0], record.w[1],
		record.w[3], &record);
	ttm_ring_end(ring, 1);
}

TTM_COLD void ttm_noops_write(
	const struct ttm_ring *ring, unsigned from, unsigned to)
{
	const struct ttm_words nothing = { {
		[1] = TTM_W1(
			TTM_SLOT_NONE, 0, TTM_FIGURE_NONE, 0, TTM_RECORD_NOOP),
		[3] = ttm_clock_now(),
	} };

	for (; from < to; from++)
		ttm_record_write(ttm_ring_record(ring, from), 0, nothing.w[1],
			nothing.w[3], &nothing);
}

TTM_COLD void ttm_noop_commit(struct ttm_ring *ring)
{
	ttm_noops_write(ring, 0, 1);
	ttm_ring_end(ring, 1);
}

void ttm_anomaly_commit(struct ttm_ring *ring, enum ttmem_anomaly reason,
	unsigned place, unsigned figure, uint64_t id)
{
	struct ttm_note note = {
		.type = TTM_RECORD_ANOMALY,
		.place = place,
		.figure = figure,
		.slot = TTM_SLOT_NONE,
		.w2 = id,
		.w4 = reason,
	};

	ttm_anomaly_count(ring, reason);
	ttm_note_commit(ring, &note);
}

void ttm_anomaly(struct ttm_ring *ring, enum ttmem_anomaly reason,
	unsigned place, unsigned figure, uint64_t id)
{
	ttm_ring_begin(ring, 1);
	ttm_anomaly_commit(ring, reason, place, figure, id);
}

void ttm_loss(struct ttm_ring *ring, enum ttmem_loss reason, unsigned place,
	unsigned figure, uint64_t id, uint64_t bytes)
{
	struct ttm_note note = {
		.type = TTM_RECORD_LOSS,
		.place = place,
		.figure = figure,
		.slot = TTM_SLOT_NONE,
		.w2 = id,
		.w4 = reason,
		.w5 = bytes,
	};

	ttm_ring_begin(ring, 1);
	ttm_own_add(&ring->own_block->lost_events[reason], 1);
	ttm_own_add(&ring->own_block->lost_bytes[reason], bytes);
	ttm_note_commit(ring, &note);
}

void ttm_device_missing(struct ttm_ring *ring, enum ttmem_anomaly reason,
	unsigned figure, uint64_t id, uint64_t bytes)
{
	/* relaxed: an upper bound of the entries that are taken */
	uint64_t len = ttm_load(&ring->process->header->live.devices_len);

	if (reason == TTMEM_ANOMALY_TOO_MANY_DEVICES && len < TTM_DEVICES_MAX)
		ttm_loss(ring, TTMEM_LOSS_NO_SLOT, 0, figure, id, bytes);
	else
		ttm_anomaly(ring, reason, 0, figure, id);
}
