/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object rows of an aggregate segment. They are not copied: a scan is one cut
 * if objects_seq says that nothing moved, and otherwise takes whole rows one by
 * one, whatever publication each is of.
 */
#include "shm/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/atomics.h"
#include "shm/view_file.h"

#define CHUNK_SIZE (256u << 10)
#define CUT_TRIES 12u
#define ROW_TRIES 4u

/* What a scan has found so far. */
struct rows {
	struct ttm_object_row *row;
	size_t len;
	size_t capacity;
};

static int rows_reserve(struct rows *rows, size_t more)
{
	size_t capacity = rows->capacity;
	struct ttm_object_row *row;

	if (more <= capacity - rows->len)
		return 0;
	capacity += more + capacity / 2;
	row = realloc(rows->row, capacity * sizeof(*row));
	if (!row)
		return -ENOMEM;
	rows->row = row;
	rows->capacity = capacity;
	return 0;
}

/* Two reads of a part of the table, as the file has it and as we know it. */
struct chunk {
	const struct ttm_view *view;
	size_t stride;
	size_t rows_max;
	char *raw;
	struct ttm_object_row *once;
	struct ttm_object_row *again;
};

static void chunk_free(struct chunk *chunk)
{
	free(chunk->raw);
	free(chunk->once);
	free(chunk->again);
}

static int chunk_make(const struct ttm_view *view, struct chunk *ret_chunk)
{
	struct chunk c = { .view = view };

	c.stride = (size_t)view->header.object_stride;
	c.rows_max = CHUNK_SIZE / c.stride;
	if (c.rows_max == 0)
		c.rows_max = 1;
	c.raw = malloc(c.rows_max * c.stride);
	c.once = malloc(c.rows_max * sizeof(*c.once));
	c.again = malloc(c.rows_max * sizeof(*c.again));
	if (!c.raw || !c.once || !c.again) {
		chunk_free(&c);
		return -ENOMEM;
	}
	*ret_chunk = c;
	return 0;
}

static int chunk_read(struct chunk *chunk, size_t first, size_t len,
	struct ttm_object_row *to)
{
	uint64_t off = chunk->view->header.objects_off + first * chunk->stride;
	int r;

	if (chunk->stride == sizeof(*to))
		return ttm_view_bytes(chunk->view, off, to, len * sizeof(*to));
	r = ttm_view_bytes(chunk->view, off, chunk->raw, len * chunk->stride);
	if (r == 0)
		ttm_view_rows_adapt(
			to, sizeof(*to), chunk->raw, chunk->stride, len);
	return r;
}

static int objects_seq(const struct ttm_view *view, uint64_t *ret_seq)
{
	int r = ttm_view_live_word(view,
		offsetof(struct ttm_aggregate_live, objects_seq), ret_seq);

	/*
	 * pairs(publish-objects): acquire, ttm_publish: even, the rows are those
	 * of this number; whoever saw a newer one sees a newer number
	 */
	ttm_fence_acquire();
	return r;
}

/* Whether the rows still are those of `seq`; all loads before it are done. */
static int objects_are(const struct ttm_view *view, uint64_t seq)
{
	uint64_t now;
	int r;

	ttm_fence_acquire();
	r = objects_seq(view, &now);
	if (r < 0)
		return r;
	return now == seq && !(now & 1) ? 0 : -EAGAIN;
}

static void rows_take(
	struct rows *rows, const struct ttm_object_row *row, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (row[i].process != 0)
			rows->row[rows->len++] = row[i];
}

/* Returns 0, -EAGAIN as soon as something moved, or another errno. */
static int scan_cut(
	struct chunk *chunk, const struct ttm_copy *copy, struct rows *ret_rows)
{
	size_t at, len = (size_t)copy->objects_len, part;
	int r = objects_are(chunk->view, copy->objects_seq);

