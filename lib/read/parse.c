/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
/* A snapshot out of JSON, field by field as fields.h lists them. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "read/digits.h"
#include "read/parse.h"

int ttm_parse_refuse(struct ttm_parse *p, const char *format, ...)
{
	char text[128];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (p->key)
		snprintf(p->error, TTMEM_PARSE_ERROR_SIZE, "%s[%zu].%s: %s",
			p->table, p->row, p->key, text);
	else
		snprintf(p->error, TTMEM_PARSE_ERROR_SIZE, "%s: %s", p->table,
			text);
	return -EPROTO;
}

int ttm_parse_fault(
	struct ttm_parse *p, const json_error_t *error, size_t column)
{
	snprintf(p->error, TTMEM_PARSE_ERROR_SIZE, "column %zu: %s",
		column + (size_t)error->column, error->text);
	return json_error_code(error) == json_error_out_of_memory ? -ENOMEM :
								    -EPROTO;
}

static void word_set(void *at, uint64_t word)
{
	memcpy(at, &word, sizeof(word));
}

/* -- values ------------------------------------------------------------------------------ */

static int number_parse(struct ttm_parse *p, const json_t *value, void *at)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return ttm_parse_refuse(p, "not an integer from 0 on");
	word_set(at, (uint64_t)json_integer_value(value));
	return 0;
}

static int signed_parse(struct ttm_parse *p, const json_t *value, void *at)
{
	if (!json_is_integer(value))
		return ttm_parse_refuse(p, "not an integer");
	word_set(at, (uint64_t)json_integer_value(value));
	return 0;
}

static int hex_parse(struct ttm_parse *p, const json_t *value, void *at)
{
	const char *text = json_string_value(value);
	uint64_t number;

	if (!text || text[0] != '0' || text[1] != 'x')
		return ttm_parse_refuse(p, "not \"0x...\"");
	text += 2;
	if (!ttm_digits_take(&text, 16, &number) || *text)
		return ttm_parse_refuse(p, "not a hexadecimal number");
	word_set(at, number);
	return 0;
}

static bool char_take(const char **text, char c)
{
	return *(*text)++ == c;
}

static int pci_parse(struct ttm_parse *p, const json_t *value, void *at)
{
	const char *text = json_string_value(value);
	uint64_t domain, bus, device, function;

	if (!text || !ttm_digits_take(&text, 8, &domain) ||
		!char_take(&text, ':') || !ttm_digits_take(&text, 2, &bus) ||
		!char_take(&text, ':') || !ttm_digits_take(&text, 2, &device) ||
		device > 0x1f || !char_take(&text, '.') ||
		!ttm_digits_take(&text, 1, &function) || function > 7 || *text)
		return ttm_parse_refuse(p, "not a PCI address");
	word_set(at, TTMEM_PCI_ADDRESS(domain, bus, device, function));
	return 0;
}

static int flag_parse(struct ttm_parse *p, const json_t *value, void *at)
{
	if (!json_is_boolean(value))
		return ttm_parse_refuse(p, "neither true nor false");
	word_set(at, json_is_true(value));
	return 0;
}

/* A name that we do not know is a newer version's. */
static int enum_parse(
	struct ttm_parse *p, const json_t *value, unsigned set, void *at)
{
	uint64_t number;

	if (!json_is_string(value))
		return ttm_parse_refuse(p, "not a name");
	if (ttmem_name_parse(set, json_string_value(value), &number) == 0)
		word_set(at, number);
	return 0;
}

static int index_parse(
	struct ttm_parse *p, const json_t *value, unsigned record, void *at)
{
	int r = number_parse(p, value, at);

	if (r == 0 &&
		(uint64_t)json_integer_value(value) >=
			p->snapshot->tables[record].len)
		return ttm_parse_refuse(
			p, "%s has no such row", ttm_records[record].key);
	return r;
}

static int text_parse(struct ttm_parse *p, const json_t *value, const char **at)
{
	if (!json_is_string(value))
		return ttm_parse_refuse(p, "not a string");
	*at = ttm_pool_text(&p->snapshot->pool, json_string_value(value),
		json_string_length(value));
	return *at ? 0 : -ENOMEM;
}

