/* SPDX-License-Identifier: Apache-2.0 */
/* What a process does when it is killed: each hook, start, growth and end. */
#ifndef TEST_RECORD_KILL_SCENARIOS_H
#define TEST_RECORD_KILL_SCENARIOS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ttmem/ttmem.h>

#include "support/calls.h"

enum {
	BIG = 200000,      /* more than a lane keeps to itself */
	SLOTS = 2048,      /* in an extent */
	NAMES = 1024,      /* in an extent */
	DEVICES = 64,      /* and their blocks */
	ID = 1000000,      /* ids of scenarios, above those of the crowd */
	OTHER_ID = 500000, /* ids of the companion */
};

enum scenario_flag {
	STARTS = 1,     /* nothing has happened before: there may be no file */
	ENDS = 2,       /* there may be no file any more */
	IN_THREAD = 4,  /* the hook is a new thread's first */
	EXITS = 8,      /* does not return */
	UNTOUCHED = 16, /* may come by no place at all */
	MESH = 32       /* a hook on a mesh */
};

struct scenario {
	const char *name;
	void (*prepare)(void);
	void (*act)(void);
	unsigned flags;
};

/* Another one in each round. */
static enum ttmem_kind kind_now;
static enum ttmem_kernel_type type_now;

static void open_chip(uint32_t device, uint64_t chip)
{
	struct ttmem_device_info info;

	ttmem_device_info_init(&info, device);
	info.chip_id = chip;
	memcpy(info.arch, "wormhole_b0", 11);
	info.cores = 64;
	ttmem_device_open(&info);
}

static void prepare_nothing(void)
{
}

#include "record/kill_meshes.h"

/* -- buffers ------------------------------------------------------------------ */

static void prepare_buffers(void)
{
	unsigned kind;

	for (kind = 0; kind <= TTMEM_TRACE; kind++)
		ttmem_alloc(0, (enum ttmem_kind)kind, ID, 0, 10 + kind);
}

static void prepare_big_buffer(void)
{
	ttmem_alloc(0, kind_now, ID, 0, BIG);
}

static void act_alloc(void)
{
	ttmem_alloc(0, kind_now, ID, 0x1000, 100);
}

static void act_alloc_big(void)
{
	ttmem_alloc(0, kind_now, ID, 0x1000, BIG);
}

static void act_alloc_charged(void)
{
	call_buffer_alloc(0, kind_now, ID, 0x1000, 100, 128);
}

static void act_free(void)
{
	ttmem_free(0, kind_now, ID);
}

static void act_alloc_bad_kind(void)
{
	ttmem_alloc(0, (enum ttmem_kind)200, ID, 0, 1);
}

static void act_alloc_overflow(void)
{
	ttmem_alloc(0, TTMEM_DRAM, ID, 0, UINT64_MAX);
}

/* -- circular buffers, kernels, programs -------------------------------------- */

static void prepare_program(void)
{
	ttmem_cb_alloc(0, ID, 1, 0, 10, 10, 0);
	ttmem_cb_alloc(0, ID, 2, 0, 20, 10, TTMEM_CB_BORROWED);
	ttmem_kernel_load(0, ID, TTMEM_KERNEL_APPLICATION, 5, 5, 0);
	ttmem_cb_alloc(0, ID + 1, 1, 0, 30, 10, 0);
}

static void act_cb_alloc(void)
{
	ttmem_cb_alloc(0, ID, 3, 0, 10, 10, 0);
}

/* The set is new to the process and to the segment. */
static void act_cb_alloc_on_cores(void)
{
	static const struct ttmem_core_range range = { 1, 2, 5, 3 };

	ttmem_cb_alloc(0, ID, 3, 0, 10, ttmem_core_set(&range, 1), 0);
}

static void act_cb_borrow(void)
{
	ttmem_cb_alloc(0, ID, 3, 0, 10, 10, TTMEM_CB_BORROWED);
}

static void act_cb_replace(void)
{
	ttmem_cb_alloc(0, ID, 1, 0, 40, 10, 0);
}

static void act_cb_free(void)
{
	ttmem_cb_free(0, ID, 1);
}

static void act_cb_free_all(void)
{
	ttmem_cb_free_all(0);
}

static void act_kernel_load(void)
{
	ttmem_kernel_load(0, ID + 2, type_now, 5, 5, type_now % 2);
}

static void act_kernel_again(void)
{
	ttmem_kernel_load(0, ID, TTMEM_KERNEL_APPLICATION, 5, 5, 0);
}

