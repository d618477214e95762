/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * What the next publication will say, in private memory: the tables of
 * lib/shm/aggregate.h in the form of a copy. Rows are set here one by one;
 * ttm_publish() brings what changed into the shared copies.
 *
 * One thread uses an image. Rows may move in memory whenever one is added.
 */
#ifndef TTM_DAEMON_IMAGE_H
#define TTM_DAEMON_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "shm/aggregate.h"

struct ttm_image;

/* Returns 0 or -ENOMEM. */
int ttm_image_new(struct ttm_image **ret_image);
void ttm_image_free(struct ttm_image **image);

/*
 * Adds a row to a table, zero but for `self`, which it returns. 0 when there is
 * no memory. Growing a table beyond its capacity in the current file makes the
 * next publication use a new file.
 */
uint64_t ttm_image_add(struct ttm_image *image, enum ttm_table_id table);

/* The row becomes unused, all zero; a stale reference or 0 is ignored. */
void ttm_image_remove(
	struct ttm_image *image, enum ttm_table_id table, uint64_t ref);

/*
 * Gives the row the content of `row` (of the table's stride; `self` in it is
 * ignored). Costs next to nothing when nothing changed. A stale reference or 0
 * is ignored.
 */
void ttm_image_set(struct ttm_image *image, enum ttm_table_id table,
	uint64_t ref, const void *row);

/*
 * Part of a row, `size` bytes at `off`: for rows with long arrays, of which
 * little changes at a time.
 */
void ttm_image_set_part(struct ttm_image *image, enum ttm_table_id table,
	uint64_t ref, size_t off, const void *part, size_t size);

/* The row, valid until the next ttm_image_add(); NULL for a stale reference. */
const void *ttm_image_row(
	const struct ttm_image *image, enum ttm_table_id table, uint64_t ref);

/* Number of rows ever used, and row `index` (self == 0: unused). */
size_t ttm_image_len(const struct ttm_image *image, enum ttm_table_id table);
const void *ttm_image_at(
	const struct ttm_image *image, enum ttm_table_id table, size_t index);

/* Private memory it takes, in bytes. */
size_t ttm_image_bytes(const struct ttm_image *image);

#endif
