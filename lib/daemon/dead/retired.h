/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * Processes that have ended, and what they left: the file `retired` in each served
 * directory. A process is retired by appending one entry to it; then its segment is
 * removed. Whoever serves the directory next, another ttmemd or root's, goes on
 * with the file: a retirement is counted once, and none is forgotten with the
 * aggregate that showed it.
 */
#ifndef TTM_DAEMON_RETIRED_H
#define TTM_DAEMON_RETIRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/aggregate.h"
#include "shm/retired.h"

/* Survivors listed of one process; those beyond are only counted. */
#define TTM_SURVIVORS_MAX 262144u

/* A share, and which chip it was on. */
struct ttm_retired_share {
	struct ttm_share_row row;
	struct ttm_device_facts facts;
};

/* An entry in memory: one block, the parts of which these point to. */
struct ttm_retired_entry {
	struct ttm_retired_head *head;
	struct ttm_process_row *process;
	struct ttm_retired_share *shares;
	struct ttm_name_row *names;
	struct ttm_mark_row *marks;
	struct ttm_failure_row *failures;
	struct ttm_object_row *objects;
};

/*
 * A zeroed entry with so many rows, to be filled in. Returns 0 or -ENOMEM. Freed
 * with ttm_retired_entry_free().
 */
int ttm_retired_entry_new(const struct ttm_retired_head *lens,
	struct ttm_retired_entry *ret_entry);
void ttm_retired_entry_free(struct ttm_retired_entry *entry);

struct ttm_retired;

/*
 * Opens the file in a directory, made if need be for its owner. `loaded` gets each
 * entry in its order, which it may keep no part of. An incomplete last entry is
 * cut off. From an entry on that is none, or another version's, nothing is loaded,
 * and *ret_broken is set: the caller should put the file right with
 * ttm_retired_compact(). Returns 0, -EPERM (somebody else's file, or not a file),
 * -EBUSY (another ttmemd has it open), -ENOMEM, ...
 */
int ttm_retired_open(int directory_fd, uint32_t uid,
	void (*loaded)(void *context, const struct ttm_retired_entry *entry),
	void *context, struct ttm_retired **ret_retired, bool *ret_broken);
void ttm_retired_close(struct ttm_retired **retired);

/*
 * Appends. Once it has returned 0, the process is retired. Else a negative errno;
 * -ESTALE: its owner removed the file, and it has to be opened anew.
 */
int ttm_retired_commit(
	struct ttm_retired *retired, struct ttm_retired_entry *entry);

uint64_t ttm_retired_bytes(const struct ttm_retired *retired);

/*
 * Replaces the file by one with `base`, and of the process entries those for which
 * `keep` says so, called in their order. 0 or a negative errno, as above; then the
 * file is as it was.
 */
int ttm_retired_compact(struct ttm_retired *retired,
	struct ttm_retired_entry *base,
	bool (*keep)(void *context, const uint8_t uuid[16]), void *context);

#endif
