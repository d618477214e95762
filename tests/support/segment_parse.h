/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the segment reader: what its parts share. The numbers were typed from
 * docs/layout.md; do not replace them by anything of lib/.
 */
#ifndef TEST_SEGMENT_PARSE_H
#define TEST_SEGMENT_PARSE_H

#include "support/segment_reader.h"

#define SEGMENT_DIRECTORY_AT 0x1000u
#define SEGMENT_DIRECTORY_WORDS 8192u
#define SEGMENT_CONTROLS_AT 0x9000u
#define SEGMENT_DEVICES_AT 0x19000u
#define SEGMENT_FAILURES_AT 0x29000u
#define SEGMENT_MARKS_AT 0x2a000u
#define SEGMENT_PLACES_AT 0x2c000u
#define SEGMENT_PLACES_END 0x4c000u
#define SEGMENT_EXTENTS_AT 0x50000u
#define SEGMENT_EXTENT_SIZE 0x20000u
#define SEGMENT_SLOTS_PER_EXTENT 2048u
#define SEGMENT_BLOCKS_PER_EXTENT 128u
#define SEGMENT_NAMES_PER_EXTENT 1024u
#define SEGMENT_CORE_SETS_PER_EXTENT 1024u

struct segment_reading {
	struct segment *s;
	char *why;
	size_t why_size;
};

/* Says what is wrong at an offset; returns -EPROTO. */
__attribute__((format(printf, 3, 4))) int segment_refuse(
	const struct segment_reading *r, uint64_t off, const char *format, ...);

/* Offsets given to these were checked against the size of the file before. */
uint64_t segment_get64(const struct segment *s, uint64_t off);
uint32_t segment_get32(const struct segment *s, uint64_t off);
bool segment_is_zero(const struct segment *s, uint64_t off, uint64_t size);
int segment_expect_zero(const struct segment_reading *r, uint64_t from,
	uint64_t to, const char *what);

/* calloc(3) that never fails; 0 elements are fine. */
void *segment_array(size_t len, size_t size);

/* The members of a place; 0 if there is no such place. */
uint64_t segment_members(const struct segment *s, unsigned place);

void segment_words_read(
	const struct segment *s, uint64_t off, struct segment_words *words);
int segment_object_check(const struct segment_reading *r, uint64_t off,
	struct segment_words *words);

/* The steps, in their order: each stands on those before it. */
int segment_parse_header(const struct segment_reading *r);
int segment_parse_directory(const struct segment_reading *r);
int segment_parse_devices(const struct segment_reading *r);
int segment_parse_places(const struct segment_reading *r);
int segment_parse_names(const struct segment_reading *r);
int segment_parse_core_sets(const struct segment_reading *r);
int segment_parse_slots(const struct segment_reading *r);
int segment_parse_lanes(const struct segment_reading *r);
int segment_parse_blocks(const struct segment_reading *r);
int segment_parse_totals(const struct segment_reading *r);
int segment_parse_failures(const struct segment_reading *r);
int segment_parse_marks(const struct segment_reading *r);

#endif
