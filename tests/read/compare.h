/* SPDX-License-Identifier: Apache-2.0 */
/* Two snapshots, field by field, as the reader's own tables list them. */
#ifndef TEST_READ_COMPARE_H
#define TEST_READ_COMPARE_H

#include <stdbool.h>
#include <string.h>

#include <unity.h>

#include "read/snapshot.h"

static inline bool texts_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static inline bool field_equal(
	const struct ttm_field *field, const char *a, const char *b)
{
	const char *const *texts_a, *const *texts_b;
	const struct ttmem_point *points_a, *points_b;
	const uint64_t *indexes_a, *indexes_b;
	uint64_t len_a, len_b, i;

	memcpy(&len_a, a + (field->size > 8 ? 8 : 0), 8);
	memcpy(&len_b, b + (field->size > 8 ? 8 : 0), 8);
	memcpy(&texts_a, a, sizeof(texts_a));
	memcpy(&texts_b, b, sizeof(texts_b));
	memcpy(&points_a, a, sizeof(points_a));
	memcpy(&points_b, b, sizeof(points_b));
	memcpy(&indexes_a, a, sizeof(indexes_a));
	memcpy(&indexes_b, b, sizeof(indexes_b));
	switch (field->kind) {
	case TTM_FIELD_TEXT:
		return texts_equal(
			(const char *)texts_a, (const char *)texts_b);
	case TTM_FIELD_TEXTS:
		for (i = 0; len_a == len_b && i < len_a; i++)
			if (!texts_equal(texts_a[i], texts_b[i]))
				return false;
		return len_a == len_b;
	case TTM_FIELD_INDEXES:
		return len_a == len_b &&
			(len_a == 0 ||
				memcmp(indexes_a, indexes_b,
					len_a * sizeof(*indexes_a)) == 0);
	case TTM_FIELD_POINTS:
		return len_a == len_b &&
			(len_a == 0 ||
				memcmp(points_a, points_b,
					len_a * sizeof(*points_a)) == 0);
	default:
		return memcmp(a, b, field->size) == 0;
	}
}

static inline void row_equal(
	size_t record, size_t row, const char *a, const char *b)
{
	const struct ttm_record *r = &ttm_records[record];
	char text[128];
	size_t i;

	for (i = 0; i < r->fields_len; i++) {
		const struct ttm_field *field = &r->fields[i];

		snprintf(text, sizeof(text), "%s[%zu].%s", r->key, row,
			field->key);
		TEST_ASSERT_TRUE_MESSAGE(
			field_equal(field, a + field->off, b + field->off),
			text);
	}
}

static inline void snapshots_equal(
	const struct ttmem_snapshot *a, const struct ttmem_snapshot *b)
{
	size_t record, row;

	for (record = 0; record < TTM_RECORD_TABLES; record++) {
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(a->tables[record].len,
			b->tables[record].len, ttm_records[record].key);
		for (row = 0; row < a->tables[record].len; row++)
			row_equal(record, row, ttm_snapshot_row(a, record, row),
				ttm_snapshot_row(b, record, row));
	}
}

#endif
