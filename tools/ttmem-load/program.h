/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs as a runtime keeps them in its cache: a kernel binary, and circular
 * buffers that are stacked upward from the base of L1.
 */
#ifndef LOAD_PROGRAM_H
#define LOAD_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "worker.h"

enum {
	LOAD_CBS_MAX = 8
};

struct load_cb {
	uint64_t size; /* per core */
	struct load_cores cores;
	bool borrowed;
	bool live;
};

struct load_kernel {
	enum ttmem_kernel_type type;
	uint64_t size;
	uint32_t cores;
	bool in_ring;
	bool live;
};

struct load_program {
	uint64_t id; /* of its kernel, too */
	uint8_t target;
	struct load_cb cbs[LOAD_CBS_MAX];
	struct load_kernel kernel;
};

/* A new program somewhere, with nothing live. */
void load_program_new(struct load_worker *worker, struct load_program *program);

/*
 * Allocates the CB with a new size. If it is live, that replaces it, which is how
 * programs are planned anew.
 */
void load_cb_plan(struct load_worker *worker, struct load_program *program,
	unsigned number);
void load_cb_free(struct load_worker *worker, struct load_program *program,
	unsigned number);

/* Loads what `kernel` says; if it is that already, it is a dispatch. */
void load_kernel_load(struct load_worker *worker, struct load_program *program,
	struct load_kernel kernel);
void load_kernel_unload(
	struct load_worker *worker, struct load_program *program);

/* Ends the kernel and all CBs; the program may be filled again. */
void load_program_destroy(
	struct load_worker *worker, struct load_program *program);

/* A kernel of an operation, on all cores. */
struct load_kernel load_kernel_application(struct load_worker *worker);

/* A kernel of the system: fabric on ethernet cores, dispatch on two. */
struct load_kernel load_kernel_system(enum ttmem_kernel_type type);

#endif
