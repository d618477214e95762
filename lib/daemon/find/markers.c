/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * Markers: empty files whose names tell of a process that could not be tracked,
 * "u.PID.START.ERRNO.RUNID". They stay until ttmem-dump clean removes them.
 */
#include "daemon/find/watch_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ERRNO_MAX 4095u

/* -- names -------------------------------------------------------------------- */

/* A number as the library writes it: no sign, no zeros in front. */
static bool number_parse(const char **at, uint64_t max, uint64_t *ret_number)
{
	const char *digits = *at;
	uint64_t number = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++) {
		uint64_t digit = (uint64_t)(**at - '0');

		if (number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	if (*at == digits || (*digits == '0' && *at - digits > 1))
		return false;
	*ret_number = number;
	return true;
}

static bool field_parse(const char **at, uint64_t max, uint64_t *ret_number)
{
	return number_parse(at, max, ret_number) && *(*at)++ == '.';
}

static int digit_parse(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool run_id_parse(const char *at, uint8_t ret_id[16])
{
	size_t i;
	int high, low;

	for (i = 0; *at && i < 16; i++, at += 2) {
		high = digit_parse(at[0]);
		low = high < 0 ? -1 : digit_parse(at[1]);
		if (low < 0)
			return false;
		ret_id[i] = (uint8_t)(high << 4 | low);
	}
	return *at == '\0';
}

bool ttm_marker_parse(const char *name, struct ttm_marker *ret_marker)
{
	struct ttm_marker marker;
	uint64_t pid, error;
	const char *at = name + strlen(TTM_MARKER_PREFIX);

	memset(&marker, 0, sizeof(marker));
	if (strncmp(name, TTM_MARKER_PREFIX, strlen(TTM_MARKER_PREFIX)) != 0 ||
		!field_parse(&at, INT32_MAX, &pid) || pid == 0 ||
		!field_parse(&at, UINT64_MAX, &marker.start_time) ||
		!field_parse(&at, ERRNO_MAX, &error) || error == 0 ||
		!run_id_parse(at, marker.run_id))
		return false;
	marker.pid = (uint32_t)pid;
	marker.error = (uint32_t)error;
	*ret_marker = marker;
	return true;
}

/* -- who still runs ----------------------------------------------------------- */

/*
 * As ttmemd's own pid namespace has it: the name does not tell another one. 1, 0 or
 * unknown.
 */
static uint64_t marker_alive(const struct ttm_marker *marker)
{
	uint64_t start = ttm_proc_start_time(marker->pid);

	if (start == 0)
		return ttm_proc_is_gone(marker->pid) ? 0 : TTMEM_UNKNOWN;
	if (marker->start_time == 0)
		return TTMEM_UNKNOWN;
	return start == marker->start_time;
}

/* Up to `alive`, which is found out. */
static int marker_compare(const void *a, const void *b)
{
	const struct ttm_marker *one = a, *other = b;

	if (one->directory != other->directory)
		return (uintptr_t)one->directory < (uintptr_t)other->directory ?
			-1 :
			1;
	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	if (one->start_time != other->start_time)
		return one->start_time < other->start_time ? -1 : 1;
	if (one->error != other->error)
		return one->error < other->error ? -1 : 1;
	return memcmp(one->run_id, other->run_id, sizeof(one->run_id));
}

/* Who has ended once is not looked for again: there may be many of them. */
static void markers_find_alive(
	struct ttm_markers *markers, const struct ttm_markers *before)
{
	const struct ttm_marker *old;
	size_t i;

	for (i = 0; i < markers->len; i++) {
		old = before ?
			bsearch(&markers->markers[i], before->markers,
				before->len, sizeof(*old), marker_compare) :
			NULL;
		markers->markers[i].alive = old && old->alive == 0 ?
			0 :
			marker_alive(&markers->markers[i]);
	}
}

/* -- collecting --------------------------------------------------------------- */

void ttm_markers_begin(struct ttm_watch *watch)
{
	watch->markers = calloc(1,
		sizeof(*watch->markers) +
			TTM_MARKERS_MAX * sizeof(struct ttm_marker));
	watch->markers_before = 0;
}

/* So that one directory full of them does not hide the others'. */
static bool markers_have_room(
	struct ttm_watch *watch, const struct ttm_directory *directory)
{
	const struct ttm_markers *markers = watch->markers;

	if (!markers || markers->len == TTM_MARKERS_MAX)
		return false;
	if (markers->len > 0 &&
		markers->markers[markers->len - 1].directory != directory)
		watch->markers_before = markers->len;
	return markers->len - watch->markers_before < TTM_MARKERS_PER_DIRECTORY;
}

void ttm_markers_offer(struct ttm_watch *watch, struct ttm_directory *directory,
	const char *name)
{
	struct ttm_marker marker;

	if (!markers_have_room(watch, directory) ||
		!ttm_marker_parse(name, &marker))
		return;
	marker.directory = directory;
	watch->markers->markers[watch->markers->len++] = marker;
}

void ttm_markers_keep(
	struct ttm_watch *watch, const struct ttm_directory *directory)
{
	const struct ttm_markers *before;
	size_t i;

	rcu_read_lock();
	before = ttm_registry_markers(watch->registry);
	for (i = 0; before && i < before->len; i++)
		if (before->markers[i].directory == directory &&
			markers_have_room(watch, directory))
			watch->markers->markers
				[watch->markers->len++] = before->markers[i];
	rcu_read_unlock();
}

static bool markers_are_equal(
	const struct ttm_markers *markers, const struct ttm_markers *before)
{
	size_t i, before_len = before ? before->len : 0;

	if (markers->len != before_len)
		return false;
	for (i = 0; i < markers->len; i++)
		if (marker_compare(&markers->markers[i], &before->markers[i]) ||
			markers->markers[i].alive != before->markers[i].alive)
			return false;
	return true;
}

void ttm_markers_end(struct ttm_watch *watch)
{
	struct ttm_markers *markers = watch->markers;
	const struct ttm_markers *before;
	bool equal;

	watch->markers = NULL;
	if (!markers) {
		/* No memory; and the old ones may be of directories that go. */
		ttm_registry_set_markers(watch->registry, NULL);
		return;
	}
	qsort(markers->markers, markers->len, sizeof(markers->markers[0]),
		marker_compare);
	rcu_read_lock();
	before = ttm_registry_markers(watch->registry);
	markers_find_alive(markers, before);
	equal = markers_are_equal(markers, before);
	rcu_read_unlock();
	if (equal) {
		free(markers);
		return;
	}
	markers->number = ++watch->markers_number;
	ttm_registry_set_markers(watch->registry, markers);
	watch->changed = true;
}
