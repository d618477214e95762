/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#include "record/seat.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/note.h"
#include "record/segment.h"
#include "record/supply.h"

#define REAP_FIRST 16u
#define REAP_PAUSE_NS 100000000u
#define AWAIT_NS 100000000u
#define AWAIT_NAP_NS 100000
/* Below this glibc keeps thread-specific values without allocating. */
#define KEYS_WITHOUT_MALLOC 32u

__thread struct ttm_seat *ttm_self
	__attribute__((tls_model(TTM_TLS_MODEL), visibility("hidden")));

static pthread_key_t seat_key;
static bool seat_key_works;

/*
 * Marks the tid of a vfork child. The child shares its parent thread's memory and seat,
 * so its own tid does not tell whether the owner of the seat is gone.
 */
#define OWNER_IS_UNKNOWN (1ull << 32)

/*
 * The upper bits of an owner count how often the seat was taken, which tells a previous
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

/* -- lanes ------------------------------------------------------------------------ */

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

static bool lane_number_take(struct ttm_process *process, uint32_t *ret_number)
{
	uint64_t *len = &process->header->live.lanes_len;
	uint64_t n;

	do {
		n = ttm_load(len); /* relaxed: the CAS decides */
		if (n >= TTM_LANES_MAX)
			return false;
	} while (!ttm_cas(len, n, n + 1));
	*ret_number = (uint32_t)n;
	return true;
}

static struct ttm_lane *lane_make(struct ttm_process *process)
{
	struct ttm_block_lane *own_block;
	struct ttm_extent extent = { 0 };
	struct ttm_lane *lane;
	uint32_t index, number;

	/* relaxed: only avoids a claim in vain. The block first: a lane
	 * without a block is useless. */
	if (ttm_load(&process->header->live.lanes_len) >= TTM_LANES_MAX ||
		!ttm_block_has_room(process))
		return NULL;
	extent.memory = ttm_extent_claim(process, &index);
	if (!extent.memory)
		return NULL;
	extent.number = index + 1;
	extent.ready = RING_FIRST_SIZE;
	/* relaxed: the number that will be taken, or a lower one */
	if (!ttm_table_prepare(process,
		    TTM_LANES_OFF +
			    64 * ttm_load(&process->header->live.lanes_len),
		    64) ||
		!ttm_extent_allocate(process, &extent, 0, RING_FIRST_SIZE) ||
		!lane_number_take(process, &number)) {
		ttm_extent_abandon(process, index, extent.memory);
		return NULL;
	}
	if (!ttm_table_prepare(process, TTM_LANES_OFF + 64ull * number, 64))
		return NULL; /* one lane less: the filesystem is full anyway */
	lane = &process->lanes[number];
	lane->number = number;
	lane->process = process;
	lane->control = &process->controls[number];
	lane->records = extent.memory;
	lane->extent = extent;
	lane->limit = ring_limit(&extent);
	ttm_extent_enter(process, index, TTM_EXTENT_LANE, number);
	own_block = ttm_block_make(process, number, TTM_BLOCK_LANE_WIDE);
	if (!own_block)
		return NULL; /* as above */
	ttm_pointer_set_once((void **)&lane->own_block, own_block);
	return lane;
}

/*
 * Gives memory to a ring during its first lap. If there is none, the rest of the lap
 * goes to private memory: the aggregator finds NOOP records there and scans the slots
 * instead.
 */
