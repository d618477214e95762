/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
#include "daemon/follow/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/atomics.h"

static const uint32_t ordinals_max[] = {
	[TTM_EXTENT_LANE] = TTM_LANES_MAX,
	[TTM_EXTENT_SLOTS] = TTM_EXTENTS_MAX,
	[TTM_EXTENT_BLOCKS] = TTM_EXTENTS_MAX,
	[TTM_EXTENT_NAMES] = (TTM_NAMES_MAX + TTM_NAMES_PER_EXTENT) /
		TTM_NAMES_PER_EXTENT,
	[TTM_EXTENT_CORE_SETS] = (TTM_CORE_SETS_MAX + TTM_CORE_SETS_PER_EXTENT -
					 1) /
		TTM_CORE_SETS_PER_EXTENT,
};

void ttm_source_init(struct ttm_source *source, int fd,
	const struct ttm_header_const *header)
{
	memset(source, 0, sizeof(*source));
	source->fd = fd;
	source->extents_max = header->extents_max;
}

void ttm_source_free(struct ttm_source *source)
{
	unsigned type;

	for (type = 0; type <= TTM_EXTENT_CORE_SETS; type++) {
		free(source->maps[type].extents);
		source->maps[type].extents = NULL;
		source->maps[type].len = 0;
	}
}

int ttm_source_fault(struct ttm_source *source, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(source->reason, sizeof(source->reason), format, arguments);
	va_end(arguments);
	return -EPROTO;
}

static bool file_has(const struct ttm_source *source, uint64_t off)
{
	struct stat st;

	return fstat(source->fd, &st) == 0 && (uint64_t)st.st_size > off;
}

/*
 * An extent of which the file has the beginning has zeros for the rest: its owner has
 * cut the file there, or is making it. `end` is the end of that extent, else 0.
 */
