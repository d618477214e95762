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
 * The library's own copy of ttmem_internal_switch. That one may have been copied
 * into the executable, and asking where it is takes an instruction more.
 */
extern uint32_t ttm_switch __attribute__((visibility("hidden")));

/*
 * First thing in every hook: the load, the compare and the return are all that a
 * program without tracking pays.
 */
static inline bool ttm_switch_is_off(void)
{
	/* relaxed: a late look at a switch that was just thrown is as good as
	 * an event that came a moment earlier */
	return ttm_load32(&ttm_switch) == TTM_SWITCH_OFF;
}

#endif
