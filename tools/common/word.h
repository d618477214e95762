/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a tool's own shared memory, nearly all written by one thread or process
 * and read by others. The tools' counterpart of the library's atomics, apart from it
 * on purpose: what judges the library must not stand on it.
 */
#ifndef TTM_COMMON_WORD_H
#define TTM_COMMON_WORD_H

#include <stdint.h>

/* relaxed: a count on its own, which orders nothing */
static inline uint64_t ttm_word_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void ttm_word_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* By the one writer of the word. */
static inline void ttm_word_add(uint64_t *word, uint64_t value)
{
	ttm_word_store(word, ttm_word_load(word) + value);
}

/* By anybody; returns the old value. relaxed: the number is all that counts */
static inline uint64_t ttm_word_take(uint64_t *word, uint64_t value)
{
	return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

/*
 * What stands before it is done before what stands behind it, as seen by whoever
 * looks after the writer was killed: a kill comes between two instructions and
 * takes none back, so the compiler is all that has to be held.
 */
static inline void ttm_word_keep_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#endif
