/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only way to touch a word that somebody else may touch, too: other threads,
 * other processes, a signal handler. Each caller names its partner in a comment
 * `pairs(name): release`, `acquire` or `full`; a relaxed access says why it may be.
 */
#ifndef TTM_SHM_ATOMICS_H
#define TTM_SHM_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

#ifndef AO_PREFER_BUILTIN_ATOMICS
#define AO_PREFER_BUILTIN_ATOMICS /* TSan understands these */
#endif
#include <atomic_ops.h>

/* It knows the built-ins alone, not the vector loads. */
#if defined(__SANITIZE_THREAD__)
#define TTM_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TTM_THREAD_SANITIZER 1
#endif
#endif

#if defined(__SSE2__)
#include <immintrin.h>
#endif

_Static_assert(sizeof(AO_t) == sizeof(uint64_t), "needs 64-bit words");

static inline uint64_t ttm_load(const uint64_t *word)
{
	return AO_load((const volatile AO_t *)word);
}

static inline uint64_t ttm_load_acquire(const uint64_t *word)
{
	return AO_load_acquire((const volatile AO_t *)word);
}

static inline void ttm_store(uint64_t *word, uint64_t value)
{
	AO_store((volatile AO_t *)word, value);
}

static inline void ttm_store_release(uint64_t *word, uint64_t value)
{
	AO_store_release((volatile AO_t *)word, value);
}

/* Acquires and releases. */
static inline bool ttm_cas(uint64_t *word, uint64_t expected, uint64_t value)
{
	return AO_compare_and_swap_full((volatile AO_t *)word, expected, value);
}

/* Acquires and releases; returns the old value. */
static inline uint64_t ttm_fetch_add(uint64_t *word, uint64_t value)
{
	return AO_fetch_and_add_full((volatile AO_t *)word, value);
}

/* For words that one thread writes: others may read them, nobody adds. */
static inline void ttm_own_add(uint64_t *word, uint64_t value)
{
#if defined(__x86_64__) && !defined(TTM_THREAD_SANITIZER)
	/* The store is one, as above; a compiler makes three of it. */
	__asm__ __volatile__("addq %1, %0" : "+m"(*word) : "er"(value) : "cc");
#else
	ttm_store(word, ttm_load(word) + value);
#endif
}

static inline uint32_t ttm_load32(const uint32_t *word)
{
	return AO_int_load((const volatile unsigned int *)word);
}

static inline uint32_t ttm_load32_acquire(const uint32_t *word)
{
	return AO_int_load_acquire((const volatile unsigned int *)word);
}

static inline void ttm_store32(uint32_t *word, uint32_t value)
{
	AO_int_store((volatile unsigned int *)word, value);
}

static inline void ttm_store32_release(uint32_t *word, uint32_t value)
{
	AO_int_store_release((volatile unsigned int *)word, value);
}

static inline bool ttm_cas32(uint32_t *word, uint32_t expected, uint32_t value)
{
	return AO_int_compare_and_swap_full(
		(volatile unsigned int *)word, expected, value);
}

/* Pointers: whoever loads one sees what it points to as it was published. */
static inline void *ttm_pointer_load(void *const *place)
{
	/* pairs(pointer): acquire, with ttm_pointer_replace */
	return (void *)AO_load_acquire((const volatile AO_t *)place);
}

/* Where something else tells whether it is there. */
static inline void ttm_pointer_set(void **place, void *value)
{
	AO_store((volatile AO_t *)place, (AO_t)value);
}

static inline bool ttm_pointer_replace(
	void **place, void *expected, void *value)
{
	/* pairs(pointer): full, with ttm_pointer_load */
	return AO_compare_and_swap_full(
		(volatile AO_t *)place, (AO_t)expected, (AO_t)value);
}

static inline bool ttm_pointer_set_once(void **place, void *value)
{
	return ttm_pointer_replace(place, NULL, value);
}

static inline bool ttm_pointer_clear(void **place, void *expected)
{
	return ttm_pointer_replace(place, expected, NULL);
}

/* Stores before it are seen before stores after it. Nothing on x86. */
static inline void ttm_fence_release(void)
{
	AO_nop_write();
}

/* Loads before it happen before loads after it. Nothing on x86. */
static inline void ttm_fence_acquire(void)
{
	AO_nop_read();
}

