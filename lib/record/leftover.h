/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/*
 * The files that dead processes leave where no aggregator removes them. All of it is
 * cold, allocates nothing from the heap and is async-signal-safe.
 */
#ifndef TTM_RECORD_LEFTOVER_H
#define TTM_RECORD_LEFTOVER_H

#include <stdbool.h>

/*
 * Tidies a directory that nobody serves; called by a process that starts. If the
 * segments of dead processes take more than 64 MiB, or a quarter of a small filesystem,
 * it removes segments until half of that is left: first those without live objects,
 * then the oldest. Removed segments with live objects are added to the directory's lost
 * file, where a leak check sees them. Dead markers beyond 256 are removed likewise.
 * `pressed`: the filesystem is full, so the limits are half as high.
 */
void ttm_leftover_tidy(int directory, bool pressed);

/* Leaves a marker of a process that could not be tracked; see docs/layout.md. */
void ttm_leftover_mark(const char *base, int error);

/*
 * Removes the markers that ttm_leftover_mark() left for the process, which can be
 * tracked now.
 */
void ttm_leftover_unmark(const char *base);

#endif
