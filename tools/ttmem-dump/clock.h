/* SPDX-License-Identifier: Apache-2.0 */
/* Time that passes, for those who wait. */
#ifndef TTM_DUMP_CLOCK_H
#define TTM_DUMP_CLOCK_H

#include <stdint.h>
#include <time.h>

#define DUMP_SECOND_NS 1000000000ull

static inline uint64_t dump_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * DUMP_SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Less than a second. */
static inline void dump_pause(long ns)
{
	const struct timespec pause = { 0, ns };

	nanosleep(&pause, NULL);
}

#endif
