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

bool ttm_core_set_get(uint32_t handle, uint32_t *ret_cores);

/*
 * Converts a `cores` argument to what an object has: the count in bits 0-11, the core
 * set's id in this segment in bits 12-23. Returns false if the count is too high or the
 * handle does not exist.
 */
static TTM_INLINE bool ttm_cores_get(uint32_t cores, uint32_t *ret_cores)
{
	*ret_cores = cores;
	return TTM_LIKELY(cores <= TTM_CORES_MAX) ||
		((cores & TTM_CORE_SET_BIT) &&
			ttm_core_set_get(cores, ret_cores));
}

#endif
