/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file `retired` in a user's directory: processes that have ended, and what they
 * left. ttmemd writes it; readers take command lines from it, which the aggregate of
 * root's ttmemd does not have.
 *
 * The file is a row of entries, each
 *
 *   head, process row, shares, name rows, mark rows, failure rows, object rows
 *
 * with the rows of lib/shm/aggregate.h; in them references are numbers of the
 * entry's own rows, from 1 on. The magic is written last: an entry without it is
 * not there. The first entry may be the base: no process, but the sums of
 * all that were dropped for room, oldest first. The file is only appended to, or
 * replaced as a whole.
 */
#ifndef TTM_SHM_RETIRED_H
#define TTM_SHM_RETIRED_H

#include <stdint.h>

#define TTM_RETIRED_FILE "retired"
#define TTM_RETIRED_MAGIC 0x5445524d454d5454ull /* "TTMEMRET" */
#define TTM_RETIRED_VERSION 2u
/* Far above what is kept: beyond it the file cannot be ttmemd's. */
#define TTM_RETIRED_SIZE_MAX (192ull << 20)

enum ttm_retired_kind {
	TTM_RETIRED_PROCESS = 1,
	TTM_RETIRED_BASE = 2,
};

struct ttm_retired_head {
	uint64_t magic;
	uint64_t size;     /* of the entry, the head included */
	uint64_t checksum; /* FNV-1a of all after this word */
	uint32_t version;
	uint32_t kind; /* enum ttm_retired_kind */
	uint32_t shares_len;
	uint32_t names_len;
	uint32_t marks_len;
	uint32_t failures_len;
	uint64_t objects_len;
	/* Of the base: how many were dropped, with how much left behind. */
	uint64_t dropped_processes;
	uint64_t dropped_objects;
	uint64_t dropped_bytes;
};

#endif
