/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock that stamps events: cheap, the same for all processes of a machine,
 * and good for display only. It is not causal (an effect may be stamped before
 * its cause on another core); nothing here relies on its order.
 */
#ifndef TTM_SHM_CLOCK_H
#define TTM_SHM_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "shm/layout.h"

static inline uint64_t ttm_clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)

#define TTM_CLOCK_KIND TTM_CLOCK_X86_TSC

static inline uint64_t ttm_clock_now(void)
{
	return __builtin_ia32_rdtsc();
}

static inline uint64_t ttm_clock_hz(void)
{
	return 0; /* the processor does not say: readers calibrate */
}

#elif defined(__aarch64__)

#define TTM_CLOCK_KIND TTM_CLOCK_ARM_CNTVCT

static inline uint64_t ttm_clock_now(void)
{
	uint64_t ticks;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

static inline uint64_t ttm_clock_hz(void)
{
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz;
}

#else

#define TTM_CLOCK_KIND TTM_CLOCK_MONOTONIC_NS

static inline uint64_t ttm_clock_now(void)
{
	return ttm_clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t ttm_clock_hz(void)
{
	return 1000000000u;
}

#endif

#endif