static void act_kernel_replace(void)
{
	ttmem_kernel_load(0, ID, TTMEM_KERNEL_FABRIC, 6, 6, 0);
}

static void act_kernel_unload(void)
{
	ttmem_kernel_unload(0, ID);
}

static void act_program_destroy(void)
{
	ttmem_program_destroy(0, ID);
}

/* -- devices ------------------------------------------------------------------ */

static void prepare_device(void)
{
	open_chip(2, 100);
	ttmem_alloc(2, TTMEM_DRAM, ID, 0, 100);
	ttmem_alloc(2, TTMEM_L1, ID, 0, BIG);
}

static void prepare_closed_device(void)
{
	prepare_device();
	ttmem_device_close(2);
}

static void prepare_changed_device(void)
{
	prepare_device();
	open_chip(2, 200);
	ttmem_alloc(2, TTMEM_DRAM, ID, 0, 100);
}

static void prepare_reset_peak(void)
{
	prepare_device();
	ttmem_peak_reset(2);
}

static void act_open_new(void)
{
	open_chip(3, 300);
}

static void act_open_again(void)
{
	open_chip(2, 100);
}

static void act_open_as_another(void)
{
	open_chip(2, 200);
}

static void act_open_bad(void)
{
	ttmem_device_open(NULL);
}

static void act_close(void)
{
	ttmem_device_close(2);
}

static void act_close_unknown(void)
{
	ttmem_device_close(9);
}

static void act_device_alloc(void)
{
	ttmem_alloc(2, TTMEM_DRAM, ID + 1, 0, BIG);
}

static void act_device_alloc_same(void)
{
	ttmem_alloc(2, TTMEM_DRAM, ID, 0, 100);
}

static void act_device_free(void)
{
	ttmem_free(2, TTMEM_DRAM, ID);
}

static void act_unopened_device(void)
{
	ttmem_alloc(5, TTMEM_DRAM, ID, 0, 100);
}

/* -- context ------------------------------------------------------------------ */

static void prepare_scope(void)
{
	ttmem_scope_push("a scope", 0);
}

static void act_scope_push(void)
{
	ttmem_scope_push("another scope", TTMEM_SCOPE_PERSISTENT);
}

static void act_scope_push_bad(void)
{
	ttmem_scope_push("a scope", 8);
}

static void act_scope_alloc(void)
{
	ttmem_scope_push("an inner scope", TTMEM_SCOPE_PERSISTENT);
	ttmem_alloc(0, TTMEM_DRAM, ID, 0, 100);
	ttmem_scope_pop();
}

static void act_scope_pop(void)
{
	ttmem_scope_pop();
}

static void act_failed(void)
{
	call_alloc_failed(0, TTMEM_L1, 10, TTMEM_UNKNOWN);
}

static void act_core_set(void)
{
	static const struct ttmem_core_range range = { 0, 0, 3, 3 };

	ttmem_cb_alloc(0, ID, 3, 0, 10, ttmem_core_set(&range, 1), 0);
}

static void act_mark(void)
{
	ttmem_mark("a mark");
}

static void act_usage(void)
{
	struct ttmem_usage usage = { .size = sizeof(usage) };
	struct ttmem_status status = { .size = sizeof(status) };

	ttmem_usage(2, &usage);
	ttmem_status(&status);
	ttmem_peak_reset(2);
}

/* -- start, growth, end ------------------------------------------------------- */

static void act_start(void)
{
	ttmem_start(NULL);
}

static void prepare_full_slots(void)
{
	uint64_t i;

	for (i = 0; i < SLOTS; i++)
		ttmem_alloc(0, TTMEM_TRACE, ID + 10 + i, 0, 10);
}

static void *blocks_take(void *argument)
{
	uint32_t i;

	(void)argument;
	for (i = 0; i < DEVICES; i++)
		ttmem_free(i, TTMEM_DRAM, ID);
	return NULL;
}

/* One block for each lane itself, then one for each of its devices. */
static void prepare_full_blocks(void)
{
	pthread_t thread;
	uint32_t i;

	for (i = 0; i < DEVICES - 2; i++) {
		ttmem_alloc(i, TTMEM_DRAM, ID, 0, 1);
		ttmem_free(i, TTMEM_DRAM, ID);
	}
	open_chip(DEVICES - 2, 1);
	open_chip(DEVICES - 1, 2);
	if (pthread_create(&thread, NULL, blocks_take, NULL))
		abort();
	pthread_join(thread, NULL);
}

static void act_last_device(void)
{
	ttmem_alloc(DEVICES - 1, TTMEM_DRAM, ID, 0, 10);
	ttmem_alloc(DEVICES - 2, TTMEM_DRAM, ID, 0, 10);
}

