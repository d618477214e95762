/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/publish/rowset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BIT(n) (1ull << (n) % 64)

/* Words of a level. */
static uint64_t level_len(uint64_t capacity, unsigned level)
{
	unsigned bits = 6 * (level + 1);

	return (capacity + (1ull << bits) - 1) >> bits;
}

int ttm_rowset_reserve(struct ttm_rowset *set, uint64_t capacity)
{
	uint64_t was, len, *words;
	unsigned i;

	if (capacity <= set->capacity)
		return 0;
	for (i = 0; i < TTM_ROWSET_LEVELS; i++) {
		was = level_len(set->capacity, i);
		len = level_len(capacity, i);
		words = realloc(set->levels[i], len * sizeof(*words));
		if (!words)
			return -ENOMEM;
		memset(words + was, 0, (len - was) * sizeof(*words));
		set->levels[i] = words;
	}
	set->capacity = capacity;
	return 0;
}

void ttm_rowset_clear(struct ttm_rowset *set)
{
	unsigned i;

	for (i = 0; i < TTM_ROWSET_LEVELS; i++)
		free(set->levels[i]);
	*set = (struct ttm_rowset){ 0 };
}

void ttm_rowset_add(struct ttm_rowset *set, uint64_t row)
{
	unsigned i;

	for (i = 0; i < TTM_ROWSET_LEVELS; i++, row /= 64)
		set->levels[i][row / 64] |= BIT(row);
}

void ttm_rowset_remove(struct ttm_rowset *set, uint64_t row)
{
	unsigned i;

	for (i = 0; i < TTM_ROWSET_LEVELS; i++, row /= 64) {
		set->levels[i][row / 64] &= ~BIT(row);
		if (set->levels[i][row / 64])
			return;
	}
}

bool ttm_rowset_has(const struct ttm_rowset *set, uint64_t row)
{
	return row < set->capacity && (set->levels[0][row / 64] & BIT(row));
}

/* The first set bit of a level from `from` on, within its word. */
static bool word_next(const struct ttm_rowset *set, unsigned level,
	uint64_t from, uint64_t *ret_bit)
{
	uint64_t word;

	if (from / 64 >= level_len(set->capacity, level))
		return false;
	word = set->levels[level][from / 64] & ~(BIT(from) - 1);
	if (!word)
		return false;
	*ret_bit = from / 64 * 64 + (uint64_t)__builtin_ctzll(word);
	return true;
}

bool ttm_rowset_next(
	const struct ttm_rowset *set, uint64_t from, uint64_t *ret_row)
{
	uint64_t bit = 0;
	unsigned level = 0;

	/* Up until a word has something behind us, then down to it. */
	while (!word_next(set, level, from, &bit)) {
		from = from / 64 + 1;
		if (++level == TTM_ROWSET_LEVELS)
			return false;
	}
	while (level-- > 0)
		word_next(set, level, bit * 64, &bit);
	*ret_row = bit;
	return true;
}

uint64_t ttm_rowset_bytes(const struct ttm_rowset *set)
{
	uint64_t bytes = 0;
	unsigned i;

	for (i = 0; i < TTM_ROWSET_LEVELS; i++)
		bytes += level_len(set->capacity, i) * sizeof(uint64_t);
	return bytes;
}
