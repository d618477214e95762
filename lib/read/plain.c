/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/plain.h"

#include <stdbool.h>
#include <string.h>

#include "read/digits.h"

/* With one more it could be beyond what JSON integers are read as. */
#define DIGITS_MOST 18
#define NAME_SIZE 64u

/* What is left of the text. */
struct rest {
	const char *at;
	const char *end;
};

struct string {
	const char *bytes; /* a quote comes behind them */
	size_t length;
};

static bool literal_take(struct rest *rest, const char *literal, size_t length)
{
	if ((size_t)(rest->end - rest->at) < length ||
		memcmp(rest->at, literal, length) != 0)
		return false;
	rest->at += length;
	return true;
}

static bool number_take(struct rest *rest, uint64_t *ret_number)
{
	const char *begin = rest->at;
	uint64_t number = 0;

	while (rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9' &&
		rest->at - begin < DIGITS_MOST)
		number = number * 10 + (uint64_t)(*rest->at++ - '0');
	*ret_number = number;
	return rest->at > begin && (*begin != '0' || rest->at == begin + 1);
}

static bool string_take(struct rest *rest, struct string *ret_string)
{
	if (!literal_take(rest, "\"", 1))
		return false;
	ret_string->bytes = rest->at;
	while (rest->at < rest->end && *rest->at >= ' ' && *rest->at < 0x7f &&
		*rest->at != '"' && *rest->at != '\\')
		rest->at++;
	ret_string->length = (size_t)(rest->at - ret_string->bytes);
	return literal_take(rest, "\"", 1);
}

static bool hex_take(struct rest *rest, uint64_t *ret_number)
{
	struct string string;
	const char *at;

	if (!string_take(rest, &string) || string.length < 3 ||
		memcmp(string.bytes, "0x", 2) != 0)
		return false;
	at = string.bytes + 2;
	return ttm_digits_take(&at, 16, ret_number) &&
		at == string.bytes + string.length;
}

static bool flag_take(struct rest *rest, uint64_t *ret_flag)
{
	*ret_flag = literal_take(rest, "true", 4);
	return *ret_flag || literal_take(rest, "false", 5);
}

/* A name that we do not know is a newer version's: it stays unknown. */
static bool name_take(struct rest *rest, unsigned set, uint64_t *ret_value)
{
	char name[NAME_SIZE];
	struct string string;

	if (!string_take(rest, &string) || string.length >= sizeof(name))
		return false;
	memcpy(name, string.bytes, string.length);
	name[string.length] = '\0';
	*ret_value = TTMEM_UNKNOWN;
	ttmem_name_parse(set, name, ret_value);
	return true;
}

static bool text_take(
	struct rest *rest, struct ttm_pool *pool, const char **ret_text)
{
	struct string string;

	if (!string_take(rest, &string))
		return false;
	*ret_text = ttm_pool_text(pool, string.bytes, string.length);
	return *ret_text != NULL;
}

static bool word_take(struct ttmem_snapshot *snapshot,
	const struct ttm_field *field, struct rest *rest, uint64_t *ret_word)
{
	switch (field->kind) {
	case TTM_FIELD_U64:
		return number_take(rest, ret_word);
	case TTM_FIELD_INDEX:
		return number_take(rest, ret_word) &&
			*ret_word < snapshot->tables[field->of].len;
	case TTM_FIELD_HEX:
	case TTM_FIELD_ID:
		return hex_take(rest, ret_word);
	case TTM_FIELD_FLAG:
		return flag_take(rest, ret_word);
	case TTM_FIELD_ENUM:
		return name_take(rest, field->of, ret_word);
	default:
		return false;
	}
}

static bool value_take(struct ttmem_snapshot *snapshot,
	const struct ttm_field *field, struct rest *rest, char *at)
{
	const char *text;
	uint64_t word;

	if (literal_take(rest, "null", 4))
		return true;
	if (field->kind == TTM_FIELD_TEXT) {
		if (!text_take(rest, &snapshot->pool, &text))
			return false;
		memcpy(at, &text, sizeof(text));
		return true;
	}
	if (!word_take(snapshot, field, rest, &word))
		return false;
	memcpy(at, &word, sizeof(word));
	return true;
}

const char *ttm_plain_row(struct ttmem_snapshot *snapshot,
	enum ttm_record_id record, const char *at, const char *end, char *row)
{
	const struct ttm_field *field = ttm_records[record].fields;
	const struct ttm_field *last = field + ttm_records[record].fields_len;
	struct rest rest = { at, end };

	if (!literal_take(&rest, "{", 1))
		return NULL;
	for (; field < last; field++) {
		/* It may lack some: an older version's does. */
		if (!literal_take(&rest, field->member, field->member_size))
			continue;
		if (!value_take(snapshot, field, &rest, row + field->off))
			return NULL;
		if (literal_take(&rest, "}", 1))
			return rest.at;
		if (!literal_take(&rest, ",", 1))
			return NULL;
	}
	return NULL;
}
