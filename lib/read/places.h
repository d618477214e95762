/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of a snapshot, collected while rows are converted: each different set of
 * devices of a process becomes one row. The aggregate has masks of entries instead.
 */
#ifndef TTM_READ_PLACES_H
#define TTM_READ_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ttm_convert;

struct ttm_place {
	uint64_t members; /* the process's device entries, a bit for each */
	size_t process;   /* row of the aggregate's processes */
	bool listed;      /* all members have a usage row */
	uint32_t epoch;   /* the last close of any member */
};

struct ttm_places {
	struct ttm_place *list; /* by index of the snapshot's places */
	size_t len;
	size_t room;
	size_t *table; /* hash table of indexes + 1, 0: free */
	size_t table_size;
	/* Of each process, rows of the aggregate's shares + 1 by entry, 0: none. */
	uint32_t (*usages)[64];
};

/* Looks up the usages. Returns 0 or -ENOMEM. */
int ttm_places_make(struct ttm_convert *c);
void ttm_places_free(struct ttm_places *places);

/*
 * The index of a place, inserted if it is new; TTMEM_NONE without members, or if the
 * reference means no process. Returns 0 or -ENOMEM.
 */
int ttm_places_add(const struct ttm_convert *c, uint64_t process,
	uint64_t members, uint64_t *ret_index);

/*
 * Finds the members of a place on which an object with this stamp is orphaned. The
 * process is not a dead one. False: a member has no usage row, so it is not known.
 */
bool ttm_place_orphaned(const struct ttm_convert *c, uint64_t place,
	uint16_t stamp, uint64_t *ret_members);

/* Makes the rows of the snapshot, at the end. Returns 0 or -ENOMEM. */
int ttm_places_fill(const struct ttm_convert *c);

#endif
