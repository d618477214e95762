/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "fuzz/faked.h"
#include "fuzz/segment.h"

static uint64_t get64(uint64_t off)
{
	uint64_t word;

	memcpy(&word, now.base->bytes + off, sizeof(word));
	return word;
}

static void put64(uint64_t off, uint64_t value)
{
	if (off + sizeof(value) > now.base->size + BASE_MORE ||
		now.stores_len == STORES_MAX)
		return;
	now.stores[now.stores_len].off = off;
	now.stores[now.stores_len].was = get64(off);
	now.stores_len++;
	memcpy(now.base->bytes + off, &value, sizeof(value));
}

void segment_seal(void)
{
	/* Noted as a store, so that it is undone. */
	put64(offsetof(struct ttm_header_const, checksum), 0);
	segment_base_seal(now.base->bytes);
}

void segment_undo(void)
{
	while (now.stores_len) {
		now.stores_len--;
		memcpy(now.base->bytes + now.stores[now.stores_len].off,
			&now.stores[now.stores_len].was, sizeof(uint64_t));
	}
}

static uint64_t slot_of(const struct fuzz_step *step)
{
	if (step->index < 256)
		return now.base->used[step->index % now.base->used_len];
	return step->index % TTM_SLOTS_PER_EXTENT;
}

static uint64_t word_of_place(uint64_t place)
{
	return TTM_PLACES_OFF + place * 8;
}

static uint64_t control_off(uint32_t lane)
{
	return TTM_LANES_OFF + lane * sizeof(struct ttm_lane_control);
}

static uint64_t record_off(uint32_t lane, uint64_t number)
{
	return now.base->lane_off[lane] +
		number % TTM_LANE_RECORDS * sizeof(struct ttm_words);
}

/* Where a step means: a field of something that a segment has. */
static uint64_t place_off(const struct fuzz_step *step)
{
	const struct segment_base *base = now.base;
	uint32_t lane = step->at % base->lanes_len;

	switch (step->place % 18) {
	case 0:
		return step->word % 0x100 * 8;
	case 1:
	case 2:
		return 0x800 + step->word % 0x28 * 8;
	case 3:
		return TTM_DIRECTORY_OFF + step->index % 16 * 8;
	case 4:
		return control_off(step->index % 8) + step->word % 3 * 8;
	case 5:
	case 6:
		return TTM_DEVICES_OFF +
			step->index % (base->devices_len + 2) *
			sizeof(struct ttm_device) +
			step->word % 128 * 8;
	case 7:
		return TTM_FAILURES_OFF +
			step->index % TTM_FAILURES_KEPT *
			sizeof(struct ttm_failure) +
			step->word % 16 * 8;
	case 8:
		return TTM_MARKS_OFF + step->index % TTM_MARKS_KEPT * 128 +
			step->word % 16 * 8;
	case 9:
	case 10: /* the last one written is 0 */
		return record_off(lane,
			       get64(control_off(lane) + 8) - 1 - step->index) +
			step->word % 8 * 8;
	case 11:
	case 12:
		return base->slots_off + slot_of(step) * 64 +
			step->word % 8 * 8;
	case 13:
		return base->blocks_off +
			step->index % (base->blocks_len + 1) * 1024 +
			step->word % 128 * 8;
	case 14:
		return base->names_off + step->index % 8 * 128 +
			step->word % 16 * 8;
	case 15:
		return word_of_place(step->index < 256 ?
				step->index % (base->places_len + 2) :
				step->index % TTM_PLACES_MAX);
	case 16:
		return base->core_sets_off + step->index % 4 * 128 +
			step->word % 16 * 8;
	default:
		return ((uint64_t)step->index << 16 | step->word) * 8 %
			(base->size + BASE_MORE);
	}
}

static void record_append(uint32_t lane, const uint64_t words[8])
{
	uint64_t tail = get64(control_off(lane) + 8), off;
	unsigned i;

	put64(control_off(lane), tail + 1);
	off = record_off(lane, tail);
	for (i = 0; i < 8; i++)
		put64(off + i * 8, words[i]);
	put64(control_off(lane) + 8, tail + 1);
}

