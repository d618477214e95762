/* SPDX-License-Identifier: Apache-2.0 */
/* Why a snapshot does not tell everything: each is a reason not to say "no leaks". */
#ifndef TTM_DUMP_COMPLETE_H
#define TTM_DUMP_COMPLETE_H

#include <stdbool.h>
#include <stdint.h>

#include <ttmem/reader.h>

/* Called with each reason: one line for people, escaped. */
typedef void dump_gap_tell(void *context, const char *text);

/*
 * What is missing in a snapshot: quarantined segments, directories that are not
 * served, processes that could not be tracked, events and objects that were lost
 * or dropped, calls that were rejected, segments beyond the limits of ttmemd. Records that were overwritten
 * before they were read are none: the live objects and the flows are exact.
 * `tell` may be NULL. Returns how many.
 */
uint64_t dump_gaps(const struct ttmem_snapshot *snapshot, dump_gap_tell *tell,
	void *context);

/*
 * The same for one run: only its processes, and of what cannot be told by process
 * only what is not in `before` already, which may be NULL. And for one user, unless
 * `uid` is unknown.
 */
uint64_t dump_gaps_of_run(const struct ttmem_snapshot *snapshot,
	const struct ttmem_snapshot *before, const uint8_t run_id[16],
	uint64_t uid, dump_gap_tell *tell, void *context);

/*
 * Whether something that belongs to `owner` and is in a directory (by index) is of
 * user `uid`; unknown: anybody's is. In a user namespace the caller's own directories
 * have another owner for ttmemd.
 */
bool dump_is_users(const struct ttmem_snapshot *snapshot, uint64_t directory,
	uint64_t owner, uint64_t uid);

#endif
