/* SPDX-License-Identifier: Apache-2.0 */
#include "common/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *ttm_bytes_text(
	uint64_t bytes, char buffer[static TTM_BYTES_TEXT_SIZE])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB",
		"EiB" };
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(buffer, TTM_BYTES_TEXT_SIZE, "%u B", (unsigned)bytes);
		return buffer;
	}
	/* Not 1024: it would be printed as 1024 of the smaller unit. */
	while (value >= 1023.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	snprintf(buffer, TTM_BYTES_TEXT_SIZE, "%.*f %s",
		value < 9.995         ? 2 :
			value < 99.95 ? 1 :
					0,
		value, units[unit]);
	return buffer;
}

size_t ttm_utf8_decode(const char *text, uint32_t *ret_code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *bytes = (const unsigned char *)text;
	size_t length = bytes[0] < 0x80 ? 1 :
		bytes[0] >> 5 == 6      ? 2 :
		bytes[0] >> 4 == 14     ? 3 :
		bytes[0] >> 3 == 30     ? 4 :
					  0;
	uint32_t code = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
	size_t i;

	for (i = 1; i < length; i++) {
		if (bytes[i] >> 6 != 2) /* the end of the string, too */
			return 0;
		code = code << 6 | (bytes[i] & 0x3f);
	}
	if (length == 0 || code < least[length] || code > 0x10ffff ||
		(code >= 0xd800 && code < 0xe000))
		return 0;
	*ret_code = code;
	return length;
}

/*
 * U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069: they turn what follows
 * around or end the line, so that a name shows as another one.
 */
static bool is_direction(uint32_t code)
{
	return code == 0x61c || code == 0x200e || code == 0x200f ||
		(code >= 0x2028 && code <= 0x202e) ||
		(code >= 0x2066 && code <= 0x2069);
}

/* C0, DEL, and C1 whose UTF-8 form terminals obey, too. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
		is_direction(code);
}

const char *ttm_text_escape(const char *text, char *buffer, size_t buffer_size)
{
	const char *from = text;
	size_t at = 0;
	size_t length;
	uint32_t code;
	bool plain;

	if (buffer_size == 0)
		return "";
	while (*from) {
		length = ttm_utf8_decode(from, &code);
		plain = length && !is_control(code) && code != '\\';
		if (at + (plain ? length : 4) >= buffer_size)
			break;
		if (plain) {
			memcpy(buffer + at, from, length);
			at += length;
			from += length;
		} else {
			snprintf(buffer + at, 5, "\\x%02x",
				(unsigned)(unsigned char)*from);
			at += 4;
			from++;
		}
	}
	buffer[at] = '\0';
	return buffer;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void ttm_text_unescape(char *text)
{
	const char *from = text;
	int high, low;

	while (*from) {
		high = low = -1;
		if (from[0] == '\\' && from[1] == 'x')
			high = hex_value(from[2]);
		if (high >= 0)
			low = hex_value(from[3]);
		if (low >= 0 && (high || low)) {
			*text++ = (char)(high << 4 | low);
			from += 4;
		} else {
			*text++ = *from++;
		}
	}
	*text = '\0';
}
