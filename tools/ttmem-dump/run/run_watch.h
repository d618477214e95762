/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descendants of COMMAND that record elsewhere or nowhere: they have libttmem mapped, but
 * not this run's environment, or cannot reach its directory. They are found by looking
 * at /proc again and again, so one that ends between two looks is not found.
 */
#ifndef TTM_DUMP_RUN_WATCH_H
#define TTM_DUMP_RUN_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "ttmem-dump/complete.h"

struct run_watch;

/*
 * `base` is the base directory of the run and `directory` the TTMEM_DIR that COMMAND
 * gets, NULL if none; both are kept, not copied. `system`: ttmemd serves all users.
 * Returns 0 or -ENOMEM. End it with run_watch_free().
 */
int run_watch_make(const char *base, const char *directory, bool system,
	struct run_watch **ret_watch);
void run_watch_free(struct run_watch **watch);

/* Looks at all descendants of this process; says once of each on stderr. */
void run_watch_look(struct run_watch *watch);

/*
 * Calls `tell` for each that was found and is not in the snapshot: a process may have
 * set its environment itself. `watch` may be NULL.
 */
void run_watch_tell(const struct run_watch *watch,
	const struct ttmem_snapshot *snapshot, dump_gap_tell *tell,
	void *context);

#endif
