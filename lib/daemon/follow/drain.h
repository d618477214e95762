/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * Reads what a process wrote since the last time, and applies it.
 *
 * A round reads tails, then records, then whatever else is wanted: so it has
 * everything that was finished before it began, and some later operations.
 */
#ifndef TTM_DAEMON_DRAIN_H
#define TTM_DAEMON_DRAIN_H

#include <stdint.h>

#include "daemon/follow/process.h"

/*
 * What else wants to see records; every record once, whatever the mirror says.
 * Either may be NULL.
 */
struct ttm_drain_watcher {
	/*
	 * Each one when it was applied, while the mirror is as of it. `members` are
	 * the devices that it is about: of a SHRINK those that the object left.
	 */
	void (*record)(void *context, struct ttm_process *process,
		const struct ttm_words *record, uint64_t members);
	/*
	 * Those of a lane when all were applied, no-ops included. Much cheaper
	 * with many objects: the memory of the mirror and that of whatever the
	 * watcher keeps are not waited for by turns.
	 */
	void (*records)(void *context, struct ttm_process *process,
		const struct ttm_words *records, uint32_t len);
	void *context;
};

struct ttm_drain_stats {
	uint64_t events;
	uint64_t missed;
	uint64_t scans;
};

/*
 * One round. Returns the number of records that the fullest lane had, or -EPROTO
 * (source.reason), -ENOMEM or another negative errno of pread.
 */
int ttm_drain(struct ttm_process *process, uint64_t now_ns,
	const struct ttm_drain_watcher *watcher, struct ttm_drain_stats *stats);

/*
 * The scan that was put off, if there is one: without it the mirror has neither what
 * was missed nor what came before it, and is not to be shown. Errors as above.
 */
int ttm_drain_owed(struct ttm_process *process, uint64_t now_ns,
	struct ttm_drain_stats *stats);

/*
 * The last round for a dead process: everything anew, the live set exactly the
 * slots. Errors as above.
 */
int ttm_drain_last(struct ttm_process *process, uint64_t now_ns,
	const struct ttm_drain_watcher *watcher, struct ttm_drain_stats *stats);

/* Counters and peaks of all lanes, and the device entries. Errors as above. */
int ttm_drain_counters(struct ttm_process *process);

#endif
