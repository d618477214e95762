/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
#include "daemon/publish/image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/publish/image_pages.h"
#include "shm/random.h"

#define PAGE TTM_IMAGE_PAGE
#define COPIES 2u
#define NONE UINT32_MAX

#define HISTORY_STRIDE(points)                                                 \
	(sizeof(struct ttm_history_row) + (points) * sizeof(struct ttm_point))

static const struct {
	uint32_t stride;
	uint32_t capacity; /* at first */
} kinds[TTM_TABLES] = {
	[TTM_TABLE_HEALTH] = { sizeof(struct ttm_health_row), 1 },
	[TTM_TABLE_DIRECTORIES] = { sizeof(struct ttm_directory_row), 16 },
	[TTM_TABLE_DEVICES] = { sizeof(struct ttm_device_row), 16 },
	[TTM_TABLE_PROCESSES] = { sizeof(struct ttm_process_row), 32 },
	[TTM_TABLE_SHARES] = { sizeof(struct ttm_share_row), 64 },
	[TTM_TABLE_NAMES] = { sizeof(struct ttm_name_row), 256 },
	[TTM_TABLE_MARKS] = { sizeof(struct ttm_mark_row), 64 },
	[TTM_TABLE_FAILURES] = { sizeof(struct ttm_failure_row), 64 },
	[TTM_TABLE_QUARANTINE] = { sizeof(struct ttm_quarantine_row), 16 },
	[TTM_TABLE_UNTRACKED] = { sizeof(struct ttm_untracked_row), 16 },
	[TTM_TABLE_HISTORY_1S] = { HISTORY_STRIDE(TTM_HISTORY_1S), 4 },
	[TTM_TABLE_HISTORY_10S] = { HISTORY_STRIDE(TTM_HISTORY_10S), 4 },
	[TTM_TABLE_HISTORY_1M] = { HISTORY_STRIDE(TTM_HISTORY_1M), 4 },
	[TTM_TABLE_DISTRIBUTIONS] = { sizeof(struct ttm_distribution_row), 16 },
	[TTM_TABLE_TELEMETRY] = { sizeof(struct ttm_telemetry_row), 4 },
	[TTM_TABLE_HOLDERS] = { sizeof(struct ttm_holder_row), 8 },
};

/* What is known about a row's place, apart from the row: that is zero if unused. */
struct place {
	uint32_t serial; /* of its last use, 0: never */
	uint32_t next;   /* unused place, NONE: the last; if it is unused */
};

struct table {
	size_t off;
	uint32_t capacity;
	uint32_t len;
	uint32_t vacant; /* first unused place below len */
	struct place *places;
};

struct ttm_image {
	char *bytes; /* of a copy */
	size_t size;
	uint64_t layout;
	uint64_t *lacks[COPIES]; /* a bit per page */
	struct table tables[TTM_TABLES];
};

/* -- layout ------------------------------------------------------------------ */

static size_t round_up(size_t size, size_t to)
{
	return (size + to - 1) / to * to;
}

static size_t lacks_len(size_t size)
{
	return round_up(size / PAGE, 64) / 64;
}

/* Gives every table its place; returns the size of all. */
static size_t tables_place(struct table tables[TTM_TABLES])
{
	size_t off = PAGE;
	unsigned id;

	for (id = 1; id < TTM_TABLES; id++) {
		tables[id].off = off;
		off += (size_t)tables[id].capacity * kinds[id].stride;
		off = round_up(off, TTM_LINE_SIZE);
	}
	return round_up(off, PAGE);
}

/* Memory for a layout of `size` bytes; of the image only this is touched. */
static int bytes_make(struct ttm_image *image, size_t size)
{
	image->bytes = calloc(1, size);
	image->lacks[0] = calloc(COPIES * lacks_len(size), sizeof(uint64_t));
	if (!image->bytes || !image->lacks[0]) {
		free(image->bytes);
		free(image->lacks[0]);
		return -ENOMEM;
	}
	image->lacks[1] = image->lacks[0] + lacks_len(size);
	image->size = size;
	image->layout = ttm_random64();
	return 0;
}

static int table_grow(struct ttm_image *image, unsigned id)
{
	struct ttm_image now = *image;
	struct table *table = &now.tables[id];
	struct place *places;
	unsigned i;

	if (table->capacity >= TTM_ROWS_MAX)
		return -EFBIG;
	table->capacity += table->capacity / 2 + 1;
	if (table->capacity > TTM_ROWS_MAX)
		table->capacity = TTM_ROWS_MAX;
	places = realloc(table->places, table->capacity * sizeof(*places));
	if (!places)
		return -ENOMEM;
	/* More of them does no harm, even if there is no memory for the rest. */
	image->tables[id].places = table->places = places;
	if (bytes_make(&now, tables_place(now.tables)) < 0)
		return -ENOMEM;
	for (i = 1; i < TTM_TABLES; i++)
		memcpy(now.bytes + now.tables[i].off,
			image->bytes + image->tables[i].off,
			(size_t)now.tables[i].len * kinds[i].stride);
	free(image->bytes);
	free(image->lacks[0]);
	*image = now;
	ttm_image_forget(image);
	return 0;
}

