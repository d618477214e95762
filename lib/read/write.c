/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
/* A snapshot becomes one line of JSON, field by field as fields.h lists them. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "read/emit.h"
#include "read/snapshot.h"

static void row_write(
	struct ttm_emit *emit, enum ttm_record_id record, const void *row);

static uint64_t word_at(const void *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Beyond 2^63 no parser of JSON would take it for an integer. */
static void number_write(struct ttm_emit *emit, uint64_t value)
{
	if (value > INT64_MAX)
		ttm_emit_null(emit);
	else
		ttm_emit_u64(emit, value);
}

static void signed_write(struct ttm_emit *emit, int64_t value)
{
	if (value == INT64_MIN)
		ttm_emit_null(emit);
	else
		ttm_emit_i64(emit, value);
}

static void hex_write(struct ttm_emit *emit, uint64_t value)
{
	if (value == TTMEM_UNKNOWN)
		ttm_emit_null(emit);
	else
		ttm_emit_hex(emit, value);
}

static void pci_write(struct ttm_emit *emit, uint64_t value)
{
	char text[40];
	int length;

	if (value >> 48) {
		ttm_emit_null(emit); /* unknown, or no address at all */
		return;
	}
	length = snprintf(text, sizeof(text),
		"\"%04" PRIx64 ":%02" PRIx64 ":%02" PRIx64 ".%" PRIx64 "\"",
		value >> 16, value >> 8 & 0xff, value >> 3 & 0x1f, value & 7);
	ttm_emit_bytes(emit, text, (size_t)length);
}

static void flag_write(struct ttm_emit *emit, uint64_t value)
{
	if (value == 0)
		ttm_emit_bytes(emit, "false", 5);
	else if (value == 1)
		ttm_emit_bytes(emit, "true", 4);
	else
		ttm_emit_null(emit);
}

static void bytes_write(struct ttm_emit *emit, const uint8_t *bytes)
{
	static const uint8_t zeros[16];

	if (memcmp(bytes, zeros, sizeof(zeros)) == 0)
		ttm_emit_null(emit);
	else
		ttm_emit_hex_bytes(emit, bytes, sizeof(zeros));
}

static void texts_write(struct ttm_emit *emit, const void *at)
{
	const char *const *texts;
	uint64_t len = word_at((const char *)at + sizeof(texts)), i;

	memcpy(&texts, at, sizeof(texts));
	ttm_emit_char(emit, '[');
	for (i = 0; i < len; i++) {
		if (i)
			ttm_emit_char(emit, ',');
		ttm_emit_text(emit, texts[i]);
	}
	ttm_emit_char(emit, ']');
}

static void indexes_write(struct ttm_emit *emit, const void *at)
{
	const uint64_t *indexes;
	uint64_t len = word_at((const char *)at + sizeof(indexes)), i;

	memcpy(&indexes, at, sizeof(indexes));
	ttm_emit_char(emit, '[');
	for (i = 0; i < len; i++) {
		if (i)
			ttm_emit_char(emit, ',');
		number_write(emit, indexes[i]);
	}
	ttm_emit_char(emit, ']');
}

static void key_write(struct ttm_emit *emit, const char *key)
{
	ttm_emit_char(emit, '"');
	ttm_emit_bytes(emit, key, strlen(key));
	ttm_emit_bytes(emit, "\":", 2);
}

static void each_write(
	struct ttm_emit *emit, const struct ttm_field *field, const char *at)
{
	size_t known = ttm_names_known(field->of), i;

	ttm_emit_char(emit, '{');
	for (i = 0; i < ttm_field_len(field); i++) {
		uint64_t value = word_at(at + i * sizeof(value));

		if (i >= known && value == 0)
			continue;
		if (i)
			ttm_emit_char(emit, ',');
		key_write(emit, ttm_names_key(field->of, i));
		number_write(emit, value);
	}
	ttm_emit_char(emit, '}');
}

static void sums_write(
	struct ttm_emit *emit, const struct ttm_field *field, const char *at)
{
	size_t size = sizeof(struct ttmem_sums), i;

	ttm_emit_char(emit, '{');
	for (i = 0; i < field->size / size; i++) {
		if (i)
			ttm_emit_char(emit, ',');
		key_write(emit, ttm_names_key(field->of, i));
		row_write(emit, TTM_RECORD_SUMS, at + i * size);
	}
	ttm_emit_char(emit, '}');
}

/* -- points: the names once, then numbers only ------------------------------------- */

static void columns_write(struct ttm_emit *emit)
{
	const struct ttm_record *point = &ttm_records[TTM_RECORD_POINT];
	size_t f, i;

	for (f = 0; f < point->fields_len; f++) {
		const struct ttm_field *field = &point->fields[f];

		for (i = 0; i < ttm_field_len(field); i++) {
			ttm_emit_bytes(emit, ",\"", f || i ? 2 : 0);
			if (!f && !i)
				ttm_emit_char(emit, '"');
			ttm_emit_bytes(emit, field->key, strlen(field->key));
			if (field->kind == TTM_FIELD_EACH) {
				const char *name = ttm_names_key(field->of, i);

				ttm_emit_char(emit, '.');
				ttm_emit_bytes(emit, name, strlen(name));
			}
			ttm_emit_char(emit, '"');
		}
	}
}

static void point_write(struct ttm_emit *emit, const struct ttmem_point *point)
{
	const char *at = (const char *)point;
	size_t i;

	/* A point is words and nothing else, in the order of its columns. */
	for (i = 0; i < sizeof(*point) / sizeof(uint64_t); i++) {
		ttm_emit_char(emit, i ? ',' : '[');
		number_write(emit, word_at(at + i * sizeof(uint64_t)));
	}
	ttm_emit_char(emit, ']');
}

