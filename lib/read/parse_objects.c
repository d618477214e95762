/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
/*
 * The objects of a document, one by one. They are cut out of the text; what is left
 * is a document with an empty list in their place. So the whole is right if that and
 * each row are, and nothing but commas is between rows.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/parse.h"
#include "read/plain.h"

#define FLAGS JSON_REJECT_DUPLICATES

static int text_load(struct ttm_parse *p, const char *text, size_t size,
	size_t flags, size_t column, json_t **ret_value)
{
	json_error_t error;

	*ret_value = json_loadb(text, size, flags, &error);
	return *ret_value ? 0 : ttm_parse_fault(p, &error, column);
}

int ttm_parse_load(struct ttm_parse *p, json_t **ret_document)
{
	const struct ttm_scanned *cut = &p->objects;
	size_t before, behind;
	json_error_t error;
	char *rest;
	int r = 0;

	if (!ttm_scan_array(p->text, p->text_size,
		    ttm_records[TTM_RECORD_OBJECTS].key, &p->objects))
		return text_load(
			p, p->text, p->text_size, FLAGS, 0, ret_document);
	before = (size_t)(cut->begin - p->text);
	behind = (size_t)(p->text + p->text_size - cut->end);
	rest = malloc(before + behind);
	if (!rest)
		return -ENOMEM;
	memcpy(rest, p->text, before);
	memcpy(rest + before, cut->end, behind);
	*ret_document = json_loadb(rest, before + behind, FLAGS, &error);
	if (!*ret_document)
		r = ttm_parse_fault(p, &error,
			error.position < (int)before ?
				0 :
				(size_t)(cut->end - cut->begin));
	free(rest);
	return r;
}

/* One that is not as we write them. */
static int odd_row_parse(
	struct ttm_parse *p, const char *at, const char *behind, char *row)
{
	json_t *value;
	int r;

	r = text_load(p, at, (size_t)(behind - at), FLAGS | JSON_DECODE_ANY,
		(size_t)(at - p->text), &value);
	if (r < 0)
		return r;
	ttm_row_clear(TTM_RECORD_OBJECTS, row);
	r = ttm_parse_row(p, TTM_RECORD_OBJECTS, value, row);
	json_decref(value);
	return r;
}

static int comma_missing(struct ttm_parse *p, const char *at)
{
	snprintf(p->error, TTMEM_PARSE_ERROR_SIZE, "column %zu: ']' expected",
		(size_t)(at - p->text) + 1);
	return -EPROTO;
}

int ttm_parse_objects(struct ttm_parse *p)
{
	const char *at = p->objects.begin, *end = p->objects.end, *behind;
	char *row;
	int r;

	for (p->row = 0; p->row < p->objects.len; p->row++) {
		row = ttm_snapshot_row(p->snapshot, TTM_RECORD_OBJECTS, p->row);
		p->key = NULL;
		at = ttm_scan_blanks(at, end);
		behind = ttm_plain_row(
			p->snapshot, TTM_RECORD_OBJECTS, at, end, row);
		if (!behind) {
			behind = ttm_scan_value(at, end);
			r = odd_row_parse(p, at, behind, row);
			if (r < 0)
				return r;
		}
		at = ttm_scan_blanks(behind, end);
		if (p->row + 1 < p->objects.len) {
			if (at == end || *at != ',')
				return comma_missing(p, at);
			at++;
		}
	}
	at = ttm_scan_blanks(at, end);
	return at == end ? 0 : comma_missing(p, at);
}
