/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#ifndef TTM_RECORD_HEADER_H
#define TTM_RECORD_HEADER_H

#include "shm/layout.h"

/* Writes the process's identity into a zeroed header and seals it. */
void ttm_header_fill(struct ttm_header *header, uint32_t extents_max);

#endif
