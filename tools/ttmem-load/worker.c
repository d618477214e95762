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
		size = info->trace_bytes;
		base = info->dram_bytes - size;
		break;
	default:
		size = info->dram_bytes - info->trace_bytes;
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
	struct truth_thread *truth = worker->truth;

	load_pace(worker);
	truth_begin(truth, TRUTH_CALL_FAILED, target->device, 0);
	truth_add(truth, &truth->targets[target->truth].failures[kind], 1);
	ttmem_alloc_failed(target->device, kind, size, size / 2);
	truth_commit(truth);
}

void load_alloc(struct load_worker *worker, const struct load_target *target,
	enum ttmem_kind kind, uint64_t id, uint64_t addr, uint64_t size)
{
	load_pace(worker);
	load_scope_turn(worker);
	truth_begin(worker->truth, TRUTH_CALL_ALLOC, target->device, id);
	truth_add_alloc(worker->truth, target->truth, kind, 1, size);
	ttmem_alloc(target->device, kind, id, addr, size);
	truth_commit(worker->truth);
}

void load_free(struct load_worker *worker, const struct load_target *target,
	enum ttmem_kind kind, uint64_t id, uint64_t size)
{
	load_pace(worker);
	truth_begin(worker->truth, TRUTH_CALL_FREE, target->device, id);
	truth_add_free(worker->truth, target->truth, kind, 1, size);
	ttmem_free(target->device, kind, id);
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
