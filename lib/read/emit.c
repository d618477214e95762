/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/emit.h"

#include <string.h>

#define DIGITS_MAX 24u

static const char hex_digits[] = "0123456789abcdef";

static void emit_flush(struct ttm_emit *emit)
{
	if (!emit->error && emit->len)
		emit->error = emit->write(
			emit->context, emit->bytes, emit->len);
	emit->len = 0;
}

/* Room for a few bytes; the caller adds to `len` what it used. */
static char *emit_room(struct ttm_emit *emit, size_t size)
{
	if (TTM_EMIT_SIZE - emit->len < size)
		emit_flush(emit);
	return emit->bytes + emit->len;
}

void ttm_emit_bytes(struct ttm_emit *emit, const char *bytes, size_t size)
{
	while (size > TTM_EMIT_SIZE) {
		emit_flush(emit);
		memcpy(emit->bytes, bytes, TTM_EMIT_SIZE);
		emit->len = TTM_EMIT_SIZE;
		bytes += TTM_EMIT_SIZE;
		size -= TTM_EMIT_SIZE;
	}
	memcpy(emit_room(emit, size), bytes, size);
	emit->len += size;
}

void ttm_emit_char(struct ttm_emit *emit, char c)
{
	*emit_room(emit, 1) = c;
	emit->len++;
}

void ttm_emit_u64(struct ttm_emit *emit, uint64_t value)
{
	char digits[DIGITS_MAX];
	char *at = digits + DIGITS_MAX;

	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	ttm_emit_bytes(emit, at, (size_t)(digits + DIGITS_MAX - at));
}

void ttm_emit_i64(struct ttm_emit *emit, int64_t value)
{
	if (value < 0)
		ttm_emit_char(emit, '-');
	ttm_emit_u64(emit, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void ttm_emit_null(struct ttm_emit *emit)
{
	ttm_emit_bytes(emit, "null", 4);
}

void ttm_emit_hex(struct ttm_emit *emit, uint64_t value)
{
	char digits[DIGITS_MAX];
	char *at = digits + DIGITS_MAX;

	*--at = '"';
	do {
		*--at = hex_digits[value & 15];
		value >>= 4;
	} while (value);
	*--at = 'x';
	*--at = '0';
	*--at = '"';
	ttm_emit_bytes(emit, at, (size_t)(digits + DIGITS_MAX - at));
}

void ttm_emit_hex_bytes(
	struct ttm_emit *emit, const uint8_t *bytes, size_t size)
{
	size_t i;

	ttm_emit_char(emit, '"');
	for (i = 0; i < size; i++) {
		ttm_emit_char(emit, hex_digits[bytes[i] >> 4]);
		ttm_emit_char(emit, hex_digits[bytes[i] & 15]);
	}
	ttm_emit_char(emit, '"');
}

static void emit_escape(struct ttm_emit *emit, unsigned code)
{
	char *to = emit_room(emit, 6);

	memcpy(to, "\\u00", 4);
	to[4] = hex_digits[code >> 4 & 15];
	to[5] = hex_digits[code & 15];
	emit->len += 6;
}

/* How many bytes from here on may stand as they are. */
static size_t plain_length(const uint8_t *at)
{
	size_t n = 0;

	while (at[n] >= 0x20 && at[n] != 0x7f && at[n] != '"' &&
		at[n] != '\\' && !(at[n] == 0xc2 && at[n + 1] < 0xa0))
		n++;
	return n;
}

void ttm_emit_text(struct ttm_emit *emit, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t plain;

	if (!text) {
		ttm_emit_null(emit);
		return;
	}
	ttm_emit_char(emit, '"');
	for (;;) {
		plain = plain_length(at);
		ttm_emit_bytes(emit, (const char *)at, plain);
		at += plain;
		if (*at == '\0')
			break;
		if (*at == '"' || *at == '\\') {
			ttm_emit_char(emit, '\\');
			ttm_emit_char(emit, (char)*at);
		} else {
			if (*at == 0xc2)
				at++;
			emit_escape(emit, *at);
		}
		at++;
	}
	ttm_emit_char(emit, '"');
}

int ttm_emit_end(struct ttm_emit *emit)
{
	emit_flush(emit);
	return emit->error;
}
