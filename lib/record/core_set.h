/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * Core sets: which cores a `cores` argument stands for. Handles belong to the program,
 * like those of meshes; a segment gets the set when it is used there for the first time.
 */
#ifndef TTM_RECORD_CORE_SET_H
#define TTM_RECORD_CORE_SET_H

#include "record/process.h"

#define TTM_CORE_SET_BIT 0x80000000u

bool ttm_core_set_get(uint32_t handle, uint32_t *ret_cores);

/*
 * A `cores` argument as an object has it: the count in bits 0-11, the core set's id in this
 * segment in bits 12-23. False if the count is too high, or there is no such handle.
 */
static TTM_INLINE bool ttm_cores_get(uint32_t cores, uint32_t *ret_cores)
{
	*ret_cores = cores;
	return TTM_LIKELY(cores <= TTM_CORES_MAX) ||
		((cores & TTM_CORE_SET_BIT) &&
			ttm_core_set_get(cores, ret_cores));
}

#endif
