/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * Files that were looked at and left alone, so that they are counted once and not
 * opened again at every look. One per directory; used by the watch alone.
 */
#ifndef TTM_DAEMON_REFUSED_H
#define TTM_DAEMON_REFUSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ttm_refusal {
	TTM_REFUSAL_NONE = 0,
	TTM_REFUSAL_BAD = 1,   /* no segment of the directory's owner */
	TTM_REFUSAL_LIMIT = 2, /* no room for it at that time */
};

struct ttm_refused_entry {
	uint64_t inode; /* 0: unused */
	uint64_t changed_ns;
	uint64_t round;
	uint64_t refusal;
};

struct ttm_refused {
	struct ttm_refused_entry *entries;
	size_t entries_len; /* used */
	size_t capacity;    /* a power of 2, or 0 */
};

/*
 * What was said about this file when it was changed last (st_ctim), and notes
 * that it is still there in this round.
 */
enum ttm_refusal ttm_refused_get(struct ttm_refused *refused, uint64_t inode,
	uint64_t changed_ns, uint64_t round);

/* False: no room, the file will be looked at again, and is not to be counted. */
bool ttm_refused_add(struct ttm_refused *refused, uint64_t inode,
	uint64_t changed_ns, uint64_t round, enum ttm_refusal refusal);

/* Forgets files that were not there in this round. */
void ttm_refused_tidy(struct ttm_refused *refused, uint64_t round);

void ttm_refused_drop(struct ttm_refused *refused);

#endif
