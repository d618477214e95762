/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#ifndef TTM_RECORD_USAGE_H
#define TTM_RECORD_USAGE_H

#include "shm/layout.h"

/* The signed bytes of a tagged word; 0 if its tag is another. */
static inline int64_t ttm_tagged_bytes(uint64_t word, uint16_t tag)
{
	if (TTM_TAGGED_TAG(word) != tag)
		return 0;
	return (int64_t)(word << 16) >> 16;
}

#endif
