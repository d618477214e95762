/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread of mixed_events.c does, and what it remembers of it.
 *
 * Each thread keeps to keys of its own, except on the racing device, where all
 * use the same few, and for objects that were handed to it. So the final live
 * set is known; which of the objects on the closing device are orphaned is not,
 * nor what is left on the racing one.
 */
#ifndef TEST_STRESS_MIXED_ACTIONS_H
#define TEST_STRESS_MIXED_ACTIONS_H

#include "stress/stress.h"

#include "support/calls.h"

#define THREADS 8u
#define LOCALS 64u
#define TRAVELLERS 128u
#define PROGRAMS 4u
#define CBS 4u
#define PRIVATES 64u
#define FAILURES_AT 1u

/* Logical devices. 0 to 2 stay open; one more per thread from PRIVATE on. */
enum {
	SHARED = 3,
	RACING = 3,
	CLOSING = 4,
	PRIVATE = 5,
	DEVICES = PRIVATE + THREADS,
};

/* Bits 40 on of an id: what it is. */
enum {
	LOCAL_ID = 1,
	TRAVELLER_ID = 2,
	PRIVATE_ID = 3,
	CLOSING_ID = 4,
};

struct tally {
	uint64_t allocs;
	uint64_t alloc_bytes;
	uint64_t frees;
	uint64_t free_bytes;
};

struct thread {
	uint64_t seed;
	uint64_t next_id;
	uint64_t calls;
	unsigned number;

	/* What is live: 0 not, else the version or the id. */
	uint32_t locals[LOCALS];
	uint32_t cbs[PROGRAMS][CBS];
	uint32_t kernels[PROGRAMS];
	uint64_t travellers[TRAVELLERS];
	uint64_t privates[PRIVATES];
	uint64_t closing[PRIVATES];
	bool orphans[PRIVATES];
	unsigned travellers_len;
	uint32_t version;

	uint64_t live;
	uint64_t live_peak;
	struct tally tallies[DEVICES][TTMEM_FIGURES];
	uint64_t dispatches;
	uint64_t double_frees;
	uint64_t live_allocs;
	uint64_t late_frees;
	uint64_t closing_frees;
	uint64_t racing_loads;
	uint64_t shared_cbs;
	uint64_t opens_and_closes;
	uint64_t failures;
} __attribute__((aligned(64)));

static struct thread threads[THREADS];
/* [to][from]: ids; with bit 63 set to be freed at once, as the sender does. */
static struct stress_queue queues[THREADS][THREADS];
#define TO_FREE (1ull << 63)

static void device_open(struct thread *t, uint32_t device)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = 0x100 + device;
	ttmem_device_open(&info);
	t->opens_and_closes++;
	t->calls++;
}

/* -- what the thread remembers -------------------------------------------- */

static void remember_alloc(
	struct thread *t, uint32_t device, unsigned figure, uint64_t bytes)
{
	struct tally *tally = &t->tallies[device][figure];

	tally->allocs++;
	tally->alloc_bytes += bytes;
	t->live++;
	if (t->live_peak < t->live)
		t->live_peak = t->live;
}

static void remember_free(
	struct thread *t, uint32_t device, unsigned figure, uint64_t bytes)
{
	struct tally *tally = &t->tallies[device][figure];

	tally->frees++;
	tally->free_bytes += bytes;
	t->live--;
}

/* -- buffers: everything follows from id and version ---------------------- */

static uint64_t buffer_id(struct thread *t, uint64_t what)
{
	return what << 40 | (uint64_t)t->number << 32 | t->next_id++;
}

static uint32_t buffer_device(uint64_t id)
{
	switch (id >> 40) {
	case PRIVATE_ID:
		return PRIVATE + (id >> 32 & 0xff);
	case CLOSING_ID:
		return CLOSING;
	default:
		return (uint32_t)(id % SHARED);
	}
}

static enum ttmem_kind buffer_kind(uint64_t id)
{
	return (enum ttmem_kind)(id / SHARED % 5);
}

/* Few addresses: each is used again and again. */
static uint64_t buffer_addr(uint64_t id, uint32_t version)
{
	return 0x10000 + 4096 * (stress_mix(id + version) % 64);
}

static uint64_t buffer_size(uint64_t id, uint32_t version)
{
	return 32 + 32 * (stress_mix(id ^ version) % 512);
}

static void buffer_alloc(struct thread *t, uint64_t id, uint32_t version)
{
	uint32_t device = buffer_device(id);
	enum ttmem_kind kind = buffer_kind(id);
	uint64_t size = buffer_size(id, version);

	ttmem_alloc(device, kind, id, buffer_addr(id, version), size);
	remember_alloc(t, device, kind, size);
	t->calls++;
}