static int texts_parse(struct ttm_parse *p, const json_t *value, char *at)
{
	size_t len = json_array_size(value), i;
	const char **texts;
	int r;

	if (!json_is_array(value))
		return ttm_parse_refuse(p, "not a list");
	if (len == 0)
		return 0;
	texts = ttm_pool_take(&p->snapshot->pool, len * sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	for (i = 0; i < len; i++) {
		r = text_parse(p, json_array_get(value, i), &texts[i]);
		if (r < 0)
			return r;
	}
	memcpy(at, &texts, sizeof(texts));
	word_set(at + sizeof(texts), len);
	return 0;
}

static int indexes_parse(
	struct ttm_parse *p, const json_t *value, unsigned record, char *at)
{
	size_t len = json_array_size(value), i;
	uint64_t *indexes;
	int r;

	if (!json_is_array(value))
		return ttm_parse_refuse(p, "not a list");
	if (len == 0)
		return 0;
	indexes = ttm_pool_take(&p->snapshot->pool, len * sizeof(*indexes));
	if (!indexes)
		return -ENOMEM;
	for (i = 0; i < len; i++) {
		const json_t *one = json_array_get(value, i);

		indexes[i] = TTMEM_NONE;
		if (json_is_null(one))
			continue;
		r = index_parse(p, one, record, &indexes[i]);
		if (r < 0)
			return r;
	}
	memcpy(at, &indexes, sizeof(indexes));
	word_set(at + sizeof(indexes), len);
	return 0;
}

static int bytes_parse(struct ttm_parse *p, const json_t *value, uint8_t *at)
{
	const char *text = json_string_value(value);
	uint8_t bytes[16];
	size_t i;

	if (!text || json_string_length(value) != 2 * sizeof(bytes))
		return ttm_parse_refuse(p, "not 32 hexadecimal digits");
	for (i = 0; i < sizeof(bytes); i++) {
		int high = ttm_digit_value(text[2 * i]);
		int low = ttm_digit_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return ttm_parse_refuse(p, "not 32 hexadecimal digits");
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(at, bytes, sizeof(bytes));
	return 0;
}

static int each_parse(struct ttm_parse *p, const struct ttm_field *field,
	const json_t *value, char *at)
{
	size_t i;
	int r;

	if (!json_is_object(value))
		return ttm_parse_refuse(p, "not an object");
	for (i = 0; i < ttm_field_len(field); i++) {
		const json_t *one = json_object_get(
			value, ttm_names_key(field->of, i));

		if (!one)
			continue;
		if (json_is_null(one)) {
			/* Also where nothing at all would be 0. */
			memset(at + i * sizeof(uint64_t), 0xff,
				sizeof(uint64_t));
			continue;
		}
		r = number_parse(p, one, at + i * sizeof(uint64_t));
		if (r < 0)
			return r;
	}
	return 0;
}

/* -- points ------------------------------------------------------------------------------- */

#define COLUMNS (sizeof(struct ttmem_point) / sizeof(uint64_t))

/* Whether a column is called `name`; `i` is its place within its field. */
static bool column_is(const struct ttm_field *field, size_t i, const char *name)
{
	size_t length = strlen(field->key);

	if (strncmp(field->key, name, length) != 0)
		return false;
	if (field->kind != TTM_FIELD_EACH)
		return name[length] == '\0';
	return name[length] == '.' &&
		strcmp(name + length + 1, ttm_names_key(field->of, i)) == 0;
}

/* The word of a point that a column stands for, COLUMNS if none. */
static size_t column_find(const char *name)
{
	const struct ttm_record *point = &ttm_records[TTM_RECORD_POINT];
	size_t f, i;

	for (f = 0; name && f < point->fields_len; f++) {
		const struct ttm_field *field = &point->fields[f];

		for (i = 0; i < ttm_field_len(field); i++)
			if (column_is(field, i, name))
				return field->off / sizeof(uint64_t) + i;
	}
	return COLUMNS;
}

static int point_parse(struct ttm_parse *p, const json_t *row,
	const size_t words[COLUMNS], char *at)
{
	size_t c;
	int r;

	ttm_row_clear(TTM_RECORD_POINT, at);
	for (c = 0; c < COLUMNS; c++) {
		const json_t *value = json_array_get(row, c);

		if (words[c] == COLUMNS || !value || json_is_null(value))
			continue;
		r = number_parse(p, value, at + words[c] * sizeof(uint64_t));
		if (r < 0)
			return r;
	}
	return 0;
}

static int points_parse(struct ttm_parse *p, const json_t *value, char *at)
{
	const json_t *columns = json_object_get(value, "columns");
	const json_t *rows = json_object_get(value, "rows");
	size_t words[COLUMNS], len = json_array_size(rows), i;
	struct ttmem_point *points;
	int r;

	if (!json_is_array(columns) || !json_is_array(rows))
		return ttm_parse_refuse(p, "not columns and rows");
	/* A newer version appends columns; it does not move them. */
	for (i = 0; i < COLUMNS; i++)
		words[i] = column_find(
			json_string_value(json_array_get(columns, i)));
	if (len == 0)
		return 0;
	points = ttm_pool_take(&p->snapshot->pool, len * sizeof(*points));
	if (!points)
		return -ENOMEM;
	for (i = 0; i < len; i++) {
		r = point_parse(
			p, json_array_get(rows, i), words, (char *)&points[i]);
		if (r < 0)
			return r;
	}
	memcpy(at, &points, sizeof(points));
	word_set(at + sizeof(points), len);
	return 0;
}

/* -- rows --------------------------------------------------------------------------------- */

static int sums_parse(struct ttm_parse *p, const struct ttm_field *field,
	const json_t *value, char *at)
{
	size_t size = sizeof(struct ttmem_sums), i;
	int r;

	if (!json_is_object(value))
		return ttm_parse_refuse(p, "not an object");
	for (i = 0; i < field->size / size; i++) {
		const json_t *sums = json_object_get(
			value, ttm_names_key(field->of, i));

		if (!sums || json_is_null(sums))
			continue;
		r = ttm_parse_row(p, TTM_RECORD_SUMS, sums, at + i * size);
		if (r < 0)
			return r;
	}
	return 0;
}

static int field_parse(struct ttm_parse *p, const struct ttm_field *field,
	const json_t *value, char *at)
{
	const char *text = NULL;
	int r;

	switch (field->kind) {
	case TTM_FIELD_U64:
		return number_parse(p, value, at);
	case TTM_FIELD_I64:
		return signed_parse(p, value, at);
	case TTM_FIELD_HEX:
	case TTM_FIELD_ID:
		return hex_parse(p, value, at);
	case TTM_FIELD_PCI:
		return pci_parse(p, value, at);
	case TTM_FIELD_FLAG:
		return flag_parse(p, value, at);
	case TTM_FIELD_ENUM:
		return enum_parse(p, value, field->of, at);
	case TTM_FIELD_INDEX:
		return index_parse(p, value, field->of, at);
	case TTM_FIELD_TEXT:
		r = text_parse(p, value, &text);
		if (r == 0)
			memcpy(at, &text, sizeof(text));
		return r;
	case TTM_FIELD_TEXTS:
		return texts_parse(p, value, at);
	case TTM_FIELD_INDEXES:
		return indexes_parse(p, value, field->of, at);
	case TTM_FIELD_BYTES:
		return bytes_parse(p, value, (uint8_t *)at);
	case TTM_FIELD_EACH:
		return each_parse(p, field, value, at);
	case TTM_FIELD_SUMS:
		return sums_parse(p, field, value, at);
	case TTM_FIELD_POINTS:
		return points_parse(p, value, at);
	}
	return 0;
}

int ttm_parse_row(struct ttm_parse *p, enum ttm_record_id record,
	const json_t *value, char *row)
{
	const struct ttm_record *r = &ttm_records[record];
	size_t i;
	int result;

	if (!json_is_object(value))
		return ttm_parse_refuse(p, "row %zu is not an object", p->row);
	for (i = 0; i < r->fields_len; i++) {
		const struct ttm_field *field = &r->fields[i];
		const json_t *one = json_object_get(value, field->key);
		const char *outer = p->key;

		if (!one || json_is_null(one))
			continue;
		p->key = field->key;
		result = field_parse(p, field, one, row + field->off);
		if (result < 0)
			return result;
		p->key = outer;
	}
	return 0;
}

static bool record_is_single(unsigned record)
{
	return record == TTM_RECORD_INFO || record == TTM_RECORD_HEALTH;
}

static bool record_is_cut_out(const struct ttm_parse *p, unsigned record)
{
	return record == TTM_RECORD_OBJECTS && p->objects.begin;
}

static size_t table_len(
	const struct ttm_parse *p, const json_t *table, unsigned record)
{
	if (record_is_single(record))
		return 1;
	return record_is_cut_out(p, record) ? p->objects.len :
					      json_array_size(table);
}

/* All tables get their rows first: their indices go forward and back. */
static int tables_size(struct ttm_parse *p, const json_t *document)
{
	unsigned i;
	int r;

	for (i = 0; i < TTM_RECORD_TABLES; i++) {
		const json_t *table = json_object_get(
			document, ttm_records[i].key);

		if (!table || json_is_null(table))
			continue;
		p->table = ttm_records[i].key;
		if (!record_is_single(i) && !json_is_array(table))
			return ttm_parse_refuse(p, "not a list");
		r = ttm_snapshot_make_rows(
			p->snapshot, i, table_len(p, table, i));
		if (r < 0)
			return r;
	}
	return 0;
}

static int table_parse(
	struct ttm_parse *p, const json_t *document, enum ttm_record_id record)
{
	const json_t *table = json_object_get(
		document, ttm_records[record].key);
	int r;

	if (!table || json_is_null(table))
		return 0;
	p->table = ttm_records[record].key;
	if (record_is_cut_out(p, record))
		return ttm_parse_objects(p);
	for (p->row = 0; p->row < p->snapshot->tables[record].len; p->row++) {
		p->key = NULL;
		r = ttm_parse_row(p, record,
			record_is_single(record) ?
				table :
				json_array_get(table, p->row),
			ttm_snapshot_row(p->snapshot, record, p->row));
		if (r < 0)
			return r;
	}
	return 0;
}

static int document_parse(struct ttm_parse *p, const json_t *document)
{
	const json_t *version = json_object_get(document, "schema_version");
	unsigned i;
	int r;

	p->table = "schema_version";
	if (!json_is_number(version))
		return ttm_parse_refuse(p, "not a number: no ttmem snapshot");
	/* 1.x adds keys only. */
	if (json_number_value(version) < TTMEM_SCHEMA_VERSION ||
		json_number_value(version) >= TTMEM_SCHEMA_VERSION + 1) {
		ttm_parse_refuse(p, "%g and not %d", json_number_value(version),
			TTMEM_SCHEMA_VERSION);
		return -EPROTONOSUPPORT;
	}
	r = tables_size(p, document);
	for (i = 0; r == 0 && i < TTM_RECORD_TABLES; i++)
		r = table_parse(p, document, i);
	return r;
}

int ttmem_snapshot_parse(const char *text, size_t text_size,
	struct ttmem_snapshot **ret_snapshot,
	char ret_error[TTMEM_PARSE_ERROR_SIZE])
{
	char unwanted[TTMEM_PARSE_ERROR_SIZE];
	struct ttm_parse p = { .text = text,
		.text_size = text_size,
		.error = ret_error ? ret_error : unwanted };
	json_t *document;
	int r;

	r = ttm_parse_load(&p, &document);
	if (r < 0)
		return r;
	r = ttm_snapshot_new(&p.snapshot);
	if (r == 0)
		r = document_parse(&p, document);
	json_decref(document);
	if (r < 0) {
		ttmem_snapshot_free(&p.snapshot);
		return r;
	}
	*ret_snapshot = p.snapshot;
	return 0;
}
