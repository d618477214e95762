/* SPDX-License-Identifier: Apache-2.0 */
/* Slots, and the records of the lanes. */
#include "support/segment_parse.h"

#include <inttypes.h>
#include <string.h>

#define SIZE_MASK 0x3fffffffffffull

static bool figure_has_program(unsigned figure)
{
	return figure >= SEGMENT_FIGURE_CB && figure < SEGMENT_FIGURES;
}

static uint64_t words_bytes(const struct segment_words *words)
{
	if (!figure_has_program(words->figure))
		return words->w[5] & SIZE_MASK;
	if (words->figure == SEGMENT_FIGURE_CB &&
		words->flags & SEGMENT_BORROWED)
		return 0;
	return words->size * words->cores;
}

void segment_words_read(
	const struct segment *s, uint64_t off, struct segment_words *words)
{
	uint64_t *w = words->w;
	unsigned i;

	memset(words, 0, sizeof(*words));
	for (i = 0; i < 8; i++)
		w[i] = segment_get64(s, off + 8 * i);
	words->state = (unsigned)(w[0] & 3);
	words->place = (unsigned)(w[0] >> 2 & 0x3fff);
	words->generation = w[0] >> 16;
	words->slot = (uint32_t)(w[1] & 0xffffff);
	words->stamp = (unsigned)(w[1] >> 24 & 0xffff);
	words->figure = (unsigned)(w[1] >> 40 & 0xf);
	words->flags = (unsigned)(w[1] >> 44 & 0xfff);
	words->type = (unsigned)(w[1] >> 56);
	words->id = w[2];
	words->size = w[4] & SIZE_MASK;
	words->alloc_place = (unsigned)(w[4] >> 46 & 0x3fff);
	words->scope = (uint32_t)(w[7] & 0xffff);
	words->stack = (uint32_t)(w[7] >> 16 & 0xffffff);
	words->cores = (uint32_t)(w[7] >> 40 & 0xfff);
	words->core_set = (uint32_t)(w[7] >> 52);
	words->members = segment_members(s, words->place);
	words->device = words->members ?
		(unsigned)__builtin_ctzll(words->members) :
		SEGMENT_DEVICES;
}

/* The flags that an object of the figure may have. */
static unsigned flags_allowed(unsigned figure)
{
	if (figure >= SEGMENT_FIGURE_KERNEL)
		return SEGMENT_IN_RING | SEGMENT_PERSISTENT;
	if (figure == SEGMENT_FIGURE_CB)
		return SEGMENT_BORROWED | SEGMENT_PERSISTENT |
			SEGMENT_DATAFLOW | SEGMENT_SCRATCHPAD;
	return SEGMENT_PERSISTENT | SEGMENT_TRACE_STORAGE | SEGMENT_PER_CORE;
}

static int place_check(const struct segment_reading *r, uint64_t off,
	const struct segment_words *words)
{
	uint64_t allocated = segment_members(r->s, words->alloc_place);

	if (!words->members)
		return segment_refuse(
			r, off, "w0: place %u is empty", words->place);
	if (!allocated)
		return segment_refuse(r, off + 32,
			"w4: place of allocation %u is empty",
			words->alloc_place);
	if (words->members & ~allocated)
		return segment_refuse(r, off,
			"w0: place %u is not within the place of allocation, %u",
			words->place, words->alloc_place);
	return 0;
}

static int cores_check(const struct segment_reading *r, uint64_t off,
	const struct segment_words *words)
{
	const struct segment_core_set *set;

	if (words->core_set > r->s->core_sets_count)
		return segment_refuse(
			r, off + 56, "w7: core set %" PRIu32, words->core_set);
	set = segment_core_set(r->s, words->core_set);
	if (set && set->cores != words->cores)
		return segment_refuse(r, off + 56,
			"w7: %" PRIu32 " cores, but core set %" PRIu32
			" has %" PRIu32,
			words->cores, words->core_set, set->cores);
	return 0;
}

static int buffer_check(const struct segment_reading *r, uint64_t off,
	struct segment_words *words)
{
	uint64_t used = words->w[5] & SIZE_MASK;

	words->banks = (uint32_t)(words->w[5] >> 46);
	if (words->banks ? used % words->banks != 0 : used != words->size)
		return segment_refuse(r, off + 40,
			"w5: %" PRIu64 " bytes of %" PRIu64 " on %" PRIu32
			" banks",
			used, words->size, words->banks);
	return 0;
}