static void points_write(struct ttm_emit *emit, const void *at)
{
	const struct ttmem_point *points;
	uint64_t len = word_at((const char *)at + sizeof(points)), i;

	memcpy(&points, at, sizeof(points));
	ttm_emit_bytes(emit, "{\"columns\":[", 12);
	columns_write(emit);
	ttm_emit_bytes(emit, "],\"rows\":[", 10);
	for (i = 0; i < len; i++) {
		if (i)
			ttm_emit_char(emit, ',');
		point_write(emit, &points[i]);
	}
	ttm_emit_bytes(emit, "]}", 2);
}

/* -- rows ----------------------------------------------------------------------------- */

static const char *text_at(const void *at)
{
	const char *text;

	memcpy(&text, at, sizeof(text));
	return text;
}

static void field_write(
	struct ttm_emit *emit, const struct ttm_field *field, const char *at)
{
	switch (field->kind) {
	case TTM_FIELD_U64:
	case TTM_FIELD_INDEX:
		number_write(emit, word_at(at));
		break;
	case TTM_FIELD_I64:
		signed_write(emit, (int64_t)word_at(at));
		break;
	case TTM_FIELD_HEX:
		hex_write(emit, word_at(at));
		break;
	case TTM_FIELD_ID:
		ttm_emit_hex(emit, word_at(at));
		break;
	case TTM_FIELD_PCI:
		pci_write(emit, word_at(at));
		break;
	case TTM_FIELD_FLAG:
		flag_write(emit, word_at(at));
		break;
	case TTM_FIELD_ENUM:
		ttm_emit_text(emit, ttmem_name(field->of, word_at(at)));
		break;
	case TTM_FIELD_TEXT:
		ttm_emit_text(emit, text_at(at));
		break;
	case TTM_FIELD_TEXTS:
		texts_write(emit, at);
		break;
	case TTM_FIELD_INDEXES:
		indexes_write(emit, at);
		break;
	case TTM_FIELD_BYTES:
		bytes_write(emit, (const uint8_t *)at);
		break;
	case TTM_FIELD_EACH:
		each_write(emit, field, at);
		break;
	case TTM_FIELD_SUMS:
		sums_write(emit, field, at);
		break;
	case TTM_FIELD_POINTS:
		points_write(emit, at);
		break;
	}
}

static void row_write(
	struct ttm_emit *emit, enum ttm_record_id record, const void *row)
{
	const struct ttm_record *r = &ttm_records[record];
	size_t i;

	for (i = 0; i < r->fields_len; i++) {
		const struct ttm_field *field = &r->fields[i];

		ttm_emit_char(emit, i ? ',' : '{');
		ttm_emit_bytes(emit, field->member, field->member_size);
		field_write(emit, field, (const char *)row + field->off);
	}
	ttm_emit_char(emit, '}');
}

static void table_write(struct ttm_emit *emit,
	const struct ttmem_snapshot *snapshot, enum ttm_record_id record)
{
	size_t i;

	ttm_emit_char(emit, '[');
	for (i = 0; !emit->error && i < snapshot->tables[record].len; i++) {
		if (i)
			ttm_emit_char(emit, ',');
		row_write(emit, record, ttm_snapshot_row(snapshot, record, i));
	}
	ttm_emit_char(emit, ']');
}

/* What was not asked for is null: an empty list would say that there is none. */
static bool table_is_listed(
	const struct ttmem_info_row *info, enum ttm_record_id record)
{
	switch (record) {
	case TTM_RECORD_OBJECTS:
		return info->objects_listed == 1;
	case TTM_RECORD_HISTORIES:
		return info->histories_listed == 1;
	case TTM_RECORD_DISTRIBUTIONS:
		return info->distributions_listed == 1;
	default:
		return true;
	}
}

static void document_write(
	struct ttm_emit *emit, const struct ttmem_snapshot *snapshot)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(snapshot);
	unsigned i;

	ttm_emit_bytes(emit, "{\"schema_version\":", 18);
	ttm_emit_u64(emit, TTMEM_SCHEMA_VERSION);
	for (i = 0; i < TTM_RECORD_TABLES; i++) {
		ttm_emit_char(emit, ',');
		key_write(emit, ttm_records[i].key);
		if (!table_is_listed(info, i) ||
			(i == TTM_RECORD_HEALTH && !snapshot->tables[i].len))
			ttm_emit_null(emit);
		else if (i == TTM_RECORD_INFO || i == TTM_RECORD_HEALTH)
			row_write(emit, i, snapshot->tables[i].rows);
		else
			table_write(emit, snapshot, i);
	}
	ttm_emit_bytes(emit, "}\n", 2);
}

int ttmem_snapshot_write(const struct ttmem_snapshot *snapshot,
	ttmem_write_function write, void *context)
{
	struct ttm_emit *emit = malloc(sizeof(*emit));
	int r;

	if (!emit)
		return -ENOMEM;
	emit->write = write;
	emit->context = context;
	emit->error = 0;
	emit->len = 0;
	document_write(emit, snapshot);
	r = ttm_emit_end(emit);
	free(emit);
	return r;
}

static int file_write(void *context, const char *bytes, size_t size)
{
	return fwrite(bytes, 1, size, context) == size ? 0 : -EIO;
}

int ttmem_snapshot_write_file(const struct ttmem_snapshot *snapshot, FILE *file)
{
	return ttmem_snapshot_write(snapshot, file_write, file);
}
