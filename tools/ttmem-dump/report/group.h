/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that have something in common, as one: the loss records of a report. Parts of
 * objects are grouped, each with all its devices.
 */
#ifndef TTM_DUMP_GROUP_H
#define TTM_DUMP_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ttmem-dump/filter.h"

enum dump_key {
	DUMP_KEY_DEVICE = 1, /* the label of the place */
	DUMP_KEY_PROCESS = 2,
	DUMP_KEY_KIND = 4,
	DUMP_KEY_SCOPE = 8,
	DUMP_KEY_CLASS = 16,
	DUMP_KEY_SIZE = 32,  /* used on each device */
	DUMP_KEY_WHOLE = 64, /* no key: objects are not split into parts */
};

#define DUMP_GROUP_SOME 4u

struct dump_group {
	/* What its objects share; of keys not asked for, that of the first. */
	uint64_t place;      /* index */
	uint64_t whole;      /* index: of all devices of the object */
	uint64_t on;         /* how many devices it is on */
	uint64_t process;    /* index */
	uint64_t figure;     /* enum ttmem_figure */
	uint64_t leak_class; /* enum ttmem_class */
	uint64_t size;
	const char *scope; /* NULL: none */

	uint64_t bytes; /* on all devices */
	uint64_t objects;
	uint64_t devices;   /* how many different ones */
	uint64_t processes; /* how many different ones */
	/* The first few of those, by index, as many as there are. */
	uint64_t some_devices[DUMP_GROUP_SOME];
	uint64_t some_processes[DUMP_GROUP_SOME];
	uint64_t age_ns; /* of the oldest; unknown if none is known */
	uint64_t first;  /* index of an object of it, the largest */
	uint64_t last;   /* index of the object that was counted last */
};

struct dump_groups {
	struct dump_group *groups; /* largest first, then more objects first */
	size_t len;
	uint64_t bytes;   /* of all */
	uint64_t objects; /* different ones */
};

/* Whether a part is to be counted; the selection has been asked already. */
typedef bool dump_group_wants(void *context, const struct dump_part *part);

/*
 * `keys` are enum dump_key. `wants` may be NULL: all that is selected. Returns 0 or
 * -ENOMEM. The texts are the snapshot's. End it with dump_groups_free().
 */
int dump_groups_make(const struct dump_selection *selection, unsigned keys,
	dump_group_wants *wants, void *context, struct dump_groups *ret_groups);
void dump_groups_free(struct dump_groups *groups);

/*
 * The parts that are selected and wanted, largest first, then oldest first; at most
 * `most` of them. Without `wants`, whole objects. Returns 0 or -ENOMEM; free() it.
 */
int dump_objects_sort(const struct dump_selection *selection,
	dump_group_wants *wants, void *context, size_t most,
	struct dump_part **ret_parts, size_t *ret_len);

/* For `wants`. */
bool dump_wants_live(void *context, const struct dump_part *part);
bool dump_wants_orphaned(void *context, const struct dump_part *part);

#endif
