/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts with names, of two snapshots: what came, went, grew and shrank. */
#ifndef TTM_DUMP_CHANGES_H
#define TTM_DUMP_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DUMP_LABELS 4u

enum dump_side {
	DUMP_OLD = 0,
	DUMP_NEW = 1,
};

struct dump_amount {
	bool there;
	uint64_t bytes;
	uint64_t objects;
};

/* One thing that may be in both. Texts are its own. */
struct dump_change {
	char *key; /* the same in both snapshots */
	char *labels[DUMP_LABELS];
	struct dump_amount side[2];
};

struct dump_changes {
	struct dump_change *changes;
	size_t len;
	size_t room;
};

/*
 * Adds one side of a thing; equal keys of a side add up. Texts are copied; a label
 * may be NULL. Returns 0 or -ENOMEM.
 */
int dump_changes_add(struct dump_changes *changes, enum dump_side side,
	const char *key, const char *const labels[DUMP_LABELS], uint64_t bytes,
	uint64_t objects);

/*
 * Puts the sides together and leaves what differs, largest change first. To be
 * called once, after everything was added.
 */
void dump_changes_join(struct dump_changes *changes);

void dump_changes_free(struct dump_changes *changes);

#endif
