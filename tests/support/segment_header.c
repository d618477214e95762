/* SPDX-License-Identifier: Apache-2.0 */
/* The header and the extent directory. */
#include "support/segment_parse.h"

#include <inttypes.h>
#include <string.h>

static int expect32(const struct segment_reading *r, uint64_t off,
	uint32_t value, const char *field)
{
	uint32_t found = segment_get32(r->s, off);

	if (found != value)
		return segment_refuse(r, off, "%s is %" PRIu32 ", not %" PRIu32,
			field, found, value);
	return 0;
}

static int expect_at_most(const struct segment_reading *r, uint64_t off,
	uint64_t max, const char *field)
{
	uint64_t found = segment_get64(r->s, off);

	if (found > max)
		return segment_refuse(r, off,
			"%s is %" PRIu64 ", more than %" PRIu64, field, found,
			max);
	return 0;
}

static uint64_t fnv1a(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325u;
	size_t i;

	for (i = 0; i < size; i++) {
		hash ^= bytes[i];
		hash *= 0x100000001b3u;
	}
	return hash;
}

static int header_check_constants(const struct segment_reading *r)
{
	static const struct {
		uint16_t off;
		uint32_t value;
		const char *field;
	} words[] = {
		{ 0x008, 2, "version" },
		{ 0x00c, 0x1000, "header size" },
		{ 0x064, 0, "reserved" },
		{ 0x088, SEGMENT_EXTENT_SIZE, "extent size" },
		{ 0x090, SEGMENT_LANES, "lanes max" },
		{ 0x094, SEGMENT_LANE_RECORDS, "records per lane" },
		{ 0x098, SEGMENT_DEVICES, "devices max" },
		{ 0x09c, SEGMENT_FAILURES, "failures kept" },
		{ 0x0a0, SEGMENT_MARKS, "marks kept" },
		{ 0x0a4, 0, "reserved" },
		{ 0x0a8, SEGMENT_DIRECTORY_AT, "offset of the directory" },
		{ 0x0ac, 0, "offset of the directory" },
		{ 0x0b0, SEGMENT_CONTROLS_AT, "offset of the lane controls" },
		{ 0x0b4, 0, "offset of the lane controls" },
		{ 0x0b8, SEGMENT_DEVICES_AT, "offset of the devices" },
		{ 0x0bc, 0, "offset of the devices" },
		{ 0x0c0, SEGMENT_FAILURES_AT, "offset of the failures" },
		{ 0x0c4, 0, "offset of the failures" },
		{ 0x0c8, SEGMENT_MARKS_AT, "offset of the marks" },
		{ 0x0cc, 0, "offset of the marks" },
		{ 0x0d0, SEGMENT_PLACES_AT, "offset of the places" },
		{ 0x0d4, 0, "offset of the places" },
		{ 0x0d8, SEGMENT_EXTENTS_AT, "offset of extent 0" },
		{ 0x0dc, 0, "offset of extent 0" },
	};
	size_t i;
	int err;

	if (memcmp(r->s->bytes, "TTMEMSEG", 8))
		return segment_refuse(r, 0x0, "magic is not TTMEMSEG");
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		err = expect32(r, words[i].off, words[i].value, words[i].field);
		if (err)
			return err;
	}
	err = segment_expect_zero(r, 0x3f0, 0x7f8, "reserved header");
	if (err)
		return err;
	if (segment_get64(r->s, 0x7f8) != fnv1a(r->s->bytes, 0x7f8))
		return segment_refuse(r, 0x7f8, "checksum does not match");
	return 0;
}

static int header_read_constants(const struct segment_reading *r)
{
	struct segment *s = r->s;

	s->version = segment_get32(s, 0x008);
	s->signature = segment_get64(s, 0x010);
	memcpy(s->uuid, s->bytes + 0x018, 16);
	memcpy(s->boot_id, s->bytes + 0x028, 16);
	memcpy(s->run_id, s->bytes + 0x038, 16);
	s->pid = segment_get32(s, 0x048);
	s->uid = segment_get32(s, 0x04c);
	s->pid_namespace = segment_get64(s, 0x050);
	s->start_time = segment_get64(s, 0x058);
	s->clock_kind = segment_get32(s, 0x060);
	s->clock_hz = segment_get64(s, 0x068);
	s->clock_base = segment_get64(s, 0x070);
	s->monotonic_base_ns = segment_get64(s, 0x078);
	s->realtime_base_ns = segment_get64(s, 0x080);
	s->extents_max = segment_get32(s, 0x08c);
	memcpy(s->comm, s->bytes + 0x0e0, 16);
	memcpy(s->cmdline, s->bytes + 0x0f0, 512);
	memcpy(s->cgroup, s->bytes + 0x2f0, 256);
	s->checksum = segment_get64(s, 0x7f8);
	if ((s->uuid[6] & 0xf0) != 0x40 || (s->uuid[8] & 0xc0) != 0x80)
		return segment_refuse(r, 0x18, "uuid is not of version 4");
	if (s->clock_kind < 1 || s->clock_kind > 3)
		return segment_refuse(
			r, 0x60, "clock kind is %" PRIu32, s->clock_kind);
	if (s->extents_max < 1 || s->extents_max > SEGMENT_DIRECTORY_WORDS)
		return segment_refuse(
			r, 0x8c, "extents max is %" PRIu32, s->extents_max);
	if (!s->pid)
		return segment_refuse(r, 0x48, "pid is 0");
	return 0;
}

