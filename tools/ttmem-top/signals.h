/* SPDX-License-Identifier: Apache-2.0 */
/* Signals to processes that are surely those that were shown. */
#ifndef TTM_TOP_SIGNALS_H
#define TTM_TOP_SIGNALS_H

#include <stddef.h>

#include "state.h"

#define TOP_SIGNALS 4u

struct top_signal {
	int number;
	const char *name; /* without SIG */
	const char *text;
};

extern const struct top_signal top_signals[TOP_SIGNALS];

/*
 * To that process, if it still is the one that started then, in our pid namespace.
 * Returns 0, or a negative errno: -ESRCH it is gone, -EXDEV another namespace,
 * -EINVAL not known well enough, -EPERM.
 */
int top_signal_send(const struct top_victim *victim, int number);

#endif
