/* SPDX-License-Identifier: Apache-2.0 */
/* The patterns that are about programs alone: their CBs, or their kernels. */
#include <stdlib.h>

#include "pattern.h"
#include "program.h"
#include "worker.h"

/* A runtime's cache holds hundreds; here, few enough that each has its turn. */
#define PROGRAMS 64u

/* -- circular buffers ---------------------------------------------------------- */

static void programs_begin(struct load_worker *worker)
{
	struct load_program *programs = load_memory(
		PROGRAMS, sizeof(programs[0]));
	unsigned i;

	for (i = 0; i < PROGRAMS; i++)
		load_program_new(worker, &programs[i]);
	worker->state = programs;
}

static void cb_step(struct load_worker *worker)
{
	struct load_program *programs = worker->state;
	struct load_program
		*program = &programs[load_random_below(worker, PROGRAMS)];
	unsigned number = (unsigned)load_random_below(worker, LOAD_CBS_MAX);
	uint64_t percent = load_random_below(worker, 100);

	if (percent < 3) {
		load_program_destroy(worker, program);
		load_program_new(worker, program);
	} else if (percent < 25 && program->cbs[number].live) {
		load_cb_free(worker, program, number);
	} else {
		load_cb_plan(worker, program, number);
	}
}

static bool program_is_empty(const struct load_program *program)
{
	unsigned i;

	for (i = 0; i < LOAD_CBS_MAX; i++)
		if (program->cbs[i].live)
			return false;
	return !program->kernel.live;
}

static uint64_t programs_owed(struct load_worker *worker)
{
	(void)worker;
	return PROGRAMS;
}

static void programs_end(struct load_worker *worker)
{
	struct load_program *programs = worker->state;
	unsigned i;

	for (i = 0; i < PROGRAMS; i++)
		if (!program_is_empty(&programs[i]))
			load_program_destroy(worker, &programs[i]);
	free(programs);
}

const struct load_pattern load_pattern_cb = {
	.name = "cb",
	.text = "circular buffers are planned, planned anew and freed",
	.begin = programs_begin,
	.step = cb_step,
	.owed = programs_owed,
	.end = programs_end,
};

/* -- kernels ----------------------------------------------------------------------- */

static struct load_kernel kernel_choose(struct load_worker *worker)
{
	uint64_t percent = load_random_below(worker, 100);

	if (percent < 80)
		return load_kernel_application(worker);
	return load_kernel_system(
		percent < 90 ? TTMEM_KERNEL_FABRIC : TTMEM_KERNEL_DISPATCH);
}

/* Nearly all loads of a cached program are dispatches. */
static void kernels_step(struct load_worker *worker)
{
	struct load_program *programs = worker->state;
	struct load_program
		*program = &programs[load_random_below(worker, PROGRAMS)];
	uint64_t percent = load_random_below(worker, 100);

	if (!program->kernel.live || percent < 5)
		load_kernel_load(worker, program, kernel_choose(worker));
	else if (percent < 15)
		load_kernel_unload(worker, program);
	else
		load_kernel_load(worker, program, program->kernel);
}

const struct load_pattern load_pattern_kernels = {
	.name = "kernels",
	.text = "kernels of all types are loaded, dispatched, unloaded",
	.begin = programs_begin,
	.step = kernels_step,
	.owed = programs_owed,
	.end = programs_end,
};
