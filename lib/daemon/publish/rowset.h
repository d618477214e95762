/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of row numbers that finds its next member in a few steps, however large it
 * is: a bit per row, and above it a bit per word that is not 0, and so on. Zero is
 * the empty set.
 */
#ifndef TTM_DAEMON_ROWSET_H
#define TTM_DAEMON_ROWSET_H

#include <stdbool.h>
#include <stdint.h>

#define TTM_ROWSET_LEVELS 5u /* 64^5 rows */

struct ttm_rowset {
	uint64_t *levels[TTM_ROWSET_LEVELS];
	uint64_t capacity;
};

/* Room for rows below `capacity`, at most 2^30. Returns 0 or -ENOMEM. */
int ttm_rowset_reserve(struct ttm_rowset *set, uint64_t capacity);
void ttm_rowset_clear(struct ttm_rowset *set);

/* The row is below the capacity. */
void ttm_rowset_add(struct ttm_rowset *set, uint64_t row);
void ttm_rowset_remove(struct ttm_rowset *set, uint64_t row);
bool ttm_rowset_has(const struct ttm_rowset *set, uint64_t row);

/* The lowest member from `from` on; false if there is none. */
bool ttm_rowset_next(
	const struct ttm_rowset *set, uint64_t from, uint64_t *ret_row);

uint64_t ttm_rowset_bytes(const struct ttm_rowset *set);

#endif
