/* SPDX-License-Identifier: Apache-2.0 */
/* Names, failures and marks. */
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
	name->length = (uint32_t)length;
	name->truncated = length >> 32;
	if (length >> 33 || name->length > 112)
		return segment_refuse(r, off,
			"length of name %" PRIu32 " is 0x%" PRIx64, id, length);
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

int segment_parse_failures(const struct segment_reading *r)
{
	struct segment *s = r->s;
	uint64_t n = s->failures_count < SEGMENT_FAILURES ?
		0 :
		s->failures_count - SEGMENT_FAILURES;

	s->failures = segment_array(SEGMENT_FAILURES, sizeof(*s->failures));
	for (; n < s->failures_count; n++) {
		struct segment_failure *f = &s->failures[s->failures_len];
		uint64_t off = SEGMENT_FAILURES_AT +
			64 * (n % SEGMENT_FAILURES);

		if (segment_get64(s, off) != 2 * n + 2)
			continue;
		f->number = n;
		f->words.w[1] = segment_get64(s, off + 0x08);
		f->size = segment_get64(s, off + 0x10);
		f->largest_free = segment_get64(s, off + 0x18);
		f->time = segment_get64(s, off + 0x20);
		f->words.w[7] = segment_get64(s, off + 0x28);
		f->tid = segment_get64(s, off + 0x30);
		segment_words_split(&f->words, f->words.w[1], f->words.w[7]);
		if (f->words.figure > 4)
			return segment_refuse(r, off + 8,
				"figure %u of failure %" PRIu64,
				f->words.figure, n);
		if (segment_get64(s, off + 0x38))
			return segment_refuse(
				r, off + 0x38, "reserved failure word");
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
