/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts from the public header what a script's events lead to: which objects are
 * live, orphaned or gone on which devices, and which events are anomalies. Each
 * function notes the effect of one call in the ground truth, between truth_begin() and
 * truth_commit(); none of them calls the library.
 *
 * For one thread. The header leaves some cases open, which scripts avoid: the model
 * then lets a late free end the youngest orphan, and an allocation replace a whole
 * object that is orphaned on some of its devices.
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
	uint32_t flags; /* as in the call */
	/* Of a buffer, when both are known: 0 or TTMEM_UNKNOWN if not. */
	uint32_t banks;
	uint64_t bytes_per_bank;
};

/*
 * Tracking is on in the process, or (`started` false) its first event starts it. The
 * meshes of `parent` stay valid in a forked process; NULL: there is none.
 */
struct model *model_new(struct truth_process *process,
	struct truth_thread *thread, bool started, const struct model *parent);
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
void model_pop_to(struct model *model, uint64_t depth);

#endif
