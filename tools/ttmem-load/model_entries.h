/* SPDX-License-Identifier: Apache-2.0 */
/* The model's devices: entries, each one chip under one logical id, and meshes. */
#ifndef LOAD_MODEL_ENTRIES_H
#define LOAD_MODEL_ENTRIES_H

#include "model.h"

/* Logical ids: a mesh means the devices that its ids mean at the moment. */
struct model_mesh {
	uint32_t members[TRUTH_ENTRIES_MAX];
	size_t members_len; /* 0: not, or no longer open */
};

struct model_entries {
	struct truth_process *process; /* has the entries themselves */
	struct truth_thread *thread;
	uint64_t closes;                    /* calls so far */
	uint64_t epochs[TRUTH_ENTRIES_MAX]; /* number of the last close */
	bool current[TRUTH_ENTRIES_MAX];    /* what its logical id means now */
	struct model_mesh *meshes;
	size_t meshes_len;
};

void model_entries_init(struct model_entries *entries,
	struct truth_process *process, struct truth_thread *thread);
void model_entries_free(struct model_entries *entries);

/* The meshes of another process. */
void model_entries_inherit(
	struct model_entries *entries, const struct model_entries *from);

/* The entries that a device argument means; 0 and the reason if there are none. */
uint64_t model_entries_mask(struct model_entries *entries,
	struct model_device device, bool make, enum ttmem_anomaly *ret_reason);

void model_entries_open(
	struct model_entries *entries, const struct ttmem_device_info *info);
void model_entries_close(
	struct model_entries *entries, struct model_device device);
void model_entries_mesh(struct model_entries *entries, size_t mesh,
	const uint32_t *devices, size_t devices_len);
void model_entries_mesh_end(
	struct model_entries *entries, struct model_device mesh);

#endif
