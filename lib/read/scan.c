/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/scan.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

const char *ttm_scan_blanks(const char *at, const char *end)
{
	while (at < end && is_blank(*at))
		at++;
	return at;
}

/* Behind the string that begins here. */
static const char *string_end(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\' && at + 1 < end)
			at++;
	return at < end ? at + 1 : end;
}

/* Behind the bracket that closes the one here; NULL: there is none. */
static const char *nested_end(
	const char *at, const char *end, size_t *ret_commas)
{
	size_t depth = 0, commas = 0;

	while (at < end) {
		switch (*at) {
		case '"':
			at = string_end(at, end);
			continue;
		case '[':
		case '{':
			depth++;
			break;
		case ']':
		case '}':
			depth--;
			break;
		case ',':
			commas += depth == 1;
			break;
		default:
			break;
		}
		at++;
		if (depth == 0) {
			*ret_commas = commas;
			return at;
		}
	}
	*ret_commas = commas;
	return NULL;
}

const char *ttm_scan_value(const char *at, const char *end)
{
	const char *behind;
	size_t commas;

	if (at == end)
		return end;
	if (*at == '"')
		return string_end(at, end);
	if (*at == '[' || *at == '{') {
		behind = nested_end(at, end, &commas);
		return behind ? behind : end;
	}
	while (at < end && *at != ',' && *at != ']' && *at != '}' &&
		!is_blank(*at))
		at++;
	return at;
}

static void array_fill(
	const char *at, const char *end, struct ttm_scanned *ret_array)
{
	const char *behind;
	size_t commas;

	behind = nested_end(at, end, &commas);
	ret_array->begin = at + 1;
	ret_array->end = behind ? behind - 1 : end;
	ret_array->len = commas;
	if (ttm_scan_blanks(ret_array->begin, ret_array->end) < ret_array->end)
		ret_array->len++;
}

bool ttm_scan_array(const char *text, size_t size, const char *key,
	struct ttm_scanned *ret_array)
{
	const char *end = text + size, *at = ttm_scan_blanks(text, end), *name;
	size_t length = strlen(key);
	bool is_it;

	if (at == end || *at != '{')
		return false;
	for (at = ttm_scan_blanks(at + 1, end); at < end && *at == '"';
		at = ttm_scan_blanks(at, end)) {
		name = at + 1;
		at = string_end(at, end);
		is_it = (size_t)(at - name) == length + 1 &&
			memcmp(name, key, length) == 0;
		at = ttm_scan_blanks(at, end);
		if (at == end || *at != ':')
			return false;
		at = ttm_scan_blanks(at + 1, end);
		if (is_it && at < end && *at == '[') {
			array_fill(at, end, ret_array);
			return true;
		}
		at = ttm_scan_blanks(ttm_scan_value(at, end), end);
		if (at == end || *at != ',')
			return false;
		at++;
	}
	return false;
}
