/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * The order of a publication, as docs/aggregate.md tells it to readers:
 *
 *   objects_seq odd; changed rows, each with its seq odd and then even
 *   the other copy: seq odd; pages that it lacks, and its head; seq even
 *   active: that copy
 *   objects_seq even, as the copy says
 *
 * A publisher may be killed between any two stores. Then a sequence stays odd, what
 * it covers is not accepted, and the next ttmemd makes a new file.
 */
#include "daemon/publish/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/publish/image_pages.h"
#include "daemon/publish/publish_file.h"
#include "daemon/publish/publish_objects.h"
#include "daemon/publish/publish_self.h"
#include "daemon/testpoint.h"
#include "shm/atomics.h"
#include "shm/clock.h"

_Static_assert(sizeof(struct ttm_copy) <= TTM_IMAGE_PAGE, "has a page");

int ttm_publisher_new(const struct ttm_publisher_config *config,
	struct ttm_publisher **ret_publisher)
{
	struct ttm_publisher *publisher = calloc(1, sizeof(*publisher));

	if (!publisher)
		return -ENOMEM;
	publisher->config = *config;
	publisher->publication = config->publication_base;
	publisher->file.fd = -1;
	*ret_publisher = publisher;
	return 0;
}

void ttm_publisher_free(struct ttm_publisher **publisher)
{
	if (!*publisher)
		return;
	ttm_publish_file_close(&(*publisher)->config, &(*publisher)->file);
	ttm_publish_objects_free(&(*publisher)->objects);
	free(*publisher);
	*publisher = NULL;
}

/* Rows of the table that the file has room for: all, but for lack of space. */
static uint64_t objects_shown(const struct ttm_publish_file *file,
	const struct ttm_publish_objects *objects)
{
	uint64_t len = ttm_publish_objects_len(objects);

	return len < file->objects_capacity ? len : file->objects_capacity;
}

static void rows_publish(struct ttm_publish_file *file,
	const struct ttm_publish_objects *objects)
{
	uint64_t *seq = &file->header->live.objects_seq;
	uint64_t len = objects_shown(file, objects);

	file->objects_seq += 2;
	/* pairs(publish-objects): release, with ttm_view_read_objects: whoever sees a
	 * row of this publication sees that objects_seq has changed */
	ttm_store(seq, file->objects_seq - 1);
	ttm_fence_release();
	TTM_TESTPOINT("objects begun");
	ttm_publish_objects_write(objects, file->rows, file->rows_len,
		file->objects_capacity, file->objects_seq);
	if (file->rows_len < len)
		file->rows_len = len;
}

/* What the copy says about itself, but for its seq. */
static struct ttm_copy head_make(const struct ttm_publisher *publisher,
	const struct ttm_publish_file *file, const struct ttm_image *image)
{
	uint64_t objects_len = objects_shown(file, &publisher->objects);
	struct ttm_copy head = {
		.publication = publisher->publication + 1,
		.objects_seq = file->objects_seq,
		.objects_len = objects_len,
		.objects_used = ttm_publish_objects_len(&publisher->objects) >
				objects_len ?
			ttm_publish_objects_used(
				&publisher->objects, objects_len) :
			publisher->objects.used,
		.monotonic_ns = ttm_clock_ns(CLOCK_MONOTONIC),
		.realtime_ns = ttm_clock_ns(CLOCK_REALTIME),
	};

	if (file->layout == ttm_image_layout(image))
		ttm_image_tables(image, head.tables);
	else
		ttm_image_tables_within(image, file->tables, head.tables);
	return head;
}

/* What the copy lacks. */
static void pages_write(
	struct ttm_copy *copy, unsigned target, struct ttm_image *image)
{
	const void *page;
	size_t off = 0;

	while ((page = ttm_image_take(image, target, &off))) {
		ttm_words_store((uint64_t *)(void *)((char *)copy + off), page,
			TTM_IMAGE_PAGE / sizeof(uint64_t));
		TTM_TESTPOINT("copy page written");
	}
}

static void table_write(
	struct ttm_copy *copy, const struct ttm_table *table, const void *rows)
{
	ttm_words_store((uint64_t *)(void *)((char *)copy + table->off), rows,
		table->len * table->stride / sizeof(uint64_t));
}

