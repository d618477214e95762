/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Hooks that free several objects: the end of a program, all CBs of a device. */
#ifndef TTM_RECORD_PROGRAM_H
#define TTM_RECORD_PROGRAM_H

#include "record/process.h"

/*
 * Frees all CBs of a program on a device, and the kernel of that id, each as an operation
 * of its own. `at`: see event_time. Returns the time of the event.
 */
uint64_t ttm_program_remove(const struct ttm_hook *hook, unsigned device,
	uint64_t program, const uint64_t *at);

/* Frees all CBs of a device. */
void ttm_cbs_remove(const struct ttm_hook *hook, unsigned device, uint64_t now);

#endif
