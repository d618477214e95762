/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publications that tell on themselves: everything in publication n says n, every
 * object's words follow from its size, and the copy carries what the objects add up
 * to. A torn copy, a torn row, or rows of another moment do not pass.
 */
#ifndef TEST_PUBLISH_STORY_H
#define TEST_PUBLISH_STORY_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/aggregate_reader.h"
#include "daemon/publish/publish.h"

enum {
	STORY_OBJECTS_MAX = 6000,
	STORY_NAMES_MAX = 900,
	STORY_HISTORY_SIZE = 64 + 300 * 128,
};

struct story {
	struct ttm_publisher *publisher;
	struct ttm_image *image;
	uint64_t publication; /* the last one */
	uint64_t health;
	uint64_t history; /* a row of several pages */
	uint64_t names[STORY_NAMES_MAX];
	unsigned names_len;
	ttm_object_ref objects[STORY_OBJECTS_MAX];
	uint64_t sizes[STORY_OBJECTS_MAX];
	unsigned objects_len;
	uint64_t draws;
};

static inline uint64_t story_draw(struct story *story)
{
	uint64_t x = story->draws;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return story->draws = x;
}

static inline int story_begin(
	struct story *story, int directory, uint64_t publication, uint64_t seed)
{
	struct ttm_publisher_config config = {
		.directory_fd = directory,
		.file_mode = 0644,
		.group = (uint32_t)-1,
		.mode = TTM_MODE_USER,
		.publication_base = publication,
	};

	memset(story, 0, sizeof(*story));
	story->publication = publication;
	story->draws = seed * 0x9e3779b97f4a7c15ull + 1;
	if (ttm_publisher_new(&config, &story->publisher) < 0 ||
		ttm_image_new(&story->image) < 0)
		abort();
	story->health = ttm_image_add(story->image, TTM_TABLE_HEALTH);
	story->history = ttm_image_add(story->image, TTM_TABLE_HISTORY_1S);
	return 0;
}

static inline void story_end(struct story *story)
{
	ttm_publisher_free(&story->publisher);
	ttm_image_free(&story->image);
}

static inline void story_names(struct story *story, unsigned len)
{
	while (story->names_len < len && story->names_len < STORY_NAMES_MAX)
		story->names[story->names_len++] = ttm_image_add(
			story->image, TTM_TABLE_NAMES);
	while (story->names_len > len)
		ttm_image_remove(story->image, TTM_TABLE_NAMES,
			story->names[--story->names_len]);
}

static inline void story_object_add(struct story *story)
{
	uint64_t size = story_draw(story) >> 40 | 1;
	struct ttm_object_row row = {
		.process = size * 2,
		.members = size * 10,
		.w1 = size * 3,
		.id = size * 4,
		.address = size * 5,
		.w4 = size,
		.w5 = size * 6,
		.allocated_ns = size * 7,
		.scope = size * 8,
		.w7 = size * 9,
	};

	if (story->objects_len == STORY_OBJECTS_MAX)
		return;
	story->sizes[story->objects_len] = size;
	story->objects[story->objects_len] = ttm_objects_add(
		story->publisher, &row);
	if (!story->objects[story->objects_len++])
		abort();
}

static inline void story_object_remove(struct story *story)
{
	unsigned i;

	if (!story->objects_len)
		return;
	i = (unsigned)(story_draw(story) % story->objects_len);
	ttm_objects_remove(story->publisher, story->objects[i]);
	story->objects_len--;
	story->objects[i] = story->objects[story->objects_len];
	story->sizes[i] = story->sizes[story->objects_len];
}

static inline void story_objects(struct story *story, unsigned len)
{
	while (story->objects_len < len)
		story_object_add(story);
	while (story->objects_len > len)
		story_object_remove(story);
}

/* Everything says n = the next publication, and that is made. */
static inline int story_publish(struct story *story)
{
	static uint64_t history[STORY_HISTORY_SIZE / 8];
	struct ttm_health_row health = { 0 };
	struct ttm_name_row name;
	uint64_t n = story->publication + 1, *words;
	size_t i;
	int r;

	health.rounds = n;
	health.missed = story->names_len;
	health.scans = story->objects_len;
	for (i = 0; i < story->objects_len; i++)
		health.events += story->sizes[i];
	ttm_image_set(story->image, TTM_TABLE_HEALTH, story->health, &health);
	for (i = 0; i < STORY_HISTORY_SIZE / 8; i++)
		history[i] = n;
	ttm_image_set(
		story->image, TTM_TABLE_HISTORY_1S, story->history, history);
	words = (uint64_t *)&name;
	for (i = 0; i < sizeof(name) / 8; i++)
		words[i] = n;
	for (i = 0; i < story->names_len; i++)
		ttm_image_set(
			story->image, TTM_TABLE_NAMES, story->names[i], &name);
	r = ttm_publish(story->publisher, story->image);
	/* Without room it is one, too, of what fits into the file there is. */
	if (r == 0 || (r == -ENOSPC && story->publication))
		story->publication = n;
	return r;
}

/* -- what a reader has to find ------------------------------------------------ */

static inline const char *story_rows_fault(
	const uint8_t *rows, uint64_t len, uint64_t stride, uint64_t n)
{
	uint64_t i, w;

	for (i = 0; i < len; i++)
		for (w = 8; w < stride; w += 8)
			if (reader_word(rows, i * stride) &&
				reader_word(rows, i * stride + w) != n)
				return "a word of another publication";
	return NULL;
}

static inline const char *story_copy_fault(
	const struct reader *r, const struct snapshot *s)
{
	uint64_t len, stride, used = 0, i;
	const uint8_t *health, *rows;
	const char *why;

	health = snapshot_table(r, s, 1, &len, &stride);
	if (!health || len != 1 || stride != 176)
		return "no health";
	if (reader_word(health, 0x08) != s->publication)
		return "health of another publication";
	rows = snapshot_table(r, s, 11, &len, &stride);
	if (!rows || len != 1 || stride != STORY_HISTORY_SIZE)
		return "no history";
	why = story_rows_fault(rows, len, stride, s->publication);
	if (why)
		return why;
	rows = snapshot_table(r, s, 6, &len, &stride);
	if (!rows || stride != 152)
		return "no names";
	for (i = 0; i < len; i++)
		used += reader_word(rows, i * stride) != 0;
	if (used + reader_word(health, 0xa0) != reader_word(health, 0x18))
		return "names are missing";
	return story_rows_fault(rows, len, stride, s->publication);
}

static inline const char *story_objects_fault(
	const struct reader *r, const struct snapshot *s)
{
	uint64_t len, stride, i, w, used = 0, sum = 0, size;
	const uint8_t *health = snapshot_table(r, s, 1, &len, &stride);
	static const uint8_t times[] = { 0, 2, 10, 3, 4, 5, 1, 6, 7, 8, 9 };

	for (i = 0; i < s->objects_len; i++) {
		const uint64_t *row = &s->rows[i * READER_ROW_WORDS];

		if (s->consistent && row[0] % 2)
			return "an odd row in a cut";
		size = row[6];
		for (w = 1; w < READER_ROW_WORDS; w++)
			if (row[w] != size * times[w])
				return "a torn row";
		used += row[1] != 0;
		sum += size;
	}
	if (!s->consistent)
		return NULL;
	if (used != s->objects_used ||
		used + reader_word(health, 0xa8) != reader_word(health, 0x20))
		return "not so many objects";
	if (reader_word(health, 0xa8))
		return sum < reader_word(health, 0x10) ? NULL : "a larger sum";
	return sum == reader_word(health, 0x10) ? NULL : "another sum";
}

#endif
