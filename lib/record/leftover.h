/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * What processes leave behind where no aggregator takes it away. All of it is
 * cold, allocates nothing from the heap and is async-signal-safe.
 */
#ifndef TTM_RECORD_LEFTOVER_H
#define TTM_RECORD_LEFTOVER_H

#include <stdbool.h>

/*
 * Called by a process that starts: if dead processes' segments in the directory take
 * more than 64 MiB, or a quarter of a small filesystem, and nobody serves it, removes
 * them, first the ones without live objects, then the oldest, until half of that is
 * left. What was removed with live objects is added to the directory's lost file,
 * where a leak check sees it. Dead markers beyond 256 go the same way. `pressed`: the
 * filesystem is full, half as much is too much already.
 */
void ttm_leftover_tidy(int directory, bool pressed);

/* Makes a process visible that could not be tracked; see docs/layout.md. */
void ttm_leftover_mark(const char *base, int error);

/* It can, after all: takes away all that ttm_leftover_mark() left for the process. */
void ttm_leftover_unmark(const char *base);

#endif
