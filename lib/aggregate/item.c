/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
#include "aggregate/item.h"

#include <errno.h>
#include <inttypes.h>

static_assert((int)TTM_ITEM_BORROWED == (int)TTM_FLAG_BORROWED, "");
static_assert((int)TTM_ITEM_IN_RING == (int)TTM_FLAG_IN_RING, "");
static_assert((int)TTM_ITEM_PERSISTENT == (int)TTM_FLAG_PERSISTENT, "");
static_assert(TTM_MODEL_CHUNK == TTM_SLOTS_PER_EXTENT, "");
static_assert(TTM_MODEL_DEVICES == TTM_DEVICES_MAX, "");

#define ITEM_FLAGS (TTM_FLAG_BORROWED | TTM_FLAG_IN_RING | TTM_FLAG_PERSISTENT)

/* Whether the words can be those of an object; sets its bytes. */
static bool bytes_get(const struct ttm_words *words, uint64_t *ret_bytes)
{
	unsigned figure = TTM_W1_FIGURE(words->w[1]);
	uint64_t bytes = words->w[4];

	if (figure >= TTMEM_FIGURE_CB &&
		__builtin_mul_overflow(
			bytes, (uint64_t)TTM_W7_CORES(words->w[7]), &bytes))
		return false;
	if (figure == TTMEM_FIGURE_CB &&
		(TTM_W1_FLAGS(words->w[1]) & TTM_FLAG_BORROWED))
		bytes = 0;
	*ret_bytes = bytes;
	return bytes <= TTM_OBJECT_BYTES_MAX;
}

static void item_fill(const struct ttm_words *words, uint64_t bytes,
	uint8_t turn, struct ttm_item *item)
{
	uint64_t w1 = words->w[1], w7 = words->w[7];

	item->word = TTM_ITEM_WORD(TTM_W0_GENERATION(words->w[0]), true);
	item->id = words->w[2];
	item->address = words->w[3];
	item->size = words->w[4];
	item->extra = words->w[5];
	item->time = words->w[6];
	item->bytes = bytes;
	item->cores = TTM_W7_CORES(w7);
	item->epoch = TTM_W1_EPOCH(w1);
	item->device = (uint8_t)TTM_W1_DEVICE(w1);
	item->figure = (uint8_t)TTM_W1_FIGURE(w1);
	item->stack = TTM_W7_STACK(w7);
	item->scope = (uint16_t)TTM_W7_SCOPE(w7);
	item->flags = (uint8_t)(TTM_W1_FLAGS(w1) & ITEM_FLAGS);
	item->turn = turn;
}

static void item_clear(uint64_t w0, struct ttm_item *item)
{
	item->word = TTM_ITEM_WORD(TTM_W0_GENERATION(w0), false);
}

int ttm_item_from_record(struct ttm_source *source, uint32_t lane,
	const struct ttm_words *record, struct ttm_item *ret_item)
{
	bool alloc = TTM_W1_TYPE(record->w[1]) == TTM_RECORD_ALLOC;
	unsigned figure = TTM_W1_FIGURE(record->w[1]);
	unsigned state = TTM_W0_STATE(record->w[0]);
	uint64_t bytes;

	if (figure >= TTMEM_FIGURES)
		return ttm_source_fault(source,
			"lane %" PRIu32 " has a record of figure %u", lane,
			figure);
	if (state != (alloc ? TTM_SLOT_LIVE : TTM_SLOT_FREE))
		return ttm_source_fault(source,
			"lane %" PRIu32 " has a record of state %u", lane,
			state);
	if (!bytes_get(record, &bytes))
		return ttm_source_fault(source,
			"lane %" PRIu32 " has an object of 0x%" PRIx64
			" bytes on %" PRIu32 " cores",
			lane, record->w[4], TTM_W7_CORES(record->w[7]));
	if (alloc)
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
			slot, w1, words->w[4]);
	if (fine)
		item_fill(words, bytes, TTM_W1_TURN(w1), ret_item);
	else
		item_clear(words->w[0], ret_item);
	return 0;
}
