/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of a snapshot consist of: tables that writing, parsing and the
 * tests go by. Each row has a file NAME.def in which each field is named once,
 *
 *   FIELD(kind, name, from, of)
 *
 * kind is how it looks in the document:
 *   U64     integer, null: unknown     I64    integer, null: INT64_MIN
 *   HEX     "0x...", null: unknown     ID     "0x...", whatever its value
 *   PCI     "0000:00:00.0" or null     FLAG   true, false, null: unknown
 *   ENUM    a name of the set `of`     INDEX  of a row of the table `of`, or null
 *   TEXT    string or null             TEXTS  array of strings
 *   INDEXES array of indexes of rows of the table `of`, each may be null
 *   BYTES   16 bytes in hexadecimal, null: all zero
 *   EACH    object, integers by the names of the set `of`
 *   SUMS    object, sums by the names of the set `of`
 *   POINTS  columns and points
 *
 * and from is how it gets there from the row of the aggregate segment:
 *   SAME    the same number             SOME   the same, but 0 is unknown
 *   NAMED   the same, if it has a name  FLAG   1 is true, 0 false, else unknown
 *   COPY    the same bytes              REF    a reference becomes an index
 *   TEXT    a text                      OWN    otherwise
 */
#ifndef TTM_READ_FIELDS_H
#define TTM_READ_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "read/names.h"

enum ttm_field_kind {
	TTM_FIELD_U64,
	TTM_FIELD_I64,
	TTM_FIELD_HEX,
	TTM_FIELD_ID,
	TTM_FIELD_PCI,
	TTM_FIELD_FLAG,
	TTM_FIELD_ENUM,
	TTM_FIELD_INDEX,
	TTM_FIELD_INDEXES, /* a pointer, then how many */
	TTM_FIELD_TEXT,
	TTM_FIELD_TEXTS, /* a pointer, then how many */
	TTM_FIELD_BYTES,
	TTM_FIELD_EACH,
	TTM_FIELD_SUMS,
	TTM_FIELD_POINTS, /* a pointer, then how many */
};

struct ttm_field {
	const char *key;
	const char *member; /* "key": with quotes and colon */
	size_t member_size;
	enum ttm_field_kind kind;
	size_t off;
	size_t size;
	unsigned of; /* enum ttmem_names or enum ttm_record_id */
};

/* The tables in the order of the document; then those that are within rows. */
enum ttm_record_id {
	TTM_RECORD_INFO,
	TTM_RECORD_HEALTH,
#define TABLE(id, plural, singular) TTM_RECORD_##id,
#include "read/tables.def"
#undef TABLE
	TTM_RECORD_SUMS,
	TTM_RECORD_POINT,
	TTM_RECORDS,
	TTM_RECORD_TABLES = TTM_RECORD_SUMS,
};

struct ttm_record {
	const char *key;
	const struct ttm_field *fields;
	size_t fields_len;
	size_t size; /* of a row */
};

extern const struct ttm_record ttm_records[TTM_RECORDS];

static inline size_t ttm_field_len(const struct ttm_field *field)
{
	return field->size / sizeof(uint64_t);
}

#endif
