/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot in the making, for those who fill it. */
#ifndef TTM_READ_SNAPSHOT_H
#define TTM_READ_SNAPSHOT_H

#include <ttmem/reader.h>

#include "read/fields.h"
#include "read/pool.h"

struct ttm_rows {
	void *rows;
	size_t len;
};

struct ttmem_snapshot {
	struct ttm_rows tables[TTM_RECORD_TABLES];
	struct ttm_pool pool;
};

/* With an info row, all unknown. Returns 0 or -ENOMEM. */
int ttm_snapshot_new(struct ttmem_snapshot **ret_snapshot);

/* Gives a table `len` rows, all unknown. Returns 0 or -ENOMEM. */
int ttm_snapshot_make_rows(
	struct ttmem_snapshot *snapshot, enum ttm_record_id record, size_t len);

/* All fields of a row become unknown. */
void ttm_row_clear(enum ttm_record_id record, void *row);

static inline struct ttmem_info_row *ttm_snapshot_info(
	struct ttmem_snapshot *snapshot)
{
	return snapshot->tables[TTM_RECORD_INFO].rows;
}

static inline void *ttm_snapshot_row(const struct ttmem_snapshot *snapshot,
	enum ttm_record_id record, size_t index)
{
	return (char *)snapshot->tables[record].rows +
		index * ttm_records[record].size;
}

#endif
