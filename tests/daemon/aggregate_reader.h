/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of the aggregate segment written from docs/aggregate.md alone: it includes
 * nothing of lib/, so that page and publisher are held against each other.
 */
#ifndef TEST_AGGREGATE_READER_H
#define TEST_AGGREGATE_READER_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READER_ROW 88u /* bytes of an object row */
#define READER_ROW_WORDS (READER_ROW / 8)

struct reader {
	int fd;
	uint64_t inode;
	uint64_t size;
	uint64_t copy_off[2];
	uint64_t copy_size;
	uint64_t objects_off;
	uint64_t objects_capacity;
	uint8_t header[2048];
	const char *why; /* what was wrong with it */
};

/* One publication; `copy` and `rows` are the caller's to free. */
struct snapshot {
	uint8_t *copy;
	uint64_t publication;
	uint64_t objects_seq;
	uint64_t objects_len;
	uint64_t objects_used;
	uint64_t *rows; /* objects_len of them, READER_ROW_WORDS each */
	bool consistent;
};

static inline uint64_t reader_word(const void *bytes, uint64_t off)
{
	uint64_t word;

	memcpy(&word, (const uint8_t *)bytes + off, sizeof(word));
	return word;
}

static inline uint32_t reader_half(const void *bytes, uint64_t off)
{
	uint32_t half;

	memcpy(&half, (const uint8_t *)bytes + off, sizeof(half));
	return half;
}

static inline uint64_t reader_sum(const uint8_t *bytes, size_t size)
{
	uint64_t sum = 0xcbf29ce484222325ull;

	while (size--)
		sum = (sum ^ *bytes++) * 0x100000001b3ull;
	return sum;
}

static inline bool reader_bytes(
	const struct reader *r, uint64_t off, void *ret_bytes, uint64_t size)
{
	uint8_t *to = ret_bytes;
	ssize_t n;

	for (; size; size -= (uint64_t)n, off += (uint64_t)n, to += n) {
		n = pread(r->fd, to, size, (off_t)off);
		if (n <= 0)
			return false;
	}
	return true;
}

static inline uint64_t reader_load(const struct reader *r, uint64_t off)
{
	uint64_t word = 0;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!reader_bytes(r, off, &word, sizeof(word)))
		abort();
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return word;
}

/* Live part. */
#define READER_HEARTBEAT 0x800u
#define READER_ACTIVE 0x808u
#define READER_SUPERSEDED 0x810u
#define READER_OBJECTS_SEQ 0x818u

static inline const char *reader_header_fault(
	const struct reader *r, const struct stat *st)
{
	const uint8_t *h = r->header;

	if (memcmp(h, "TTMEMAGG", 8) != 0)
		return "magic";
	if (reader_half(h, 0x08) != 3 || reader_half(h, 0x0c) != 4096)
		return "version or header size";
	if (reader_sum(h, 0x7f8) != reader_word(h, 0x7f8))
		return "checksum";
	if (r->size != (uint64_t)st->st_size)
		return "file size";
	if ((uint64_t)st->st_blocks * 512 < r->size)
		return "not wholly allocated";
	if (r->copy_off[0] < 4096 || r->copy_size < 4096 ||
		r->copy_off[1] < r->copy_off[0] + r->copy_size ||
		r->objects_off < r->copy_off[1] + r->copy_size ||
		r->objects_off + r->objects_capacity * READER_ROW > r->size ||
		reader_word(h, 0x98) != READER_ROW)
		return "places";
	return NULL;
}

/*
 * Opens it. False with errno, or with EPROTO and why. Closing it again would drop the
 * lock of a publisher in the same process.
 */
