/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment made by hand, word by word, in a file without a name: for what a recording
 * library never does, or does only at the right moment.
 */
#ifndef MADE_H
#define MADE_H

#include "daemon/drained.h"
#include "shm/checksum.h"

#define MADE_LIVE(member)                                                      \
	(offsetof(struct ttm_header, live) +                                   \
		offsetof(struct ttm_header_live, member))

struct made {
	int fd;
	uint64_t lane; /* where its records are */
	uint64_t slots;
	uint64_t core_sets; /* 0: no extent yet */
	uint64_t time;
};

static inline void made_raise(struct made *made, uint64_t off, uint64_t value)
{
	if (drained_peek(made->fd, off) < value)
		drained_poke(made->fd, off, value);
}

/* Returns where it is. The file ends with it, and it has no pages. */
static inline uint64_t made_extent(
	struct made *made, unsigned type, uint32_t ordinal)
{
	uint64_t at = drained_peek(made->fd, MADE_LIVE(extents_high));
	uint64_t off = TTM_EXTENTS_OFF + at * TTM_EXTENT_SIZE;

	TEST_ASSERT_EQUAL_INT(
		0, ftruncate(made->fd, (off_t)(off + TTM_EXTENT_SIZE)));
	drained_poke32(made->fd, TTM_DIRECTORY_OFF + 4 * at,
		TTM_EXTENT_WORD(type, ordinal));
	drained_poke(made->fd, MADE_LIVE(extents_high), at + 1);
	return off;
}

static inline void made_seal(struct ttm_header_const *header)
{
	header->magic = TTM_SEGMENT_MAGIC;
	header->version = TTM_SEGMENT_VERSION;
	header->header_size = sizeof(struct ttm_header);
	header->signature = TTM_SEGMENT_SIGNATURE;
	header->uuid[0] = 1;
	header->pid = 1;
	header->clock_kind = TTM_CLOCK_MONOTONIC_NS;
	header->monotonic_base_ns = 1;
	header->extent_size = TTM_EXTENT_SIZE;
	header->extents_max = TTM_EXTENTS_MAX;
	header->lanes_max = TTM_LANES_MAX;
	header->lane_records = TTM_LANE_RECORDS;
	header->devices_max = TTM_DEVICES_MAX;
	header->failures_kept = TTM_FAILURES_KEPT;
	header->marks_kept = TTM_MARKS_KEPT;
	header->directory_off = TTM_DIRECTORY_OFF;
	header->lanes_off = TTM_LANES_OFF;
	header->devices_off = TTM_DEVICES_OFF;
	header->failures_off = TTM_FAILURES_OFF;
	header->marks_off = TTM_MARKS_OFF;
	header->places_off = TTM_PLACES_OFF;
	header->extents_off = TTM_EXTENTS_OFF;
	header->checksum = ttm_checksum(
		header, offsetof(struct ttm_header_const, checksum));
}

/* With one lane, 2,048 slots and no devices. */
static inline void made_begin(struct made *made)
{
	struct ttm_header header;

	memset(made, 0, sizeof(*made));
	memset(&header, 0, sizeof(header));
	made_seal(&header.sealed);
	header.live.state = TTM_SEGMENT_RUNNING;
	header.live.lanes_len = 1;
	header.live.places_len = 1;
	made->fd = memfd_create("segment", MFD_CLOEXEC);
	TEST_ASSERT_TRUE(made->fd >= 0);
	TEST_ASSERT_EQUAL_INT(0, ftruncate(made->fd, TTM_EXTENTS_OFF));
	TEST_ASSERT_EQUAL_INT64(
		sizeof(header), pwrite(made->fd, &header, sizeof(header), 0));
	made->lane = made_extent(made, TTM_EXTENT_LANE, 0);
	made->slots = made_extent(made, TTM_EXTENT_SLOTS, 0);
	made->time = 1000;
}

/* Its logical id is 10 more than its entry. */
static inline void made_device(struct made *made, uint32_t entry)
{
	struct ttm_device device;

	memset(&device, 0, sizeof(device));
	device.head = TTM_DEVICE_HEAD(10 + entry,
		TTM_DEVICE_READY | TTM_DEVICE_CURRENT | TTM_DEVICE_OPEN);
	device.seq = 2;
	TEST_ASSERT_EQUAL_INT64(sizeof(device),
		pwrite(made->fd, &device, sizeof(device),
			(off_t)(TTM_DEVICES_OFF + entry * sizeof(device))));
	made_raise(made, MADE_LIVE(devices_len), entry + 1u);
}

static inline void made_place(
	struct made *made, uint32_t number, uint64_t members)
{
	drained_poke(made->fd, TTM_PLACES_OFF + 8ull * number, members);
	made_raise(made, MADE_LIVE(places_len), number + 1ull);
}

