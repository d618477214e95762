/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text, piece by piece: a buffer that is handed on whenever it is full. */
#ifndef TTM_READ_EMIT_H
#define TTM_READ_EMIT_H

#include <stddef.h>
#include <stdint.h>

#include <ttmem/reader.h>

#define TTM_EMIT_SIZE 65536u

struct ttm_emit {
	ttmem_write_function write;
	void *context;
	int error; /* what `write` returned; nothing is written after it */
	size_t len;
	char bytes[TTM_EMIT_SIZE];
};

void ttm_emit_bytes(struct ttm_emit *emit, const char *bytes, size_t size);
void ttm_emit_char(struct ttm_emit *emit, char c);
void ttm_emit_u64(struct ttm_emit *emit, uint64_t value);
void ttm_emit_i64(struct ttm_emit *emit, int64_t value);
void ttm_emit_null(struct ttm_emit *emit);

/* "0x..." with as few digits as it takes. */
void ttm_emit_hex(struct ttm_emit *emit, uint64_t value);

/* Two digits for each byte, in quotes. */
void ttm_emit_hex_bytes(
	struct ttm_emit *emit, const uint8_t *bytes, size_t size);

/*
 * A string, or null for NULL. Control characters are escaped, those of 0x7f-0x9f
 * too: the text may end up on a terminal.
 */
void ttm_emit_text(struct ttm_emit *emit, const char *text);

/* Hands on what is left; returns 0 or what `write` returned. */
int ttm_emit_end(struct ttm_emit *emit);

#endif
