/* SPDX-License-Identifier: Apache-2.0 */
#include "support/segment_build.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "support/segment_reader.h"

enum {
	LIVE_AT = 0x800,
	DIRECTORY_AT = 0x1000,
	CONTROLS_AT = 0x9000,
	DEVICES_AT = 0x19000,
	FAILURES_AT = 0x29000,
	MARKS_AT = 0x2a000,
	PLACES_AT = 0x2c000,
	EXTENTS_AT = 0x50000,
	/* Blocks: the lane's own, then one for each device entry. */
	LANE_BLOCK = 0,
	FIRST_BLOCK = 1,
};

static void put64(struct built *b, uint64_t off, uint64_t value)
{
	value = htole64(value);
	memcpy(b->bytes + off, &value, sizeof(value));
}

static void put32(struct built *b, uint64_t off, uint32_t value)
{
	value = htole32(value);
	memcpy(b->bytes + off, &value, sizeof(value));
}

static uint64_t get64(const struct built *b, uint64_t off)
{
	uint64_t value;

	memcpy(&value, b->bytes + off, sizeof(value));
	return le64toh(value);
}

static uint64_t add64(struct built *b, uint64_t off, uint64_t value)
{
	value += get64(b, off);
	put64(b, off, value);
	return value;
}

static uint64_t place_members(const struct built *b, unsigned place)
{
	return get64(b, PLACES_AT + 8 * (uint64_t)place);
}

static uint64_t slot_at(uint32_t slot)
{
	return BUILT_SLOTS_AT + 64 * (uint64_t)slot;
}

/* -- the file ------------------------------------------------------------------- */

static void checksum_put(struct built *b)
{
	uint64_t hash = 0xcbf29ce484222325u;
	unsigned i;

	for (i = 0; i < 0x7f8; i++)
		hash = (hash ^ b->bytes[i]) * 0x100000001b3u;
	put64(b, 0x7f8, hash);
}

static void header_put(struct built *b)
{
	static const uint32_t offsets[] = { DIRECTORY_AT, CONTROLS_AT,
		DEVICES_AT, FAILURES_AT, MARKS_AT, PLACES_AT, EXTENTS_AT };
	unsigned i;

	memcpy(b->bytes, "TTMEMSEG", 8);
	put32(b, 0x008, 2);
	put32(b, 0x00c, 0x1000);
	put64(b, 0x010, 0x1234567);
	b->bytes[0x18 + 6] = 0x40;
	b->bytes[0x18 + 8] = 0x80;
	put32(b, 0x048, 77);
	put32(b, 0x060, 3);
	put64(b, 0x068, 1000000000);
	put32(b, 0x088, 0x20000);
	put32(b, 0x08c, 8192);
	put32(b, 0x090, 1024);
	put32(b, 0x094, 2048);
	put32(b, 0x098, 64);
	put32(b, 0x09c, 16);
	put32(b, 0x0a0, 64);
	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		put64(b, 0x0a8 + 8 * i, offsets[i]);
	memcpy(b->bytes + 0x0e0, "built", 5);
	memcpy(b->bytes + 0x0f0, "built", 5);
	checksum_put(b);
}

void built_begin(struct built *built)
{
	static const uint32_t types[] = { 1, 3, 2, 4, 5 };
	unsigned i;

	memset(built, 0, sizeof(*built));
	built->bytes = calloc(BUILT_SIZE, 1);
	if (!built->bytes)
		abort();
	built->time = 1000;
	header_put(built);
	put64(built, LIVE_AT, 1);
	put64(built, LIVE_AT + 0x08, sizeof(types) / sizeof(types[0]));
	put64(built, LIVE_AT + 0x10, 1);
	put64(built, LIVE_AT + 0x28, 1); /* the lane's own block */
	put64(built, LIVE_AT + 0x48, 1); /* places are counted from 1 */
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		put32(built, DIRECTORY_AT + 4 * i, types[i] << 24);
	put32(built, CONTROLS_AT + 0x10, 77);
	put64(built, BUILT_BLOCKS_AT, 1ull << 63 | 0xffull << 32);
}

void built_end(struct built *built)
{
	free(built->bytes);
	built->bytes = NULL;
}

/* -- what events refer to --------------------------------------------------------- */

/* Entries are made in their order, and each has the next counter block. */
void built_device(struct built *built, unsigned entry, uint32_t logical)
{
	uint64_t at = DEVICES_AT + 1024 * (uint64_t)entry;

	put64(built, at, (uint64_t)logical << 32 | 1 | 2 | 4);
	put64(built, at + 0x10, 2);
	put64(built, LIVE_AT + 0x18, entry + 1);
	put64(built, BUILT_BLOCKS_AT + 1024 * (FIRST_BLOCK + entry),
		1ull << 63 | (uint64_t)entry << 32);
	put64(built, LIVE_AT + 0x28, FIRST_BLOCK + entry + 1);
}