static void buffer_free(struct thread *t, uint64_t id, uint32_t version)
{
	uint32_t device = buffer_device(id);
	enum ttmem_kind kind = buffer_kind(id);

	ttmem_free(device, kind, id);
	remember_free(t, device, kind, buffer_size(id, version));
	t->calls++;
}

/* The same few ids over and over; sometimes one that is live. */
static void local_step(struct thread *t)
{
	unsigned i = stress_below(&t->seed, LOCALS);
	uint64_t id = (uint64_t)LOCAL_ID << 40 | (uint64_t)t->number << 32 | i;
	uint32_t old = t->locals[i];

	if (old && stress_below(&t->seed, 8)) {
		buffer_free(t, id, old);
		t->locals[i] = 0;
		return;
	}
	t->locals[i] = ++t->version;
	buffer_alloc(t, id, t->version);
	if (old) {
		remember_free(t, buffer_device(id), buffer_kind(id),
			buffer_size(id, old));
		t->live_allocs++;
	}
}

/* -- buffers that travel -------------------------------------------------- */

static void traveller_end(struct thread *t, uint64_t id)
{
	struct stress_queue
		*queue = &queues[stress_below(&t->seed, THREADS)][t->number];
	uint32_t dice = stress_below(&t->seed, 8);

	if (dice < 4 && stress_queue_push(queue, id)) {
		t->live--;
		return;
	}
	if (dice == 4 && stress_queue_push(queue, id | TO_FREE))
		t->double_frees++;
	buffer_free(t, id, 0);
}

static void traveller_step(struct thread *t)
{
	unsigned i;
	uint64_t id;

	if (t->travellers_len < TRAVELLERS && stress_below(&t->seed, 2)) {
		id = buffer_id(t, TRAVELLER_ID);
		buffer_alloc(t, id, 0);
		t->travellers[t->travellers_len++] = id;
	} else if (t->travellers_len) {
		i = stress_below(&t->seed, t->travellers_len);
		id = t->travellers[i];
		t->travellers[i] = t->travellers[--t->travellers_len];
		traveller_end(t, id);
	}
}

static void travellers_receive(struct thread *t)
{
	unsigned from;
	uint64_t id;

	for (from = 0; from < THREADS; from++)
		while (stress_queue_pop(&queues[t->number][from], &id)) {
			if (id & TO_FREE) {
				id &= ~TO_FREE;
				ttmem_free(
					buffer_device(id), buffer_kind(id), id);
				t->calls++;
				continue;
			}
			t->live++;
			if (t->travellers_len < TRAVELLERS)
				t->travellers[t->travellers_len++] = id;
			else
				buffer_free(t, id, 0);
		}
}

/* -- programs of the thread's own ----------------------------------------- */

static uint64_t program_id(const struct thread *t, unsigned program)
{
	return 1000 * (t->number + 1) + program;
}

static uint64_t program_size(uint32_t version)
{
	return 64 * (1 + version % 100);
}

static void cb_forget(struct thread *t, unsigned program, unsigned cb)
{
	if (!t->cbs[program][cb])
		return;
	remember_free(t, program % SHARED, TTMEM_FIGURE_CB,
		8 * program_size(t->cbs[program][cb]));
	t->cbs[program][cb] = 0;
}

static void kernel_forget(struct thread *t, unsigned program)
{
	if (!t->kernels[program])
		return;
	remember_free(t, program % SHARED, TTMEM_FIGURE_KERNEL,
		4 * program_size(t->kernels[program]));
	t->kernels[program] = 0;
}

static void cb_step(struct thread *t)
{
	unsigned program = stress_below(&t->seed, PROGRAMS);
	unsigned cb = stress_below(&t->seed, CBS);
	uint64_t id = program_id(t, program);
	uint32_t version;

	t->calls++;
	if (t->cbs[program][cb] && !stress_below(&t->seed, 4)) {
		ttmem_cb_free(program % SHARED, id, cb);
		cb_forget(t, program, cb);
		return;
	}
	version = ++t->version;
	ttmem_cb_alloc(program % SHARED, id, cb, 4096 * cb,
		program_size(version), 8, 0);
	remember_alloc(t, program % SHARED, TTMEM_FIGURE_CB,
		8 * program_size(version));
	cb_forget(t, program, cb);
	t->cbs[program][cb] = version;
}

