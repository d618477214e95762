/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "pattern.h"
#include "process.h"

#define SECOND_NS 1000000000ull
/* Events between two looks at the clock: well below a millisecond. */
#define DEADLINE_LOOK 256u
/* Allocations in one scope before the next has its turn. */
#define SCOPE_AGE 16u

/* By kind: what a runtime usually asks for. */
static const struct {
	uint64_t least;
	uint64_t most;
} usual_sizes[TRUTH_KINDS] = {
	[TTMEM_DRAM] = { 4096, 4u << 20 },
	[TTMEM_L1] = { 2048, 128u << 10 },
	[TTMEM_SYSTEM_MEMORY] = { 4096, 1u << 20 },
	[TTMEM_L1_SMALL] = { 32, 4096 },
	[TTMEM_TRACE] = { 4096, 256u << 10 },
};

void *load_memory(size_t len, size_t size)
{
	void *memory = calloc(len ? len : 1, size);

	if (!memory) {
		ttm_error("no memory");
		_exit(TTM_EXIT_FAILURE);
	}
	return memory;
}

uint64_t load_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* -- chance -------------------------------------------------------------------- */

uint64_t load_random_size(
	struct load_worker *worker, uint64_t least, uint64_t most)
{
	unsigned low = 63 - (unsigned)__builtin_clzll(least | 1);
	unsigned high = 63 - (unsigned)__builtin_clzll(most | 1);
	uint64_t random = load_random(worker);
	uint64_t size = 1ull << (low + (random >> 48) % (high - low + 1));

	size += random & (size - 1);
	/* Aligned as buffers are, where the range allows. */
	size &= ~31ull;
	return size < least ? least : size > most ? most : size;
}

uint64_t load_buffer_size(struct load_worker *worker, enum ttmem_kind kind)
{
	const struct load_options *o = worker->options;

	if (o->size_given)
		return load_random_size(worker, o->size_min, o->size_max);
	return load_random_size(
		worker, usual_sizes[kind].least, usual_sizes[kind].most);
}

const struct load_target *load_random_target(
	struct load_worker *worker, uint8_t *ret_number)
{
	*ret_number = (uint8_t)load_random_below(worker, worker->targets_len);
	return &worker->targets[*ret_number];
}

uint64_t load_address(const struct load_worker *worker, enum ttmem_kind kind,
	uint64_t cell, uint64_t cells)
{
	const struct load_options *o = worker->options;
	const struct ttmem_device_info *info = &worker->board;
	/* In lockstep, addresses are those of one bank. */
	uint64_t banks = o->no_banks ? 1 : info->dram_banks;
	uint64_t shares = o->processes * o->threads * cells;
	uint64_t share = (worker->process * o->threads + worker->number) *
			cells +
		cell;
	uint64_t base = 0, size;

	switch (kind) {
	case TTMEM_L1: /* from the top down, by half: CBs come from below */
		size = (info->l1_top - info->l1_base) / 2;
		base = info->l1_top - size;
		share = shares - 1 - share;
		break;
	case TTMEM_L1_SMALL:
		size = info->l1_small_bytes;
		base = info->l1_top;
		break;
	case TTMEM_TRACE: /* at the end of the DRAM */
		size = info->trace_bytes / banks;
		base = info->dram_bytes / banks - size;
		break;
	case TTMEM_DRAM:
		base = info->dram_base;
		size = (info->dram_bytes - info->trace_bytes) / banks - base;
		break;
	default:
		size = info->dram_bytes;
		break;
	}
	/* In units of 32 bytes; by the double: the product has no 64 bits. */
	return base +
		(uint64_t)((double)(size / 32) / (double)shares *
			(double)share) *
		32;
}

/* -- pace ------------------------------------------------------------------------ */

