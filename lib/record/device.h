/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* From the ids that callers use to device entries of the segment. */
#ifndef TTM_RECORD_DEVICE_H
#define TTM_RECORD_DEVICE_H

#include "record/process.h"

#define TTM_MESH_BIT 0x80000000u

/*
 * The entries that a device argument stands for, one bit each; 0 if it stands for
 * none, with the reason. `make`: an id never seen gets an entry.
 */
uint64_t ttm_device_mask_slow(struct ttm_process *process, uint32_t device,
	bool make, enum ttmem_anomaly *ret_reason);

/* The usual case: one device, with an entry. */
static inline bool ttm_device_known(
	const struct ttm_process *process, uint32_t device, unsigned *ret_entry)
{
	uint32_t entry = 0;

	/* relaxed: an entry's words are atomic themselves */
	if (TTM_LIKELY(device < TTM_DEVICES_MAX))
		entry = ttm_load32(&process->device_map[device]);
	*ret_entry = entry - 1;
	return TTM_LIKELY(entry != 0);
}

/* The devices of a mesh; 0 if there is no such mesh. */
static inline uint64_t ttm_mesh_mask(
	const struct ttm_process *process, uint32_t mesh)
{
	uint64_t number = mesh & ~TTM_MESH_BIT;
	const uint64_t *chunk;

	if (number >= TTM_MESHES_PER_CHUNK * TTM_MESH_CHUNKS_MAX)
		return 0;
	chunk = ttm_pointer_load(
		&process->mesh_chunks[number / TTM_MESHES_PER_CHUNK]);
	/* relaxed: a mask, whole */
	return chunk ? ttm_load(&chunk[number % TTM_MESHES_PER_CHUNK]) : 0;
}

static inline uint64_t ttm_device_mask(struct ttm_process *process,
	uint32_t device, bool make, enum ttmem_anomaly *ret_reason)
{
	unsigned entry;

	if (ttm_device_known(process, device, &entry))
		return 1ull << entry;
	*ret_reason = TTMEM_ANOMALY_BAD_DEVICE;
	if (device & TTM_MESH_BIT)
		return ttm_mesh_mask(process, device);
	return ttm_device_mask_slow(process, device, make, ret_reason);
}

/* Takes one entry out of the mask; the mask is not 0. */
static inline unsigned ttm_mask_take(uint64_t *mask)
{
	unsigned entry = (unsigned)__builtin_ctzll(*mask);

	*mask &= *mask - 1;
	return entry;
}

#endif