static inline void made_core_set(
	struct made *made, uint32_t number, uint32_t row, uint32_t cores)
{
	uint64_t off;

	if (!made->core_sets)
		made->core_sets = made_extent(made, TTM_EXTENT_CORE_SETS, 0);
	off = made->core_sets + (number - 1ull) * sizeof(struct ttm_core_set);
	drained_poke32(made->fd, off, row);
	drained_poke32(
		made->fd, off + offsetof(struct ttm_core_set, cores), cores);
	made_raise(made, MADE_LIVE(core_sets_len), number);
}

/* -- objects ------------------------------------------------------------------ */

static inline void made_record(struct made *made, const struct ttm_words *words)
{
	uint64_t tail = drained_peek(made->fd, TTM_LANES_OFF + 8);
	unsigned i;

	for (i = 0; i < 8; i++)
		drained_poke(made->fd,
			made->lane + tail % TTM_LANE_RECORDS * 64 + i * 8,
			words->w[i]);
	drained_poke(made->fd, TTM_LANES_OFF, tail + 1);
	drained_poke(made->fd, TTM_LANES_OFF + 8, tail + 1);
}

static inline struct ttm_words made_slot(struct made *made, uint32_t slot)
{
	struct ttm_words words;
	unsigned i;

	for (i = 0; i < 8; i++)
		words.w[i] = drained_peek(
			made->fd, made->slots + slot * 64ull + i * 8);
	return words;
}

static inline void made_slot_set(
	struct made *made, uint32_t slot, const struct ttm_words *words)
{
	unsigned i;

	for (i = 1; i < 8; i++)
		drained_poke(made->fd, made->slots + slot * 64ull + i * 8,
			words->w[i]);
	drained_poke(made->fd, made->slots + slot * 64ull, words->w[0]);
}

/* A buffer of 100 used and 60 requested bytes, as its slot has it. */
static inline struct ttm_words made_buffer(
	struct made *made, uint32_t slot, uint32_t place, unsigned figure)
{
	uint64_t closes = drained_peek(made->fd, MADE_LIVE(closes));
	uint64_t free = made_slot(made, slot).w[0];
	struct ttm_words words = { { TTM_W0_LIVE(TTM_W0_WRITING(free, place)),
		TTM_W1(slot, closes, figure, 0, 0), 1000 + slot, 0x1000,
		TTM_W4(60, place), TTM_W5(100, 2), made->time++,
		TTM_W7(0, 0ull, 0ull, 0ull) } };

	return words;
}

/* A CB of 256 bytes per core at 0x1000. */
static inline struct ttm_words made_cb(struct made *made, uint32_t slot,
	uint32_t place, uint64_t cores, uint64_t core_set)
{
	struct ttm_words words = made_buffer(
		made, slot, place, TTMEM_FIGURE_CB);

	words.w[4] = TTM_W4(256, place);
	words.w[5] = 5;
	words.w[7] = TTM_W7(0, 0ull, cores, core_set);
	return words;
}

/* Slot and record. */
static inline void made_alloc(struct made *made, const struct ttm_words *words)
{
	struct ttm_words record = *words;

	made_slot_set(made, TTM_W1_SLOT(words->w[1]), words);
	record.w[1] = TTM_W1_AS_RECORD(words->w[1], 0, TTM_RECORD_ALLOC);
	made_record(made, &record);
}

/* To another place, or (0) freed. */
static inline void made_shrink(struct made *made, uint32_t slot, uint32_t place)
{
	struct ttm_words words = made_slot(made, slot), record;

	words.w[0] = place ? TTM_W0_SHRUNK(words.w[0], place) :
			     TTM_W0_FREE(words.w[0]);
	made_slot_set(made, slot, &words);
	record = words;
	record.w[1] = TTM_W1_AS_RECORD(
		words.w[1], 0, place ? TTM_RECORD_SHRINK : TTM_RECORD_FREE);
	if (!place)
		record.w[3] = made->time++;
	made_record(made, &record);
}

/* One call for all devices of a place. */
static inline void made_close(struct made *made, uint32_t place)
{
	uint64_t members = drained_peek(
		made->fd, TTM_PLACES_OFF + 8ull * place);
	uint64_t number = drained_peek(made->fd, MADE_LIVE(closes)) + 1;
	struct ttm_words record = { { TTM_W0(0, place, 0),
		TTM_W1(TTM_SLOT_NONE, 0, TTM_FIGURE_NONE, 0,
			TTM_RECORD_DEVICE_CLOSE),
		0, made->time++, number, 0, 0, 0 } };

	for (; members; members &= members - 1)
		drained_poke(made->fd,
			TTM_DEVICES_OFF + 8 +
				(uint64_t)__builtin_ctzll(members) *
					sizeof(struct ttm_device),
			TTM_ERA(number, 0));
	drained_poke(made->fd, MADE_LIVE(closes), number);
	made_record(made, &record);
}

#endif