static void pace_wait(struct load_worker *worker)
{
	uint64_t events = ttm_word_load(&worker->truth->events) -
		worker->loop_from;
	uint64_t due = worker->started_ns +
		(uint64_t)((double)events / worker->options->rate * 1e9);
	uint64_t now = load_now_ns();
	struct timespec until;

	/* In slices, so that a paced thread ends when it is asked to. */
	while (now < due && !ttm_word_load(&worker->shared->stop)) {
		if (due - now > SECOND_NS / 10)
			now += SECOND_NS / 10;
		else
			now = due;
		until.tv_sec = (time_t)(now / SECOND_NS);
		until.tv_nsec = (long)(now % SECOND_NS);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
			       NULL) == EINTR)
			;
	}
}

void load_pace(struct load_worker *worker)
{
	const struct load_options *o = worker->options;

	if (o->crash_after &&
		ttm_word_load(&worker->truth->events) >= o->crash_after)
		load_process_crash(worker->shared, worker->process, o->crash);
	if (o->rate > 0 && worker->started_ns)
		pace_wait(worker);
}

bool load_worker_goes_on(struct load_worker *worker, uint64_t owed)
{
	const struct load_options *o = worker->options;

	if (ttm_word_load(&worker->shared->stop) || worker->deadline_over)
		return false;
	if (o->events &&
		ttm_word_load(&worker->truth->events) + owed >= o->events)
		return false;
	if (worker->deadline_ns && worker->deadline_look-- == 0) {
		/* A paced thread may take long for that many events. */
		worker->deadline_look = o->rate > 0 ? 0 : DEADLINE_LOOK;
		worker->deadline_over = load_now_ns() >= worker->deadline_ns;
	}
	return !worker->deadline_over;
}

/* -- a lockstep allocator ---------------------------------------------------------- */

#define ALIGNMENT 32u
/* L1 buffers that are sharded. */
#define SHARDED_PERCENT 30u

/* Banks 0: the figures are not told. */
struct lockstep {
	uint64_t bytes_per_bank;
	uint32_t banks;
};

/* Cores that hold a sharded L1 buffer; 0: it is interleaved over all banks. */
static uint32_t holders_choose(
	struct load_worker *worker, enum ttmem_kind kind, uint64_t size)
{
	uint64_t most = size / ALIGNMENT;

	if (kind != TTMEM_L1 || worker->options->no_banks ||
		load_random_below(worker, 100) >= SHARDED_PERCENT || most < 2)
		return 0;
	if (most > worker->board.l1_banks)
		most = worker->board.l1_banks;
	return (uint32_t)load_random_below(worker, most) + 1;
}

/* All banks of the kind are reserved, also those that get no data. */
static struct lockstep lockstep_of(const struct load_worker *worker,
	enum ttmem_kind kind, uint64_t size, uint32_t holders)
{
	struct lockstep layout = { 0, 0 };
	uint64_t parts;

	if (kind == TTMEM_SYSTEM_MEMORY || worker->options->no_banks)
		return layout;
	layout.banks = (uint32_t)(kind == TTMEM_L1 || kind == TTMEM_L1_SMALL ?
			worker->board.l1_banks :
			worker->board.dram_banks);
	parts = holders ? holders : layout.banks;
	layout.bytes_per_bank = ((size + parts - 1) / parts + ALIGNMENT - 1) /
		ALIGNMENT * ALIGNMENT;
	return layout;
}

/* The whole grid, its halves, and one row. */
void load_core_sets(struct load_worker *worker)
{
	const struct load_board *board = worker->options->board;
	uint32_t columns = board->cores / board->core_rows;
	uint32_t half = columns / 2;
	const struct ttmem_core_range ranges[LOAD_CORE_SETS] = {
		{ 0, 0, columns - 1, board->core_rows - 1 },
		{ 0, 0, half - 1, board->core_rows - 1 },
		{ half, 0, columns - 1, board->core_rows - 1 },
		{ 0, 0, columns - 1, 0 },
	};
	size_t i;

	for (i = 0; i < LOAD_CORE_SETS; i++) {
		const struct ttmem_core_range *r = &ranges[i];

		worker->core_sets[i].handle = ttmem_core_set(r, 1);
		worker->core_sets[i].count = (r->last_x - r->first_x + 1) *
			(r->last_y - r->first_y + 1);
	}
}

