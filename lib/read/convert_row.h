/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fields get from a row of the segment (`row`) to one of the API (`to`), within a
 * function that has a struct ttm_convert `c` and includes a NAME.def. See fields.h.
 */
#ifndef TTM_READ_CONVERT_ROW_H
#define TTM_READ_CONVERT_ROW_H

/* The tables that indices of a record stand for. */
#define REF_TTM_RECORD_DIRECTORIES TTM_TABLE_DIRECTORIES
#define REF_TTM_RECORD_DEVICES TTM_TABLE_DEVICES
#define REF_TTM_RECORD_PROCESSES TTM_TABLE_PROCESSES
#define REF_TTM_RECORD_SHARES TTM_TABLE_SHARES
#define REF_TTM_RECORD_TELEMETRY TTM_TABLE_TELEMETRY

#define FROM_OWN(name, of)
#define FROM_SAME(name, of) to->name = row->name;
#define FROM_SOME(name, of) to->name = row->name ? row->name : TTMEM_UNKNOWN;
#define FROM_FLAG(name, of) to->name = ttm_flag_or_unknown(row->name);
#define FROM_NAMED(name, of) to->name = ttm_named_or_unknown(of, row->name);
#define FROM_REF(name, of) to->name = ttm_convert_ref(c, REF_##of, row->name);
#define FROM_TEXT(name, of)                                                    \
	to->name = ttm_pool_text(                                              \
		&c->snapshot->pool, row->name, sizeof(row->name));             \
	if (!to->name)                                                         \
		return -ENOMEM;
#define FROM_COPY(name, of)                                                    \
	_Static_assert(sizeof(to->name) == sizeof(row->name), #name);          \
	memcpy(&to->name, &row->name, sizeof(to->name));
#define FIELD(kind, name, from, of) FROM_##from(name, of)

#endif
