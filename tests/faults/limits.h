/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULTS_LIMITS_H
#define FAULTS_LIMITS_H

#include <sys/resource.h>
#include <unistd.h>

/* The soft limit of this process, a child; without it the test means nothing. */
static inline void limit_set(int what, rlim_t value)
{
	struct rlimit limit;

	if (getrlimit(what, &limit))
		_exit(98);
	limit.rlim_cur = value;
	if (setrlimit(what, &limit))
		_exit(98);
}

#endif
