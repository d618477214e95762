/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#ifndef TTM_RECORD_USAGE_H
#define TTM_RECORD_USAGE_H

#include "record/process.h"

/* The signed bytes of a tagged word; 0 if its tag is another. */
static inline int64_t ttm_tagged_bytes(uint64_t word, uint16_t tag)
{
	if (TTM_TAGGED_TAG(word) != tag)
		return 0;
	return (int64_t)(word << 16) >> 16;
}

/* Called before a device's epoch ends: what the lanes know of peaks goes along. */
void ttm_peaks_keep(struct ttm_process *process, unsigned entry);

#endif
