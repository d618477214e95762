/* SPDX-License-Identifier: Apache-2.0 */
#include "common/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Up to the first character that is no digit. */
static int digits_parse(
	const char *text, uint64_t *ret_value, const char **ret_end)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *start = hex ? text + 2 : text;
	uint64_t value = 0;
	uint64_t base = hex ? 16 : 10;
	const char *at;

	for (at = start; digit_value(*at) < (int)base; at++)
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(
				value, (uint64_t)digit_value(*at), &value))
			return -ERANGE;
	if (at == start)
		return -EINVAL;
	*ret_value = value;
	*ret_end = at;
	return 0;
}

int ttm_number_parse(const char *text, uint64_t *ret_value)
{
	const char *end;
	uint64_t value;
	int r = digits_parse(text, &value, &end);

	if (r == 0 && *end)
		r = -EINVAL;
	if (r == 0)
		*ret_value = value;
	return r;
}

int ttm_size_parse(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KMGT";
	const char *end;
	const char *unit;
	uint64_t value;
	int r = digits_parse(text, &value, &end);

	if (r < 0)
		return r;
	if (*end) {
		unit = strchr(units, toupper((unsigned char)*end));
		if (!unit || end[1])
			return -EINVAL;
		if (__builtin_mul_overflow(value,
			    1024ull << (10 * (unsigned)(unit - units)), &value))
			return -ERANGE;
	}
	*ret_bytes = value;
	return 0;
}

int ttm_fraction_parse(const char *text, double *ret_value)
{
	size_t digits = strspn(text, "0123456789");
	size_t length = digits;

	if (text[length] == '.') {
		size_t more = strspn(text + length + 1, "0123456789");

		length += 1 + more;
		digits += more;
	}
	if (digits == 0 || text[length])
		return -EINVAL;
	/* The tools stay in the C locale for numbers: '.' is the point. */
	*ret_value = strtod(text, NULL);
	return 0;
}
