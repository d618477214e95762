/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an aggregate segment with pread: copies, tables, object rows. Used by
 * readers, and by a ttmemd that goes on where its predecessor was. Everything in
 * the file is input: copied once, checked, -EPROTO.
 *
 * A view is used by one thread at a time.
 */
#ifndef TTM_SHM_VIEW_H
#define TTM_SHM_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/aggregate.h"

struct ttm_view;

/*
 * Opens the file `name` in a directory. It must be a regular file of root or of
 * `uid`, not writable by others. Returns 0, -ENOENT, -EACCES, -EPERM (whose it
 * is), -EPROTO (no aggregate segment, or a broken one), -EPROTONOSUPPORT (another
 * version), -EMFILE, -ENOMEM, ...
 */
int ttm_view_open(int directory_fd, const char *name, uint32_t uid,
	struct ttm_view **ret_view);
void ttm_view_close(struct ttm_view **view);

const struct ttm_aggregate_const *ttm_view_header(const struct ttm_view *view);

/*
 * Whether its writer holds the lock: the kernel's word. Negative errno: unknown. A
 * process does not see locks of its own, and closing the view would drop them: not
 * for the file that the caller itself writes.
 */
int ttm_view_is_written(const struct ttm_view *view);

/* Fresh words of the live part. Returns 0 or a negative errno. */
int ttm_view_live(struct ttm_view *view, struct ttm_aggregate_live *ret_live);

/* Whether `name` in the directory means another file by now. */
bool ttm_view_is_replaced(
	const struct ttm_view *view, int directory_fd, const char *name);

/* One copy, or parts of it, in private memory. */
struct ttm_view_copy {
	struct ttm_copy copy;
	/*
	 * By enum ttm_table_id: rows[id] has len[id] rows, each of the size this
	 * build knows (stride[id]; longer ones are cut, shorter ones end in
	 * zeros), or NULL. A history row's stride includes its points.
	 */
	void *rows[TTM_TABLES];
	size_t len[TTM_TABLES];
	size_t stride[TTM_TABLES];
};

/*
 * Reads the tables of `tables` (bits 1 << id) of the newest whole copy. Returns
 * 0, -EAGAIN (the writer was faster, several times), -EPROTO, -ENOMEM, -EIO.
 */
int ttm_view_read(
	struct ttm_view *view, uint64_t tables, struct ttm_view_copy *ret_copy);
void ttm_view_copy_free(struct ttm_view_copy *copy);

/* The row that a reference means, or NULL. */
const void *ttm_view_row(const struct ttm_view_copy *copy,
	enum ttm_table_id table, uint64_t ref);

/*
 * The same, and the object rows that belong to it; unused ones are left out. With
 * *ret_consistent the objects are one cut, that of the copy. Without, every row is
 * whole but some may be older or newer than the copy (the writer was faster,
 * several times). *ret_objects is the caller's to free().
 */
int ttm_view_read_objects(struct ttm_view *view, uint64_t tables,
	struct ttm_view_copy *ret_copy, struct ttm_object_row **ret_objects,
	size_t *ret_len, bool *ret_consistent);

#endif
