/* SPDX-License-Identifier: Apache-2.0 */
/* Whether slots, counters and records of a segment tell the same story. */
#include "support/segment_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checking {
	const struct segment *s;
	char *why;
	size_t why_size;
	/* Slots that may be half done. */
	uint64_t allowed;
	/* Replacements that may be under way. */
	uint64_t doubles_allowed;
	bool may_be_busy;
};

__attribute__((format(printf, 2, 3))) static int disagree(
	const struct checking *c, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (c->why_size)
		vsnprintf(c->why, c->why_size, format, ap);
	va_end(ap);
	return -EBADMSG;
}

static unsigned figure_class(unsigned figure)
{
	return figure < SEGMENT_FIGURE_KERNEL ? figure : SEGMENT_FIGURE_KERNEL;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* -- one key, one object ------------------------------------------------------ */

static bool is_kernel(const struct segment_words *words)
{
	return words->figure >= SEGMENT_FIGURE_KERNEL;
}

static int key_compare(const void *va, const void *vb)
{
	const struct segment_words *a = *(
		const struct segment_words *const *)va;
	const struct segment_words *b = *(
		const struct segment_words *const *)vb;
	int order = compare(figure_class(a->figure), figure_class(b->figure));

	if (!order)
		order = compare(a->id, b->id);
	if (!order && a->figure == SEGMENT_FIGURE_CB)
		order = compare(a->program, b->program);
	/* A kernel is loaded once on a device, whatever the place. */
	if (!order && !is_kernel(a))
		order = compare(a->alloc_place, b->alloc_place);
	return order;
}

/* An orphaned part and a later object of its key are two objects. */
static uint64_t live_members(const struct segment_words *words)
{
	return words->members & ~words->orphans;
}

static int check_keys(struct checking *c)
{
	const struct segment *s = c->s;
	const struct segment_words **sorted = calloc(
		s->objects_len + 1, sizeof(*sorted));
	uint64_t doubles = 0;
	uint64_t taken = 0;
	int err = 0;
	size_t i;

	if (!sorted)
		abort();
	for (i = 0; i < s->objects_len; i++)
		sorted[i] = &s->objects[i];
	qsort(sorted, s->objects_len, sizeof(*sorted), key_compare);
	for (i = 0; i < s->objects_len && !err; i++) {
		const struct segment_words *o = sorted[i];

		if (!i || key_compare(&sorted[i - 1], &sorted[i]))
			taken = 0;
		if (taken & live_members(o) && ++doubles > c->doubles_allowed)
			err = disagree(c,
				"slots %" PRIu32 " and %" PRIu32
				" hold one key: place %u, figure %u, id %" PRIu64,
				sorted[i - 1]->slot, o->slot, o->alloc_place,
				o->figure, o->id);
		taken |= live_members(o);
	}
	free(sorted);
	return err;
}

/* -- places --------------------------------------------------------------------- */

static int mask_compare(const void *a, const void *b)
{
	return compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int check_places(struct checking *c)
{
	uint64_t sorted[SEGMENT_PLACES];
	size_t len = c->s->places_count;
	size_t i;

	memcpy(sorted, c->s->places, len * sizeof(sorted[0]));
	qsort(sorted, len, sizeof(sorted[0]), mask_compare);
	for (i = 1; i < len; i++)
		if (sorted[i] && sorted[i] == sorted[i - 1])
			return disagree(c,
				"two places have the members 0x%" PRIx64,
				sorted[i]);
	/* Word 0 is no place; others are 0 while they are made. */
	for (i = 1; i < len && !c->may_be_busy; i++)
		if (!c->s->places[i])
			return disagree(c, "place %zu is empty", i);
	return 0;
}

/* -- slots and counters ------------------------------------------------------- */

/* What the difference in one figure costs of the slots allowed. */
static uint64_t deviation(int64_t objects, int64_t bytes)
{
	uint64_t size = (uint64_t)(objects < 0 ? -objects : objects);

	return size ? size : bytes != 0;
}

static int check_flow(struct checking *c, unsigned entry, unsigned figure,
	uint64_t *flows, uint64_t *live)
{
	const struct segment_device *device = &c->s->devices[entry];
	const struct segment_flow *f = &device->figures[figure];
	/* "Uncounted" records come in pairs that change nothing here. */
	int64_t objects = (int64_t)(f->slot_objects + f->orphan_objects -
		(f->alloc_objects - f->free_objects));
	int64_t bytes = (int64_t)(f->slot_bytes + f->orphan_bytes -
		(f->alloc_bytes - f->free_bytes));
	int64_t live_objects = (int64_t)f->slot_objects - f->live_objects;
	int64_t live_bytes = (int64_t)f->slot_bytes - f->live_bytes;

	*flows += deviation(objects, bytes);
	if (*flows > c->allowed)
		return disagree(c,
			"entry %u, figure %u: slots hold %" PRIu64 " objects, "
			"%" PRIu64 " bytes; allocated - freed is %" PRIu64
			" - %" PRIu64 " objects, %" PRIu64 " - %" PRIu64
			" bytes",
			entry, figure, f->slot_objects + f->orphan_objects,
			f->slot_bytes + f->orphan_bytes, f->alloc_objects,
			f->free_objects, f->alloc_bytes, f->free_bytes);
	*live += deviation(live_objects, live_bytes);
	if (*live > c->allowed)
		return disagree(c,
			"entry %u, figure %u: slots of the epoch hold %" PRIu64
			" objects, %" PRIu64 " bytes; its blocks say %" PRId64
			" and %" PRId64,
			entry, figure, f->slot_objects, f->slot_bytes,
			f->live_objects, f->live_bytes);
	if (!c->may_be_busy && (uint64_t)(f->folded - f->folded_total) << 16)
		return disagree(c,
			"entry %u, figure %u: %" PRId64 " bytes are folded, "
			"its blocks say %" PRId64,
			entry, figure, f->folded_total, f->folded);
	if (!c->may_be_busy && f->peak_bytes < f->live_bytes &&
		f->live_bytes >> 47 == 0)
		return disagree(c,
			"entry %u, figure %u: %" PRId64 " bytes are above the "
			"peak, %" PRId64,
			entry, figure, f->live_bytes, f->peak_bytes);
	return 0;
}

static int check_flows(struct checking *c)
{
	unsigned entry;
	unsigned figure;
	int err;

	/* A slot that is half done is so on each of its devices. */
	for (entry = 0; entry < c->s->devices_count; entry++) {
		uint64_t flows = 0;
		uint64_t live = 0;

		for (figure = 0; figure < SEGMENT_FIGURES; figure++) {
			err = check_flow(c, entry, figure, &flows, &live);
			if (err)
				return err;
		}
	}
	return 0;
}

/* -- slots and records -------------------------------------------------------- */

struct history {
	const struct segment_words **records; /* by slot, then generation */
	size_t len;
};

static int generation_compare(const void *va, const void *vb)
{
	const struct segment_words *a = *(
		const struct segment_words *const *)va;
	const struct segment_words *b = *(
		const struct segment_words *const *)vb;
	int order = compare(a->slot, b->slot);

	return order ? order : compare(a->generation, b->generation);
}

static bool record_changes_slot(const struct segment_words *record)
{
	return record->type == SEGMENT_ALLOC || record->type == SEGMENT_FREE ||
		record->type == SEGMENT_SHRINK;
}

static void history_make(const struct segment *s, struct history *ret_history)
{
	size_t len = segment_records(s, SEGMENT_ALLOC) +
		segment_records(s, SEGMENT_FREE) +
		segment_records(s, SEGMENT_SHRINK);
	size_t i;
	size_t j;

	ret_history->len = 0;
	ret_history->records = calloc(len + 1, sizeof(*ret_history->records));
	if (!ret_history->records)
		abort();
	for (i = 0; i < s->lanes_len; i++)
		for (j = 0; j < s->lanes[i].records_len; j++)
			if (record_changes_slot(&s->lanes[i].records[j]))
				ret_history->records[ret_history->len++] =
					&s->lanes[i].records[j];
	qsort(ret_history->records, len, sizeof(*ret_history->records),
		generation_compare);
}

/* w1 without what only a record has: its type, and flags of what happened. */
static uint64_t object_w1(const struct segment_words *words)
{
	uint64_t flags = SEGMENT_UNCOUNTED | SEGMENT_REPLACED;

	return words->w[1] & ~(flags << 44) & 0x00ffffffffffffff;
}

/* A FREE record has its own time where the address was. */
static bool is_same_object(const struct segment_words *a,
	const struct segment_words *b, bool with_address)
{
	return object_w1(a) == object_w1(b) && a->w[2] == b->w[2] &&
		(!with_address || a->w[3] == b->w[3]) && a->w[4] == b->w[4] &&
		a->w[5] == b->w[5] && a->w[6] == b->w[6] && a->w[7] == b->w[7];
}

static int check_pair(struct checking *c, const struct segment_words *a,
	const struct segment_words *b)
{
	if (a->generation == b->generation)
		return disagree(c,
			"lanes %u and %u: slot %" PRIu32 " reached generation "
			"%" PRIu64 " twice",
			a->lane, b->lane, a->slot, a->generation);
	if (b->type == SEGMENT_ALLOC || b->generation != a->generation + 1)
		return 0;
	if (a->type == SEGMENT_FREE || !is_same_object(a, b, false))
		return disagree(c,
			"lane %u: the free of slot %" PRIu32 ", generation "
			"%" PRIu64 ", is not of what lane %u allocated there",
			b->lane, b->slot, b->generation, a->lane);
	if (b->type == SEGMENT_FREE ?
			b->place != a->place :
			b->members == a->members || b->members & ~a->members)
		return disagree(c,
			"lane %u: slot %" PRIu32 ", generation %" PRIu64
			", goes from place %u to %u",
			b->lane, b->slot, b->generation, a->place, b->place);
	return 0;
}

/* The last record of a slot against the slot; true if they agree. */
static bool is_slot_as_recorded(
	const struct segment *s, const struct segment_words *last)
{
	struct segment_words slot;

	if (!segment_slot(s, last->slot, &slot))
		return false;
	if (last->type == SEGMENT_FREE)
		return slot.state != SEGMENT_SLOT_LIVE &&
			slot.generation >= last->generation;
	return slot.state == SEGMENT_SLOT_LIVE && slot.w[0] == last->w[0] &&
		is_same_object(&slot, last, true);
}

/*
 * ALLOC, then SHRINK and FREE records, each one generation later: none may be missing.
 * A slot that was given up before it counted has an uncounted FREE only.
 */
static bool is_successor(
	const struct segment_words *before, const struct segment_words *record)
{
	if (before && before->type != SEGMENT_FREE)
		return record->type != SEGMENT_ALLOC &&
			record->generation == before->generation + 1;
	return record->type == SEGMENT_ALLOC ||
		record->flags & SEGMENT_UNCOUNTED;
}

static int check_order(struct checking *c, const struct history *h)
{
	uint64_t gaps = 0;
	size_t i;
	int err;

	for (i = 0; i < h->len; i++) {
		const struct segment_words *b = h->records[i];
		const struct segment_words *a = NULL;

		if (i && h->records[i - 1]->slot == b->slot)
			a = h->records[i - 1];
		err = a ? check_pair(c, a, b) : 0;
		if (err)
			return err;
		if (c->s->lanes_overrun || is_successor(a, b))
			continue;
		if (++gaps > c->allowed)
			return disagree(c,
				"slot %" PRIu32
				": record type %u at generation "
				"%" PRIu64 " after type %u at %" PRIu64,
				b->slot, b->type, b->generation,
				a ? a->type : 0, a ? a->generation : 0);
	}
	return 0;
}

static int check_replay(struct checking *c, const struct history *h)
{
	uint64_t found = 0;
	uint64_t live = 0;
	size_t i;

	for (i = 0; i < h->len; i++) {
		const struct segment_words *last = h->records[i];

		if (i + 1 < h->len && h->records[i + 1]->slot == last->slot)
			continue;
		live += last->type != SEGMENT_FREE;
		if (!is_slot_as_recorded(c->s, last) && ++found > c->allowed)
			return disagree(c,
				"slot %" PRIu32 " is not as its last record "
				"says, lane %u, type %u, generation %" PRIu64,
				last->slot, last->lane, last->type,
				last->generation);
	}
	found = live > c->s->objects_len ? live - c->s->objects_len :
					   c->s->objects_len - live;
	if (found > c->allowed)
		return disagree(c,
			"the records make %" PRIu64 " objects, but %zu slots "
			"are live",
			live, c->s->objects_len);
	return 0;
}

/* -- the two questions -------------------------------------------------------- */

static int check_quiet(struct checking *c)
{
	const struct segment *s = c->s;
	unsigned i;
	unsigned j;

	if (s->slots_writing > c->allowed)
		return disagree(c, "%" PRIu64 " slots are in state writing",
			s->slots_writing);
	if (c->may_be_busy)
		return 0;
	if (s->lanes_broken)
		return disagree(c, "%" PRIu64 " lanes have intent != tail",
			s->lanes_broken);
	if (s->extents_claimed && s->state != 2)
		return disagree(c, "%" PRIu64 " extents are being made",
			s->extents_claimed);
	for (i = 0; i < s->devices_count; i++) {
		if (s->devices[i].seq & 1)
			return disagree(
				c, "facts of entry %u are being written", i);
		if (s->devices[i].epoch > s->closes)
			return disagree(c,
				"entry %u: epoch %" PRIu32 " of %" PRIu64
				" closes",
				i, s->devices[i].epoch, s->closes);
		for (j = 0; j < i; j++)
			if (s->devices[i].current && s->devices[j].current &&
				s->devices[i].logical == s->devices[j].logical)
				return disagree(c,
					"device %" PRIu32
					" means entries %u and %u",
					s->devices[i].logical, j, i);
	}
	return 0;
}

/* Each complete close of a device has its number. */
static int check_closes(struct checking *c)
{
	size_t i, j;

	for (i = 0; i < c->s->lanes_len; i++)
		for (j = 0; j < c->s->lanes[i].records_len; j++) {
			const struct segment_words
				*record = &c->s->lanes[i].records[j];

			if (record->type == SEGMENT_DEVICE_CLOSE &&
				(!record->w[4] || record->w[4] > c->s->closes))
				return disagree(c,
					"lane %zu: close %" PRIu64
					" of %" PRIu64,
					i, record->w[4], c->s->closes);
		}
	return 0;
}

static int check_all(struct checking *c)
{
	struct history history;
	int err;

	history_make(c->s, &history);
	err = check_quiet(c);
	if (!err && !c->may_be_busy)
		err = check_closes(c);
	if (!err)
		err = check_places(c);
	if (!err)
		err = check_keys(c);
	if (!err)
		err = check_flows(c);
	if (!err)
		err = check_order(c, &history);
	if (!err && !c->s->lanes_overrun)
		err = check_replay(c, &history);
	free(history.records);
	return err;
}

int segment_check_at_rest(
	const struct segment *segment, char *why, size_t why_size)
{
	struct checking c = { .s = segment, .why = why, .why_size = why_size };

	return check_all(&c);
}

int segment_check_half_done(const struct segment *segment, uint64_t allowed,
	char *why, size_t why_size)
{
	struct checking c = {
		.s = segment,
		.why = why,
		.why_size = why_size,
		.allowed = allowed,
		/* Between the two operations of a replacement no lane shows. */
		.doubles_allowed = segment->lanes_len,
		.may_be_busy = true,
	};
	size_t i;

	/* Of an operation under way. */
	for (i = 0; i < segment->lanes_len; i++)
		c.doubles_allowed += segment->lanes[i].intent -
			segment->lanes[i].tail;
	return check_all(&c);
}

int segment_check_killed(
	const struct segment *segment, char *why, size_t why_size)
{
	uint64_t allowed = 0, records;
	size_t i;

	for (i = 0; i < segment->lanes_len; i++) {
		records = segment->lanes[i].intent - segment->lanes[i].tail;
		/* One that has begun may turn out to have two. */
		allowed += records == 1 ? 2 : records;
	}
	return segment_check_half_done(segment, allowed, why, why_size);
}