/* -- calls ----------------------------------------------------------------------- */

void load_push(struct load_worker *worker, const char *name, uint32_t flags)
{
	truth_begin(worker->truth, TRUTH_CALL_PUSH, 0, 0);
	ttmem_scope_push(name, flags);
	truth_commit(worker->truth);
}

void load_pop(struct load_worker *worker)
{
	truth_begin(worker->truth, TRUTH_CALL_POP, 0, 0);
	ttmem_scope_pop();
	truth_commit(worker->truth);
}

void load_scope_turn(struct load_worker *worker)
{
	char name[32];

	if (worker->options->scopes == 0 || worker->scope_age++ % SCOPE_AGE)
		return;
	if (worker->scope)
		load_pop(worker);
	worker->scope = worker->scope % worker->options->scopes + 1;
	snprintf(name, sizeof(name), "scope %u", (unsigned)worker->scope);
	load_push(worker, name, 0);
}

void load_mark(struct load_worker *worker, const char *text)
{
	load_pace(worker);
	truth_begin(worker->truth, TRUTH_CALL_MARK, 0, 0);
	truth_add(worker->truth, &worker->truth->marks, 1);
	ttmem_mark(text);
	truth_commit(worker->truth);
}

void load_failed(struct load_worker *worker, const struct load_target *target,
	enum ttmem_kind kind, uint64_t size)
{
	struct lockstep layout = lockstep_of(worker, kind, size, 0);
	struct truth_thread *truth = worker->truth;
	struct ttmem_failure failure;

	load_pace(worker);
	truth_begin(truth, TRUTH_CALL_FAILED, target->device, 0);
	truth_add(truth, &truth->targets[target->truth].failures[kind], 1);
	truth_add(truth, &truth->failed, 1);
	ttmem_failure_init(&failure, target->device, kind);
	failure.bytes = size;
	if (layout.banks) {
		failure.bytes_per_bank = layout.bytes_per_bank;
		/* Enough in all, and not in one piece. */
		failure.free_per_bank = layout.bytes_per_bank * 2;
		failure.largest_free_per_bank = layout.bytes_per_bank / 2;
	}
	ttmem_alloc_failed(&failure);
	truth_commit(truth);
}

static struct truth_amount buffer_amount(const struct load_buffer *buffer)
{
	return (struct truth_amount){ 1, buffer->used, buffer->size };
}

void load_alloc(
	struct load_worker *worker, struct load_buffer *buffer, uint64_t addr)
{
	const struct load_target *target = &worker->targets[buffer->target];
	enum ttmem_kind kind = (enum ttmem_kind)buffer->kind;
	uint32_t holders = holders_choose(worker, kind, buffer->size);
	struct lockstep layout = lockstep_of(
		worker, kind, buffer->size, holders);
	struct ttmem_buffer told;

	buffer->used = layout.banks ? layout.bytes_per_bank * layout.banks :
				      buffer->size;
	load_pace(worker);
	load_scope_turn(worker);
	truth_begin(
		worker->truth, TRUTH_CALL_ALLOC, target->device, buffer->id);
	truth_add_objects(worker->truth, TRUTH_OBJECTS_ALLOCATED, 1);
	truth_add_alloc(
		worker->truth, target->truth, kind, buffer_amount(buffer));
	if (layout.banks) {
		ttmem_buffer_init(&told, target->device, kind);
		told.id = buffer->id;
		told.address = addr;
		told.bytes = buffer->size;
		told.bytes_per_bank = layout.bytes_per_bank;
		told.banks = layout.banks;
		told.cores = holders;
		ttmem_buffer_alloc(&told);
	} else {
		ttmem_alloc(
			target->device, kind, buffer->id, addr, buffer->size);
	}
	truth_commit(worker->truth);
}

