/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * The private memory of the recording side, and how a hook finds it.
 *
 *   ttm_root --> ttm_process --> segment (shared)   header, directory, extents
 *                     |     `--> index, supply       private, lock-free
 *   thread-local -----+--> ttm_ring               private; the records are shared
 *
 * The root is in memory that fork wipes: in a child everything reads as "not started",
 * whatever call forked. All other memory is reachable only through the root, and the
 * child keeps its copy: a hook interrupted by the handler that forked still finds its
 * memory when it resumes. Memory is never unmapped, so a hook that runs during a stop or
 * at exit finishes on valid memory.
 */
#ifndef TTM_RECORD_PROCESS_H
#define TTM_RECORD_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shm/atomics.h"
#include "shm/clock.h"
#include "shm/directory.h"
#include "shm/layout.h"

#define TTM_SCOPES_MAX 32u
#define TTM_BATCH_LEN 32u
#define TTM_CACHE_LEN (8 * TTM_BATCH_LEN) /* room for a burst of frees */
#define TTM_SLOT_EXTENTS_MAX (TTM_EXTENTS_MAX)
#define TTM_RUN_EXTENTS 64u
#define TTM_BLOCK_EXTENTS_MAX                                                  \
	(TTM_LANES_MAX * (TTM_DEVICES_MAX + 1) / TTM_BLOCKS_PER_EXTENT)
#define TTM_NAME_EXTENTS_MAX 64u
#define TTM_CORE_SET_EXTENTS_MAX 4u
#define TTM_MESHES_MAX 65536u
#define TTM_HELD_MAX (2 * TTM_PLACES_MAX)

#define TTM_LIKELY(x) __builtin_expect(!!(x), 1)
#define TTM_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TTM_INLINE inline __attribute__((always_inline))
#define TTM_COLD __attribute__((cold, noinline))
/*
 * Marks a function behind the switch, so that the public function in front of it needs
 * no stack and no registers.
 */
#define TTM_SLOW __attribute__((noinline))

/* Marks a point where a test may kill the process; does nothing in a normal build. */
#ifdef TTM_TESTPOINTS
void ttm_testpoint(const char *label);
#define TTM_TESTPOINT(label) ttm_testpoint(label)
#else
#define TTM_TESTPOINT(label)                                                   \
	do {                                                                   \
	} while (0)
#endif

/*
 * An extent of the segment. Only its first `ready` bytes have memory. A hole in the
 * file must not be touched: on a full filesystem that kills the program.
 */
struct ttm_extent {
	void *memory;    /* address of the mapping; NULL: none */
	uint32_t number; /* index + 1 in the directory */
	uint32_t ready;
};

/*
 * A scope, in whole words: a part of a word that is kept on the stack, and then loaded
 * as a whole word, would wait for the store.
 */
struct ttm_scope {
	uint64_t name;
	uint64_t flags;
};

/*
 * A ring with what the thread that owns it keeps. `owner` has the tid, or 0 when vacant,
 * see ring.c. The rest belongs to the owner and passes to the next one. Aligned to two
 * cache lines, because processors fetch lines in pairs.
 */
struct ttm_ring {
	_Alignas(128) uint64_t owner;
	struct ttm_process *process; /* set before a thread owns the ring */
	uint32_t inside;             /* 1 while its thread is inside a hook */
	uint32_t scopes_len;         /* may be more than are kept */
	struct ttm_words *records;   /* NULL before the first event */
	struct ttm_lane_control *control;
	uint64_t tail; /* copy of control->tail */
	/* Records from here on have no memory yet; or all ones. */
	uint64_t limit;
	uint64_t blocks_made; /* devices with a counter block */
	uint32_t number;
	uint32_t cache_len;
	struct ttm_scope scopes[TTM_SCOPES_MAX + 1]; /* the first: none */
	uint32_t cache[TTM_CACHE_LEN];               /* free slots ... */
	struct ttm_words *cache_at[TTM_CACHE_LEN]; /* ... and where they are */
	struct ttm_block_lane *own_block;
	struct ttm_block_device *blocks[TTM_DEVICES_MAX];
	struct ttm_extent extent;
};

#define TTM_BUCKET_LEN 7u

/* A bucket, one cache line: seven entries and the number of a further line. */
struct ttm_bucket {
	uint64_t entries[TTM_BUCKET_LEN]; /* tag (40 bits) << 24 | slot */
	uint64_t next;                    /* overflow line + 1; 0: none */
};

#define TTM_BUCKET_SIZE 64u
_Static_assert(sizeof(struct ttm_bucket) == TTM_BUCKET_SIZE, "one cache line");

/* Threads with a device each should share no line: see index.h. */
#define TTM_INDEX_PARTS 8u
#define TTM_INDEX_HALVES (2 * TTM_INDEX_PARTS)

struct ttm_level {
	struct ttm_level *older; /* NULL: the first */
	uint64_t mask;           /* of a bucket's offset in bytes in its half */
	char *halves[TTM_INDEX_HALVES]; /* first lines; the odd ones last */
	struct ttm_bucket *overflow;
	uint64_t overflow_len;
	uint64_t overflow_used;
};

/* Free-list links of a slot, by slot number. */
struct ttm_link {
	uint32_t next;       /* within a batch, slot + 1 */
	uint32_t next_batch; /* first slots of batches, slot + 1 */
};

/* A place as the hooks need it: see place.h. */
struct ttm_place {
	uint64_t members; /* device entries, a bit for each */
	uint32_t held;    /* 1: has or had objects */
};

struct ttm_process {
	/* the segment */
	uint32_t fd; /* a descriptor, which may change: see extent.c */
	dev_t device;
	ino_t inode;
	struct ttm_header *header;
	uint32_t *directory;
	struct ttm_lane_control *controls;
	struct ttm_device *devices;
	struct ttm_failure *failures;
	struct ttm_mark *marks;
	uint64_t *place_words;
	uint64_t tables_ready[2];   /* pages of the tables that have memory */
	uint64_t growth_blocked_ns; /* no growth before; 0: growth is allowed */
	void *extents[TTM_EXTENTS_MAX]; /* address of each mapping */
	char directory_path[TTM_PATH_SIZE];
	char temporary_name[32]; /* "": has none */
	char file_name[80];
	uint32_t named; /* 1: it has it */

	/* places of device arguments; 0: to be looked up */
	uint32_t device_places[TTM_DEVICES_MAX]; /* of low logical ids */
	uint32_t mesh_places[TTM_MESHES_MAX];
	uint32_t core_set_ids[TTM_CORE_SETS_MAX + 1];
	struct ttm_place places[TTM_PLACES_MAX];
	uint64_t held_len;
	uint32_t held[TTM_HELD_MAX]; /* places with objects */
	uint64_t closing;            /* see device.c */

	/* slots */
	_Alignas(128) uint64_t free_batches; /* tag << 32 | first slot + 1 */
	uint64_t reserved0[15];              /* padding */
	struct ttm_words *run; /* address range of the first extents of slots */
	uint32_t run_len;      /* slots in the run; 0 without a run */
	uint32_t slots_open;   /* extents below have all their memory */
	uint32_t slots_prepared; /* the last extent that extent_prepare tried */
	struct ttm_extent slots[TTM_SLOT_EXTENTS_MAX];
	void *links[TTM_SLOT_EXTENTS_MAX]; /* struct ttm_link */

	/* index */
	void *newest_level; /* struct ttm_level */

	/* counter blocks, names and core sets */
	struct ttm_extent blocks[TTM_BLOCK_EXTENTS_MAX];
	struct ttm_extent names[TTM_NAME_EXTENTS_MAX];
	struct ttm_extent core_sets[TTM_CORE_SET_EXTENTS_MAX];
	void *name_table; /* uint64_t */

	/* threads */
	uint64_t rings_len;          /* rings from here on were never owned */
	uint64_t reaping_blocked_ns; /* not again before */
	struct ttm_ring rings[TTM_LANES_MAX];
};

struct ttm_root {
	void *process;  /* struct ttm_process, NULL: not started */
	uint32_t owner; /* pid of whose memory this is; 0: not known yet */
};

/* Returns zeroed memory, or NULL if there is none. Async-signal-safe. */
void *ttm_private_memory(size_t size);
void ttm_private_memory_drop(void *memory, size_t size);

/*
 * Encloses every call of the kernel that must not be interrupted by a pending
 * cancellation or by a handler that forks, and that must preserve errno.
 * Async-signal-safe.
 */
struct ttm_hold {
	sigset_t signals;
	int cancel;
	int error;
};

void ttm_hold(struct ttm_hold *hold);
void ttm_release(const struct ttm_hold *hold);

extern void *ttm_root_place /* struct ttm_root */
	__attribute__((visibility("hidden")));

/* Raises a word that only grows. */
static inline void ttm_raise(uint64_t *word, uint64_t value)
{
	uint64_t seen;

	while ((seen = ttm_load(word)) < value) /* relaxed: the CAS decides */
		ttm_cas(word, seen, value);
}

/* Returns the running process, or NULL. */
static inline struct ttm_process *ttm_process_now(void)
{
	struct ttm_root *root = ttm_pointer_load(&ttm_root_place);

	return TTM_LIKELY(root != NULL) ? ttm_pointer_load(&root->process) :
					  NULL;
}

/*
 * Returns the running process, which it starts if needed; NULL if that is impossible.
 */
struct ttm_process *ttm_process_start_lazily(void);

/*
 * Returns the address of a slot. The first extents of slots are mapped one after
 * another: that saves a load between clock and CAS, from the slot's number to its
 * extent.
 */
static inline struct ttm_words *ttm_slot_at(
	struct ttm_process *process, uint32_t slot)
{
	struct ttm_words *extent;

	/* pairs(slot-run): acquire, with run_extend: the extent is mapped */
	if (TTM_LIKELY(slot < ttm_load32_acquire(&process->run_len)))
		return &process->run[slot];
	extent = ttm_pointer_load(
		&process->slots[slot / TTM_SLOTS_PER_EXTENT].memory);
	return &extent[slot % TTM_SLOTS_PER_EXTENT];
}

/* -- the switch -------------------------------------------------------------------- */

/* Values of ttmem_internal_switch. */
enum ttm_switch {
	TTM_SWITCH_UNDECIDED = 0,
	TTM_SWITCH_OFF = 1,
	TTM_SWITCH_ON = 2,
};

/*
 * The library's own copy of ttmem_internal_switch. The public one may have been copied
 * into the executable, and its address takes one more instruction.
 */
extern uint32_t ttm_switch __attribute__((visibility("hidden")));

/*
 * Tests the switch, first in every hook: the load, the compare and the return are the
 * whole cost of a program without tracking.
 */
static inline bool ttm_switch_is_off(void)
{
	/* relaxed: a stale value is as good as an event that came a moment
	 * earlier */
	return ttm_load32(&ttm_switch) == TTM_SWITCH_OFF;
}

#endif
