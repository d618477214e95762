/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of objects. An object that is on several devices may be orphaned on some of
 * them: then the orphaned part and the live part are reported apart.
 */
#ifndef TTM_DUMP_PART_H
#define TTM_DUMP_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/reader.h>

#define DUMP_PARTS_MAX 2u
#define DUMP_LABEL_SIZE 256u

struct dump_part {
	const struct ttmem_object_row *object;
	uint64_t index;      /* of the object */
	uint64_t place;      /* index: the devices of the part */
	uint64_t devices;    /* how many */
	uint64_t leak_class; /* enum ttmem_class */
	bool orphaned;
	uint64_t bytes; /* used on all its devices */
};

/* The object as one part, whatever is orphaned. */
void dump_part_whole(const struct ttmem_object_row *object, uint64_t index,
	struct dump_part *ret_part);

/* The live part and the orphaned part. Returns how many there are: 1 or 2. */
size_t dump_parts_of(const struct ttmem_object_row *object, uint64_t index,
	struct dump_part ret_parts[DUMP_PARTS_MAX]);

/* "0-31"; "-" for no place. */
const char *dump_place_label(
	const struct ttmem_snapshot *snapshot, uint64_t place);

/* "0-31", or "0-3 of 0-31" if `place` is a part of `whole`. Escaped. */
const char *dump_place_text(const struct ttmem_snapshot *snapshot,
	uint64_t place, uint64_t whole, char buffer[static DUMP_LABEL_SIZE]);

#endif