/*
 * Orders a CAS that has just succeeded before later loads. A locked instruction
 * does that by itself on x86; elsewhere libatomic_ops' "full" CAS is only
 * acquire and release.
 */
static inline void ttm_fence_after_cas(void)
{
#if !defined(__x86_64__)
	AO_nop_full();
#endif
}

/* For a signal handler on the same thread: the compiler must not reorder. */
static inline void ttm_fence_signal(void)
{
	AO_compiler_barrier();
}

/*
 * The line will be written: it is fetched in one step, also from the cache of another
 * processor. The built-in would fetch it for reading where the compiler does not know
 * that the processor has the instruction; one that has not ignores it.
 */
static inline void ttm_prefetch_write(const void *line)
{
#if defined(__x86_64__)
	__asm__ __volatile__("prefetchw %0" : : "m"(*(const char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/*
 * Two words next to each other, the first at a multiple of 16 bytes: loaded and stored
 * at once, both relaxed and each in one piece. Stores are what a CAS waits for.
 */
#if defined(__SSE2__) && !defined(TTM_THREAD_SANITIZER)

typedef __m128i ttm_pair;

static inline ttm_pair ttm_pair_of(uint64_t first, uint64_t second)
{
	return _mm_set_epi64x((long long)second, (long long)first);
}

static inline ttm_pair ttm_pair_load(const uint64_t *words)
{
	return *(const volatile ttm_pair *)(const volatile void *)words;
}

static inline void ttm_pair_store(uint64_t *words, ttm_pair pair)
{
	*(volatile ttm_pair *)(volatile void *)words = pair;
}

#else

typedef struct {
	uint64_t first, second;
} ttm_pair;

static inline ttm_pair ttm_pair_of(uint64_t first, uint64_t second)
{
	return (ttm_pair){ first, second };
}

static inline ttm_pair ttm_pair_load(const uint64_t *words)
{
	return ttm_pair_of(ttm_load(&words[0]), ttm_load(&words[1]));
}

static inline void ttm_pair_store(uint64_t *words, ttm_pair pair)
{
	ttm_store(&words[0], pair.first);
	ttm_store(&words[1], pair.second);
}

#endif

/*
 * Which of the eight words of a line have these upper halves, a bit for each; every
 * word is loaded once, with acquire. Without a branch: where the word is cannot be
 * foretold.
 */
#if defined(__SSE2__) && !defined(TTM_THREAD_SANITIZER)

static inline __m128i upper_halves(const __m128i *pairs)
{
	return _mm_castps_si128(
		_mm_shuffle_ps(_mm_castsi128_ps(_mm_load_si128(&pairs[0])),
			_mm_castsi128_ps(_mm_load_si128(&pairs[1])),
			_MM_SHUFFLE(3, 1, 3, 1)));
}

static inline unsigned ttm_line_find_acquire(
	const uint64_t *line, uint32_t upper_half)
{
	const __m128i *pairs = (const __m128i *)(const void *)line;
	const __m128i wanted = _mm_set1_epi32((int)upper_half);
	__m128i low, high;

	/* Each word is loaded in one piece, for all are aligned, and in order
	 * with other loads, as x86 does; the fences are for the compiler. */
	ttm_fence_signal();
	low = upper_halves(&pairs[0]);
	high = upper_halves(&pairs[2]);
	ttm_fence_signal();
	low = _mm_cmpeq_epi32(low, wanted);
	high = _mm_cmpeq_epi32(high, wanted);
	return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(low)) |
		(unsigned)_mm_movemask_ps(_mm_castsi128_ps(high)) << 4;
}

#else

static inline unsigned ttm_line_find_acquire(
	const uint64_t *line, uint32_t upper_half)
{
	unsigned found = 0, i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		found |= (unsigned)(ttm_load_acquire(&line[i]) >> 32 ==
				 upper_half)
			<< i;
	return found;
}

#endif

/*
 * Whether all words of a line are 0 from this one on; every word is loaded once,
 * relaxed. Word by word: a vector with a word that was just exchanged waits for it longer
 * than the word by itself.
 */
static inline bool ttm_line_is_zero_from(const uint64_t *line, unsigned first)
{
	uint64_t rest = 0;
	unsigned i;

#pragma GCC unroll 8
	for (i = first; i < 8; i++)
		rest |= ttm_load(&line[i]);
	return rest == 0;
}

#endif
