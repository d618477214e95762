/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
#include "daemon/follow/item.h"

#include <errno.h>
#include <inttypes.h>

/* Whether the words can be those of an object; sets its bytes. */
static bool bytes_get(const struct ttm_words *words, uint64_t *ret_bytes)
{
	*ret_bytes = ttm_words_bytes(words);
	return *ret_bytes <= TTM_OBJECT_BYTES_MAX;
}

static void item_fill(const struct ttm_words *words, uint64_t bytes,
	uint8_t rank, struct ttm_item *item)
{
	uint64_t w1 = words->w[1];

	item->word = TTM_ITEM_WORD(TTM_W0_GENERATION(words->w[0]), true);
	item->bytes = bytes;
	item->place = (uint16_t)TTM_W0_PLACE(words->w[0]);
	item->stamp = TTM_W1_STAMP(w1);
	item->figure = (uint8_t)TTM_W1_FIGURE(w1);
	item->flags = (uint8_t)(TTM_W1_FLAGS(w1) & TTM_FLAGS_OBJECT);
	item->rank = rank;
	item->reserved = 0;
	item->id = words->w[2];
	item->address = words->w[3];
	item->w4 = words->w[4];
	item->w5 = words->w[5];
	item->time = words->w[6];
	item->w7 = words->w[7];
}

static void item_clear(uint64_t w0, struct ttm_item *item)
{
	item->word = TTM_ITEM_WORD(TTM_W0_GENERATION(w0), false);
}

int ttm_item_from_record(struct ttm_source *source, uint32_t lane,
	const struct ttm_words *record, struct ttm_item *ret_item)
{
	bool live = TTM_W1_TYPE(record->w[1]) != TTM_RECORD_FREE;
	unsigned figure = TTM_W1_FIGURE(record->w[1]);
	unsigned state = TTM_W0_STATE(record->w[0]);
	uint64_t bytes;

	if (figure >= TTMEM_FIGURES)
		return ttm_source_fault(source,
			"lane %" PRIu32 " has a record of figure %u", lane,
			figure);
	if (state != (live ? TTM_SLOT_LIVE : TTM_SLOT_FREE))
		return ttm_source_fault(source,
			"lane %" PRIu32 " has a record of state %u", lane,
			state);
	if (!bytes_get(record, &bytes))
		return ttm_source_fault(source,
			"lane %" PRIu32 " has an object of 0x%" PRIx64
			" bytes on %" PRIu32 " cores",
			lane, (uint64_t)TTM_W4_SIZE(record->w[4]),
			TTM_W7_CORES(record->w[7]));
	if (live)
		item_fill(record, bytes, 0, ret_item);
	else
		item_clear(record->w[0], ret_item);
	return 0;
}

int ttm_item_from_slot(struct ttm_source *source, uint32_t slot,
	const struct ttm_words *words, bool strict, struct ttm_item *ret_item)
{
	uint64_t w1 = words->w[1], bytes = 0;
	bool fine;

	if (TTM_W0_STATE(words->w[0]) != TTM_SLOT_LIVE) {
		item_clear(words->w[0], ret_item);
		return 0;
	}
	fine = TTM_W1_FIGURE(w1) < TTMEM_FIGURES && TTM_W1_SLOT(w1) == slot &&
		bytes_get(words, &bytes);
	if (!fine && strict)
		return ttm_source_fault(source,
			"slot %" PRIu32 " cannot be: w1 0x%" PRIx64
			", size 0x%" PRIx64,
			slot, w1, (uint64_t)TTM_W4_SIZE(words->w[4]));
	if (fine)
		item_fill(words, bytes, TTM_W1_RANK(w1), ret_item);
	else
		item_clear(words->w[0], ret_item);
	return 0;
}
