/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/publish/publish_objects.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "daemon/publish/publish_self.h"
#include "daemon/testpoint.h"
#include "shm/atomics.h"

#define QUEUE_SIZE (1u << 20)
#define QUEUE_LEN                                                              \
	((QUEUE_SIZE - sizeof(struct ttm_object_queue)) /                      \
		sizeof(struct ttm_object_row))
#define CAPACITY_MIN 1024u

/*
 * A piece of the queue, from the kernel and back to it: a mass arrival leaves
 * nothing behind in the heap.
 */
struct ttm_object_queue {
	struct ttm_object_queue *next; /* older */
	uint64_t len;
	struct ttm_object_row rows[]; /* seq: the row's number */
};

static void queue_free(struct ttm_object_queue *queue)
{
	struct ttm_object_queue *next;

	for (; queue; queue = next) {
		next = queue->next;
		munmap(queue, QUEUE_SIZE);
	}
}

/* Where the next row of the queue goes; NULL when there is no memory. */
static struct ttm_object_row *queue_end(struct ttm_publish_objects *objects)
{
	struct ttm_object_queue *queue = objects->queue;

	if (!queue || queue->len == QUEUE_LEN) {
		queue = mmap(NULL, QUEUE_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (queue == MAP_FAILED)
			return NULL;
		queue->next = objects->queue;
		objects->queue = queue;
	}
	return &queue->rows[queue->len];
}

/* So that a removal never needs memory. */
static int sets_reserve(struct ttm_publish_objects *objects)
{
	uint64_t capacity = objects->len + objects->len / 4 + CAPACITY_MIN;
	int r;

	if (objects->len < objects->vacant.capacity &&
		objects->len < objects->removed.capacity)
		return 0;
	r = ttm_rowset_reserve(&objects->vacant, capacity);
	return r < 0 ? r : ttm_rowset_reserve(&objects->removed, capacity);
}

ttm_object_ref ttm_objects_add(
	struct ttm_publisher *publisher, const struct ttm_object_row *row)
{
	struct ttm_publish_objects *objects = &publisher->objects;
	struct ttm_object_row *queued = queue_end(objects);
	uint64_t index;