void load_leave(struct load_worker *worker, const struct load_target *target,
	enum ttmem_kind kind, uint64_t id, uint64_t size)
{
	struct truth_amount amount = { 1, size, size };

	load_pace(worker);
	truth_begin(worker->truth, TRUTH_CALL_ALLOC, target->device, id);
	truth_add_objects(worker->truth, TRUTH_OBJECTS_ALLOCATED, 1);
	truth_add_alloc(worker->truth, target->truth, kind, amount);
	ttmem_alloc(target->device, kind, id, load_address(worker, kind, 0, 1),
		size);
	truth_commit(worker->truth);
}

/* Frees a buffer of a mesh device by device: it shrinks until the last of them. */
static void free_by_device(struct load_worker *worker,
	const struct load_target *mesh, const struct load_buffer *buffer)
{
	uint32_t i;

	for (i = 0; i < mesh->members; i++) {
		const struct load_target
			*device = &worker->devices[mesh->first + i];
		bool is_last = i + 1 == mesh->members;

		load_pace(worker);
		truth_begin(worker->truth, TRUTH_CALL_FREE, device->device,
			buffer->id);
		truth_add_objects(worker->truth,
			is_last ? TRUTH_OBJECTS_FREED : TRUTH_OBJECTS_SHRUNK,
			1);
		truth_add_free(worker->truth, device->truth, buffer->kind,
			buffer_amount(buffer));
		ttmem_free(device->device, (enum ttmem_kind)buffer->kind,
			buffer->id);
		truth_commit(worker->truth);
	}
}

void load_free(struct load_worker *worker, const struct load_buffer *buffer)
{
	const struct load_target *target = &worker->targets[buffer->target];
	uint64_t shrink = worker->options->shrink;

	if (shrink && target->members > 1 &&
		load_random_below(worker, 100) < shrink) {
		free_by_device(worker, target, buffer);
		return;
	}
	load_pace(worker);
	truth_begin(worker->truth, TRUTH_CALL_FREE, target->device, buffer->id);
	truth_add_objects(worker->truth, TRUTH_OBJECTS_FREED, 1);
	truth_add_free(worker->truth, target->truth, buffer->kind,
		buffer_amount(buffer));
	ttmem_free(target->device, (enum ttmem_kind)buffer->kind, buffer->id);
	truth_commit(worker->truth);
}

/* -- the thread ------------------------------------------------------------------- */

static void failures_make(struct load_worker *worker)
{
	uint64_t i;
	enum ttmem_kind kind;

	for (i = 0; i < worker->options->failures; i++) {
		kind = (enum ttmem_kind)(i % TRUTH_KINDS);
		load_failed(worker, &worker->targets[i % worker->targets_len],
			kind, load_buffer_size(worker, kind));
	}
}

static void mark_make(struct load_worker *worker, const char *what)
{
	char text[64];

	if (!worker->options->marks)
		return;
	snprintf(text, sizeof(text), "process %zu thread %zu %s",
		worker->process, worker->number, what);
	load_mark(worker, text);
}

void *load_worker_main(void *argument)
{
	struct load_worker *worker = argument;
	const struct load_options *o = worker->options;
	const struct load_pattern *pattern = o->pattern;

	worker->started_ns = load_now_ns();
	worker->loop_from = ttm_word_load(&worker->truth->events);
	if (o->seconds > 0)
		worker->deadline_ns = worker->started_ns +
			(uint64_t)(o->seconds * 1e9);
	mark_make(worker, "begins");
	failures_make(worker);
	pattern->begin(worker);
	while (pattern->step &&
		load_worker_goes_on(worker, pattern->owed(worker)))
		pattern->step(worker);
	/* Here the process holds, or dies, with everything in place. */
	pthread_barrier_wait(worker->barrier);
	pthread_barrier_wait(worker->barrier);
	pattern->end(worker);
	if (worker->scope)
		load_pop(worker);
	mark_make(worker, "ends");
	return NULL;
}
