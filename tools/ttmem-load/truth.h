/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ground truth: what the load did, counted by itself in memory that all its
 * processes share and that nobody's death takes away.
 *
 * A thread notes a call before it makes it:
 *
 *   begin    begun + 1; what the call is
 *   add      the old value goes to the undo list, then the counter changes
 *   (hook)
 *   commit   done + 1
 *
 * So whoever looks after a kill finds at most one call per thread that is begun and
 * not done. Taking back its undo list gives the exact counts before that call, and
 * the list itself says what the call may have changed.
 *
 * | word                    | stored by           | loaded by                  |
 * |---|---|---|
 * | of a truth_thread       | that thread         | the parent, at rest or for |
 * |                         |                     | display                    |
 * | entries, targets        | the process's main  | the parent                 |
 * |                         | thread              |                            |
 * | stop                    | the parent          | all                        |
 */
#ifndef LOAD_TRUTH_H
#define LOAD_TRUTH_H

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

#include "common/word.h"

enum {
	TRUTH_ENTRIES_MAX = 64,
	/* Every entry, and meshes of them. */
	TRUTH_TARGETS_MAX = TRUTH_ENTRIES_MAX * 2,
	/* Closing a mesh of all entries changes three counters per figure. */
	TRUTH_UNDO_MAX = TRUTH_ENTRIES_MAX * TTMEM_FIGURES * 3 + 80,
	TRUTH_UNDO_FEW = 64, /* beyond, each word is noted once */
	TRUTH_KINDS = 5,
	TRUTH_FAILURES = TRUTH_KINDS + 1, /* and CBs that do not fit */
	TRUTH_KERNEL_TYPES = 3,
};

/*
 * Per figure, of one device. Live is allocated - freed - orphaned. Bytes are used
 * bytes; the requested bytes of what is no buffer are the same.
 */
enum truth_flow {
	TRUTH_ALLOC_OBJECTS,
	TRUTH_ALLOC_BYTES,
	TRUTH_FREE_OBJECTS,
	TRUTH_FREE_BYTES,
	TRUTH_ORPHAN_OBJECTS, /* may fall: a late free ends an orphan */
	TRUTH_ORPHAN_BYTES,
	TRUTH_ALLOC_REQUESTED,
	TRUTH_FREE_REQUESTED,
	TRUTH_ORPHAN_REQUESTED,
	TRUTH_FLOWS
};

enum truth_call {
	TRUTH_CALL_NONE,
	TRUTH_CALL_OPEN,
	TRUTH_CALL_CLOSE,
	TRUTH_CALL_MESH_OPEN,
	TRUTH_CALL_MESH_CLOSE,
	TRUTH_CALL_ALLOC,
	TRUTH_CALL_FREE,
	TRUTH_CALL_CB_ALLOC,
	TRUTH_CALL_CB_FREE,
	TRUTH_CALL_CB_FREE_ALL,
	TRUTH_CALL_KERNEL_LOAD,
	TRUTH_CALL_KERNEL_UNLOAD,
	TRUTH_CALL_DESTROY,
	TRUTH_CALL_FAILED,
	TRUTH_CALL_MARK,
	TRUTH_CALL_PEAK_RESET,
	/* From here on calls that are no events: they leave no record. */
	TRUTH_CALL_PUSH,
	TRUTH_CALL_POP,
	TRUTH_CALL_POP_TO,
	TRUTH_CALLS
};

struct truth_counters {
	uint64_t flows[TTMEM_FIGURES][TRUTH_FLOWS];
	uint64_t dispatches[TRUTH_KERNEL_TYPES];
	uint64_t failures[TRUTH_FAILURES];
};

/* Objects, each counted once, on however many devices it is. */
enum truth_object {
	TRUTH_OBJECTS_ALLOCATED,
	TRUTH_OBJECTS_FREED,  /* on all devices where it was left */
	TRUTH_OBJECTS_SHRUNK, /* freed on some of them */
	TRUTH_OBJECTS
};

struct truth_undo {
	uint64_t offset; /* of the word, in the thread */
	uint64_t before;
};

struct truth_thread {
	uint64_t begun;
	uint64_t done;
	uint64_t undo_len;
	uint64_t events; /* calls that are events, also in the undo list */
	/* The last call. */
	uint64_t call;
	uint64_t device;
	uint64_t id;
	uint64_t marks;
	uint64_t failed; /* failures, each counted once */
	uint64_t objects[TRUTH_OBJECTS];
	uint64_t anomalies[TTMEM_ANOMALIES];
	struct truth_undo undo[TRUTH_UNDO_MAX];
	struct truth_counters targets[TRUTH_TARGETS_MAX];
};

/* One chip under one logical id of a process; unknown: TTMEM_UNKNOWN, "". */
struct truth_entry {
	uint32_t logical;
	bool open;
	uint64_t chip_id;
	uint64_t pci_address;
	char arch[17];
	char board[17];
};

struct truth_process {
	uint64_t pid; /* 0: not there yet */
	uint64_t ended;
	uint64_t status;  /* of wait(2), once ended */
	uint64_t planned; /* the same, as the process means it to be */
	uint64_t threads_len;
	uint64_t leaks_made;
	uint64_t entries_len;
	uint64_t targets_len;
	struct truth_entry entries[TRUTH_ENTRIES_MAX];
	uint64_t targets[TRUTH_TARGETS_MAX]; /* masks of entries */
	sem_t go; /* posted by the parent when a wait is over */
};

