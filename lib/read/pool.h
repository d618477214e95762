/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of a snapshot: never moved, freed together. What goes in may be
 * anything; what comes out is valid UTF-8.
 */
#ifndef TTM_READ_POOL_H
#define TTM_READ_POOL_H

#include <stddef.h>
#include <stdint.h>

struct ttm_pool_block;

#define TTM_POOL_RECENT 256u

/* All zero: empty. */
struct ttm_pool {
	struct ttm_pool_block *blocks;
	const char *recent[TTM_POOL_RECENT]; /* texts often come again */
};

void ttm_pool_free(struct ttm_pool *pool);

/* Zeroed and aligned for pointers; NULL: no memory. */
void *ttm_pool_take(struct ttm_pool *pool, size_t size);

/*
 * The text in `bytes`, up to its first NUL or `size` bytes. Bytes that are no
 * UTF-8 become U+FFFD each. NULL: no memory.
 */
const char *ttm_pool_text(
	struct ttm_pool *pool, const char *bytes, size_t size);

/* Length of the valid UTF-8 sequence that `bytes` starts with, 0 if none does. */
size_t ttm_utf8_length(const char *bytes, size_t size);

#endif
