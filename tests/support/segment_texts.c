/* SPDX-License-Identifier: Apache-2.0 */
/* Names, core sets, failures and marks. */
#include "support/segment_parse.h"

#include <inttypes.h>
#include <string.h>

static int name_read(const struct segment_reading *r, uint32_t id)
{
	struct segment *s = r->s;
	struct segment_name *name = &s->names[s->names_len];
	uint64_t extent = s->names_off[(id - 1) / SEGMENT_NAMES_PER_EXTENT];
	uint64_t off = extent +
		128 * (uint64_t)((id - 1) % SEGMENT_NAMES_PER_EXTENT);
	uint64_t length;

	if (!extent)
		return 0;
	/* The length is stored last: without it, the text is in the making. */
	length = segment_get64(s, off);
	if (!length)
		return 0;
	name->id = id;
	name->length = length & 0xffff;
	name->truncated = length >> 32 & 1;
	name->parent = length >> 40 & 0xffff;
	if (length & ~(0xffffull | 1ull << 32 | 0xffffull << 40) ||
		name->length > 112)
		return segment_refuse(r, off,
			"length of name %" PRIu32 " is 0x%" PRIx64, id, length);
	/* Ids are handed out in order, the outer scope's first. */
	if (name->parent >= id)
		return segment_refuse(r, off,
			"parent of name %" PRIu32 " is %" PRIu32, id,
			name->parent);
	memcpy(name->text, s->bytes + off + 16, name->length);
	if (strlen(name->text) != name->length)
		return segment_refuse(
			r, off + 16, "name %" PRIu32 " has a NUL in it", id);
	s->names_len++;
	return segment_expect_zero(
		r, off + 16 + name->length, off + 128, "rest of a name");
}

int segment_parse_names(const struct segment_reading *r)
{
	uint32_t id;
	int err;

	r->s->names = segment_array(r->s->names_count, sizeof(*r->s->names));
	for (id = 1; id <= r->s->names_count; id++) {
		err = name_read(r, id);
		if (err)
			return err;
	}
	return 0;
}

static int core_set_read(const struct segment_reading *r, uint32_t id)
{
	struct segment *s = r->s;
	struct segment_core_set *set = &s->core_sets[s->core_sets_len];
	uint64_t extent = s->core_sets_off[(id - 1) /
		SEGMENT_CORE_SETS_PER_EXTENT];
	uint64_t off = extent +
		128 * (uint64_t)((id - 1) % SEGMENT_CORE_SETS_PER_EXTENT);
	uint32_t cores = 0;
	unsigned i;

	if (!extent)
		return 0;
	set->id = id;
	set->cores = segment_get32(s, off + 0x7c);
	/* The count is stored last. */
	if (!set->cores)
		return 0;
	for (i = 0; i < SEGMENT_CORE_ROWS; i++) {
		set->rows[i] = segment_get32(s, off + 4 * i);
		cores += (uint32_t)__builtin_popcount(set->rows[i]);
	}
	if (cores != set->cores)
		return segment_refuse(r, off + 0x7c,
			"core set %" PRIu32 " has %" PRIu32
			" cores and says %" PRIu32,
			id, cores, set->cores);
	s->core_sets_len++;
	return 0;
}

int segment_parse_core_sets(const struct segment_reading *r)
{
	struct segment *s = r->s;
	uint32_t id;
	int err;

	s->core_sets = segment_array(
		s->core_sets_count + 1, sizeof(*s->core_sets));
	for (id = 1; id <= s->core_sets_count; id++) {
		err = core_set_read(r, id);
		if (err)
			return err;
	}
	return 0;
}

static int failure_read(const struct segment_reading *r, uint64_t off,
	struct segment_failure *f)
{
	struct segment *s = r->s;
	uint64_t place = segment_get64(s, off + 0x08);
	uint64_t figure = segment_get64(s, off + 0x10);
	uint64_t scope = segment_get64(s, off + 0x28);

	if (place >= s->places_count || !segment_members(s, (unsigned)place))
		return segment_refuse(r, off + 0x08,
			"failure %" PRIu64 " on place %" PRIu64, f->number,
			place);
	if (figure >= SEGMENT_FAILURE_FIGURES)
		return segment_refuse(r, off + 0x10,
			"figure %" PRIu64 " of failure %" PRIu64, figure,
			f->number);
	if (scope > s->names_count)
		return segment_refuse(r, off + 0x28,
			"scope %" PRIu64 " of failure %" PRIu64, scope,
			f->number);
	f->place = (unsigned)place;
	f->members = segment_members(s, f->place);
	f->figure = (unsigned)figure;
	f->time = segment_get64(s, off + 0x18);
	f->tid = segment_get64(s, off + 0x20);
	f->scope = (uint32_t)scope;
	f->bytes = segment_get64(s, off + 0x38);
	f->bytes_per_bank = segment_get64(s, off + 0x40);
	f->free_per_bank = segment_get64(s, off + 0x48);
	f->largest_free_per_bank = segment_get64(s, off + 0x50);
	f->program = segment_get64(s, off + 0x58);
	f->stamp = segment_get64(s, off + 0x60);
	if (segment_get64(s, off + 0x30))
		return segment_refuse(r, off + 0x30, "stack of a failure");
	return segment_expect_zero(
		r, off + 0x68, off + 0x100, "reserved failure word");
}

int segment_parse_failures(const struct segment_reading *r)
{
	struct segment *s = r->s;
	uint64_t n = s->failures_count < SEGMENT_FAILURES ?
		0 :
		s->failures_count - SEGMENT_FAILURES;
	int err;

	s->failures = segment_array(SEGMENT_FAILURES, sizeof(*s->failures));
	for (; n < s->failures_count; n++) {
		struct segment_failure *f = &s->failures[s->failures_len];
		uint64_t off = SEGMENT_FAILURES_AT +
			256 * (n % SEGMENT_FAILURES);

		if (segment_get64(s, off) != 2 * n + 2)
			continue;
		f->number = n;
		err = failure_read(r, off, f);
		if (err)
			return err;
		s->failures_len++;
	}
	return 0;
}

int segment_parse_marks(const struct segment_reading *r)
{
	struct segment *s = r->s;
	uint64_t n = s->marks_count < SEGMENT_MARKS ?
		0 :
		s->marks_count - SEGMENT_MARKS;

	s->marks = segment_array(SEGMENT_MARKS, sizeof(*s->marks));
	for (; n < s->marks_count; n++) {
		struct segment_mark *mark = &s->marks[s->marks_len];
		uint64_t off = SEGMENT_MARKS_AT + 128 * (n % SEGMENT_MARKS);
		uint64_t length = segment_get64(s, off + 0x18);

		if (segment_get64(s, off) != 2 * n + 2)
			continue;
		if (length > 96)
			return segment_refuse(r, off + 0x18,
				"length of mark %" PRIu64 " is %" PRIu64, n,
				length);
		mark->number = n;
		mark->time = segment_get64(s, off + 0x08);
		mark->tid = segment_get64(s, off + 0x10);
		memcpy(mark->text, s->bytes + off + 0x20, length);
		s->marks_len++;
	}
	return 0;
}
