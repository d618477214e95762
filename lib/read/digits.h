/* SPDX-License-Identifier: Apache-2.0 */
/* Hexadecimal digits. */
#ifndef TTM_READ_DIGITS_H
#define TTM_READ_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

static inline int ttm_digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Those up to something else, which has to come; false: none, or too many. */
static inline bool ttm_digits_take(
	const char **text, unsigned most, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned n = 0;

	while (ttm_digit_value(**text) >= 0) {
		if (n++ == most)
			return false;
		value = value << 4 | (uint64_t)ttm_digit_value(*(*text)++);
	}
	*ret_value = value;
	return n > 0;
}

#endif
