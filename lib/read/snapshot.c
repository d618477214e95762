/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Texts and arrays are NULL, bytes zero, signed numbers their own unknown. */
static void field_clear(const struct ttm_field *field, char *row)
{
	const int64_t signed_unknown = INT64_MIN;
	char *at = row + field->off;
	size_t known, i;

	switch (field->kind) {
	case TTM_FIELD_TEXT:
	case TTM_FIELD_TEXTS:
	case TTM_FIELD_INDEXES:
	case TTM_FIELD_POINTS:
	case TTM_FIELD_BYTES:
		memset(at, 0, field->size);
		break;
	case TTM_FIELD_I64:
		memcpy(at, &signed_unknown, sizeof(signed_unknown));
		break;
	case TTM_FIELD_EACH:
		known = ttm_names_known(field->of);
		for (i = 0; i < ttm_field_len(field); i++)
			memset(at + i * sizeof(uint64_t), i < known ? 0xff : 0,
				sizeof(uint64_t));
		break;
	default:
		memset(at, 0xff, field->size);
		break;
	}
}

void ttm_row_clear(enum ttm_record_id record, void *row)
{
	const struct ttm_record *r = &ttm_records[record];
	size_t i;

	for (i = 0; i < r->fields_len; i++)
		field_clear(&r->fields[i], row);
}

int ttm_snapshot_make_rows(
	struct ttmem_snapshot *snapshot, enum ttm_record_id record, size_t len)
{
	size_t size = ttm_records[record].size, i;
	char *rows;

	if (len == 0)
		return 0;
	if (len > SIZE_MAX / size)
		return -ENOMEM;
	rows = malloc(len * size);
	if (!rows)
		return -ENOMEM;
	ttm_row_clear(record, rows);
	for (i = 1; i < len; i++)
		memcpy(rows + i * size, rows, size);
	free(snapshot->tables[record].rows);
	snapshot->tables[record].rows = rows;
	snapshot->tables[record].len = len;
	return 0;
}

int ttm_snapshot_new(struct ttmem_snapshot **ret_snapshot)
{
	struct ttmem_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	int r;

	if (!snapshot)
		return -ENOMEM;
	r = ttm_snapshot_make_rows(snapshot, TTM_RECORD_INFO, 1);
	if (r < 0) {
		ttmem_snapshot_free(&snapshot);
		return r;
	}
	*ret_snapshot = snapshot;
	return 0;
}

void ttmem_snapshot_free(struct ttmem_snapshot **snapshot)
{
	size_t i;

	if (!snapshot || !*snapshot)
		return;
	for (i = 0; i < TTM_RECORD_TABLES; i++)
		free((*snapshot)->tables[i].rows);
	ttm_pool_free(&(*snapshot)->pool);
	free(*snapshot);
	*snapshot = NULL;
}

const struct ttmem_info_row *ttmem_snapshot_info(
	const struct ttmem_snapshot *snapshot)
{
	return snapshot->tables[TTM_RECORD_INFO].rows;
}

const struct ttmem_health_row *ttmem_snapshot_health(
	const struct ttmem_snapshot *snapshot)
{
	return snapshot->tables[TTM_RECORD_HEALTH].rows;
}

#define TABLE(id, plural, singular)                                            \
	size_t ttmem_snapshot_##plural##_len(                                  \
		const struct ttmem_snapshot *snapshot)                         \
	{                                                                      \
		return snapshot->tables[TTM_RECORD_##id].len;                  \
	}                                                                      \
	const struct ttmem_##singular##_row *ttmem_snapshot_##singular(        \
		const struct ttmem_snapshot *snapshot, uint64_t index)         \
	{                                                                      \
		const struct ttm_rows                                          \
			*table = &snapshot->tables[TTM_RECORD_##id];           \
		const struct ttmem_##singular##_row *rows = table->rows;       \
                                                                               \
		return index < table->len ? &rows[index] : NULL;               \
	}
#include "read/tables.def"
#undef TABLE