static int source_read_until(struct ttm_source *source, uint64_t off,
	void *ret_bytes, size_t size, uint64_t end)
{
	char *at = ret_bytes;
	ssize_t n;

	while (size) {
		n = pread(source->fd, at, size, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0 && end && file_has(source, end - TTM_EXTENT_SIZE)) {
			memset(at, 0, size);
			return 0;
		}
		if (n == 0)
			return ttm_source_fault(source,
				"the file ends before offset 0x%" PRIx64,
				off + size);
		at += n;
		off += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int source_read(
	struct ttm_source *source, uint64_t off, void *ret_bytes, size_t size)
{
	return source_read_until(source, off, ret_bytes, size, 0);
}

/* Reads from `off` on, relative to the beginning of an extent. */
static int extent_read(struct ttm_source *source, uint64_t extent, uint64_t off,
	void *ret_bytes, size_t size)
{
	return source_read_until(source, extent + off, ret_bytes, size,
		extent + TTM_EXTENT_SIZE);
}

static int count_check(struct ttm_source *source, const char *what,
	uint64_t count, uint64_t most)
{
	if (count <= most)
		return 0;
	return ttm_source_fault(source,
		"it claims %" PRIu64 " %s, %" PRIu64 " are possible", count,
		what, most);
}

int ttm_source_live(struct ttm_source *source, struct ttm_header_live *ret_live)
{
	struct ttm_header_live live;
	int r;

	memset(&live, 0, sizeof(live));
	r = source_read(source, offsetof(struct ttm_header, live), &live,
		offsetof(struct ttm_header_live, reserved1));
	if (!r && live.state != TTM_SEGMENT_RUNNING &&
		live.state != TTM_SEGMENT_ENDED)
		r = ttm_source_fault(source,
			"its state is %" PRIu64 ", which is none", live.state);
	if (!r)
		r = count_check(source, "extents", live.extents_high,
			source->extents_max);
	if (!r)
		r = count_check(source, "lanes", live.lanes_len, TTM_LANES_MAX);
	if (!r)
		r = count_check(
			source, "devices", live.devices_len, TTM_DEVICES_MAX);
	if (!r)
		r = count_check(source, "counter blocks", live.blocks_len,
			(uint64_t)TTM_EXTENTS_MAX * TTM_BLOCKS_PER_EXTENT);
	if (!r)
		r = count_check(
			source, "places", live.places_len, TTM_PLACES_MAX);
	if (r)
		return r;
	/* A thread that finds no room has still taken a number. */
	if (live.names_len > TTM_NAMES_MAX)
		live.names_len = TTM_NAMES_MAX;
	if (live.core_sets_len > TTM_CORE_SETS_MAX)
		live.core_sets_len = TTM_CORE_SETS_MAX;
	*ret_live = live;
	return 0;
}

static int map_set(struct ttm_source *source, uint32_t word, uint32_t extent)
{
	uint32_t type = TTM_EXTENT_TYPE(word), at = TTM_EXTENT_ORDINAL(word);
	struct ttm_extent_map *map;

	if (type == TTM_EXTENT_UNUSED || type == TTM_EXTENT_CLAIMED)
		return 0;
	if (type > TTM_EXTENT_CORE_SETS || at >= ordinals_max[type])
		return ttm_source_fault(source,
			"extent %" PRIu32
			" has the impossible word 0x%08" PRIx32,
			extent, word);
	map = &source->maps[type];
	if (at >= map->len) {
		uint32_t len = at + 8, *extents;

		extents = realloc(map->extents, len * sizeof(*extents));
		if (!extents)
			return -ENOMEM;
		memset(extents + map->len, 0,
			(len - map->len) * sizeof(*extents));
		map->extents = extents;
		map->len = len;
	}
	if (map->extents[at])
		return ttm_source_fault(source,
			"extents %" PRIu32 " and %" PRIu32
			" claim to be the same",
			map->extents[at] - 1, extent);
	map->extents[at] = extent + 1;
	return 0;
}

/*
 * Slots are handed out run by run, each of which has an extent, or had one that
 * was given back: what the mirror takes follows from what the file has. The words
 * are read anew for it, all of them: an extent was claimed before the run behind
 * it was handed out, but maybe while the reader was between the two.
 */
static int chunks_check(struct ttm_source *source, uint32_t chunks)
{
	uint32_t words[TTM_EXTENTS_MAX], i, used = 0, there = 0;
	struct stat st;
	int r = source_read(source, TTM_DIRECTORY_OFF, words,
		source->extents_max * sizeof(words[0]));

	if (r)
		return r;
	if (fstat(source->fd, &st) < 0)
		return -errno;
	if (st.st_size > (off_t)TTM_EXTENTS_OFF)
		there = (uint32_t)(((uint64_t)st.st_size - TTM_EXTENTS_OFF +
					   TTM_EXTENT_SIZE - 1) /
			TTM_EXTENT_SIZE);
	for (i = 0; i < source->extents_max && i < there; i++)
		used += TTM_EXTENT_TYPE(words[i]) != TTM_EXTENT_UNUSED;
	if (chunks <= used)
		return 0;
	return ttm_source_fault(source,
		"it has %" PRIu32 " extents, and slots for %" PRIu32, used,
		chunks);
}

int ttm_source_extents(struct ttm_source *source, uint64_t extents_high)
{
	uint32_t words[TTM_EXTENTS_MAX], i;
	unsigned type;
	int r;

	if (extents_high > source->extents_max)
		return count_check(
			source, "extents", extents_high, source->extents_max);
	r = source_read(source, TTM_DIRECTORY_OFF, words,
		extents_high * sizeof(words[0]));
	if (r)
		return r;
	/* pairs(extent): acquire, with ttm_extent_enter: whatever is read of an
	 * extent from now on is at least its zeros. */
	ttm_fence_acquire();
	for (type = 0; type <= TTM_EXTENT_CORE_SETS; type++)
		if (source->maps[type].extents)
			memset(source->maps[type].extents, 0,
				source->maps[type].len * sizeof(uint32_t));
	for (i = 0; i < extents_high && !r; i++)
		r = map_set(source, words[i], i);
	/* Looked at once for each number of them: seldom. */
	if (r || ttm_source_chunks(source) <= source->chunks_checked)
		return r;
	r = chunks_check(source, ttm_source_chunks(source));
	if (!r)
		source->chunks_checked = ttm_source_chunks(source);
	return r;
}

/* 0: not there. */
static uint64_t extent_off(const struct ttm_source *source,
	enum ttm_extent_type type, uint32_t ordinal)
{
	const struct ttm_extent_map *map = &source->maps[type];

	if (ordinal >= map->len || !map->extents[ordinal])
		return 0;
	return TTM_EXTENTS_OFF +
		(uint64_t)(map->extents[ordinal] - 1) * TTM_EXTENT_SIZE;
}

/*
 * Where the next bytes that are not a hole begin, from `at` on, at most `end`; *ret_len
 * is how many there are. A file that costs its owner nothing must not cost the time
 * to read it.
 */
static uint64_t data_find(const struct ttm_source *source, uint64_t at,
	uint64_t end, uint64_t *ret_len)
{
	off_t begin = lseek(source->fd, (off_t)at, SEEK_DATA), hole;

	*ret_len = 0;
	if (begin < 0 && errno == ENXIO) /* none up to the end of the file */
		return end;
	if (begin < 0) /* the filesystem cannot tell */
		begin = (off_t)at;
	if ((uint64_t)begin >= end)
		return end;
	hole = lseek(source->fd, begin, SEEK_HOLE);
	if (hole <= begin || (uint64_t)hole > end)
		hole = (off_t)end;
	*ret_len = (uint64_t)(hole - begin);
	return (uint64_t)begin;
}

/* Reads the beginning of an extent, but no holes. */
static int extent_read_data(struct ttm_source *source, uint64_t extent,
	void *ret_bytes, size_t size)
{
	uint64_t end = extent + size, at, len;
	char *bytes = ret_bytes;
	int r = 0;

	memset(bytes, 0, size);
	/* Whether the file has the extent at all is found out by a read. */
	if (!file_has(source, extent))
		return extent_read(source, extent, 0, bytes, 1);
	for (at = extent; at < end && !r; at += len) {
		at = data_find(source, at, end, &len);
		r = extent_read(source, extent, at - extent,
			bytes + (at - extent), len);
	}
	return r;
}

int ttm_source_controls(struct ttm_source *source, uint32_t first, uint32_t len,
	struct ttm_lane_control *ret_controls)
{
	if (first > TTM_LANES_MAX || len > TTM_LANES_MAX - first)
		return count_check(
			source, "lanes", (uint64_t)first + len, TTM_LANES_MAX);
	return source_read(source,
		TTM_LANES_OFF + first * sizeof(*ret_controls), ret_controls,
		len * sizeof(*ret_controls));
}

bool ttm_source_has_lane(const struct ttm_source *source, uint32_t lane)
{
	return extent_off(source, TTM_EXTENT_LANE, lane) != 0;
}

int ttm_source_records(struct ttm_source *source, uint32_t lane, uint64_t first,
	uint32_t len, struct ttm_words *ret_records)
{
	uint64_t off = extent_off(source, TTM_EXTENT_LANE, lane);
	uint32_t at = (uint32_t)(first % TTM_LANE_RECORDS);
	uint32_t straight = TTM_LANE_RECORDS - at;
	int r;

	if (!off)
		return -ENOENT;
	if (straight > len)
		straight = len;
	r = extent_read(source, off, at * sizeof(*ret_records), ret_records,
		straight * sizeof(*ret_records));
	if (!r && len > straight)
		r = extent_read(source, off, 0, ret_records + straight,
			(len - straight) * sizeof(*ret_records));
	return r;
}

int ttm_source_slots(
	struct ttm_source *source, uint32_t chunk, struct ttm_words *ret_slots)
{
	uint64_t off = extent_off(source, TTM_EXTENT_SLOTS, chunk);

	if (!off)
		return -ENOENT;
	return extent_read_data(source, off, ret_slots, TTM_EXTENT_SIZE);
}

uint32_t ttm_source_chunks(const struct ttm_source *source)
{
	const struct ttm_extent_map *map = &source->maps[TTM_EXTENT_SLOTS];
	uint32_t len = map->len;

	while (len && !map->extents[len - 1])
		len--;
	return len;
}

int ttm_source_devices(
	struct ttm_source *source, uint32_t len, struct ttm_device *ret_devices)
{
	return source_read(source, TTM_DEVICES_OFF, ret_devices,
		len * sizeof(*ret_devices));
}

int ttm_source_blocks(struct ttm_source *source, uint32_t extent,
	struct ttm_block_device *ret_blocks, uint32_t len)
{
	uint64_t off = extent_off(source, TTM_EXTENT_BLOCKS, extent);

	if (!off)
		return -ENOENT;
	return extent_read_data(
		source, off, ret_blocks, len * sizeof(*ret_blocks));
}

int ttm_source_places(struct ttm_source *source, uint32_t first, uint32_t len,
	uint64_t *ret_members)
{
	return source_read(source,
		TTM_PLACES_OFF + first * sizeof(*ret_members), ret_members,
		len * sizeof(*ret_members));
}

int ttm_source_core_set(struct ttm_source *source, uint32_t number,
	struct ttm_core_set *ret_core_set)
{
	uint32_t cores = 0, row;
	uint64_t off;
	int r;

	if (!number)
		return -ENOENT;
	off = extent_off(source, TTM_EXTENT_CORE_SETS,
		(number - 1) / TTM_CORE_SETS_PER_EXTENT);
	if (!off)
		return -ENOENT;
	r = extent_read(source, off,
		(number - 1) % TTM_CORE_SETS_PER_EXTENT * sizeof(*ret_core_set),
		ret_core_set, sizeof(*ret_core_set));
	if (r)
		return r;
	if (!ret_core_set->cores)
		return -ENOENT;
	for (row = 0; row < TTM_CORE_ROWS; row++)
		cores += (uint32_t)__builtin_popcount(ret_core_set->rows[row]);
	if (cores != ret_core_set->cores)
		return ttm_source_fault(source,
			"core set %" PRIu32 " claims %" PRIu32
			" cores, and has %" PRIu32,
			number, ret_core_set->cores, cores);
	return 0;
}

/* A scope was there before the scopes inside it: parents make no circle. */
static bool name_word_is_sane(uint32_t id, uint64_t word)
{
	uint64_t parent = TTM_NAME_PARENT(word), length = TTM_NAME_LENGTH(word);

	return length && length <= TTM_NAME_SIZE && parent < id &&
		(word & ~TTM_NAME_TRUNCATED) == (parent << 40 | length);
}

int ttm_source_name(
	struct ttm_source *source, uint32_t id, struct ttm_name *ret_name)
{
	struct ttm_name name;
	uint64_t off;
	int r;

	off = extent_off(
		source, TTM_EXTENT_NAMES, (id - 1) / TTM_NAMES_PER_EXTENT);
	if (!id || !off)
		return -ENOENT;
	r = extent_read(source, off,
		(id - 1) % TTM_NAMES_PER_EXTENT * sizeof(name), &name,
		sizeof(name));
	if (r)
		return r;
	if (!name.length)
		return -ENOENT;
	if (!name_word_is_sane(id, name.length))
		return ttm_source_fault(source,
			"name %" PRIu32 " has the impossible word 0x%" PRIx64,
			id, name.length);
	*ret_name = name;
	return 0;
}

int ttm_source_failures(struct ttm_source *source,
	struct ttm_failure ret_failures[TTM_FAILURES_KEPT])
{
	return source_read(source, TTM_FAILURES_OFF, ret_failures,
		TTM_FAILURES_KEPT * sizeof(*ret_failures));
}

int ttm_source_marks(
	struct ttm_source *source, struct ttm_mark ret_marks[TTM_MARKS_KEPT])
{
	return source_read(source, TTM_MARKS_OFF, ret_marks,
		TTM_MARKS_KEPT * sizeof(*ret_marks));
}