unsigned built_place(struct built *built, uint64_t members)
{
	unsigned place = (unsigned)add64(built, LIVE_AT + 0x48, 1) - 1;

	put64(built, PLACES_AT + 8 * (uint64_t)place, members);
	return place;
}

uint32_t built_name(struct built *built, const char *text, uint32_t parent)
{
	uint32_t id = (uint32_t)add64(built, LIVE_AT + 0x20, 1);
	uint64_t at = BUILT_NAMES_AT + 128 * (uint64_t)(id - 1);

	put64(built, at, strlen(text) | (uint64_t)parent << 40);
	memcpy(built->bytes + at + 0x10, text, strlen(text));
	return id;
}

uint32_t built_core_set(struct built *built, uint32_t row, unsigned rows)
{
	uint32_t id = (uint32_t)add64(built, LIVE_AT + 0x50, 1);
	uint64_t at = BUILT_CORE_SETS_AT + 128 * (uint64_t)(id - 1);
	unsigned i;

	for (i = 0; i < rows; i++)
		put32(built, at + 4 * i, row);
	put32(built, at + 0x7c, rows * (uint32_t)__builtin_popcount(row));
	return id;
}

/* -- counters ----------------------------------------------------------------------- */

/* An object comes to an entry (1) or leaves it (-1). */
static void entry_count(struct built *b, unsigned entry, unsigned figure,
	int sign, uint64_t bytes, bool orphaned)
{
	uint64_t era = get64(b, DEVICES_AT + 1024 * (uint64_t)entry + 8);
	uint64_t block = BUILT_BLOCKS_AT +
		1024 * (uint64_t)(FIRST_BLOCK + entry);
	uint64_t at = block + 0x80 + 64 * (uint64_t)figure;
	uint64_t live;
	unsigned i;

	add64(b, at + (sign > 0 ? 0x00 : 0x10), 1);
	add64(b, at + (sign > 0 ? 0x08 : 0x18), bytes);
	if (orphaned)
		return;
	/* The live part starts again with each epoch. */
	if (get64(b, block + 8) != era)
		for (i = 0; i < SEGMENT_FIGURES; i++)
			memset(b->bytes + block + 0x80 + 64 * i + 0x20, 0, 32);
	put64(b, block + 8, era);
	add64(b, at + 0x20, sign > 0 ? 1 : UINT64_MAX);
	live = add64(b, at + 0x28, sign > 0 ? bytes : 0 - bytes);
	if ((int64_t)live > (int64_t)get64(b, at + 0x38))
		put64(b, at + 0x38, live);
}

static bool is_orphaned(const struct built *b, uint32_t slot, unsigned entry)
{
	uint64_t stamp = get64(b, slot_at(slot) + 8) >> 24 & 0xffff;
	uint64_t epoch = get64(b, DEVICES_AT + 1024 * (uint64_t)entry + 8) >>
		32;

	/* Closes stay below 2^16 here. */
	return epoch > stamp;
}

static void slot_count(
	struct built *b, uint32_t slot, uint64_t members, int sign)
{
	uint64_t at = slot_at(slot);
	unsigned figure = get64(b, at + 8) >> 40 & 15;
	uint64_t size = get64(b, at + 32) & 0x3fffffffffff;
	uint64_t bytes = figure < 5 ? get64(b, at + 40) & 0x3fffffffffff :
				      size * (get64(b, at + 56) >> 40 & 0xfff);

	if (figure == 5 && get64(b, at + 8) >> 44 & SEGMENT_BORROWED)
		bytes = 0;
	for (; members; members &= members - 1) {
		unsigned entry = (unsigned)__builtin_ctzll(members);

		entry_count(b, entry, figure, sign, bytes,
			is_orphaned(b, slot, entry));
	}
}

/* -- events ------------------------------------------------------------------------- */

static void record_put(struct built *b, const uint64_t words[8])
{
	uint64_t tail = get64(b, CONTROLS_AT + 8);
	unsigned i;

	for (i = 0; i < 8; i++)
		put64(b, BUILT_RING_AT + 64 * tail + 8 * i, words[i]);
	put64(b, CONTROLS_AT, tail + 1);
	put64(b, CONTROLS_AT + 8, tail + 1);
}

/* A record that is a copy of a slot. */
static void slot_record(
	struct built *b, uint32_t slot, unsigned type, uint64_t w3)
{
	uint64_t words[8];
	unsigned i;

	for (i = 0; i < 8; i++)
		words[i] = get64(b, slot_at(slot) + 8 * i);
	words[1] = (words[1] & 0x00ffffffffffffff) | (uint64_t)type << 56;
	words[3] = w3;
	record_put(b, words);
}

static void w0_put(
	struct built *b, uint32_t slot, unsigned place, unsigned state)
{
	put64(b, slot_at(slot),
		b->generations[slot] << 16 | (uint64_t)place << 2 | state);
}

static unsigned w0_place(const struct built *b, uint32_t slot)
{
	return get64(b, slot_at(slot)) >> 2 & 0x3fff;
}

