/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of the load, and the calls it makes: each is noted in the ground truth
 * and paced. Threads share nothing but what --cross-free hands over.
 */
#ifndef LOAD_WORKER_H
#define LOAD_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "truth.h"

/* The meaning of a `device` argument: a device, or a mesh. */
struct load_target {
	uint32_t device;
	uint32_t truth; /* its number in the ground truth */
	/* Of a mesh: numbers of its devices among the load's. */
	uint32_t first;
	uint32_t members; /* 0: a device */
};

/* Cores that CBs are on. */
struct load_cores {
	uint32_t handle; /* of the set */
	uint32_t count;
};

enum {
	LOAD_CORE_SETS = 4
};

struct load_buffer {
	uint64_t id;
	uint64_t size; /* requested */
	uint64_t used; /* load_alloc() sets it */
	uint8_t target;
	uint8_t kind;
	bool live;
};

/* Buffers that other threads left for this one to free. */
struct load_mailbox {
	pthread_mutex_t lock;
	struct load_buffer *buffers;
	size_t buffers_len;
	size_t buffers_max;
	uint64_t waiting; /* the length, for a look without the lock */
};

struct load_worker {
	const struct load_options *options;
	struct truth *shared;
	struct truth_thread *truth;
	struct ttmem_device_info board;    /* its capacities, and no identity */
	const struct load_target *devices; /* all of the load */
	const struct load_target *targets; /* that objects are allocated on */
	size_t targets_len;
	struct load_cores core_sets[LOAD_CORE_SETS];
	size_t process;
	size_t number; /* in the process, from 0 */
	uint64_t random;
	uint64_t ids;        /* last one given out */
	uint64_t started_ns; /* of the loop */
	uint64_t loop_from;  /* events before it */
	uint64_t deadline_ns;
	uint64_t deadline_look; /* events until the clock is read again */
	bool deadline_over;
	uint64_t scope; /* number of the current one, 0: none */
	uint64_t scope_age;
	struct load_mailbox mailbox;
	struct load_worker *others; /* all of the process, by number */
	pthread_barrier_t *barrier;
	pthread_t thread;
	void *state; /* of the pattern */
};

/* The body of a thread; `worker` is all it gets. */
void *load_worker_main(void *worker);

/* Whether the loop of a pattern goes on that will take `owed` events to end. */
bool load_worker_goes_on(struct load_worker *worker, uint64_t owed);

/* Memory for a pattern's state, zeroed; ends the process if there is none. */
void *load_memory(size_t len, size_t size);

uint64_t load_now_ns(void);

/* -- chance -------------------------------------------------------------------- */

/* splitmix64: the same numbers on every machine. */
static inline uint64_t load_random(struct load_worker *worker)
{
	uint64_t z = (worker->random += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Below `limit`, which is at most 2^32: without a division. */
static inline uint64_t load_random_below(
	struct load_worker *worker, uint64_t limit)
{
	return (load_random(worker) >> 32) * limit >> 32;
}

/* From `least` to `most`, each power of two as likely as the next. */
uint64_t load_random_size(
	struct load_worker *worker, uint64_t least, uint64_t most);

/* A buffer's size as --size says, or as usual for the kind. */
uint64_t load_buffer_size(struct load_worker *worker, enum ttmem_kind kind);

const struct load_target *load_random_target(
	struct load_worker *worker, uint8_t *ret_number);

/* Unique in the process. */
static inline uint64_t load_id(struct load_worker *worker)
{
	return ++worker->ids;
}

/*
 * An address for one of `cells` buffers of a thread: apart from all the others as
 * long as none is larger than its share of the memory.
 */
uint64_t load_address(const struct load_worker *worker, enum ttmem_kind kind,
	uint64_t cell, uint64_t cells);

/* -- calls ----------------------------------------------------------------------- */

/* Waits as --rate says, and dies as --crash-after says. */
void load_pace(struct load_worker *worker);

/* Takes turns with the scopes, if there are any. */
void load_scope_turn(struct load_worker *worker);

void load_push(struct load_worker *worker, const char *name, uint32_t flags);
void load_pop(struct load_worker *worker);
void load_mark(struct load_worker *worker, const char *text);
void load_failed(struct load_worker *worker, const struct load_target *target,
	enum ttmem_kind kind, uint64_t size);

/*
 * Allocates as the runtime's allocator does: in lockstep, the same range on each bank
 * of the kind, whichever of them hold data. With --no-banks it does not tell so.
 */
void load_alloc(
	struct load_worker *worker, struct load_buffer *buffer, uint64_t addr);

/* On a mesh, --shrink decides whether that takes one call or one for each device. */
void load_free(struct load_worker *worker, const struct load_buffer *buffer);

/* A buffer that is never freed, of exactly so many bytes. */
void load_leave(struct load_worker *worker, const struct load_target *target,
	enum ttmem_kind kind, uint64_t id, uint64_t size);

/* The core sets of the board, for one worker. */
void load_core_sets(struct load_worker *worker);

#endif
