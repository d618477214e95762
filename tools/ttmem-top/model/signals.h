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
 * Asks the kernel who has the pid, for the question: facts. Returns 0, or a negative
 * errno: -ESRCH the process is gone, -EXDEV it is in another pid namespace, -EINVAL it
 * is not known well enough.
 */
int top_victim_look(struct top_victim *victim);

/*
 * Sends a signal to that process if it still is the one that started then, and still
 * has the user and the name that the question named. Returns 0, or a negative errno: as
 * above, -ESTALE user or name have changed, -EPERM.
 */
int top_signal_send(const struct top_victim *victim, int number);

/* What either of them returned, for people. */
const char *top_signal_error(int error);

#endif
