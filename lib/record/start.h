/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#ifndef TTM_RECORD_START_H
#define TTM_RECORD_START_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/atomics.h"

/* Values of ttmem_internal_switch. */
enum ttm_switch {
	TTM_SWITCH_UNDECIDED = 0,
	TTM_SWITCH_OFF = 1,
	TTM_SWITCH_ON = 2,
};

/*
 * The library's own copy of ttmem_internal_switch. The public one may have been copied
 * into the executable, and its address takes one more instruction.
 */
extern uint32_t ttm_switch __attribute__((visibility("hidden")));

/*
 * Tests the switch, first in every hook: the load, the compare and the return are the
 * whole cost of a program without tracking.
 */
static inline bool ttm_switch_is_off(void)
{
	/* relaxed: a stale value is as good as an event that came a moment
	 * earlier */
	return ttm_load32(&ttm_switch) == TTM_SWITCH_OFF;
}

#endif
