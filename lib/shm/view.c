/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregate segment as a file: opened, judged, its copies read. */
#include "shm/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shm/atomics.h"
#include "shm/checksum.h"
#include "shm/view_file.h"

/*
 * A copy stays as it is for a whole publication, so that one more try is nearly
 * always enough; a writer that is faster than that for so long is beyond reason.
 */
#define COPY_TRIES 64u
#define TRIES_WITHOUT_WAIT 8u
#define WAIT_NS 50000

/*
 * Rows of an older build are shorter than ours. So much shorter they cannot be: it
 * bounds what a forged stride makes us allocate.
 */
#define STRIDE_SHRINK_MAX 4u
#define STRIDE_MAX (1u << 24)
#define COPY_SIZE_MAX (1ull << 32)

#define LIVE_OFF offsetof(struct ttm_aggregate_header, live)

int ttm_view_bytes(
	const struct ttm_view *view, uint64_t off, void *ret_bytes, size_t size)
{
	char *at = ret_bytes;

	while (size) {
		ssize_t n = pread(view->fd, at, size, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EPROTO;
		at += n;
		off += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

int ttm_view_live_word(
	const struct ttm_view *view, size_t off, uint64_t *ret_word)
{
	return ttm_view_bytes(
		view, LIVE_OFF + off, ret_word, sizeof(*ret_word));
}

void ttm_view_wait(unsigned tries)
{
	struct timespec moment = { 0, WAIT_NS };

	if (tries >= TRIES_WITHOUT_WAIT)
		nanosleep(&moment, NULL);
}

void ttm_view_rows_adapt(void *to, size_t to_stride, const void *from,
	size_t from_stride, size_t len)
{
	size_t both = to_stride < from_stride ? to_stride : from_stride;
	char *target = to;
	const char *source = from;
	size_t i;

	if (to_stride == from_stride) {
		memcpy(target, source, len * to_stride);
		return;
	}
	for (i = 0; i < len; i++) {
		memcpy(target, source, both);
		memset(target + both, 0, to_stride - both);
		target += to_stride;
		source += from_stride;
	}
}

/* -- the header -------------------------------------------------------------- */

/* Whether `len` rows, or bytes for stride 1, lie within the file, aligned. */
static bool range_is_inside(uint64_t off, uint64_t len, uint64_t stride,
	uint64_t begin, uint64_t end)
{
	return off % 8 == 0 && off >= begin && off <= end &&
		len <= (end - off) / stride;
}

static bool ranges_overlap(uint64_t a, uint64_t b, uint64_t size)
{
	return a < b ? b - a < size : a - b < size;
}

static bool stride_is_sane(uint64_t stride, size_t known)
{
	return stride % 8 == 0 && stride >= known / STRIDE_SHRINK_MAX &&
		stride >= sizeof(uint64_t) && stride <= STRIDE_MAX;
}

static bool places_are_sane(const struct ttm_aggregate_const *h, uint64_t size)
{
	const size_t row = sizeof(struct ttm_object_row);

	if (h->file_size > size || h->copy_size < sizeof(struct ttm_copy) ||
		h->copy_size > COPY_SIZE_MAX)
		return false;
	if (!range_is_inside(h->copy_off[0], h->copy_size, 1, h->header_size,
		    h->file_size) ||
		!range_is_inside(h->copy_off[1], h->copy_size, 1,
			h->header_size, h->file_size) ||
		ranges_overlap(h->copy_off[0], h->copy_off[1], h->copy_size))
		return false;
	return stride_is_sane(h->object_stride, row) &&
		h->objects_capacity <= TTM_OBJECTS_MAX &&
		range_is_inside(h->objects_off, h->objects_capacity,
			h->object_stride, h->header_size, h->file_size);
}

static int header_check(const struct ttm_aggregate_const *h, uint64_t size)
{
	if (h->magic != TTM_AGGREGATE_MAGIC)
		return -EPROTO;
	if (h->version != TTM_AGGREGATE_VERSION)
		return -EPROTONOSUPPORT;
	if (h->checksum !=
		ttm_checksum(h, offsetof(struct ttm_aggregate_const, checksum)))
		return -EPROTO;
	if (h->signature != TTM_AGGREGATE_SIGNATURE)
		return -EPROTONOSUPPORT;
	if (h->header_size != TTM_AGGREGATE_HEADER_SIZE ||
		(h->mode != TTM_MODE_USER && h->mode != TTM_MODE_SYSTEM))
		return -EPROTO;
	return places_are_sane(h, size) ? 0 : -EPROTO;
}

static int view_judge(struct ttm_view *view, uint32_t uid)
{
	struct stat st;
	int r;

	if (fstat(view->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EPROTO;
	if ((st.st_uid != 0 && st.st_uid != uid) ||
		(st.st_mode & (S_IWGRP | S_IWOTH)))
		return -EPERM;
	view->device = st.st_dev;
	view->inode = st.st_ino;
	r = ttm_view_bytes(view, 0, &view->header, sizeof(view->header));
	return r < 0 ? r : header_check(&view->header, (uint64_t)st.st_size);
}

int ttm_view_open(int directory_fd, const char *name, uint32_t uid,
	struct ttm_view **ret_view)
{
	struct ttm_view *view = calloc(1, sizeof(*view));
	int r;

	if (!view)
		return -ENOMEM;
	view->fd = openat(directory_fd, name,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (view->fd < 0) {
		/* A link, or a socket: not what a ttmemd makes. */
		r = errno == ELOOP || errno == ENXIO ? -EPROTO : -errno;
		free(view);
		return r;
	}
	r = view_judge(view, uid);
	if (r < 0) {
		ttm_view_close(&view);
		return r;
	}
	*ret_view = view;
	return 0;
}

void ttm_view_close(struct ttm_view **view)
{
	if (!*view)
		return;
	close((*view)->fd);
	free(*view);
	*view = NULL;
}

const struct ttm_aggregate_const *ttm_view_header(const struct ttm_view *view)
{
	return &view->header;
}

int ttm_view_is_written(const struct ttm_view *view)
{
	/*
	 * A read lock collides with write locks only, and those need the file open
	 * for writing: nobody who may merely read it can pretend to be its writer.
	 */
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	if (fcntl(view->fd, F_GETLK, &lock) < 0)
		return -errno;
	return lock.l_type != F_UNLCK;
}

int ttm_view_live(struct ttm_view *view, struct ttm_aggregate_live *ret_live)
{
	struct ttm_aggregate_live live;
	int r = ttm_view_bytes(view, LIVE_OFF, &live, sizeof(live));

	if (r < 0)
		return r;
	*ret_live = live;
	return 0;
}

bool ttm_view_is_replaced(
	const struct ttm_view *view, int directory_fd, const char *name)
{
	struct stat st;

	return fstatat(directory_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		st.st_dev != view->device || st.st_ino != view->inode;
}

/* -- copies ------------------------------------------------------------------ */

/* What this build knows of a row; of a history only what is before its points. */
static const size_t row_sizes[TTM_TABLES] = {
	[TTM_TABLE_HEALTH] = sizeof(struct ttm_health_row),
	[TTM_TABLE_DIRECTORIES] = sizeof(struct ttm_directory_row),
	[TTM_TABLE_DEVICES] = sizeof(struct ttm_device_row),
	[TTM_TABLE_PROCESSES] = sizeof(struct ttm_process_row),
	[TTM_TABLE_SHARES] = sizeof(struct ttm_share_row),
	[TTM_TABLE_NAMES] = sizeof(struct ttm_name_row),
	[TTM_TABLE_MARKS] = sizeof(struct ttm_mark_row),
	[TTM_TABLE_FAILURES] = sizeof(struct ttm_failure_row),
	[TTM_TABLE_QUARANTINE] = sizeof(struct ttm_quarantine_row),
	[TTM_TABLE_UNTRACKED] = sizeof(struct ttm_untracked_row),
	[TTM_TABLE_HISTORY_1S] = sizeof(struct ttm_history_row),
	[TTM_TABLE_HISTORY_10S] = sizeof(struct ttm_history_row),
	[TTM_TABLE_HISTORY_1M] = sizeof(struct ttm_history_row),
	[TTM_TABLE_DISTRIBUTIONS] = sizeof(struct ttm_distribution_row),
	[TTM_TABLE_TELEMETRY] = sizeof(struct ttm_telemetry_row),
	[TTM_TABLE_HOLDERS] = sizeof(struct ttm_holder_row),
};

static bool table_is_history(uint32_t id)
{
	return id >= TTM_TABLE_HISTORY_1S && id <= TTM_TABLE_HISTORY_1M;
}

static bool table_is_sane(const struct ttm_table *table, uint64_t copy_size)
{
	if (table_is_history(table->id) &&
		table->stride < sizeof(struct ttm_history_row))
		return false;
	return stride_is_sane(table->stride, row_sizes[table->id]) &&
		table->capacity <= TTM_ROWS_MAX &&
		table->len <= table->capacity &&
		range_is_inside(table->off, table->capacity, table->stride,
			sizeof(struct ttm_copy), copy_size);
}

static bool table_is_wanted(const struct ttm_table *table, uint64_t tables)
{
	return table->id != 0 && table->id < TTM_TABLES &&
		(tables >> table->id & 1);
}

static int table_read(const struct ttm_view *view, uint64_t copy_off,
	const struct ttm_table *table, struct ttm_view_copy *to)
{
	size_t len = (size_t)table->len, stride = table->stride;
	size_t known = table_is_history(table->id) ? stride :
						     row_sizes[table->id];
	void *raw, *rows;
	int r;

	if (to->rows[table->id])
		return -EPROTO; /* twice */
	raw = malloc(len ? len * stride : 1);
	if (!raw)
		return -ENOMEM;
	to->rows[table->id] = raw;
	to->len[table->id] = len;
	to->stride[table->id] = known;
	r = ttm_view_bytes(view, copy_off + table->off, raw, len * stride);
	if (r < 0 || known == stride)
		return r;
	rows = malloc(len ? len * known : 1);
	if (!rows)
		return -ENOMEM;
	ttm_view_rows_adapt(rows, known, raw, stride, len);
	to->rows[table->id] = rows;
	free(raw);
	return 0;
}

static int tables_read(const struct ttm_view *view, uint64_t copy_off,
	uint64_t tables, struct ttm_view_copy *to)
{
	const struct ttm_table *table = to->copy.tables;
	size_t i;
	int r;

	if (to->copy.objects_len > view->header.objects_capacity ||
		to->copy.objects_used > to->copy.objects_len)
		return -EPROTO;
	for (i = 0; i < TTM_TABLES_MAX; i++, table++) {
		if (!table_is_wanted(table, tables))
			continue;
		if (!table_is_sane(table, view->header.copy_size))
			return -EPROTO;
		r = table_read(view, copy_off, table, to);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Returns 0 for a whole copy, -EAGAIN if the writer came by, or what is wrong with
 * it if the writer did not.
 */
static int copy_try(
	const struct ttm_view *view, uint64_t tables, struct ttm_view_copy *to)
{
	uint64_t active, seq, again, still, copy_off;
	int r, result;

	/* pairs(publish-active): acquire, ttm_publish: that copy is complete */
	r = ttm_view_live_word(
		view, offsetof(struct ttm_aggregate_live, active), &active);
	if (r < 0)
		return r;
	ttm_fence_acquire();
	if (active > 1)
		return -EPROTO;
	copy_off = view->header.copy_off[active];
	/* Alone: within one pread nothing says which word came first. */
	r = ttm_view_bytes(view, copy_off, &seq, sizeof(seq));
	if (r < 0)
		return r;
	if (seq & 1)
		return -EAGAIN;
	ttm_fence_acquire();
	result = ttm_view_bytes(view, copy_off, &to->copy, sizeof(to->copy));
	if (result == 0)
		result = tables_read(view, copy_off, tables, to);
	/*
	 * pairs(publish-copy): acquire, ttm_publish: whoever saw a word of the next
	 * content sees the odd seq that was stored before it
	 */
	ttm_fence_acquire();
	r = ttm_view_bytes(view, copy_off, &again, sizeof(again));
	if (r < 0)
		return r;
	r = ttm_view_live_word(
		view, offsetof(struct ttm_aggregate_live, active), &still);
	if (r < 0)
		return r;
	if (result == -ENOMEM && again == seq)
		return result;
	if (again != seq || to->copy.seq != seq || still != active)
		return -EAGAIN;
	return result;
}

int ttm_view_read(
	struct ttm_view *view, uint64_t tables, struct ttm_view_copy *ret_copy)
{
	struct ttm_view_copy copy;
	unsigned tries;
	int r = -EAGAIN;

	for (tries = 0; tries < COPY_TRIES && r == -EAGAIN; tries++) {
		ttm_view_wait(tries);
		memset(&copy, 0, sizeof(copy));
		r = copy_try(view, tables, &copy);
		/* What was seen is not unseen: a file goes forward only. */
		if (r == 0 && copy.copy.publication < view->publication)
			r = -EPROTO;
		if (r < 0)
			ttm_view_copy_free(&copy);
	}
	if (r < 0)
		return r;
	view->publication = copy.copy.publication;
	*ret_copy = copy;
	return 0;
}

void ttm_view_copy_free(struct ttm_view_copy *copy)
{
	size_t i;

	for (i = 0; i < TTM_TABLES; i++) {
		free(copy->rows[i]);
		copy->rows[i] = NULL;
		copy->len[i] = 0;
	}
}

const void *ttm_view_row(
	const struct ttm_view_copy *copy, enum ttm_table_id table, uint64_t ref)
{
	size_t index = TTM_REF_INDEX(ref);
	const char *row;
	uint64_t self;

	if (ref == 0 || !copy->rows[table] || index >= copy->len[table])
		return NULL;
	row = (const char *)copy->rows[table] + index * copy->stride[table];
	memcpy(&self, row, sizeof(self));
	return self == ref ? row : NULL;
}
