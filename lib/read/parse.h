/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot that is being read from JSON, for the files that do it. */
#ifndef TTM_READ_PARSE_H
#define TTM_READ_PARSE_H

#include <jansson.h>

#include "read/scan.h"
#include "read/snapshot.h"

/* Where we are, for the message: table, row, field. */
struct ttm_parse {
	struct ttmem_snapshot *snapshot;
	const char *text; /* all of it */
	size_t text_size;
	struct ttm_scanned
		objects; /* begin is NULL: they are in the document */
	const char *table;
	size_t row;
	const char *key;
	char *error; /* TTMEM_PARSE_ERROR_SIZE bytes */
};

/* Both say why and return a negative errno. */
__attribute__((format(printf, 2, 3))) int ttm_parse_refuse(
	struct ttm_parse *p, const char *format, ...);
int ttm_parse_fault(
	struct ttm_parse *p, const json_error_t *error, size_t column);

/* A row, all unknown so far. Returns 0 or a negative errno. */
int ttm_parse_row(struct ttm_parse *p, enum ttm_record_id record,
	const json_t *value, char *row);

/*
 * The document without its objects, if they can be read one by one: taken apart they
 * are ten times as large as they are here. Returns 0 or a negative errno; end it with
 * json_decref().
 */
int ttm_parse_load(struct ttm_parse *p, json_t **ret_document);

/* Those objects, whose table has its rows. Returns 0 or a negative errno. */
int ttm_parse_objects(struct ttm_parse *p);

#endif