void built_alloc(
	struct built *built, uint32_t slot, const struct built_object *o)
{
	uint64_t at = slot_at(slot);
	uint64_t closes = get64(built, LIVE_AT + 0x40);
	uint64_t w5 = o->figure < 5 ?
		(o->used ? o->used : o->size) | (uint64_t)o->banks << 46 :
		o->program;

	put64(built, at + 8,
		slot | (closes & 0xffff) << 24 | (uint64_t)o->figure << 40 |
			(uint64_t)o->flags << 44);
	put64(built, at + 16, o->id);
	put64(built, at + 24, o->address);
	put64(built, at + 32, o->size | (uint64_t)o->place << 46);
	put64(built, at + 40, w5);
	put64(built, at + 48, built->time++);
	put64(built, at + 56,
		o->scope | (uint64_t)o->cores << 40 |
			(uint64_t)o->core_set << 52);
	built->generations[slot] += 2;
	w0_put(built, slot, o->place, SEGMENT_SLOT_LIVE);
	slot_count(built, slot, place_members(built, o->place), 1);
	slot_record(built, slot, SEGMENT_ALLOC, o->address);
}

void built_shrink(struct built *built, uint32_t slot, unsigned place)
{
	uint64_t members = place_members(built, w0_place(built, slot));

	built->generations[slot]++;
	w0_put(built, slot, place, SEGMENT_SLOT_LIVE);
	slot_count(built, slot, members & ~place_members(built, place), -1);
	slot_record(
		built, slot, SEGMENT_SHRINK, get64(built, slot_at(slot) + 24));
}

void built_free(struct built *built, uint32_t slot)
{
	unsigned place = w0_place(built, slot);

	built->generations[slot]++;
	w0_put(built, slot, place, SEGMENT_SLOT_FREE);
	slot_count(built, slot, place_members(built, place), -1);
	slot_record(built, slot, SEGMENT_FREE, built->time++);
}

/* A record about no slot. */
static void other_record(struct built *b, unsigned type, unsigned place,
	unsigned figure, uint64_t w2, uint64_t w4, uint64_t w5)
{
	uint64_t words[8] = { (uint64_t)place << 2,
		SEGMENT_SLOT_NONE | (uint64_t)figure << 40 |
			(uint64_t)type << 56,
		w2, b->time++, w4, w5, 0, 0 };

	record_put(b, words);
}

void built_close(struct built *built, unsigned place)
{
	uint64_t members = place_members(built, place);
	uint64_t number = get64(built, LIVE_AT + 0x40) + 1;

	for (; members; members &= members - 1) {
		uint64_t at = DEVICES_AT +
			1024 * (uint64_t)__builtin_ctzll(members);

		put64(built, at + 8, number << 32);
		put64(built, at, get64(built, at) & ~4ull);
		put64(built, at + 0x20, built->time);
	}
	put64(built, LIVE_AT + 0x40, number);
	other_record(built, SEGMENT_DEVICE_CLOSE, place, SEGMENT_FIGURE_NONE, 0,
		number, 0);
}

void built_anomaly(struct built *built, unsigned reason, unsigned place)
{
	add64(built, BUILT_BLOCKS_AT + 0x40 + 8 * reason, 1);
	other_record(built, SEGMENT_ANOMALY, place, SEGMENT_FIGURE_NONE, 0,
		reason, 0);
}

void built_failure(
	struct built *built, unsigned place, unsigned figure, uint64_t bytes)
{
	uint64_t number = add64(built, LIVE_AT + 0x30, 1) - 1;
	uint64_t at = FAILURES_AT + 256 * (number % 16);
	uint64_t members = place_members(built, place);
	unsigned i;

	put64(built, at, 2 * number + 2);
	put64(built, at + 0x08, place);
	put64(built, at + 0x10, figure);
	put64(built, at + 0x18, built->time);
	put64(built, at + 0x20, 77);
	put64(built, at + 0x38, bytes);
	for (i = 0x40; i <= 0x58; i += 8)
		put64(built, at + i, UINT64_MAX);
	put64(built, at + 0x60, get64(built, LIVE_AT + 0x40));
	for (; members; members &= members - 1)
		add64(built,
			BUILT_BLOCKS_AT +
				1024 *
					(uint64_t)(FIRST_BLOCK +
						__builtin_ctzll(members)) +
				0x40 + 8 * figure,
			1);
	other_record(built, SEGMENT_FAILURE, place, figure, 0, bytes, number);
}

void built_mark(struct built *built, const char *text)
{
	uint64_t number = add64(built, LIVE_AT + 0x38, 1) - 1;
	uint64_t at = MARKS_AT + 128 * (number % 64);

	put64(built, at, 2 * number + 2);
	put64(built, at + 0x08, built->time);
	put64(built, at + 0x10, 77);
	put64(built, at + 0x18, strlen(text));
	memcpy(built->bytes + at + 0x20, text, strlen(text));
	other_record(built, SEGMENT_MARK, 0, SEGMENT_FIGURE_NONE, number, 0, 0);
}