/* All rows that have a place in a copy whose tables are other ones by now. */
static void tables_write(struct ttm_copy *copy, const struct ttm_image *image,
	const struct ttm_table tables[TTM_TABLES_MAX])
{
	unsigned i;

	for (i = 0; i < TTM_TABLES_MAX; i++)
		if (tables[i].len)
			table_write(copy, &tables[i],
				ttm_image_at(image,
					(enum ttm_table_id)tables[i].id, 0));
}

static void copy_write(struct ttm_publish_file *file, unsigned target,
	struct ttm_image *image, const struct ttm_copy *head)
{
	struct ttm_copy *copy = file->copies[target];
	size_t first = offsetof(struct ttm_copy, publication);

	file->copy_seq[target]++;
	/* pairs(publish-copy): release, with ttm_view_read: whoever sees a new word of
	 * the copy sees that its seq was odd */
	ttm_store(&copy->seq, file->copy_seq[target]);
	ttm_fence_release();
	TTM_TESTPOINT("copy begun");
	ttm_words_store(&copy->publication, &head->publication,
		(sizeof(*head) - first) / sizeof(uint64_t));
	TTM_TESTPOINT("copy head written");
	if (file->layout == ttm_image_layout(image))
		pages_write(copy, target, image);
	else
		tables_write(copy, image, head->tables);
	file->copy_seq[target]++;
	/* pairs(publish-copy): release, with ttm_view_read: it is whole */
	ttm_store_release(&copy->seq, file->copy_seq[target]);
	TTM_TESTPOINT("copy ended");
}

/* One publication into a file. Cannot fail. */
static void publication_write(struct ttm_publisher *publisher,
	struct ttm_publish_file *file, struct ttm_image *image)
{
	struct ttm_aggregate_live *live = &file->header->live;
	struct ttm_copy head;

	if (ttm_publish_objects_changed(&publisher->objects))
		rows_publish(file, &publisher->objects);
	head = head_make(publisher, file, image);
	copy_write(file, !file->active, image, &head);
	file->active = !file->active;
	/* pairs(publish-active): release, with ttm_view_read: the copy is whole */
	ttm_store_release(&live->active, file->active);
	TTM_TESTPOINT("active stored");
	/* pairs(publish-objects): release, with ttm_view_read_objects: the rows are those
	 * of the copy that has this objects_seq */
	ttm_store_release(&live->objects_seq, file->objects_seq);
	TTM_TESTPOINT("objects ended");
	/* relaxed: for display */
	ttm_store(&live->heartbeat_ns, head.monotonic_ns);
}

/* Nobody sees the new rows yet, and nobody else writes the old ones. */
static void rows_take_over(struct ttm_publish_file *file,
	const struct ttm_publish_file *old, uint64_t len)
{
	file->objects_seq = old->objects_seq;
	if (!old->header)
		return;
	file->rows_len = old->rows_len < len ? old->rows_len : len;
	memcpy(file->rows, old->rows, file->rows_len * sizeof(*file->rows));
}

static void file_supersede(
	struct ttm_publisher *publisher, const struct ttm_publish_file *file)
{
	struct ttm_publish_file old = publisher->file;

	publisher->file = *file;
	publisher->objects.wanted = 0;
	if (!old.header)
		return;
	/* relaxed: what it means is found out by the name, and the rename was a
	 * call to the kernel before it */
	ttm_store(&old.header->live.superseded, 1);
	TTM_TESTPOINT("old superseded");
	ttm_publish_file_close(&publisher->config, &old);
	TTM_TESTPOINT("old closed");
}

/*
 * Removes the file of a ttmemd that ended, which is only history by now and takes the
 * room of its successor. Returns false if there is none.
 */
static bool predecessor_remove(const struct ttm_publisher *publisher)
{
	return !publisher->file.header &&
		unlinkat(publisher->config.directory_fd, TTM_AGGREGATE_FILE,
			0) == 0;
}

static int file_replace(
	struct ttm_publisher *publisher, struct ttm_image *image)
{
	struct ttm_publish_file file, *old = &publisher->file;
	struct ttm_publish_objects *objects = &publisher->objects;
	uint64_t capacity;
	int r;

