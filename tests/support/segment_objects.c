/* SPDX-License-Identifier: Apache-2.0 */
/* Slots, and the records of the lanes. */
#include "support/segment_parse.h"

#include <inttypes.h>
#include <string.h>

static bool figure_has_program(unsigned figure)
{
	return figure >= SEGMENT_FIGURE_CB && figure < SEGMENT_FIGURES;
}

static uint64_t words_bytes(const struct segment_words *words)
{
	if (!figure_has_program(words->figure))
		return words->w[4];
	if (words->figure == SEGMENT_FIGURE_CB &&
		words->flags & SEGMENT_BORROWED)
		return 0;
	return words->w[4] * words->cores;
}

void segment_words_split(struct segment_words *words, uint64_t w1, uint64_t w7)
{
	words->slot = (uint32_t)(w1 & 0xffffff);
	words->epoch = (unsigned)(w1 >> 24 & 0xffff);
	words->device = (unsigned)(w1 >> 40 & 0x3f);
	words->figure = (unsigned)(w1 >> 46 & 0xf);
	words->flags = (unsigned)(w1 >> 50 & 0x3f);
	words->type = (unsigned)(w1 >> 56);
	words->scope = (uint32_t)(w7 & 0xffff);
	words->stack = (uint32_t)(w7 >> 16 & 0xffffff);
	words->cores = (uint32_t)(w7 >> 40);
}

void segment_words_read(
	const struct segment *s, uint64_t off, struct segment_words *words)
{
	unsigned i;

	memset(words, 0, sizeof(*words));
	for (i = 0; i < 8; i++)
		words->w[i] = segment_get64(s, off + 8 * i);
	words->generation = words->w[0] >> 2;
	words->state = (unsigned)(words->w[0] & 3);
	segment_words_split(words, words->w[1], words->w[7]);
	words->id = words->w[2];
}

/* What a live slot, an ALLOC and a FREE record have in common. */
int segment_object_check(const struct segment_reading *r, uint64_t off,
	struct segment_words *words)
{
	const struct segment_device *device = &r->s->devices[words->device];
	unsigned figure = words->figure;

	if (figure >= SEGMENT_FIGURES)
		return segment_refuse(r, off + 8, "w1: figure %u", figure);
	if (words->device >= r->s->devices_count || !device->used)
		return segment_refuse(r, off + 8,
			"w1: device entry %u is unused", words->device);
	if (words->flags & SEGMENT_NO_DEVICE)
		return segment_refuse(
			r, off + 8, "w1: an object without device");
	if (words->flags & SEGMENT_BORROWED && figure != SEGMENT_FIGURE_CB)
		return segment_refuse(r, off + 8, "w1: borrowed, but no CB");
	if (words->flags & SEGMENT_IN_RING && figure < SEGMENT_FIGURE_KERNEL)
		return segment_refuse(
			r, off + 8, "w1: in the ring, but no kernel");
	if (words->scope > r->s->names_count)
		return segment_refuse(
			r, off + 56, "w7: scope %" PRIu32, words->scope);
	if (!figure_has_program(figure) && words->cores)
		return segment_refuse(r, off + 56, "w7: a buffer with cores");
	if (figure_has_program(figure) && words->cores &&
		words->w[4] > UINT64_MAX / words->cores)
		return segment_refuse(r, off + 32, "w4 x cores overflows");
	if (figure_has_program(figure))
		words->program = words->w[5];
	words->bytes = words_bytes(words);
	return 0;
}

static int slot_check_live(const struct segment_reading *r, uint64_t off,
	struct segment_words *slot)
{
	struct segment_device *device = &r->s->devices[slot->device];
	struct segment_flow *flow;
	int err;

	err = segment_object_check(r, off, slot);
	if (err)
		return err;
	if (slot->flags & (SEGMENT_UNCOUNTED | SEGMENT_REPLACED))
		return segment_refuse(r, off + 8,
			"w1: slot with the flags of a record, %u", slot->flags);
	slot->orphan = slot->epoch != (device->epoch & 0xffff);
	flow = &device->figures[slot->figure];
	if (slot->orphan) {
		flow->orphan_objects++;
		flow->orphan_bytes += slot->bytes;
	} else {
		flow->slot_objects++;
		flow->slot_bytes += slot->bytes;
	}
	return 0;
}

