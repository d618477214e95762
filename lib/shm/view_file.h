/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the view: the open file, shared by view.c and view_objects.c. */
#ifndef TTM_SHM_VIEW_FILE_H
#define TTM_SHM_VIEW_FILE_H

#include "shm/view.h"

struct ttm_view {
	int fd;
	uint64_t device; /* st_dev and st_ino */
	uint64_t inode;
	uint64_t publication; /* of the last copy that was read */
	struct ttm_aggregate_const header;
};

/* All of `size` bytes, or -EPROTO: the file is shorter than it says. */
int ttm_view_bytes(const struct ttm_view *view, uint64_t off, void *ret_bytes,
	size_t size);

/* One word of the live part, at its offset in struct ttm_aggregate_live. */
int ttm_view_live_word(
	const struct ttm_view *view, size_t off, uint64_t *ret_word);

/* The writer needs a moment: `tries` of them were in vain. Bounded. */
void ttm_view_wait(unsigned tries);

/*
 * Rows as the file has them become rows as this build knows them: cut, or filled
 * up with zeros. `to` may not overlap `from`.
 */
void ttm_view_rows_adapt(void *to, size_t to_stride, const void *from,
	size_t from_stride, size_t len);

#endif