static void kernel_load(struct thread *t, unsigned program, uint32_t version)
{
	uint64_t size = program_size(version);

	ttmem_kernel_load(program % SHARED, program_id(t, program),
		TTMEM_KERNEL_APPLICATION, size, 4, 0);
	if (t->kernels[program] && program_size(t->kernels[program]) == size) {
		t->dispatches++;
		return;
	}
	remember_alloc(t, program % SHARED, TTMEM_FIGURE_KERNEL, 4 * size);
	kernel_forget(t, program);
	t->kernels[program] = version;
}

static void kernel_step(struct thread *t)
{
	unsigned program = stress_below(&t->seed, PROGRAMS);
	uint32_t dice = stress_below(&t->seed, 4);

	t->calls++;
	if (t->kernels[program] && dice == 0) {
		ttmem_kernel_unload(program % SHARED, program_id(t, program));
		kernel_forget(t, program);
	} else if (t->kernels[program] && dice < 3) {
		kernel_load(t, program, t->kernels[program]);
	} else {
		kernel_load(t, program, ++t->version);
	}
}

static void program_destroy(struct thread *t, unsigned program)
{
	unsigned cb;

	ttmem_program_destroy(program % SHARED, program_id(t, program));
	t->calls++;
	for (cb = 0; cb < CBS; cb++)
		cb_forget(t, program, cb);
	kernel_forget(t, program);
}

/* -- where all use the same keys ------------------------------------------ */

static void racing_step(struct thread *t)
{
	uint64_t program = stress_below(&t->seed, PROGRAMS);
	/* Even programs: one size for all; odd ones: each thread its own. */
	uint64_t size = 256 + (program & 1) * 32 * t->number;
	uint32_t dice = stress_below(&t->seed, 16);

	t->calls++;
	if (dice == 0) {
		ttmem_program_destroy(RACING, program);
	} else if (dice < 8) {
		ttmem_kernel_load(
			RACING, program, TTMEM_KERNEL_APPLICATION, size, 2, 0);
		t->racing_loads++;
	} else {
		ttmem_cb_alloc(RACING, program, dice % CBS, 0x8000, size, 2, 0);
		t->shared_cbs++;
	}
}

/* -- devices that are closed ---------------------------------------------- */

static void private_close(struct thread *t)
{
	unsigned i;

	ttmem_device_close(PRIVATE + t->number);
	t->opens_and_closes++;
	t->calls++;
	for (i = 0; i < PRIVATES; i++)
		t->orphans[i] = t->privates[i] != 0;
	device_open(t, PRIVATE + t->number);
}

static void private_step(struct thread *t)
{
	unsigned i = stress_below(&t->seed, PRIVATES);

	if (!stress_below(&t->seed, 256)) {
		private_close(t);
	} else if (!t->privates[i]) {
		t->privates[i] = buffer_id(t, PRIVATE_ID);
		t->orphans[i] = false;
		buffer_alloc(t, t->privates[i], 0);
	} else {
		buffer_free(t, t->privates[i], 0);
		t->late_frees += t->orphans[i];
		t->privates[i] = 0;
	}
}

/* Closed by one thread while the others allocate and free there. */
static void closing_step(struct thread *t)
{
	unsigned i = stress_below(&t->seed, PRIVATES);

	if (t->number == 0 && !stress_below(&t->seed, 64)) {
		ttmem_device_close(CLOSING);
		t->opens_and_closes++;
		t->calls++;
		device_open(t, CLOSING);
	} else if (!t->closing[i]) {
		t->closing[i] = buffer_id(t, CLOSING_ID);
		buffer_alloc(t, t->closing[i], 0);
	} else {
		buffer_free(t, t->closing[i], 0);
		t->closing_frees++;
		t->closing[i] = 0;
	}
}

static void failure_step(struct thread *t)
{
	call_alloc_failed(FAILURES_AT, TTMEM_L1, 1 << 20, TTMEM_UNKNOWN);
	t->failures++;
	t->calls++;
}

static void step(struct thread *t)
{
	uint32_t dice = stress_below(&t->seed, 64);

	if (dice < 16)
		local_step(t);
	else if (dice < 32)
		traveller_step(t);
	else if (dice < 36)
		travellers_receive(t);
	else if (dice < 42)
		cb_step(t);
	else if (dice < 48)
		kernel_step(t);
	else if (dice < 50)
		program_destroy(t, dice % PROGRAMS);
	else if (dice < 55)
		racing_step(t);
	else if (dice < 59)
		private_step(t);
	else if (dice < 63)
		closing_step(t);
	else if (!stress_below(&t->seed, 32))
		failure_step(t);
}

#endif
