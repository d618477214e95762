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

size_t ttm_text_character(const char *at)
{
	const unsigned char *text = (const unsigned char *)at;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = text[0] < 0x80 ? 1 :
		text[0] >> 5 == 6      ? 2 :
		text[0] >> 4 == 14     ? 3 :
		text[0] >> 3 == 30     ? 4 :
					 0;
	uint32_t code = length == 1 ? text[0] : text[0] & (0x7fu >> length);
	size_t i;

	for (i = 1; i < length; i++) {
		if (text[i] >> 6 != 2) /* the end of the string, too */
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (length == 0 || code < least[length] || code > 0x10ffff ||
		(code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

/*
 * U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069: they turn what follows
 * around or end the line, so that a name shows as another one.
 */
static bool is_direction(const unsigned char *text, size_t length)
{
	if (length == 2)
		return text[0] == 0xd8 && text[1] == 0x9c;
	if (length != 3 || text[0] != 0xe2)
		return false;
	if (text[1] == 0x80)
		return text[2] == 0x8e || text[2] == 0x8f ||
			(text[2] >= 0xa8 && text[2] <= 0xae);
	return text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9;
}

/* C0, DEL, and C1 whose UTF-8 form terminals obey, too. */
static bool is_control(const unsigned char *text, size_t length)
{
	return text[0] < 0x20 || text[0] == 0x7f ||
		(length == 2 && text[0] == 0xc2 && text[1] < 0xa0) ||
		is_direction(text, length);
}

const char *ttm_text_escape(const char *text, char *buffer, size_t buffer_size)
{
	const unsigned char *from = (const unsigned char *)text;
	size_t at = 0;
	size_t length;
	bool plain;

	if (buffer_size == 0)
		return "";
	while (*from) {
		length = ttm_text_character((const char *)from);
		plain = length && !is_control(from, length) && *from != '\\';
		if (at + (plain ? length : 4) >= buffer_size)
			break;
		if (plain) {
			memcpy(buffer + at, from, length);
			at += length;
			from += length;
		} else {
			snprintf(buffer + at, 5, "\\x%02x", *from);
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
