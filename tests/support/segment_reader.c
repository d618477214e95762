/* SPDX-License-Identifier: Apache-2.0 */
#include "support/segment_parse.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int segment_refuse(
	const struct segment_reading *r, uint64_t off, const char *format, ...)
{
	va_list ap;
	int len;

	if (!r->why_size)
		return -EPROTO;
	len = snprintf(r->why, r->why_size, "0x%" PRIx64 ": ", off);
	va_start(ap, format);
	if (len > 0 && (size_t)len < r->why_size)
		vsnprintf(r->why + len, r->why_size - (size_t)len, format, ap);
	va_end(ap);
	return -EPROTO;
}

uint64_t segment_get64(const struct segment *s, uint64_t off)
{
	uint64_t value;

	memcpy(&value, s->bytes + off, sizeof(value));
	return le64toh(value);
}

uint32_t segment_get32(const struct segment *s, uint64_t off)
{
	uint32_t value;

	memcpy(&value, s->bytes + off, sizeof(value));
	return le32toh(value);
}

/* All bytes are zero if the first is and each is the same as the next. */
bool segment_is_zero(const struct segment *s, uint64_t off, uint64_t size)
{
	const uint8_t *bytes = s->bytes + off;

	return size == 0 ||
		(bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

int segment_expect_zero(const struct segment_reading *r, uint64_t from,
	uint64_t to, const char *what)
{
	if (segment_is_zero(r->s, from, to - from))
		return 0;
	while (!r->s->bytes[from])
		from++;
	return segment_refuse(r, from, "%s is not zero", what);
}

void *segment_array(size_t len, size_t size)
{
	void *array = calloc(len ? len : 1, size);

	if (!array)
		abort();
	return array;
}

static int segment_parse(const struct segment_reading *r)
{
	static int (*const steps[])(const struct segment_reading *r) = {
		segment_parse_header,
		segment_parse_directory,
		segment_parse_devices,
		segment_parse_places,
		segment_parse_names,
		segment_parse_core_sets,
		segment_parse_slots,
		segment_parse_lanes,
		segment_parse_blocks,
		segment_parse_totals,
		segment_parse_failures,
		segment_parse_marks,
	};
	size_t i;
	int err;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		err = steps[i](r);
		if (err)
			return err;
	}
	return 0;
}

static int segment_copy(struct segment *s, int fd)
{
	struct stat st;
	ssize_t got;
	size_t done = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	s->size = (size_t)st.st_size;
	s->allocated = (uint64_t)st.st_blocks * 512;
	/* The file may end inside its last extent: the rest of that is zeros. */
	s->bytes = segment_array(s->size + SEGMENT_EXTENT_SIZE, 1);
	while (done < s->size) {
		got = pread(fd, s->bytes + done, s->size - done, (off_t)done);
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	s->size = done;
	return 0;
}

int segment_read_fd(
	int fd, struct segment **ret_segment, char *why, size_t why_size)
{
	struct segment *s = segment_array(1, sizeof(*s));
	struct segment_reading r = { s, why, why_size };
	int err;

	err = segment_copy(s, fd);
	if (err && why_size)
		snprintf(why, why_size, "read: %s", strerror(-err));
	if (!err)
		err = segment_parse(&r);
	if (err)
		segment_unref(&s);
	else
		*ret_segment = s;
	return err;
}

int segment_read(const char *path, struct segment **ret_segment, char *why,
	size_t why_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int err;

	if (fd < 0) {
		err = -errno;
		if (why_size)
			snprintf(why, why_size, "%s: %s", path, strerror(-err));
		return err;
	}
	err = segment_read_fd(fd, ret_segment, why, why_size);
	close(fd);
	return err;
}

void segment_unref(struct segment **segment)
{
	struct segment *s = *segment;
	size_t i;

	*segment = NULL;
	if (!s)
		return;
	for (i = 0; s->lanes && i < s->lanes_len; i++)
		free(s->lanes[i].records);
	free(s->lanes);
	free(s->objects);
	free(s->names);
	free(s->core_sets);
	free(s->failures);
	free(s->marks);
	free(s->bytes);
	free(s);
}

int segment_entry(const struct segment *segment, uint32_t logical)
{
	int i;

	for (i = 0; i < SEGMENT_DEVICES; i++)
		if (segment->devices[i].current &&
			segment->devices[i].logical == logical)
			return i;
	return -1;
}

bool segment_slot(const struct segment *segment, uint32_t number,
	struct segment_words *ret_slot)
{
	uint64_t off;

	if (number / SEGMENT_SLOTS_PER_EXTENT >= 8192)
		return false;
	off = segment->slots_off[number / SEGMENT_SLOTS_PER_EXTENT];
	if (!off)
		return false;
	segment_words_read(segment,
		off + 64 * (number % SEGMENT_SLOTS_PER_EXTENT), ret_slot);
	return true;
}

const struct segment_words *segment_object(const struct segment *segment,
	int entry, unsigned figure, uint64_t id, uint64_t program)
{
	bool is_kernel = figure >= SEGMENT_FIGURE_KERNEL;
	const struct segment_words *orphan = NULL;
	size_t i;

	if (entry < 0 || entry >= SEGMENT_DEVICES)
		return NULL;
	for (i = 0; i < segment->objects_len; i++) {
		const struct segment_words *o = &segment->objects[i];

		if (!(o->members >> entry & 1) || o->id != id)
			continue;
		if (is_kernel ? o->figure < SEGMENT_FIGURE_KERNEL :
				o->figure != figure)
			continue;
		if (figure == SEGMENT_FIGURE_CB && o->program != program)
			continue;
		if (!(o->orphans >> entry & 1))
			return o;
		if (!orphan)
			orphan = o;
	}
	return orphan;
}

const char *segment_name(const struct segment *segment, uint32_t id)
{
	size_t i;

	if (!id)
		return "";
	for (i = 0; i < segment->names_len; i++)
		if (segment->names[i].id == id)
			return segment->names[i].text;
	return NULL;
}

uint32_t segment_name_parent(const struct segment *segment, uint32_t id)
{
	size_t i;

	for (i = 0; i < segment->names_len; i++)
		if (segment->names[i].id == id)
			return segment->names[i].parent;
	return 0;
}

const struct segment_core_set *segment_core_set(
	const struct segment *segment, uint32_t id)
{
	size_t i;

	/* Their order is that of the ids, and mostly none is missing. */
	if (id && id <= segment->core_sets_len &&
		segment->core_sets[id - 1].id == id)
		return &segment->core_sets[id - 1];
	for (i = 0; i < segment->core_sets_len; i++)
		if (segment->core_sets[i].id == id)
			return &segment->core_sets[i];
	return NULL;
}

unsigned segment_place(const struct segment *segment, uint64_t members)
{
	unsigned i;

	for (i = 1; i < segment->places_count; i++)
		if (segment->places[i] == members)
			return i;
	return 0;
}

size_t segment_records(const struct segment *segment, unsigned type)
{
	size_t found = 0;
	size_t i;
	size_t j;

	for (i = 0; i < segment->lanes_len; i++)
		for (j = 0; j < segment->lanes[i].records_len; j++)
			found += segment->lanes[i].records[j].type == type;
	return found;
}

const struct segment_lane *segment_lane(
	const struct segment *segment, uint32_t tid)
{
	size_t i;

	for (i = 0; i < segment->lanes_len; i++)
		if (segment->lanes[i].has_ring && segment->lanes[i].tid == tid)
			return &segment->lanes[i];
	return NULL;
}
