/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Core sets: the cores that a `cores` argument stands for. Handles belong to the
 * program, like mesh handles; a segment gets the set when the handle is first used
 * there.
 */
#ifndef TTM_RECORD_CORE_SET_H
#define TTM_RECORD_CORE_SET_H

#include "record/process.h"

#define TTM_CORE_SET_BIT 0x80000000u

/* Returns the number of cores of a handle; 0: it does not exist. */
uint32_t ttm_core_set_count(uint32_t handle);

/* The set's id in the segment, which gets the set if it has none yet; 0: no room. */
uint32_t ttm_core_set_publish(struct ttm_process *process, uint32_t number);

/*
 * Converts a `cores` argument: the count in bits 0-11, the number of the handle in bits
 * 12-23. Returns false if the count is too high or the handle does not exist.
 */
static TTM_INLINE bool ttm_cores_get(uint32_t cores, uint32_t *ret_cores)
{
	uint32_t count;

	*ret_cores = cores;
	if (TTM_LIKELY(cores <= TTM_CORES_MAX))
		return true;
	if (!(cores & TTM_CORE_SET_BIT))
		return false;
	count = ttm_core_set_count(cores);
	*ret_cores = count | (cores & ~TTM_CORE_SET_BIT) << 12;
	return count != 0;
}

/*
 * Converts the number of the handle to the set's id in the segment of the hook. Only a
 * hook knows its segment: tracking may be stopped and started until it is entered.
 */
static TTM_INLINE uint32_t ttm_cores_in(
	struct ttm_process *process, uint32_t cores)
{
	uint32_t number = cores >> 12, id;

	if (TTM_LIKELY(number == 0))
		return cores;
	id = ttm_load32(&process->core_set_ids[number]); /* relaxed: a number */
	if (TTM_UNLIKELY(id == 0))
		id = ttm_core_set_publish(process, number);
	return (cores & TTM_CORES_MAX) | id << 12;
}

#endif
