/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * An image as publish sees it: the bytes of a copy, and which pages of them each of
 * the two copies lacks. An image belongs to one publisher.
 */
#ifndef TTM_DAEMON_IMAGE_PAGES_H
#define TTM_DAEMON_IMAGE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/publish/image.h"

#define TTM_IMAGE_PAGE 4096u

/* Another number whenever tables have moved: a file has one layout for life. */
uint64_t ttm_image_layout(const struct ttm_image *image);

/* Bytes of a copy, whole pages. The first page is publish's own: struct ttm_copy. */
size_t ttm_image_size(const struct ttm_image *image);

/* The directory of tables as it belongs into the next copy. */
void ttm_image_tables(const struct ttm_image *image,
	struct ttm_table ret_tables[TTM_TABLES_MAX]);

/* The same for a copy that has `within`: rows that have a place there. */
void ttm_image_tables_within(const struct ttm_image *image,
	const struct ttm_table within[TTM_TABLES_MAX],
	struct ttm_table ret_tables[TTM_TABLES_MAX]);

/* Rows in use that have none there. */
uint64_t ttm_image_beyond(const struct ttm_image *image,
	const struct ttm_table within[TTM_TABLES_MAX]);

/* The reference of row 0 of a table, 0: unused. */
uint64_t ttm_image_first(
	const struct ttm_image *image, enum ttm_table_id table);

/* Both copies lack everything: they are those of a new file, all zero. */
void ttm_image_forget(struct ttm_image *image);

/*
 * The next page that the copy (0 or 1) lacks, NULL when there is none; from now on
 * it counts as there. *off is its offset in the copy, and 0 before the first call.
 */
const void *ttm_image_take(struct ttm_image *image, unsigned copy, size_t *off);

#endif
