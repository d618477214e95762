/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> [apply] -> publish -> read -> render */
#include "daemon/state/chunk.h"

#include <sys/mman.h>

void *ttm_chunk_new(size_t size)
{
	void *chunk = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return chunk == MAP_FAILED ? NULL : chunk;
}

void ttm_chunk_free(void *chunk, size_t size)
{
	munmap(chunk, size);
}