int ttm_image_new(struct ttm_image **ret_image)
{
	struct ttm_image *image = calloc(1, sizeof(*image));
	unsigned id;

	if (!image)
		return -ENOMEM;
	for (id = 1; id < TTM_TABLES; id++) {
		struct table *table = &image->tables[id];

		table->capacity = kinds[id].capacity;
		table->vacant = NONE;
		table->places = calloc(table->capacity, sizeof(struct place));
		if (!table->places)
			goto failed;
	}
	if (bytes_make(image, tables_place(image->tables)) < 0)
		goto failed;
	*ret_image = image;
	return 0;
failed:
	image->bytes = NULL;
	image->lacks[0] = NULL;
	ttm_image_free(&image);
	return -ENOMEM;
}

void ttm_image_free(struct ttm_image **image)
{
	unsigned id;

	if (!*image)
		return;
	for (id = 1; id < TTM_TABLES; id++)
		free((*image)->tables[id].places);
	free((*image)->lacks[0]);
	free((*image)->bytes);
	free(*image);
	*image = NULL;
}

size_t ttm_image_bytes(const struct ttm_image *image)
{
	size_t bytes = sizeof(*image) + image->size +
		COPIES * lacks_len(image->size) * sizeof(uint64_t);
	unsigned id;

	for (id = 1; id < TTM_TABLES; id++)
		bytes += image->tables[id].capacity * sizeof(struct place);
	return bytes;
}

/* -- bytes and pages --------------------------------------------------------- */

static void page_changed(struct ttm_image *image, size_t page)
{
	unsigned copy;

	for (copy = 0; copy < COPIES; copy++)
		image->lacks[copy][page / 64] |= 1ull << page % 64;
}

/* Page by page, so that only those that differ are published. NULL: zeros. */
static void bytes_set(
	struct ttm_image *image, size_t at, const char *from, size_t size)
{
	static const char zeros[PAGE];
	size_t n;

	for (; size; size -= n, at += n) {
		n = PAGE - at % PAGE;
		if (n > size)
			n = size;
		if (memcmp(image->bytes + at, from ? from : zeros, n) != 0) {
			memcpy(image->bytes + at, from ? from : zeros, n);
			page_changed(image, at / PAGE);
		}
		if (from)
			from += n;
	}
}

uint64_t ttm_image_layout(const struct ttm_image *image)
{
	return image->layout;
}

size_t ttm_image_size(const struct ttm_image *image)
{
	return image->size;
}

void ttm_image_tables(const struct ttm_image *image,
	struct ttm_table ret_tables[TTM_TABLES_MAX])
{
	unsigned id;

	memset(ret_tables, 0, TTM_TABLES_MAX * sizeof(ret_tables[0]));
	for (id = 1; id < TTM_TABLES; id++)
		ret_tables[id - 1] = (struct ttm_table){
			.id = id,
			.stride = kinds[id].stride,
			.off = image->tables[id].off,
			.len = image->tables[id].len,
			.capacity = image->tables[id].capacity,
		};
}

void ttm_image_tables_within(const struct ttm_image *image,
	const struct ttm_table within[TTM_TABLES_MAX],
	struct ttm_table ret_tables[TTM_TABLES_MAX])
{
	unsigned i;

	for (i = 0; i < TTM_TABLES_MAX; i++) {
		ret_tables[i] = within[i];
		if (!within[i].id)
			continue;
		ret_tables[i].len = image->tables[within[i].id].len;
		if (ret_tables[i].len > within[i].capacity)
			ret_tables[i].len = within[i].capacity;
	}
}

static uint64_t self_at(
	const struct ttm_image *image, enum ttm_table_id id, size_t index)
{
	const void *row = ttm_image_at(image, id, index);
	uint64_t self = 0;

	if (row)
		memcpy(&self, row, sizeof(self));
	return self;
}

static uint64_t rows_beyond(
	const struct ttm_image *image, const struct ttm_table *within)
{
	uint64_t beyond = 0, row;

	for (row = within->capacity; row < ttm_image_len(image, within->id);
		row++)
		beyond += self_at(image, within->id, row) != 0;
	return beyond;
}

