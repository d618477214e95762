/* SPDX-License-Identifier: Apache-2.0 */
/* The objects on meshes that a process leaves when it is killed. */
#ifndef TEST_RECORD_KILL_LEFTS_H
#define TEST_RECORD_KILL_LEFTS_H

#include <stdbool.h>
#include <string.h>

#include "record/kill_scenarios.h"
#include "support/segment_reader.h"

enum {
	LEFTS_MAX = 32
};

/* An object of a scenario, and the devices that it is on. */
struct left {
	uint64_t id, program, figure;
	uint64_t allocated, members;
};

struct lefts {
	unsigned len;
	struct left lefts[LEFTS_MAX];
};

static struct left left_of(
	const struct segment *segment, const struct segment_words *object)
{
	return (struct left){
		.id = object->id,
		.program = object->program,
		/* Kinds differ by round. */
		.figure = object->figure < TTMEM_FIGURE_CB ? 0 : object->figure,
		.allocated = segment->places[object->alloc_place],
		.members = object->members,
	};
}

static bool left_is_mesh(const struct left *left)
{
	return (left->id >= ID || left->program >= ID) &&
		left->allocated & (left->allocated - 1);
}

static void lefts_take(struct lefts *lefts, const struct segment *segment)
{
	struct left left;
	size_t i;

	lefts->len = 0;
	for (i = 0; i < segment->objects_len; i++) {
		left = left_of(segment, &segment->objects[i]);
		if (left_is_mesh(&left) && lefts->len < LEFTS_MAX)
			lefts->lefts[lefts->len++] = left;
	}
}

static bool lefts_have(const struct lefts *lefts, const struct left *left)
{
	unsigned i;

	for (i = 0; i < lefts->len; i++)
		if (!memcmp(&lefts->lefts[i], left, sizeof(*left)))
			return true;
	return false;
}

#endif
