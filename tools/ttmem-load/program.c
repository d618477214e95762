/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <string.h>

#define CB_LEAST 2048u
#define CB_MOST (48u << 10)
#define BORROWED_PERCENT 10u

void load_program_new(struct load_worker *worker, struct load_program *program)
{
	memset(program, 0, sizeof(*program));
	program->id = load_id(worker);
	load_random_target(worker, &program->target);
}

/* Most CBs are on all cores. */
static struct load_cores cores_choose(struct load_worker *worker)
{
	return worker->core_sets[load_random_below(worker, 100) < 60 ?
			0 :
			load_random_below(worker, LOAD_CORE_SETS)];
}

static struct truth_amount cb_amount(const struct load_cb *cb)
{
	uint64_t bytes = cb->borrowed ? 0 : cb->size * cb->cores.count;

	return (struct truth_amount){ 1, bytes, bytes };
}

static struct truth_amount kernel_amount(const struct load_kernel *kernel)
{
	uint64_t bytes = kernel->size * kernel->cores;

	return (struct truth_amount){ 1, bytes, bytes };
}

/* Above the CBs before it. */
static uint64_t cb_address(const struct load_worker *worker,
	const struct load_program *program, unsigned number)
{
	uint64_t address = worker->board.l1_base;
	unsigned i;

	for (i = 0; i < number; i++)
		if (program->cbs[i].live && !program->cbs[i].borrowed)
			address += program->cbs[i].size;
	return address;
}

void load_cb_plan(struct load_worker *worker, struct load_program *program,
	unsigned number)
{
	const struct load_target *target = &worker->targets[program->target];
	struct load_cb *cb = &program->cbs[number];
	struct truth_thread *truth = worker->truth;
	struct truth_amount before = cb_amount(cb);
	bool was_live = cb->live;

	cb->size = load_random_size(worker, CB_LEAST, CB_MOST);
	cb->cores = cores_choose(worker);
	cb->borrowed = load_random_below(worker, 100) < BORROWED_PERCENT;
	cb->live = true;
	load_pace(worker);
	load_scope_turn(worker);
	truth_begin(truth, TRUTH_CALL_CB_ALLOC, target->device, number);
	if (was_live) {
		truth_add_objects(truth, TRUTH_OBJECTS_FREED, 1);
		truth_add_free(truth, target->truth, TTMEM_FIGURE_CB, before);
	}
	truth_add_objects(truth, TRUTH_OBJECTS_ALLOCATED, 1);
	truth_add_alloc(truth, target->truth, TTMEM_FIGURE_CB, cb_amount(cb));
	ttmem_cb_alloc(target->device, program->id, number,
		cb_address(worker, program, number), cb->size, cb->cores.handle,
		cb->borrowed ? TTMEM_CB_BORROWED : 0);
	truth_commit(truth);
}

void load_cb_free(struct load_worker *worker, struct load_program *program,
	unsigned number)
{
	const struct load_target *target = &worker->targets[program->target];
	struct load_cb *cb = &program->cbs[number];

	load_pace(worker);
	truth_begin(worker->truth, TRUTH_CALL_CB_FREE, target->device, number);
	truth_add_objects(worker->truth, TRUTH_OBJECTS_FREED, 1);
	truth_add_free(
		worker->truth, target->truth, TTMEM_FIGURE_CB, cb_amount(cb));
	ttmem_cb_free(target->device, program->id, number);
	truth_commit(worker->truth);
	cb->live = false;
}

static bool kernel_is_same(
	const struct load_kernel *a, const struct load_kernel *b)
{
	return a->live && a->type == b->type && a->size == b->size &&
		a->cores == b->cores && a->in_ring == b->in_ring;
}

static void kernel_count_free(struct load_worker *worker,
	const struct load_target *target, const struct load_kernel *kernel)
{
	truth_add_objects(worker->truth, TRUTH_OBJECTS_FREED, 1);
	truth_add_free(worker->truth, target->truth,
		TTMEM_FIGURE_KERNEL + kernel->type, kernel_amount(kernel));
}

void load_kernel_load(struct load_worker *worker, struct load_program *program,
	struct load_kernel kernel)
{
	const struct load_target *target = &worker->targets[program->target];
	const struct load_kernel *before = &program->kernel;
	struct truth_thread *truth = worker->truth;

	load_pace(worker);
	truth_begin(truth, TRUTH_CALL_KERNEL_LOAD, target->device, program->id);
	if (kernel_is_same(before, &kernel)) {
		truth_add(truth,
			&truth->targets[target->truth].dispatches[kernel.type],
			1);
	} else {
		if (before->live)
			kernel_count_free(worker, target, before);
		truth_add_objects(truth, TRUTH_OBJECTS_ALLOCATED, 1);
		truth_add_alloc(truth, target->truth,
			TTMEM_FIGURE_KERNEL + kernel.type,
			kernel_amount(&kernel));
	}
	ttmem_kernel_load(target->device, program->id, kernel.type, kernel.size,
		kernel.cores, kernel.in_ring ? TTMEM_KERNEL_IN_RING : 0);
	truth_commit(truth);
	program->kernel = kernel;
	program->kernel.live = true;
}

void load_kernel_unload(
	struct load_worker *worker, struct load_program *program)
{
	const struct load_target *target = &worker->targets[program->target];

	load_pace(worker);
	truth_begin(worker->truth, TRUTH_CALL_KERNEL_UNLOAD, target->device,
		program->id);
	kernel_count_free(worker, target, &program->kernel);
	ttmem_kernel_unload(target->device, program->id);
	truth_commit(worker->truth);
	program->kernel.live = false;
}

void load_program_destroy(
	struct load_worker *worker, struct load_program *program)
{
	const struct load_target *target = &worker->targets[program->target];
	struct truth_amount cbs = { 0, 0, 0 };
	unsigned i;

	for (i = 0; i < LOAD_CBS_MAX; i++)
		if (program->cbs[i].live) {
			cbs.objects++;
			cbs.bytes += cb_amount(&program->cbs[i]).bytes;
			program->cbs[i].live = false;
		}
	load_pace(worker);
	truth_begin(
		worker->truth, TRUTH_CALL_DESTROY, target->device, program->id);
	cbs.requested = cbs.bytes;
	if (cbs.objects) {
		truth_add_objects(
			worker->truth, TRUTH_OBJECTS_FREED, cbs.objects);
		truth_add_free(
			worker->truth, target->truth, TTMEM_FIGURE_CB, cbs);
	}
	if (program->kernel.live)
		kernel_count_free(worker, target, &program->kernel);
	ttmem_program_destroy(target->device, program->id);
	truth_commit(worker->truth);
	program->kernel.live = false;
}

struct load_kernel load_kernel_application(struct load_worker *worker)
{
	return (struct load_kernel){
		.type = TTMEM_KERNEL_APPLICATION,
		.size = load_random_size(worker, 8u << 10, 64u << 10),
		.cores = worker->options->board->cores,
		.in_ring = true,
	};
}

struct load_kernel load_kernel_system(enum ttmem_kernel_type type)
{
	bool fabric = type == TTMEM_KERNEL_FABRIC;

	return (struct load_kernel){
		.type = type,
		.size = fabric ? 57344 : 47104,
		.cores = fabric ? 16 : 2,
	};
}