uint64_t ttm_image_beyond(const struct ttm_image *image,
	const struct ttm_table within[TTM_TABLES_MAX])
{
	uint64_t beyond = 0;
	unsigned i;

	for (i = 0; i < TTM_TABLES_MAX; i++)
		beyond += rows_beyond(image, &within[i]);
	return beyond;
}

uint64_t ttm_image_first(const struct ttm_image *image, enum ttm_table_id id)
{
	return self_at(image, id, 0);
}

void ttm_image_forget(struct ttm_image *image)
{
	size_t page, end;
	unsigned id;

	for (id = 1; id < TTM_TABLES; id++) {
		const struct table *table = &image->tables[id];

		/* Rows that were never used are zero already. */
		end = table->off + (size_t)table->len * kinds[id].stride;
		for (page = table->off / PAGE; table->len && page * PAGE < end;
			page++)
			page_changed(image, page);
	}
}

const void *ttm_image_take(struct ttm_image *image, unsigned copy, size_t *off)
{
	uint64_t *lacks = image->lacks[copy];
	size_t i, len = lacks_len(image->size), page;

	for (i = *off / PAGE / 64; i < len; i++) {
		if (!lacks[i])
			continue;
		page = i * 64 + (size_t)__builtin_ctzll(lacks[i]);
		lacks[i] &= lacks[i] - 1;
		*off = page * PAGE;
		return image->bytes + *off;
	}
	return NULL;
}

/* -- rows -------------------------------------------------------------------- */

static bool table_is(unsigned id)
{
	return id > 0 && id < TTM_TABLES;
}

/* Where the row begins; false if the reference is stale. */
static bool row_find(const struct ttm_image *image, unsigned id, uint64_t ref,
	size_t *ret_off)
{
	uint32_t index = TTM_REF_INDEX(ref);
	uint64_t self;

	if (!table_is(id) || ref == 0 || index >= image->tables[id].len)
		return false;
	*ret_off = image->tables[id].off + (size_t)index * kinds[id].stride;
	memcpy(&self, image->bytes + *ret_off, sizeof(self));
	return self == ref;
}

uint64_t ttm_image_add(struct ttm_image *image, enum ttm_table_id id)
{
	struct table *table;
	uint32_t index;
	uint64_t self;

	if (!table_is(id))
		return 0;
	table = &image->tables[id];
	if (table->vacant == NONE && table->len == table->capacity &&
		table_grow(image, id) < 0)
		return 0;
	index = table->vacant;
	if (index == NONE) {
		index = table->len++;
		table->places[index].serial = 0;
	} else {
		table->vacant = table->places[index].next;
	}
	if (++table->places[index].serial == 0)
		table->places[index].serial = 1;
	self = TTM_REF(table->places[index].serial, index);
	bytes_set(image, table->off + (size_t)index * kinds[id].stride,
		(const char *)&self, sizeof(self));
	return self;
}

void ttm_image_remove(
	struct ttm_image *image, enum ttm_table_id id, uint64_t ref)
{
	uint32_t index = TTM_REF_INDEX(ref);
	struct table *table;
	size_t off;

	if (!row_find(image, id, ref, &off))
		return;
	table = &image->tables[id];
	bytes_set(image, off, NULL, kinds[id].stride);
	table->places[index].next = table->vacant;
	table->vacant = index;
}

void ttm_image_set_part(struct ttm_image *image, enum ttm_table_id id,
	uint64_t ref, size_t off, const void *part, size_t size)
{
	const char *bytes = part;
	size_t row, self = sizeof(uint64_t);

	if (!row_find(image, id, ref, &row) || off > kinds[id].stride ||
		size > kinds[id].stride - off)
		return;
	/* `self` stays. */
	self = off < self ? self - off : 0;
	if (size > self)
		bytes_set(image, row + off + self, bytes + self, size - self);
}

void ttm_image_set(struct ttm_image *image, enum ttm_table_id id, uint64_t ref,
	const void *row)
{
	if (table_is(id))
		ttm_image_set_part(image, id, ref, 0, row, kinds[id].stride);
}

const void *ttm_image_row(
	const struct ttm_image *image, enum ttm_table_id id, uint64_t ref)
{
	size_t off;

	return row_find(image, id, ref, &off) ? image->bytes + off : NULL;
}

size_t ttm_image_len(const struct ttm_image *image, enum ttm_table_id id)
{
	return table_is(id) ? image->tables[id].len : 0;
}

const void *ttm_image_at(
	const struct ttm_image *image, enum ttm_table_id id, size_t index)
{
	if (index >= ttm_image_len(image, id))
		return NULL;
	return image->bytes + image->tables[id].off + index * kinds[id].stride;
}
