/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> [apply] -> publish -> read -> render */
/*
 * Memory that is zero, and takes pages when it is used for the first time: calloc()
 * may clear what nobody asks for. Segments are sparse, and so are their mirrors.
 */
#ifndef TTM_DAEMON_CHUNK_H
#define TTM_DAEMON_CHUNK_H

#include <stddef.h>

/* Returns NULL when there is no memory. */
void *ttm_chunk_new(size_t size);
void ttm_chunk_free(void *chunk, size_t size);

#endif