	for (at = 0; r == 0 && at < len; at += part) {
		part = len - at < chunk->rows_max ? len - at : chunk->rows_max;
		r = chunk_read(chunk, at, part, chunk->once);
		if (r == 0)
			r = rows_reserve(ret_rows, part);
		if (r < 0)
			return r;
		rows_take(ret_rows, chunk->once, part);
		r = objects_are(chunk->view, copy->objects_seq);
	}
	return r;
}

static bool row_is_whole(
	const struct ttm_object_row *once, const struct ttm_object_row *again)
{
	return !(once->seq & 1) && memcmp(once, again, sizeof(*once)) == 0;
}

/*
 * A row that came out twice the same with an even seq is whole. If the first read
 * had mixed two contents, then either a word of the later one came with the
 * earlier seq, and the second read finds that seq gone; or the later seq came with
 * a word of the earlier content, and the second read finds that word gone.
 */
static int chunk_read_whole(struct chunk *chunk, size_t first, size_t len)
{
	unsigned tries;
	size_t i;
	int r;

	r = chunk_read(chunk, first, len, chunk->once);
	if (r < 0)
		return r;
	/* pairs(publish-row): acquire, ttm_publish: odd before a row changes */
	ttm_fence_acquire();
	r = chunk_read(chunk, first, len, chunk->again);
	for (i = 0; r == 0 && i < len; i++) {
		for (tries = 0;
			!row_is_whole(&chunk->once[i], &chunk->again[i]);
			tries++) {
			if (tries == ROW_TRIES) {
				chunk->once[i].process = 0;
				break;
			}
			chunk->once[i] = chunk->again[i];
			ttm_fence_acquire();
			r = chunk_read(chunk, first + i, 1, &chunk->again[i]);
			if (r < 0)
				return r;
		}
	}
	return r;
}

static int scan_moving(
	struct chunk *chunk, const struct ttm_copy *copy, struct rows *ret_rows)
{
	size_t at, len = (size_t)copy->objects_len, part;
	int r = 0;

	for (at = 0; r == 0 && at < len; at += part) {
		part = len - at < chunk->rows_max ? len - at : chunk->rows_max;
		r = chunk_read_whole(chunk, at, part);
		if (r == 0)
			r = rows_reserve(ret_rows, part);
		if (r == 0)
			rows_take(ret_rows, chunk->once, part);
	}
	return r;
}

static int objects_read(struct ttm_view *view, uint64_t tables,
	struct chunk *chunk, struct ttm_view_copy *copy, struct rows *rows,
	bool *ret_consistent)
{
	unsigned tries;
	int r;

	for (tries = 0; tries < CUT_TRIES; tries++) {
		ttm_view_wait(tries * 4);
		ttm_view_copy_free(copy);
		r = ttm_view_read(view, tables, copy);
		if (r < 0)
			return r;
		rows->len = 0;
		r = scan_cut(chunk, &copy->copy, rows);
		if (r != -EAGAIN) {
			*ret_consistent = true;
			return r;
		}
	}
	rows->len = 0;
	*ret_consistent = false;
	return scan_moving(chunk, &copy->copy, rows);
}

int ttm_view_read_objects(struct ttm_view *view, uint64_t tables,
	struct ttm_view_copy *ret_copy, struct ttm_object_row **ret_objects,
	size_t *ret_len, bool *ret_consistent)
{
	struct ttm_view_copy copy = { 0 };
	struct rows rows = { NULL, 0, 0 };
	struct chunk chunk;
	bool consistent = false;
	int r = chunk_make(view, &chunk);

	if (r < 0)
		return r;
	r = objects_read(view, tables, &chunk, &copy, &rows, &consistent);
	chunk_free(&chunk);
	if (r < 0) {
		ttm_view_copy_free(&copy);
		free(rows.row);
		return r;
	}
	*ret_copy = copy;
	*ret_objects = rows.row;
	*ret_len = rows.len;
	*ret_consistent = consistent;
	return 0;
}
