/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "read/pool.h"

#include <stdlib.h>
#include <string.h>

#include "shm/checksum.h"

#define BLOCK_SIZE 65536u
#define REPLACEMENT "\xef\xbf\xbd"

struct ttm_pool_block {
	struct ttm_pool_block *next;
	size_t size;
	size_t used;
	_Alignas(16) char bytes[];
};

void ttm_pool_free(struct ttm_pool *pool)
{
	while (pool->blocks) {
		struct ttm_pool_block *next = pool->blocks->next;

		free(pool->blocks);
		pool->blocks = next;
	}
}

void *ttm_pool_take(struct ttm_pool *pool, size_t size)
{
	struct ttm_pool_block *block = pool->blocks;
	size_t rounded = (size + 15) & ~(size_t)15;
	size_t room = rounded > BLOCK_SIZE / 4 ? rounded : BLOCK_SIZE;
	void *taken;

	if (rounded < size || room > SIZE_MAX - sizeof(*block))
		return NULL;
	if (!block || block->size - block->used < rounded) {
		block = calloc(1, sizeof(*block) + room);
		if (!block)
			return NULL;
		block->size = room;
		block->next = pool->blocks;
		pool->blocks = block;
	}
	taken = block->bytes + block->used;
	block->used += rounded;
	return taken;
}

size_t ttm_utf8_length(const char *bytes, size_t size)
{
	const uint8_t *b = (const uint8_t *)bytes;
	size_t length, i;
	uint32_t point;

	if (size == 0)
		return 0;
	if (b[0] < 0x80)
		return 1;
	length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
	if (b[0] < 0xc2 || b[0] > 0xf4 || length > size)
		return 0;
	point = b[0] & (0xffu >> (length + 1));
	for (i = 1; i < length; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (b[i] & 0x3f);
	}
	/* Overlong, surrogate, or beyond Unicode. */
	if ((length == 3 && point < 0x800) ||
		(length == 4 && point < 0x10000) ||
		(point >= 0xd800 && point < 0xe000) || point > 0x10ffff)
		return 0;
	return length;
}

static size_t utf8_size(const char *bytes, size_t size)
{
	size_t at, length, total = 0;

	for (at = 0; at < size; at += length ? length : 1) {
		length = ttm_utf8_length(bytes + at, size - at);
		total += length ? length : sizeof(REPLACEMENT) - 1;
	}
	return total;
}

static void utf8_write(char *to, const char *bytes, size_t size)
{
	size_t at, length;

	for (at = 0; at < size; at += length ? length : 1) {
		length = ttm_utf8_length(bytes + at, size - at);
		if (length) {
			memcpy(to, bytes + at, length);
			to += length;
		} else {
			memcpy(to, REPLACEMENT, sizeof(REPLACEMENT) - 1);
			to += sizeof(REPLACEMENT) - 1;
		}
	}
	*to = '\0';
}

const char *ttm_pool_text(struct ttm_pool *pool, const char *bytes, size_t size)
{
	size_t length = strnlen(bytes, size), clean = utf8_size(bytes, length);
	const char **recent = &pool->recent[ttm_checksum(bytes, length) %
		TTM_POOL_RECENT];
	char *text;

	/* Only what was valid can be equal to what it became. */
	if (*recent && strncmp(*recent, bytes, length) == 0 &&
		(*recent)[length] == '\0')
		return *recent;
	text = ttm_pool_take(pool, clean + 1);
	if (!text)
		return NULL;
	utf8_write(text, bytes, length);
	*recent = text;
	return text;
}