static int header_read_live(const struct segment_reading *r)
{
	static const struct {
		uint16_t off;
		uint32_t max;
		const char *field;
	} counts[] = {
		{ 0x800, 2, "state" },
		{ 0x808, SEGMENT_DIRECTORY_WORDS, "extents high" },
		{ 0x810, SEGMENT_LANES, "lanes" },
		{ 0x818, SEGMENT_DEVICES, "devices" },
		{ 0x820, 65535, "names" },
		{ 0x828, SEGMENT_DIRECTORY_WORDS * SEGMENT_BLOCKS_PER_EXTENT,
			"blocks" },
		{ 0x848, SEGMENT_PLACES, "places" },
		{ 0x850, SEGMENT_CORE_SETS, "core sets" },
	};
	struct segment *s = r->s;
	size_t i;
	int err;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		err = expect_at_most(
			r, counts[i].off, counts[i].max, counts[i].field);
		if (err)
			return err;
	}
	s->state = segment_get64(s, 0x800);
	s->extents_high = segment_get64(s, 0x808);
	s->lanes_count = segment_get64(s, 0x810);
	s->devices_count = segment_get64(s, 0x818);
	s->names_count = segment_get64(s, 0x820);
	s->blocks_count = segment_get64(s, 0x828);
	s->failures_count = segment_get64(s, 0x830);
	s->marks_count = segment_get64(s, 0x838);
	s->closes = segment_get64(s, 0x840);
	s->places_count = segment_get64(s, 0x848);
	s->core_sets_count = segment_get64(s, 0x850);
	for (i = 0; i < SEGMENT_REASONS; i++) {
		s->lost_events_header[i] = segment_get64(s, 0x880 + 8 * i);
		s->lost_bytes_header[i] = segment_get64(s, 0x900 + 8 * i);
		s->lost_events[i] = s->lost_events_header[i];
		s->lost_bytes[i] = s->lost_bytes_header[i];
	}
	if (!s->state)
		return segment_refuse(r, 0x800, "state is 0");
	if (s->extents_high > s->extents_max)
		return segment_refuse(
			r, 0x808, "extents high is above extents max");
	err = segment_expect_zero(r, 0x858, 0x880, "reserved header");
	if (err)
		return err;
	return segment_expect_zero(r, 0x980, 0x1000, "reserved header");
}

int segment_parse_header(const struct segment_reading *r)
{
	int err;

	if (r->s->size < SEGMENT_EXTENTS_AT)
		return segment_refuse(
			r, r->s->size, "the file ends before extent 0");
	err = header_check_constants(r);
	if (!err)
		err = header_read_constants(r);
	if (!err)
		err = header_read_live(r);
	return err;
}

static int directory_read_word(const struct segment_reading *r, uint32_t extent)
{
	static const char *const names[] = { "unused", "LANE", "SLOTS",
		"BLOCKS", "NAMES", "CORE_SETS" };
	struct segment *s = r->s;
	uint64_t at = SEGMENT_DIRECTORY_AT + 4 * (uint64_t)extent;
	uint64_t off = SEGMENT_EXTENTS_AT +
		(uint64_t)extent * SEGMENT_EXTENT_SIZE;
	uint32_t word = segment_get32(s, at);
	uint32_t type = word >> 24;
	uint32_t ordinal = word & 0xffffff;
	uint64_t *places[] = { NULL, s->rings_off, s->slots_off, s->blocks_off,
		s->names_off, s->core_sets_off };
	uint32_t max[] = { 1, SEGMENT_LANES, 8191, 8192, 64, 4 };

	if (type == 255) {
		s->extents_claimed++;
		return 0;
	}
	if (extent >= s->extents_high && word)
		return segment_refuse(r, at,
			"extent %" PRIu32 " is used, above extents high",
			extent);
	if (type > 5)
		return segment_refuse(r, at, "extent type %" PRIu32, type);
	if (ordinal >= max[type])
		return segment_refuse(r, at, "ordinal %" PRIu32 " of %s",
			ordinal, names[type]);
	s->extents[type]++;
	if (!type)
		return 0;
	if (places[type][ordinal])
		return segment_refuse(r, at, "%s %" PRIu32 " has two extents",
			names[type], ordinal);
	if (off >= s->size)
		return segment_refuse(r, at,
			"extent %" PRIu32 " reaches beyond the file", extent);
	places[type][ordinal] = off;
	return 0;
}

int segment_parse_directory(const struct segment_reading *r)
{
	uint32_t i;
	int err;

	for (i = 0; i < SEGMENT_DIRECTORY_WORDS; i++) {
		err = directory_read_word(r, i);
		if (err)
			return err;
	}
	return segment_expect_zero(
		r, SEGMENT_PLACES_END, SEGMENT_EXTENTS_AT, "reserved page");
}

uint64_t segment_members(const struct segment *s, unsigned place)
{
	return place && place < s->places_count ? s->places[place] : 0;
}

/* A word below the count may be 0: its place is being made. */
int segment_parse_places(const struct segment_reading *r)
{
	struct segment *s = r->s;
	uint64_t used = 0;
	uint64_t at = SEGMENT_PLACES_AT;
	unsigned i;

	for (i = 0; i < SEGMENT_DEVICES; i++)
		used |= (uint64_t)s->devices[i].used << i;
	for (i = 0; i < s->places_count; i++, at += 8) {
		s->places[i] = segment_get64(s, at);
		if (!i && s->places[i])
			return segment_refuse(r, at, "place 0 has members");
		if (s->places[i] & ~used)
			return segment_refuse(r, at,
				"place %u has unused entries: 0x%" PRIx64, i,
				s->places[i]);
	}
	return segment_expect_zero(
		r, at, SEGMENT_PLACES_END, "place not handed out");
}