/* What a writer does, as it should: slot, record. Counters are left behind. */
static void event_do(const struct fuzz_step *step)
{
	uint64_t slot = slot_of(step), off = now.base->slots_off + slot * 64;
	uint64_t closes = get64(offsetof(struct ttm_header, live) +
		offsetof(struct ttm_header_live, closes));
	unsigned place = 1 + step->at % (now.base->places_len - 1);
	uint64_t words[8], w0 = get64(off);
	unsigned type = step->how & 15, figure = step->how >> 4, i;

	words[0] = TTM_W0(TTM_W0_GENERATION(w0) + 2, place, TTM_SLOT_LIVE);
	words[1] = TTM_W1(slot, closes, figure % 9, step->value >> 60 & 7, 1);
	words[2] = step->value & 0xff;
	words[3] = step->value >> 8 & 0xfffff;
	words[4] = TTM_W4(step->value >> 28 & 0xffff, place);
	words[5] = step->value & 7;
	words[6] = faked.now_ns;
	words[7] = TTM_W7(
		step->index % 4, 0ull, step->value >> 44 & 0xff, 0ull);
	if (type == TTM_RECORD_FREE) {
		for (i = 1; i < 8; i++)
			words[i] = get64(off + i * 8);
		words[0] = TTM_W0(TTM_W0_GENERATION(w0) + 1, TTM_W0_PLACE(w0),
			TTM_SLOT_FREE);
		words[3] = faked.now_ns;
		put64(off, words[0]);
	} else if (type == TTM_RECORD_SHRINK) {
		for (i = 1; i < 8; i++)
			words[i] = get64(off + i * 8);
		/* To a part of where it was, else it stays. */
		if (get64(word_of_place(place)) &
			~get64(word_of_place(TTM_W0_PLACE(w0))))
			place = TTM_W0_PLACE(w0);
		words[0] = TTM_W0_SHRUNK(w0, place);
		put64(off, words[0]);
	} else if (type == TTM_RECORD_ALLOC) {
		for (i = 0; i < 8; i++)
			put64(off + i * 8, words[i]);
	} else {
		words[0] = 0;
	}
	words[1] = (words[1] & ~(0xffull << 56)) | (uint64_t)type << 56;
	record_append(step->place % now.base->lanes_len, words);
}

static void size_set(const struct fuzz_step *step)
{
	uint64_t size = now.base->size;

	switch (step->how & 3) {
	case 0:
		size = step->value % (size + 1);
		break;
	case 1:
		size += step->value % (BASE_MORE / TTM_EXTENT_SIZE + 1) *
			TTM_EXTENT_SIZE;
		break;
	case 2:
		size -= step->value % 2 * TTM_EXTENT_SIZE;
		break;
	default:
		break;
	}
	faked.files[BAD_FILE].size = size;
}

static void read_fail(const struct fuzz_step *step)
{
	static const int errors[] = { EINTR, EIO, ESTALE, ENOMEM };

	if (step->how & 1)
		faked.files[BAD_FILE].error = errors[step->value % 4];
	else
		faked.files[BAD_FILE].most = 1 + step->value % 4096;
}

static void state_set(const struct fuzz_step *step)
{
	static const uint64_t fates[] = { TTM_FATE_ALIVE, TTM_FATE_UNKNOWN,
		TTM_FATE_DEAD, TTM_FATE_DEAD };
	struct ttm_attached *attached = now.attached;

	/* Who is dead stays so, says the watch. */
	if (attached && attached->fate != TTM_FATE_DEAD)
		attached->fate = fates[step->how & 3];
	if (attached && (step->how & 12) == 12)
		attached->vanished = 1;
}

static void step_do(const struct fuzz_step *step)
{
	uint64_t off;

	switch (step->op) {
	case FUZZ_STORE:
		off = place_off(step);
		if (off + 8 > now.base->size + BASE_MORE)
			return;
		put64(off, fuzz_stored(step, get64(off)));
		break;
	case FUZZ_SIZE:
		size_set(step);
		break;
	case FUZZ_READ:
		read_fail(step);
		break;
	case FUZZ_EVENT:
		event_do(step);
		break;
	case FUZZ_STATE:
		state_set(step);
		break;
	default:
		break;
	}
}

/* Until the engine has to go on; returns how much time passes then. */
uint64_t segment_steps(void)
{
	static const uint64_t spans[16] = { 0, MS / 10, MS, 2 * MS, 5 * MS,
		11 * MS, 11 * MS, 11 * MS, 11 * MS, 11 * MS, 12 * MS, 20 * MS,
		30 * MS, 60 * MS, 110 * MS, 260 * MS };
	const struct fuzz_step *step;

	while (now.cursor < now.input.len) {
		step = &now.input.steps[now.cursor++];
		if (step->op == FUZZ_ROUND)
			/* A second is much work: for all the chips. */
			return (step->how & 15) == 15 ? 1100 * MS :
							spans[step->value % 16];
		if (step->op == FUZZ_LATER) {
			now.later = step->at + 1u;
			return ROUND_NS;
		}
		step_do(step);
	}
	return ROUND_NS;
}

/* A writer that does not wait until the engine has read. */
void segment_before_read(void)
{
	if (now.later && --now.later == 0)
		segment_steps();
}