static void prepare_full_names(void)
{
	char name[16];
	unsigned i;

	for (i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		ttmem_scope_push(name, 0);
		ttmem_scope_pop();
	}
}

static void act_stop(void)
{
	ttmem_stop();
}

static void act_exit(void)
{
	exit(0);
}

static const struct scenario scenarios[] = {
	{ "alloc", prepare_nothing, act_alloc, 0 },
	{ "alloc a big one", prepare_nothing, act_alloc_big, 0 },
	{ "alloc charged", prepare_nothing, act_alloc_charged, 0 },
	{ "replace a buffer", prepare_buffers, act_alloc, 0 },
	{ "replace by a big one", prepare_buffers, act_alloc_big, 0 },
	{ "free", prepare_buffers, act_free, 0 },
	{ "free a big one", prepare_big_buffer, act_free, 0 },
	{ "free unknown", prepare_nothing, act_free, 0 },
	{ "alloc of a bad kind", prepare_nothing, act_alloc_bad_kind, 0 },
	{ "alloc too big", prepare_nothing, act_alloc_overflow, 0 },
	{ "cb alloc", prepare_program, act_cb_alloc, 0 },
	{ "cb alloc on a core set", prepare_program, act_cb_alloc_on_cores, 0 },
	{ "cb borrowed", prepare_program, act_cb_borrow, 0 },
	{ "cb replace", prepare_program, act_cb_replace, 0 },
	{ "cb free", prepare_program, act_cb_free, 0 },
	{ "cb free all", prepare_program, act_cb_free_all, 0 },
	{ "kernel load", prepare_program, act_kernel_load, 0 },
	{ "kernel dispatched", prepare_program, act_kernel_again, 0 },
	{ "kernel replace", prepare_program, act_kernel_replace, 0 },
	{ "kernel unload", prepare_program, act_kernel_unload, 0 },
	{ "program destroy", prepare_program, act_program_destroy, 0 },
	{ "device open", prepare_nothing, act_open_new, 0 },
	{ "device open again", prepare_device, act_open_again, 0 },
	{ "device open after close", prepare_closed_device, act_open_again, 0 },
	{ "device open as another", prepare_device, act_open_as_another, 0 },
	{ "device open as before", prepare_changed_device, act_open_again, 0 },
	{ "device open without facts", prepare_nothing, act_open_bad, 0 },
	{ "device close", prepare_device, act_close, 0 },
	{ "device close unknown", prepare_device, act_close_unknown, 0 },
	{ "alloc on a closed device", prepare_closed_device,
		act_device_alloc_same, 0 },
	{ "late free", prepare_closed_device, act_device_free, 0 },
	{ "alloc after a peak reset", prepare_reset_peak, act_device_alloc, 0 },
	{ "alloc on an unopened device", prepare_nothing, act_unopened_device,
		0 },
	MESH_SCENARIOS{ "scope push", prepare_scope, act_scope_push, 0 },
	{ "scope push of bad flags", prepare_scope, act_scope_push_bad, 0 },
	{ "alloc in a scope", prepare_scope, act_scope_alloc, 0 },
	{ "scope pop", prepare_scope, act_scope_pop, UNTOUCHED },
	{ "scope pop without push", prepare_nothing, act_scope_pop, 0 },
	{ "alloc failed", prepare_nothing, act_failed, 0 },
	{ "core set", prepare_nothing, act_core_set, 0 },
	{ "mark", prepare_nothing, act_mark, 0 },
	{ "usage, status, peak reset", prepare_device, act_usage, UNTOUCHED },
	{ "start", prepare_nothing, act_start, STARTS },
	{ "start by the first event", prepare_nothing, act_alloc, STARTS },
	{ "lanes grow", prepare_nothing, act_alloc, IN_THREAD },
	{ "slots grow", prepare_full_slots, act_alloc, 0 },
	{ "blocks grow", prepare_full_blocks, act_last_device, 0 },
	{ "names grow", prepare_full_names, act_scope_alloc, 0 },
	{ "stop", prepare_nothing, act_stop, ENDS },
	{ "stop with objects", prepare_program, act_stop, ENDS },
	{ "stop of a large segment", prepare_full_slots, act_stop, ENDS },
	{ "exit", prepare_nothing, act_exit, ENDS | EXITS },
	{ "exit with objects", prepare_program, act_exit, ENDS | EXITS },
	{ "exit of a large segment", prepare_full_slots, act_exit,
		ENDS | EXITS },
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

#endif
