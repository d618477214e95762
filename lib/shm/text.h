/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short texts put together without stdio, which is neither async-signal-safe nor
 * free of allocation. Always terminated; what does not fit is left out and noted.
 */
#ifndef TTM_SHM_TEXT_H
#define TTM_SHM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ttm_text {
	char *bytes;
	size_t size;
	size_t length;
	bool truncated;
};

/* `size` is at least 1. */
void ttm_text_init(struct ttm_text *text, char *bytes, size_t size);
void ttm_text_add(struct ttm_text *text, const char *string);
void ttm_text_add_decimal(struct ttm_text *text, uint64_t number);
void ttm_text_add_hex(struct ttm_text *text, uint64_t number, unsigned digits);

#endif