static inline bool reader_open(struct reader *r, const char *path)
{
	struct stat st;
	const uint8_t *h = r->header;

	memset(r, 0, sizeof(*r));
	r->fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (r->fd < 0)
		return false;
	r->why = "short";
	if (fstat(r->fd, &st) == 0 && reader_bytes(r, 0, r->header, 2048)) {
		r->inode = st.st_ino;
		r->size = reader_word(h, 0x68);
		r->copy_off[0] = reader_word(h, 0x70);
		r->copy_off[1] = reader_word(h, 0x78);
		r->copy_size = reader_word(h, 0x80);
		r->objects_off = reader_word(h, 0x88);
		r->objects_capacity = reader_word(h, 0x90);
		r->why = reader_header_fault(r, &st);
	}
	errno = EPROTO;
	return !r->why;
}

static inline bool reader_is_locked(const struct reader *r)
{
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	return fcntl(r->fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static inline void snapshot_free(struct snapshot *s)
{
	free(s->copy);
	free(s->rows);
	memset(s, 0, sizeof(*s));
}

/* One try; false: the writer was faster, or is dead in this copy. */
static inline bool reader_try(const struct reader *r, struct snapshot *s)
{
	uint64_t active = reader_load(r, READER_ACTIVE), off, seq;
	uint8_t *copy;

	if (active > 1)
		return false;
	off = r->copy_off[active];
	seq = reader_load(r, off);
	if (seq % 2)
		return false;
	copy = malloc(r->copy_size);
	if (!copy || !reader_bytes(r, off, copy, r->copy_size))
		abort();
	if (reader_load(r, off) != seq ||
		reader_load(r, READER_ACTIVE) != active) {
		free(copy);
		return false;
	}
	s->copy = copy;
	s->publication = reader_word(copy, 0x08);
	s->objects_seq = reader_word(copy, 0x10);
	s->objects_len = reader_word(copy, 0x18);
	s->objects_used = reader_word(copy, 0x20);
	return true;
}

static inline bool reader_read(
	const struct reader *r, unsigned tries, struct snapshot *s)
{
	memset(s, 0, sizeof(*s));
	while (tries--)
		if (reader_try(r, s))
			return true;
	return false;
}

/* The rows that belong to it, in one try; whole ones are left if it fails. */
static inline bool reader_rows(const struct reader *r, struct snapshot *s)
{
	uint64_t size = s->objects_len * READER_ROW, i, seq, off;

	if (s->objects_len > r->objects_capacity)
		abort();
	s->rows = malloc(size + 1);
	if (!s->rows)
		abort();
	s->consistent = reader_load(r, READER_OBJECTS_SEQ) == s->objects_seq;
	if (!reader_bytes(r, r->objects_off, s->rows, size))
		abort();
	if (reader_load(r, READER_OBJECTS_SEQ) != s->objects_seq)
		s->consistent = false;
	if (s->consistent)
		return true;
	for (i = 0; i < s->objects_len; i++) {
		off = r->objects_off + i * READER_ROW;
		seq = reader_load(r, off);
		if (!reader_bytes(
			    r, off, &s->rows[i * READER_ROW_WORDS], READER_ROW))
			abort();
		if (seq % 2 || reader_load(r, off) != seq)
			memset(&s->rows[i * READER_ROW_WORDS], 0, READER_ROW);
	}
	return false;
}

/* The table's rows, NULL if there is none. */
static inline const uint8_t *snapshot_table(const struct reader *r,
	const struct snapshot *s, uint32_t id, uint64_t *ret_len,
	uint64_t *ret_stride)
{
	const uint8_t *entry;
	uint64_t off, capacity;
	unsigned i;

	for (i = 0; i < 32; i++) {
		entry = s->copy + 0x38 + i * 32;
		if (reader_half(entry, 0) != id)
			continue;
		*ret_stride = reader_half(entry, 4);
		off = reader_word(entry, 8);
		*ret_len = reader_word(entry, 0x10);
		capacity = reader_word(entry, 0x18);
		if (*ret_len > capacity || *ret_stride % 8 || off % 8 ||
			off + capacity * *ret_stride > r->copy_size)
			return NULL;
		return s->copy + off;
	}
	return NULL;
}

#endif