/* The words that a live slot, an ALLOC, a SHRINK and a FREE record share. */
int segment_object_check(const struct segment_reading *r, uint64_t off,
	struct segment_words *words)
{
	unsigned figure = words->figure;
	unsigned allowed;
	int err;

	if (figure >= SEGMENT_FIGURES)
		return segment_refuse(r, off + 8, "w1: figure %u", figure);
	err = place_check(r, off, words);
	if (err)
		return err;
	allowed = flags_allowed(figure) | SEGMENT_UNCOUNTED | SEGMENT_REPLACED;
	if (words->flags & ~allowed)
		return segment_refuse(r, off + 8, "w1: flags %u of figure %u",
			words->flags, figure);
	if (words->scope > r->s->names_count)
		return segment_refuse(
			r, off + 56, "w7: scope %" PRIu32, words->scope);
	err = cores_check(r, off, words);
	if (err)
		return err;
	if (figure_has_program(figure)) {
		words->program = words->w[5];
		/* 46 and 12 bits: the product has no more than 58. */
		if (words->size * words->cores > SIZE_MASK)
			return segment_refuse(
				r, off + 32, "w4: size x cores overflows");
	} else {
		if (words->w[4] >> 60)
			return segment_refuse(r, off + 32, "w4: reserved bits");
		err = buffer_check(r, off, words);
		if (err)
			return err;
	}
	words->bytes = words_bytes(words);
	return 0;
}

static bool part_is_orphaned(const struct segment *s,
	const struct segment_words *slot, const struct segment_device *device)
{
	uint32_t closes = (uint32_t)s->closes;
	uint32_t age = (closes - slot->stamp) & 0xffff;

	return (int32_t)(device->epoch - (closes - age)) > 0;
}

/* Adds an object to the sums of one of its devices. */
static void part_add(const struct segment *s, struct segment_words *slot,
	unsigned entry, struct segment_device *device)
{
	struct segment_flow *flow = &device->figures[slot->figure];
	uint64_t requested = figure_has_program(slot->figure) ? slot->bytes :
								slot->size;

	if (part_is_orphaned(s, slot, device)) {
		slot->orphans |= 1ull << entry;
		flow->orphan_objects++;
		flow->orphan_bytes += slot->bytes;
		flow->orphan_requested += requested;
	} else {
		flow->slot_objects++;
		flow->slot_bytes += slot->bytes;
		flow->slot_requested += requested;
	}
}

static int slot_check_live(const struct segment_reading *r, uint64_t off,
	struct segment_words *slot)
{
	uint64_t left;
	int err;

	err = segment_object_check(r, off, slot);
	if (err)
		return err;
	if (slot->flags & (SEGMENT_UNCOUNTED | SEGMENT_REPLACED))
		return segment_refuse(r, off + 8,
			"w1: slot with the flags of a record, %u", slot->flags);
	for (left = slot->members; left; left &= left - 1) {
		unsigned entry = (unsigned)__builtin_ctzll(left);

		part_add(r->s, slot, entry, &r->s->devices[entry]);
	}
	slot->orphan = slot->orphans == slot->members;
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
	unsigned state = record->type == SEGMENT_FREE ? SEGMENT_SLOT_FREE :
							SEGMENT_SLOT_LIVE;

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
	if (record->type == SEGMENT_ALLOC &&
		record->place != record->alloc_place)
		return segment_refuse(r, off,
			"w0: allocated on place %u, but says %u",
			record->alloc_place, record->place);
	return segment_object_check(r, off, record);
}

static int record_check_other(const struct segment_reading *r, uint64_t off,
	const struct segment_words *record)
{
	const struct segment *s = r->s;
	uint64_t reasons = record->type == SEGMENT_ANOMALY ? 10 : 6;

	if (record->generation || record->state)
		return segment_refuse(
			r, off, "w0 of a record of type %u", record->type);
	if (record->place && !record->members)
		return segment_refuse(
			r, off, "w0: place %u is empty", record->place);
	if (record->w[6])
		return segment_refuse(
			r, off + 48, "w6 of a record of type %u", record->type);
	if (record->figure >= SEGMENT_FIGURES &&
		record->figure != SEGMENT_FIGURE_NONE)
		return segment_refuse(
			r, off + 8, "w1: figure %u", record->figure);
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
	if (record->type == SEGMENT_FAILURE &&
		record->w[5] >= s->failures_count)
		return segment_refuse(
			r, off + 40, "w5: failure %" PRIu64, record->w[5]);
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
	if (record->type == SEGMENT_ALLOC || record->type == SEGMENT_FREE ||
		record->type == SEGMENT_SHRINK)
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