TTM_COLD void ttm_lane_extend(struct ttm_lane *lane)
{
	struct ttm_extent *extent = &lane->extent;
	uint32_t step = extent->ready < RING_STEP_SIZE ? extent->ready :
							 RING_STEP_SIZE;
	struct ttm_hold hold;

	if (ttm_extent_allocate(lane->process, extent, extent->ready, step)) {
		extent->ready += step;
		lane->limit = ring_limit(extent);
		return;
	}
	ttm_hold(&hold);
	mmap((char *)extent->memory + extent->ready,
		TTM_EXTENT_SIZE - extent->ready, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ttm_release(&hold);
	lane->limit = UINT64_MAX;
}

/*
 * Adopts the lane of a seat. The last owner may have ended inside an operation
 * (cancelled, or by longjmp). Its records beyond the tail are overwritten by NOOP
 * records, so that the reader can go on.
 */
static void lane_adopt(struct ttm_lane *lane, uint64_t tid)
{
	uint64_t promised;

	/* relaxed: the seat's CAS has passed the lane to us. The shared tail
	 * is right; our copy may be ahead or behind. In a stopped process
	 * both are meaningless. */
	lane->tail = ttm_load(&lane->control->tail);
	promised = ttm_load(&lane->control->intent) - lane->tail;
	if (promised - 1 < TTM_OPERATION_RECORDS_MAX) {
		ttm_noops_write(lane, 0, (unsigned)promised);
		ttm_lane_end(lane, (unsigned)promised);
	}
	/* relaxed: display only */
	ttm_store(&lane->control->owner, (uint32_t)tid);
}

/* -- seats ------------------------------------------------------------------------ */

/*
 * Vacates the seat of a thread that is gone. The kernel may reuse a tid, so the CAS
 * compares the whole word.
 */
static void seat_reap(struct ttm_seat *seat, uint64_t gone)
{
	/* pairs(seat): full, with seat_take */
	ttm_cas(&seat->owner, gone, gone & ~OWNER_WHO);
}

static bool seat_take(struct ttm_seat *seat, uint64_t tid)
{
	uint64_t from = ttm_load(&seat->owner); /* relaxed: the CAS decides */

	/* pairs(seat): full, with seat_vacate: the lane is as the last owner
	 * left it */
	if ((from & OWNER_WHO) ||
		!ttm_cas(&seat->owner, from, (from + OWNER_USES) | tid))
		return false;
	/* pairs(hook-inside): full, with ttm_hooks_await: see there */
	ttm_fence_after_cas();
	return true;
}

static struct ttm_seat *seat_vacant(struct ttm_process *process, uint64_t tid)
{
	/* relaxed: the next look finds seats that this one misses */
	uint64_t i, len = ttm_load(&process->seats_len);

	for (i = 0; i < len && i < TTM_LANES_MAX; i++)
		if (seat_take(&process->seats[i], tid))
			return &process->seats[i];
	return NULL;
}

/*
 * Vacates the seats of threads that are gone. Threads that pthread_create did not make
 * leave no word when they end; neither does a thread whose key destructors ran out of
 * rounds.
 */
static void seats_reap(struct ttm_process *process)
{
	uint64_t i, owner, len = ttm_load(&process->seats_len); /* relaxed */
	uint64_t taken = 0;

	for (i = 0; i < len && i < TTM_LANES_MAX; i++) {
		owner = ttm_load(&process->seats[i].owner); /* relaxed: CAS */
		if ((owner & OWNER_WHO) && thread_is_gone(process, owner))
			seat_reap(&process->seats[i], owner);
		else
			taken += (owner & OWNER_WHO) != 0;
	}
	taken = taken < REAP_FIRST / 2 ? REAP_FIRST : 2 * taken;
	/* relaxed: the exact moment does not matter */
	ttm_store(&process->seats_reap_at,
		taken < TTM_LANES_MAX ? taken : TTM_LANES_MAX);
}

static struct ttm_seat *seat_new(struct ttm_process *process, uint64_t tid)
{
	uint64_t n;

	/* Another thread that looks for vacant seats may take a new one
	 * first. */
	do {
		n = ttm_fetch_add(&process->seats_len, 1);
		if (n >= TTM_LANES_MAX) {
			/* relaxed: only keeps the count in bounds */
			ttm_store(&process->seats_len, TTM_LANES_MAX);
			return NULL;
		}
	} while (!seat_take(&process->seats[n], tid));
	return &process->seats[n];
}

/*
 * Returns whether the kernel should be asked about all owners: when there are twice as
 * many seats as threads at the last look, and at most ten times a second once all seats
 * are taken.
 */
static bool reaping_is_due(struct ttm_process *process)
{
	/* relaxed: see seats_reap */
	uint64_t len = ttm_load(&process->seats_len);
	uint64_t at = ttm_load(&process->seats_reap_at);
	uint64_t now = ttm_clock_ns(CLOCK_MONOTONIC_COARSE);

	if (len < (at ? at : REAP_FIRST) ||
		now < ttm_load(&process->reaping_blocked_ns))
		return false;
	ttm_store(&process->reaping_blocked_ns,
		len < TTM_LANES_MAX ? 0 : now + REAP_PAUSE_NS);
	return true;
}

static struct ttm_seat *seat_find(struct ttm_process *process)
{
	uint64_t tid = thread_id(process);
	struct ttm_seat *seat = seat_vacant(process, tid);

	if (!seat && reaping_is_due(process)) {
		seats_reap(process);
		seat = seat_vacant(process, tid);
	}
	if (!seat)
		seat = seat_new(process, tid);
	return seat;
}

static void seat_settle(struct ttm_process *process, struct ttm_seat *seat)
{
	seat->process = process;
	ttm_store32(&seat->inside, 0); /* relaxed: ours */
	seat->scopes_len = 0;
	if (seat->lane)
		lane_adopt(seat->lane, ttm_load(&seat->owner));
}

static void seat_vacate(struct ttm_seat *seat)
{
	uint64_t owner = ttm_load(&seat->owner); /* relaxed: ours */

	/* pairs(seat): release, with seat_take: the lane is at rest */
	ttm_store_release(&seat->owner, owner & ~OWNER_WHO);
}

static bool thread_has_seat(const struct ttm_process *process)
{
	const struct ttm_seat *seat = ttm_self;

	return seat && seat->process == process;
}

/*
 * Gives up the seat. From the first line on, a handler finds no seat and takes another.
 */
static void seat_give_up(struct ttm_process *process, struct ttm_seat *seat)
{
	ttm_self = NULL;
	ttm_fence_signal();
	if (seat->lane)
		ttm_supply_return(process, seat->lane);
	seat_vacate(seat);
}

static void seat_leave(void *value)
{
	struct ttm_process *process = ttm_process_now();
	struct ttm_hold hold;

	ttm_hold(&hold);
	/* A seat of a stopped process, or of our parent, is left alone. */
	if (process && thread_has_seat(process) && ttm_self == value)
		seat_give_up(process, value);
	ttm_release(&hold);
}

bool ttm_hook_is_running(const struct ttm_process *process)
{
	return thread_has_seat(process) &&
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

/* Returns whether another thread has a seat; `inside`: whether it is in a hook. */
static bool others_are_there(const struct ttm_process *process, bool inside)
{
	/* relaxed: later seats find the process gone */
	uint64_t i, len = ttm_load(&process->seats_len);
	const struct ttm_seat *seat;

	for (i = 0; i < len && i < TTM_LANES_MAX; i++) {
		seat = &process->seats[i];
		/* pairs(seat): acquire, with seat_vacate: a thread that left
		 * its seat has left its hooks. pairs(hook-left): acquire,
		 * with ttm_hook_leave */
		if (seat != ttm_self &&
			(ttm_load_acquire(&seat->owner) & OWNER_WHO) &&
			(!inside || ttm_load32_acquire(&seat->inside) != 0))
			return true;
	}
	return false;
}

void ttm_hooks_await(const struct ttm_process *process)
{
	const struct timespec nap = { .tv_nsec = AWAIT_NAP_NS };
	uint64_t end = ttm_clock_ns(CLOCK_MONOTONIC) + AWAIT_NS;

	/* pairs(hook-inside): full, with seat_take: a thread that sits down
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

void ttm_seat_key_make(void)
{
	seat_key_works = pthread_key_create(&seat_key, seat_leave) == 0 &&
		seat_key < KEYS_WITHOUT_MALLOC;
}

/* Takes a seat for this thread. If a handler sits down meanwhile, its seat stays. */
static bool thread_sit_down(struct ttm_process *process)
{
	struct ttm_seat *before = ttm_self, *seat;

	if (before && before->process == process)
		return true;
	seat = seat_find(process);
	if (!seat)
		return thread_has_seat(process);
	seat_settle(process, seat);
	if (!ttm_pointer_replace((void **)&ttm_self, before, seat))
		seat_vacate(seat);
	if (seat_key_works)
		pthread_setspecific(seat_key, ttm_self);
	return true;
}

/* -- the slow ways in ------------------------------------------------------------- */

static void lost_without_lane(
	struct ttm_process *process, enum ttmem_loss reason, uint64_t bytes)
{
	ttm_fetch_add(&process->header->live.lost_events[reason], 1);
	ttm_fetch_add(&process->header->live.lost_bytes[reason], bytes);
}

static bool thread_get_ready(enum ttm_entry entry, uint64_t bytes)
{
	struct ttm_process *process = ttm_process_now();

	/* Decide the switch also where nothing starts: it must not stay
	 * undecided. */
	if (!process && ttmem_internal_decide() && entry == TTM_ENTRY_STARTS)
		process = ttm_process_start_lazily();
	if (!process)
		return false;
	/* The thread that starts the process may not have named the file
	 * yet, and a file without a name is lost with its process. If naming
	 * fails, that thread finds out, too. */
	if (!ttm_load32(&process->named)) /* relaxed: see ttm_segment_name */
		ttm_segment_name(process);
	if (thread_sit_down(process))
		return true;
	lost_without_lane(process, TTMEM_LOSS_NO_LANE, bytes);
	return false;
}

TTM_COLD struct ttm_hook ttm_hook_enter_slow(
	enum ttm_entry entry, uint64_t bytes)
{
	struct ttm_hook hook = { 0 };
	struct ttm_hold hold;
	bool ready;

	ttm_hold(&hold);
	ready = thread_get_ready(entry, bytes);
	ttm_release(&hold);
	if (ready)
		ttm_hook_enter(&hook, entry, bytes);
	return hook;
}

TTM_COLD struct ttm_hook ttm_hook_nested(enum ttm_entry entry, uint64_t bytes)
{
	struct ttm_process *process = ttm_process_now();

	/* Otherwise the interrupted hook belongs to a stopped process or to
	 * our parent: this thread takes a seat in the current process. */
	if (!process || ttm_self->process != process)
		return ttm_hook_enter_slow(entry, bytes);
	lost_without_lane(process, TTMEM_LOSS_NESTED, bytes);
	return (struct ttm_hook){ 0 };
}

TTM_COLD struct ttm_hook ttm_hook_first(struct ttm_seat *seat, uint64_t bytes)
{
	seat->lane = lane_make(seat->process);
	if (seat->lane) {
		lane_adopt(seat->lane, ttm_load(&seat->owner)); /* our own */
		return ttm_hook_of(seat);
	}
	lost_without_lane(seat->process, TTMEM_LOSS_NO_LANE, bytes);
	ttm_hook_leave(&(struct ttm_hook){ .seat = seat });
	return (struct ttm_hook){ 0 };
}