struct truth {
	size_t processes_max;
	size_t threads_max; /* of a process */
	size_t thread_stride;
	uint64_t processes_given; /* may be asked for more than there are */
	uint64_t stop;            /* asked to end early */
	struct truth_process *processes;
	char *threads;
};

/* NULL if there is no memory. The memory is shared with children to come. */
struct truth *truth_new(size_t processes_max, size_t threads_max);

/* The next process, for whoever is about to fork; NULL if all are given out. */
struct truth_process *truth_process_new(struct truth *truth);

/* How many were given out. */
size_t truth_processes(const struct truth *truth);

struct truth_thread *truth_thread(
	const struct truth *truth, size_t process, size_t thread);

/*
 * Adds up what the threads of a process counted, for each of its entries, without
 * the calls in doubt. For one thread of the parent.
 */
void truth_process_sum(const struct truth *truth, size_t process,
	struct truth_counters ret_entries[TRUTH_ENTRIES_MAX]);

/* The same for one entry, with the calls under way: by the process, at rest. */
void truth_entry_sum(const struct truth *truth, size_t process, size_t entry,
	struct truth_counters *ret_sum);

/* A copy as it was before the call in doubt; true if there was one. */
bool truth_thread_settle(
	const struct truth_thread *thread, struct truth_thread *ret_settled);

uint64_t truth_live_objects(const uint64_t flows[TRUTH_FLOWS]);
uint64_t truth_live_bytes(const uint64_t flows[TRUTH_FLOWS]);
uint64_t truth_live_requested(const uint64_t flows[TRUTH_FLOWS]);

/* -- noting a call: by its own thread ---------------------------------------- */

/* Whether the call under way has noted the old value of this word. */
bool truth_is_noted(const struct truth_thread *thread, uint64_t offset);

static inline void truth_add(
	struct truth_thread *thread, uint64_t *word, uint64_t value)
{
	uint64_t len = ttm_word_load(&thread->undo_len);
	uint64_t offset = (uint64_t)((const char *)word - (const char *)thread);
	struct truth_undo *undo = &thread->undo[len];

	/* A call about many objects changes the same words again and again. */
	if (len >= TRUTH_UNDO_FEW && truth_is_noted(thread, offset)) {
		ttm_word_add(word, value);
		return;
	}
	ttm_word_store(&undo->offset, offset);
	ttm_word_store(&undo->before, ttm_word_load(word));
	ttm_word_keep_order();
	ttm_word_store(&thread->undo_len, len + 1);
	ttm_word_keep_order();
	ttm_word_add(word, value);
}

static inline void truth_begin(struct truth_thread *thread,
	enum truth_call call, uint64_t device, uint64_t id)
{
	ttm_word_store(&thread->undo_len, 0);
	ttm_word_keep_order();
	ttm_word_add(&thread->begun, 1);
	ttm_word_keep_order();
	ttm_word_store(&thread->call, call);
	ttm_word_store(&thread->device, device);
	ttm_word_store(&thread->id, id);
	if (call < TRUTH_CALL_PUSH)
		truth_add(thread, &thread->events, 1);
}

static inline void truth_commit(struct truth_thread *thread)
{
	ttm_word_keep_order();
	ttm_word_add(&thread->done, 1);
}

/* So many objects on a device, their used and their requested bytes. */
struct truth_amount {
	uint64_t objects;
	uint64_t bytes;
	uint64_t requested;
};

static inline void truth_add_alloc(struct truth_thread *thread, size_t target,
	unsigned figure, struct truth_amount amount)
{
	uint64_t *flows = thread->targets[target].flows[figure];

	truth_add(thread, &flows[TRUTH_ALLOC_OBJECTS], amount.objects);
	truth_add(thread, &flows[TRUTH_ALLOC_BYTES], amount.bytes);
	truth_add(thread, &flows[TRUTH_ALLOC_REQUESTED], amount.requested);
}

static inline void truth_add_free(struct truth_thread *thread, size_t target,
	unsigned figure, struct truth_amount amount)
{
	uint64_t *flows = thread->targets[target].flows[figure];

	truth_add(thread, &flows[TRUTH_FREE_OBJECTS], amount.objects);
	truth_add(thread, &flows[TRUTH_FREE_BYTES], amount.bytes);
	truth_add(thread, &flows[TRUTH_FREE_REQUESTED], amount.requested);
}

/* With the amounts negated: orphans end. */
static inline void truth_add_orphans(struct truth_thread *thread, size_t target,
	unsigned figure, struct truth_amount amount)
{
	uint64_t *flows = thread->targets[target].flows[figure];

	truth_add(thread, &flows[TRUTH_ORPHAN_OBJECTS], amount.objects);
	truth_add(thread, &flows[TRUTH_ORPHAN_BYTES], amount.bytes);
	truth_add(thread, &flows[TRUTH_ORPHAN_REQUESTED], amount.requested);
}

static inline void truth_add_objects(
	struct truth_thread *thread, enum truth_object what, uint64_t objects)
{
	truth_add(thread, &thread->objects[what], objects);
}

/* Live bytes and objects of a figure. */
static inline struct truth_amount truth_live(const uint64_t flows[TRUTH_FLOWS])
{
	return (struct truth_amount){ truth_live_objects(flows),
		truth_live_bytes(flows), truth_live_requested(flows) };
}

static inline void truth_add_anomaly(
	struct truth_thread *thread, enum ttmem_anomaly reason)
{
	truth_add(thread, &thread->anomalies[reason], 1);
}

#endif