	if (!queued)
		return 0;
	if (ttm_rowset_next(&objects->vacant, 0, &index)) {
		ttm_rowset_remove(&objects->vacant, index);
	} else {
		if (objects->len == TTM_OBJECTS_MAX ||
			sets_reserve(objects) < 0)
			return 0;
		index = objects->len++;
	}
	*queued = *row;
	queued->seq = index;
	objects->queue->len++;
	objects->used++;
	return (ttm_object_ref)index + 1;
}

void ttm_objects_remove(struct ttm_publisher *publisher, ttm_object_ref ref)
{
	struct ttm_publish_objects *objects = &publisher->objects;
	uint64_t index = (uint64_t)ref - 1;

	if (ref == 0 || index >= objects->len ||
		ttm_rowset_has(&objects->vacant, index) ||
		ttm_rowset_has(&objects->removed, index))
		return;
	ttm_rowset_add(&objects->removed, index);
	objects->any_removed = true;
	objects->used--;
}

uint64_t ttm_objects_used(const struct ttm_publisher *publisher)
{
	return publisher->objects.used;
}

void ttm_objects_expect(struct ttm_publisher *publisher, uint64_t more)
{
	struct ttm_publish_objects *objects = &publisher->objects;

	if (more > TTM_OBJECTS_MAX - objects->used)
		more = TTM_OBJECTS_MAX - objects->used;
	if (objects->wanted < objects->used + more)
		objects->wanted = objects->used + more;
}

void ttm_publish_objects_free(struct ttm_publish_objects *objects)
{
	queue_free(objects->queue);
	objects->queue = NULL;
	ttm_rowset_clear(&objects->vacant);
	ttm_rowset_clear(&objects->removed);
}

bool ttm_publish_objects_changed(const struct ttm_publish_objects *objects)
{
	return objects->any_removed || (objects->queue && objects->queue->len);
}

uint64_t ttm_publish_objects_len(const struct ttm_publish_objects *objects)
{
	uint64_t len = objects->len;

	while (len > 0 &&
		(ttm_rowset_has(&objects->vacant, len - 1) ||
			ttm_rowset_has(&objects->removed, len - 1)))
		len--;
	return len;
}

uint64_t ttm_publish_objects_used(
	const struct ttm_publish_objects *objects, uint64_t len)
{
	uint64_t used = len, row;

	/* No row is in both. */
	for (row = 0; ttm_rowset_next(&objects->vacant, row, &row) && row < len;
		row++)
		used--;
	for (row = 0;
		ttm_rowset_next(&objects->removed, row, &row) && row < len;
		row++)
		used--;
	return used;
}

uint64_t ttm_publish_objects_capacity(
	const struct ttm_publish_objects *objects, uint64_t now)
{
	uint64_t needed = ttm_publish_objects_len(objects);

	if (needed < objects->wanted)
		needed = objects->wanted;
	/* Much too large is as good a reason as too small. */
	if (needed > now || needed < now / 2)
		now = needed + needed / 4;
	if (now < CAPACITY_MIN)
		now = CAPACITY_MIN;
	return now < TTM_OBJECTS_MAX ? now : TTM_OBJECTS_MAX;
}

/* -- rows in the file -------------------------------------------------------- */

/* A `from` of NULL makes it an unused row. */
static void row_write(struct ttm_object_row *row,
	const struct ttm_object_row *from, uint64_t seq)
{
	static const struct ttm_object_row unused;
	size_t first = offsetof(struct ttm_object_row, process);

	/* pairs(publish-row): release, with ttm_view_read_objects: whoever sees a
	 * new word of the row sees that its seq was odd */
	ttm_store(&row->seq, seq - 1);
	ttm_fence_release();
	TTM_TESTPOINT("row begun");
	ttm_words_store(&row->process, &(from ? from : &unused)->process,
		(sizeof(*row) - first) / sizeof(uint64_t));
	TTM_TESTPOINT("row written");
	/* pairs(publish-row): release, with ttm_view_read_objects: it is whole */
	ttm_store_release(&row->seq, seq);
	TTM_TESTPOINT("row ended");
}

void ttm_publish_objects_write(const struct ttm_publish_objects *objects,
	struct ttm_object_row *rows, uint64_t rows_len, uint64_t capacity,
	uint64_t seq)
{
	const struct ttm_object_queue *queue;
	uint64_t i, row;

	for (queue = objects->queue; queue; queue = queue->next)
		for (i = 0; i < queue->len; i++) {
			row = queue->rows[i].seq;
			/* Added and removed: its row is unused as it is. */
			if (row < capacity &&
				!ttm_rowset_has(&objects->removed, row))
				row_write(&rows[row], &queue->rows[i], seq);
		}
	for (i = 0;
		ttm_rowset_next(&objects->removed, i, &row) && row < rows_len;
		i = row + 1)
		row_write(&rows[row], NULL, seq);
}

/* Keeps rows from `capacity` on that were not removed since; needs no memory. */
static void queue_cut(struct ttm_publish_objects *objects, uint64_t capacity)
{
	struct ttm_object_queue **at = &objects->queue, *queue;
	uint64_t i, kept;

	while ((queue = *at)) {
		for (i = 0, kept = 0; i < queue->len; i++)
			if (queue->rows[i].seq >= capacity &&
				!ttm_rowset_has(
					&objects->removed, queue->rows[i].seq))
				queue->rows[kept++] = queue->rows[i];
		queue->len = kept;
		/* The first one stays: the next row goes there. */
		if (kept || at == &objects->queue) {
			at = &queue->next;
			continue;
		}
		*at = queue->next;
		munmap(queue, QUEUE_SIZE);
	}
}

void ttm_publish_objects_settle(
	struct ttm_publish_objects *objects, uint64_t capacity)
{
	uint64_t row;

	queue_cut(objects, capacity);
	while (ttm_rowset_next(&objects->removed, 0, &row)) {
		ttm_rowset_remove(&objects->removed, row);
		ttm_rowset_add(&objects->vacant, row);
	}
	objects->any_removed = false;
	while (objects->len > 0 &&
		ttm_rowset_has(&objects->vacant, objects->len - 1))
		ttm_rowset_remove(&objects->vacant, --objects->len);
}
