/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model as a runtime runs it. It begins with the kernels of fabric and dispatch,
 * the weights in DRAM, a first run that fills the program cache, and the capture of
 * a trace. Then operation follows operation: its program is dispatched, its result
 * is a new buffer in L1, and an older one goes. Now and then the CBs of a program
 * are planned anew. In the end everything is released in the order of a runtime.
 */
#include <stdlib.h>

#include "pattern.h"
#include "program.h"
#include "worker.h"

enum {
	LAYERS = 32, /* one weight buffer each, on each target */
	PROGRAMS = 24,
	PROGRAM_CBS = 4,
	ACTIVATIONS = 8,  /* live at a time */
	REPLAN_EVERY = 64 /* operations */
};

#define WEIGHT_BYTES (8ull << 20)
#define TRACE_BYTES (1ull << 20)

struct inference {
	struct load_buffer weights[LAYERS];
	struct load_buffer activations[ACTIVATIONS];
	struct load_buffer trace;
	struct load_program programs[PROGRAMS];
	struct load_program *system; /* two for each target */
	size_t system_len;
	uint64_t operation;
};

static const char *const operations[] = { "ttnn.matmul", "ttnn.softmax",
	"ttnn.layer_norm", "ttnn.add", "ttnn.transpose", "ttnn.all_gather" };

static const char *operation_name(uint64_t number)
{
	return operations[number %
		(sizeof(operations) / sizeof(operations[0]))];
}

static void buffer_alloc(struct load_worker *worker, struct load_buffer *buffer,
	enum ttmem_kind kind, uint64_t size, uint64_t cell, uint64_t cells)
{
	load_random_target(worker, &buffer->target);
	buffer->id = load_id(worker);
	buffer->kind = (uint8_t)kind;
	buffer->size = size;
	buffer->live = true;
	load_alloc(worker, buffer, load_address(worker, kind, cell, cells));
}

static void buffer_free(struct load_worker *worker, struct load_buffer *buffer)
{
	if (!buffer->live)
		return;
	buffer->live = false;
	load_free(worker, buffer);
}

/* -- the beginning ------------------------------------------------------------- */

/* Once for each device: by the first thread. */
static void system_begin(struct load_worker *worker, struct inference *model)
{
	size_t i;

	if (worker->number != 0)
		return;
	model->system_len = worker->targets_len * 2;
	model->system = load_memory(
		model->system_len, sizeof(model->system[0]));
	load_push(worker, "device init", TTMEM_SCOPE_PERSISTENT);
	for (i = 0; i < model->system_len; i++) {
		load_program_new(worker, &model->system[i]);
		model->system[i].target = (uint8_t)(i / 2);
		load_kernel_load(worker, &model->system[i],
			load_kernel_system(i % 2 ? TTMEM_KERNEL_DISPATCH :
						   TTMEM_KERNEL_FABRIC));
	}
	load_pop(worker);
}

static void cache_begin(struct load_worker *worker, struct inference *model)
{
	unsigned i, cb;

	for (i = 0; i < PROGRAMS; i++) {
		load_push(worker, operation_name(i), 0);
		load_program_new(worker, &model->programs[i]);
		for (cb = 0; cb < PROGRAM_CBS; cb++)
			load_cb_plan(worker, &model->programs[i], cb);
		load_kernel_load(worker, &model->programs[i],
			load_kernel_application(worker));
		load_pop(worker);
	}
}

static void inference_begin(struct load_worker *worker)
{
	struct inference *model = load_memory(1, sizeof(*model));
	unsigned i;

	worker->state = model;
	system_begin(worker, model);
	load_push(worker, "weights", 0);
	for (i = 0; i < LAYERS; i++)
		buffer_alloc(worker, &model->weights[i], TTMEM_DRAM,
			worker->options->size_given ?
				load_buffer_size(worker, TTMEM_DRAM) :
				WEIGHT_BYTES,
			i, LAYERS);
	load_pop(worker);
	cache_begin(worker, model);
	load_push(worker, "trace", 0);
	buffer_alloc(worker, &model->trace, TTMEM_TRACE, TRACE_BYTES, 0, 1);
	load_pop(worker);
}

/* -- the loop -------------------------------------------------------------------- */

static void inference_step(struct load_worker *worker)
{
	struct inference *model = worker->state;
	uint64_t number = model->operation++;
	struct load_program *program = &model->programs[number % PROGRAMS];
	struct load_buffer *result = &model->activations[number % ACTIVATIONS];
	unsigned cb;

	load_push(worker, operation_name(number), 0);
	buffer_free(worker, result);
	if (number % REPLAN_EVERY == REPLAN_EVERY - 1)
		for (cb = 0; cb < PROGRAM_CBS; cb++)
			load_cb_plan(worker, program, cb);
	buffer_alloc(worker, result, TTMEM_L1,
		load_buffer_size(worker, TTMEM_L1), number % ACTIVATIONS,
		ACTIVATIONS);
	load_kernel_load(worker, program, program->kernel);
	load_pop(worker);
}

static uint64_t inference_owed(struct load_worker *worker)
{
	struct inference *model = worker->state;

	return LAYERS + PROGRAMS + ACTIVATIONS + 1 + model->system_len;
}

/* -- the end ---------------------------------------------------------------------- */

static void inference_end(struct load_worker *worker)
{
	struct inference *model = worker->state;
	size_t i;

	for (i = 0; i < ACTIVATIONS; i++)
		buffer_free(worker, &model->activations[i]);
	buffer_free(worker, &model->trace);
	for (i = 0; i < PROGRAMS; i++)
		load_program_destroy(worker, &model->programs[i]);
	for (i = 0; i < LAYERS; i++)
		buffer_free(worker, &model->weights[i]);
	for (i = 0; i < model->system_len; i++)
		load_kernel_unload(worker, &model->system[i]);
	free(model->system);
	free(model);
}

const struct load_pattern load_pattern_inference = {
	.name = "inference",
	.text = "a model: warm-up, trace, then operation by operation",
	.begin = inference_begin,
	.step = inference_step,
	.owed = inference_owed,
	.end = inference_end,
};