	if (!publisher->tidied)
		ttm_publish_file_tidy(&publisher->config);
	publisher->tidied = true;
	capacity = ttm_publish_objects_capacity(objects, old->objects_capacity);
	r = ttm_publish_file_make(
		&publisher->config, ttm_image_size(image), capacity, &file);
	if ((r == -ENOSPC || r == -EDQUOT) && predecessor_remove(publisher))
		r = ttm_publish_file_make(&publisher->config,
			ttm_image_size(image), capacity, &file);
	if (r < 0)
		return r;
	file.layout = ttm_image_layout(image);
	ttm_image_tables(image, file.tables);
	rows_take_over(&file, old, ttm_publish_objects_len(objects));
	ttm_image_forget(image);
	publication_write(publisher, &file, image);
	r = ttm_publish_file_show(&publisher->config, &file);
	if (r < 0) {
		ttm_publish_file_close(&publisher->config, &file);
		/* What was taken for it is not in the old file. */
		ttm_image_forget(image);
		return r;
	}
	file_supersede(publisher, &file);
	return 0;
}

/*
 * Somebody may have removed it: at a user's last logout, logind does. Or the
 * directory is another one by now.
 */
static bool file_has_name(const struct ttm_publisher *publisher)
{
	struct stat own, named;

	return fstat(publisher->file.fd, &own) < 0 ||
		(own.st_nlink != 0 &&
			fstatat(publisher->config.directory_fd,
				TTM_AGGREGATE_FILE, &named,
				AT_SYMLINK_NOFOLLOW) == 0 &&
			named.st_ino == own.st_ino &&
			named.st_dev == own.st_dev);
}

bool ttm_publish_lacks_room(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG ||
		error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/*
 * There is no room for the file that it would take: whoever reads the one that there
 * is gets what it can hold, and is told how much is left out.
 */
static void publish_part(
	struct ttm_publisher *publisher, struct ttm_image *image)
{
	struct ttm_publish_file *file = &publisher->file;
	struct ttm_publish_objects *objects = &publisher->objects;
	uint64_t unlisted[2] = { 0, 0 };

	if (!file->header || !file_has_name(publisher))
		return;
	if (file->layout != ttm_image_layout(image))
		unlisted[0] = ttm_image_beyond(image, file->tables);
	unlisted[1] = objects->used -
		ttm_publish_objects_used(objects, objects_shown(file, objects));
	ttm_image_set_part(image, TTM_TABLE_HEALTH,
		ttm_image_first(image, TTM_TABLE_HEALTH),
		offsetof(struct ttm_health_row, rows_unlisted), unlisted,
		sizeof(unlisted));
	publication_write(publisher, file, image);
	publisher->publication++;
	ttm_publish_objects_settle(objects, file->objects_capacity);
}

static bool file_fits(
	const struct ttm_publisher *publisher, const struct ttm_image *image)
{
	const struct ttm_publish_file *file = &publisher->file;

	return file->header && file->layout == ttm_image_layout(image) &&
		ttm_publish_objects_len(&publisher->objects) <=
		file->objects_capacity &&
		file_has_name(publisher);
}

int ttm_publish(struct ttm_publisher *publisher, struct ttm_image *image)
{
	int r = 0;

	if (file_fits(publisher, image))
		publication_write(publisher, &publisher->file, image);
	else
		r = file_replace(publisher, image);
	publisher->behind = r < 0;
	if (ttm_publish_lacks_room(r))
		publish_part(publisher, image);
	if (r < 0)
		return r;
	publisher->publication++;
	ttm_publish_objects_settle(
		&publisher->objects, publisher->file.objects_capacity);
	return 0;
}

bool ttm_publisher_has_file(const struct ttm_publisher *publisher)
{
	return publisher->file.header != NULL;
}

void ttm_publisher_heartbeat(struct ttm_publisher *publisher)
{
	struct ttm_aggregate_header *header = publisher->file.header;

	/* A file that lags must not look fresh. */
	if (header && !publisher->behind)
		/* relaxed: for display */
		ttm_store(&header->live.heartbeat_ns,
			ttm_clock_ns(CLOCK_MONOTONIC));
}