static int slot_read(const struct segment_reading *r, uint64_t off,
	uint32_t number, struct segment_words *slot)
{
	struct segment *s = r->s;

	segment_words_read(s, off, slot);
	if (slot->state > SEGMENT_SLOT_LIVE)
		return segment_refuse(
			r, off, "w0: slot %" PRIu32 " in state 3", number);
	if (!slot->generation) {
		if (segment_is_zero(s, off, 64))
			return 0;
		return segment_refuse(r, off,
			"slot %" PRIu32 " has content but no generation",
			number);
	}
	s->slots_used++;
	if (slot->state == SEGMENT_SLOT_WRITING) {
		s->slots_writing++;
		return 0;
	}
	if (slot->slot != number)
		return segment_refuse(r, off + 8,
			"w1: slot %" PRIu32 " says it is %" PRIu32, number,
			slot->slot);
	return slot->state == SEGMENT_SLOT_LIVE ?
		slot_check_live(r, off, slot) :
		0;
}

int segment_parse_slots(const struct segment_reading *r)
{
	struct segment *s = r->s;
	uint32_t ordinal;
	uint32_t i;
	int err;

	s->slots_len = s->extents[2] * SEGMENT_SLOTS_PER_EXTENT;
	s->objects = segment_array(s->slots_len, sizeof(*s->objects));
	for (ordinal = 0; ordinal < 8192; ordinal++) {
		if (!s->slots_off[ordinal])
			continue;
		for (i = 0; i < SEGMENT_SLOTS_PER_EXTENT; i++) {
			struct segment_words
				*slot = &s->objects[s->objects_len];

			err = slot_read(r, s->slots_off[ordinal] + 64 * i,
				ordinal * SEGMENT_SLOTS_PER_EXTENT + i, slot);
			if (err)
				return err;
			if (slot->state == SEGMENT_SLOT_LIVE)
				s->objects_len++;
		}
	}
	return 0;
}

/* A process that ended may have given back the slots that records name. */
static bool record_has_slot(
	const struct segment *s, const struct segment_words *record)
{
	return s->slots_off[record->slot / SEGMENT_SLOTS_PER_EXTENT] ||
		(s->state == 2 && record->slot != SEGMENT_SLOT_NONE);
}

static int record_check_object(const struct segment_reading *r, uint64_t off,
	struct segment_words *record)
{
	unsigned state = record->type == SEGMENT_ALLOC ? SEGMENT_SLOT_LIVE :
							 SEGMENT_SLOT_FREE;

	if (record->state != state || !record->generation)
		return segment_refuse(r, off,
			"w0: record of type %u with state %u, generation %" PRIu64,
			record->type, record->state, record->generation);
	if (!record_has_slot(r->s, record))
		return segment_refuse(
			r, off + 8, "w1: no slot %" PRIu32, record->slot);
	if (record->type == SEGMENT_ALLOC && record->flags & SEGMENT_REPLACED)
		return segment_refuse(r, off + 8,
			"w1: ALLOC record with flags %u", record->flags);
	return segment_object_check(r, off, record);
}

static int record_check_other(const struct segment_reading *r, uint64_t off,
	const struct segment_words *record)
{
	const struct segment *s = r->s;
	uint64_t reasons = record->type == SEGMENT_ANOMALY ? 10 : 5;

	if (record->w[0])
		return segment_refuse(
			r, off, "w0 of a record of type %u", record->type);
	if (record->w[6])
		return segment_refuse(
			r, off + 48, "w6 of a record of type %u", record->type);
	if (record->figure >= SEGMENT_FIGURES &&
		record->figure != SEGMENT_FIGURE_NONE)
		return segment_refuse(
			r, off + 8, "w1: figure %u", record->figure);
	if (!(record->flags & SEGMENT_NO_DEVICE) &&
		(record->device >= s->devices_count ||
			!s->devices[record->device].used))
		return segment_refuse(r, off + 8,
			"w1: device entry %u is unused", record->device);
	if (record->scope > s->names_count)
		return segment_refuse(
			r, off + 56, "w7: scope %" PRIu32, record->scope);
	if ((record->type == SEGMENT_ANOMALY || record->type == SEGMENT_LOSS) &&
		record->w[4] >= reasons)
		return segment_refuse(
			r, off + 32, "w4: reason %" PRIu64, record->w[4]);
	if (record->type == SEGMENT_MARK && record->id >= s->marks_count)
		return segment_refuse(
			r, off + 16, "w2: mark %" PRIu64, record->id);
	if (record->type == SEGMENT_DISPATCH ?
			record->figure < SEGMENT_FIGURE_KERNEL ||
				!record_has_slot(s, record) :
			record->slot != SEGMENT_SLOT_NONE)
		return segment_refuse(r, off + 8,
			"w1: slot %" PRIu32 " of a record of type %u",
			record->slot, record->type);
	return 0;
}

