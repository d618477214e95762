/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * Which object rows are in use, and what the next publication changes in them. The
 * rows themselves are in the file only.
 */
#ifndef TTM_DAEMON_PUBLISH_OBJECTS_H
#define TTM_DAEMON_PUBLISH_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/publish/publish.h"
#include "daemon/publish/rowset.h"

struct ttm_object_queue;

struct ttm_publish_objects {
	struct ttm_rowset vacant;  /* rows below len that may be taken */
	struct ttm_rowset removed; /* rows given back since the publication */
	uint64_t len;              /* rows from here on are unused */
	uint64_t used;
	uint64_t wanted; /* rows that are expected to be used */
	bool any_removed;
	struct ttm_object_queue *queue; /* rows to be written, newest first */
};

void ttm_publish_objects_free(struct ttm_publish_objects *objects);

/* Whether a publication would change rows. */
bool ttm_publish_objects_changed(const struct ttm_publish_objects *objects);

/* What a publication would leave as `len`: all that the file has to have room for. */
uint64_t ttm_publish_objects_len(const struct ttm_publish_objects *objects);

/* Rows that a new file should have, where the old one had `now`. */
uint64_t ttm_publish_objects_capacity(
	const struct ttm_publish_objects *objects, uint64_t now);

/* How many rows below `len` a publication would leave in use. */
uint64_t ttm_publish_objects_used(
	const struct ttm_publish_objects *objects, uint64_t len);

/*
 * Writes what changed; each row's seq is seq - 1, odd, meanwhile and seq afterwards.
 * Rows from rows_len on were never written and need not be cleared; from capacity on
 * there are none. Costs as much as there are changes.
 */
void ttm_publish_objects_write(const struct ttm_publish_objects *objects,
	struct ttm_object_row *rows, uint64_t rows_len, uint64_t capacity,
	uint64_t seq);

/*
 * It is published, but for rows from `capacity` on: those stay queued. What was
 * given back may be used again.
 */
void ttm_publish_objects_settle(
	struct ttm_publish_objects *objects, uint64_t capacity);

#endif
