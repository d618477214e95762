/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where things are in a JSON text, by its quotes and brackets alone. Whether it is
 * one is for others to say: of a text that is none, any place may come out, but
 * never one outside of it.
 */
#ifndef TTM_READ_SCAN_H
#define TTM_READ_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* What is between the brackets of an array. */
struct ttm_scanned {
	const char *begin;
	const char *end; /* its last bracket, or the end of the text */
	size_t len;      /* of the array */
};

/*
 * The array that the object `text` has under a key; the first one, and only if the
 * key is written as it is given. False: none.
 */
bool ttm_scan_array(const char *text, size_t size, const char *key,
	struct ttm_scanned *ret_array);

/* Behind blanks, and behind the value there; `end` at the most. */
const char *ttm_scan_blanks(const char *at, const char *end);
const char *ttm_scan_value(const char *at, const char *end);

#endif