static int record_read(const struct segment_reading *r, uint64_t off,
	struct segment_words *record)
{
	segment_words_read(r->s, off, record);
	if (record->type >= SEGMENT_RECORD_TYPES)
		return segment_refuse(
			r, off + 8, "w1: record type %u", record->type);
	if (record->stack)
		return segment_refuse(
			r, off + 56, "w7: stack %" PRIu32, record->stack);
	if (record->type == SEGMENT_ALLOC || record->type == SEGMENT_FREE)
		return record_check_object(r, off, record);
	/* A NOOP stands for what a dead owner left: nothing else is said. */
	if (record->type == SEGMENT_NOOP)
		return 0;
	return record_check_other(r, off, record);
}

static int ring_read(const struct segment_reading *r, unsigned number,
	struct segment_lane *lane)
{
	uint64_t ring = r->s->rings_off[number];
	uint64_t n;
	int err;

	lane->has_ring = true;
	lane->overrun = lane->intent > SEGMENT_LANE_RECORDS;
	lane->first = lane->overrun ? lane->intent - SEGMENT_LANE_RECORDS : 0;
	lane->records_len = lane->tail - lane->first;
	lane->records = segment_array(
		lane->records_len, sizeof(*lane->records));
	for (n = lane->first; n != lane->tail; n++) {
		struct segment_words *record = &lane->records[n - lane->first];

		err = record_read(
			r, ring + 64 * (n % SEGMENT_LANE_RECORDS), record);
		if (err)
			return err;
		record->lane = number;
	}
	if (lane->intent < SEGMENT_LANE_RECORDS)
		return segment_expect_zero(r, ring + 64 * lane->intent,
			ring + SEGMENT_EXTENT_SIZE, "record not written yet");
	return 0;
}

static int lane_read(const struct segment_reading *r, unsigned number)
{
	struct segment *s = r->s;
	struct segment_lane *lane = &s->lanes[number];
	uint64_t at = SEGMENT_CONTROLS_AT + 64 * (uint64_t)number;
	int err;

	lane->intent = segment_get64(s, at);
	lane->tail = segment_get64(s, at + 8);
	lane->tid = segment_get32(s, at + 16);
	if (lane->intent - lane->tail > SEGMENT_OPERATION_RECORDS)
		return segment_refuse(r, at,
			"lane %u: intent %" PRIu64 ", tail %" PRIu64, number,
			lane->intent, lane->tail);
	err = segment_expect_zero(r, at + 20, at + 64, "reserved lane control");
	if (err)
		return err;
	if (lane->intent != lane->tail)
		s->lanes_broken++;
	if (!s->rings_off[number]) {
		if (lane->intent && s->state != 2)
			return segment_refuse(
				r, at, "lane %u has no ring", number);
		lane->given_back = lane->intent != 0;
		s->lanes_overrun += lane->given_back;
		return 0;
	}
	err = ring_read(r, number, lane);
	if (lane->overrun || lane->given_back)
		s->lanes_overrun++;
	return err;
}

int segment_parse_lanes(const struct segment_reading *r)
{
	struct segment *s = r->s;
	uint32_t i;
	int err;

	s->lanes_len = s->lanes_count;
	s->lanes = segment_array(s->lanes_len, sizeof(*s->lanes));
	for (i = 0; i < s->lanes_len; i++) {
		err = lane_read(r, i);
		if (err)
			return err;
	}
	for (; i < SEGMENT_LANES; i++)
		if (s->rings_off[i])
			return segment_refuse(r, 0x810,
				"lane %" PRIu32
				" has a ring, but lanes is %" PRIu64,
				i, s->lanes_count);
	return segment_expect_zero(r, SEGMENT_CONTROLS_AT + 64 * s->lanes_len,
		SEGMENT_DEVICES_AT, "control of an unused lane");
}
