/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a script's events must lead to, by the words of the public header: which
 * objects are live, orphaned or gone, and what is an anomaly. Every function notes
 * the effect of one call in the ground truth, between truth_begin() and
 * truth_commit(); none of them calls the library.
 *
 * For one thread. Where the header leaves open what happens (which of several
 * orphans of one id a late free ends), the model takes the youngest.
 */
#ifndef LOAD_MODEL_H
#define LOAD_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/ttmem.h>

#include "truth.h"

struct model;

/* A `device` argument: a number, or the n-th mesh of the script. */
struct model_device {
	uint32_t number;
	bool is_mesh; /* then `number` is n */
};

/* What is allocated or loaded. */
struct model_object {
	unsigned figure;
	uint64_t program; /* of a CB, else 0 */
	uint64_t id;
	uint64_t size; /* CB: per core; kernel: of the binary */
	uint64_t cores;
	bool flag; /* borrowed, or in the ring */
};

/* Tracking is on in the process, or (`started` false) its first event starts it. */
struct model *model_new(struct truth_process *process,
	struct truth_thread *thread, bool started);
void model_free(struct model **model);

void model_open(struct model *model, const struct ttmem_device_info *info);
void model_close(struct model *model, struct model_device device);
void model_mesh_open(struct model *model, size_t mesh, const uint32_t *devices,
	size_t devices_len);
void model_mesh_close(struct model *model, struct model_device mesh);

void model_put(struct model *model, struct model_device device,
	const struct model_object *object);
void model_remove(struct model *model, struct model_device device,
	const struct model_object *object);
void model_remove_program(
	struct model *model, struct model_device device, uint64_t program);
void model_remove_cbs(struct model *model, struct model_device device);

void model_failed(
	struct model *model, struct model_device device, uint64_t kind);
void model_mark(struct model *model);
void model_push(struct model *model);
void model_pop(struct model *model);

#endif
