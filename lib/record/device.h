/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Device entries of the segment: one chip under one logical id each. */
#ifndef TTM_RECORD_DEVICE_H
#define TTM_RECORD_DEVICE_H

#include "record/process.h"

/*
 * Returns the current entry of a logical id; `make` creates an entry for an id that has
 * none. Returns false without an entry.
 */
bool ttm_device_entry(struct ttm_process *process, uint32_t logical, bool make,
	unsigned *ret_entry);

/* Returns the count of complete closes: the stamp of objects allocated now. */
static TTM_INLINE uint64_t ttm_closes(const struct ttm_process *process)
{
	/* pairs(closes): acquire, with close_finish: the epochs of all
	 * closed devices have moved */
	return ttm_load_acquire(&process->header->live.closes);
}

#endif
