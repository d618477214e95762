/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a segment by hand, event by event, as docs/layout.md draws it: what the
 * independent reader is tested with. It shares nothing with lib/, and nothing with the
 * reader but its constants. One thread, one lane; every event is complete.
 */
#ifndef TEST_SEGMENT_BUILD_H
#define TEST_SEGMENT_BUILD_H

#include <stddef.h>
#include <stdint.h>

enum {
	/* Extents of the file, in their order. */
	BUILT_RING_AT = 0x50000,
	BUILT_BLOCKS_AT = 0x70000,
	BUILT_SLOTS_AT = 0x90000,
	BUILT_NAMES_AT = 0xb0000,
	BUILT_CORE_SETS_AT = 0xd0000,
	BUILT_SIZE = 0xf0000,
};

struct built {
	uint8_t *bytes;
	uint64_t generations[2048];
	uint64_t time;
};

/* The words of an object that an event tells. */
struct built_object {
	unsigned place;
	unsigned figure;
	unsigned flags;
	uint64_t id;
	uint64_t address;
	uint64_t size;
	uint64_t program; /* CB, kernel */
	uint64_t used;    /* buffer; 0: as its size */
	uint32_t banks;   /* buffer */
	uint32_t cores;
	uint32_t core_set;
	uint32_t scope;
};

/* A segment without events; built_end() releases it. */
void built_begin(struct built *built);
void built_end(struct built *built);

void built_device(struct built *built, unsigned entry, uint32_t logical);

/* Stores the next place; returns its number. */
unsigned built_place(struct built *built, uint64_t members);

/* Returns its id. */
uint32_t built_name(struct built *built, const char *text, uint32_t parent);
/* A set of `rows` rows with the same columns. */
uint32_t built_core_set(struct built *built, uint32_t row, unsigned rows);

void built_alloc(
	struct built *built, uint32_t slot, const struct built_object *object);
void built_shrink(struct built *built, uint32_t slot, unsigned place);
void built_free(struct built *built, uint32_t slot);

/* One close of all members of the place. */
void built_close(struct built *built, unsigned place);

void built_anomaly(struct built *built, unsigned reason, unsigned place);
void built_failure(
	struct built *built, unsigned place, unsigned figure, uint64_t bytes);
void built_mark(struct built *built, const char *text);

#endif
