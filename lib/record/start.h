/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#ifndef TTM_RECORD_START_H
#define TTM_RECORD_START_H

#include <stdbool.h>

#include <ttmem/ttmem.h>

#include "shm/atomics.h"

/* Values of ttmem_internal_switch. */
enum ttm_switch {
	TTM_SWITCH_UNDECIDED = 0,
	TTM_SWITCH_OFF = 1,
	TTM_SWITCH_ON = 2,
};

/*
 * First thing in every hook: the load, the compare and the return are all that a
 * program without tracking pays.
 */
static inline bool ttm_switch_is_off(void)
{
	/* relaxed: a late look at a switch that was just thrown is as good as
	 * an event that came a moment earlier */
	return ttm_load32((const uint32_t *)&ttmem_internal_switch) ==
		TTM_SWITCH_OFF;
}

#endif
