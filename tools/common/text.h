/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people: amounts, and what others wrote. */
#ifndef TTM_COMMON_TEXT_H
#define TTM_COMMON_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Fits every amount. */
#define TTM_BYTES_TEXT_SIZE 16u

/* "512 B", "1.50 KiB", "12.0 GiB": three digits or all of them. Returns `buffer`. */
const char *ttm_bytes_text(
	uint64_t bytes, char buffer[static TTM_BYTES_TEXT_SIZE]);

/* Bytes of the UTF-8 character that `text` begins with, and its code; 0: none. */
size_t ttm_utf8_decode(const char *text, uint32_t *ret_code);

/*
 * A copy that is safe on a terminal: control characters, those that turn the
 * direction of text, backslashes and what is not UTF-8 become \xNN, and what does
 * not fit is cut between characters. Returns `buffer`, which holds a string.
 */
const char *ttm_text_escape(const char *text, char *buffer, size_t buffer_size);

/* Back again, in place: \xNN become bytes, but not a 0; all else stays. */
void ttm_text_unescape(char *text);

#endif
