/* SPDX-License-Identifier: Apache-2.0 */
/* A segment file as the drain sees it, without a watch and without a registry. */
#ifndef DRAINED_H
#define DRAINED_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ttmem/ttmem.h>
#include <unity.h>

#include "daemon/follow/drain.h"
#include "daemon/follow/process.h"
#include "support/test_segment.h"

#define DRAINED_ROUND_NS 20000000ull /* a scan is allowed in each */

struct drained {
	struct ttm_directory directory;
	struct ttm_attached attached;
	struct ttm_process *process;
	struct ttm_drain_stats stats;
	uint64_t now_ns;
};

/* `fd` becomes its own. */
static inline void drained_open_fd(struct drained *drained, int fd)
{
	memset(drained, 0, sizeof(*drained));
	TEST_ASSERT_TRUE(fd >= 0);
	drained->attached.fd = fd;
	drained->attached.directory = &drained->directory;
	TEST_ASSERT_EQUAL_INT64(sizeof(drained->attached.header),
		pread(fd, &drained->attached.header,
			sizeof(drained->attached.header), 0));
	drained->now_ns = 5000000000ull;
	TEST_ASSERT_EQUAL_INT(0,
		ttm_process_new(&drained->attached, drained->now_ns,
			&drained->process));
	drained->process->bytes_max = UINT64_MAX;
}

static inline void drained_open(struct drained *drained, const char *path)
{
	drained_open_fd(drained, open(path, O_RDONLY | O_CLOEXEC));
}

static inline void drained_close(struct drained *drained)
{
	ttm_process_free(&drained->process);
	close(drained->attached.fd);
}

static inline int drained_round(struct drained *drained)
{
	drained->now_ns += DRAINED_ROUND_NS;
	return ttm_drain(
		drained->process, drained->now_ns, NULL, &drained->stats);
}

static inline int drained_last(struct drained *drained)
{
	drained->now_ns += DRAINED_ROUND_NS;
	return ttm_drain_last(
		drained->process, drained->now_ns, NULL, &drained->stats);
}

/* A copy of a file in memory, to do anything to. */
static inline int drained_copy(const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	int to = memfd_create("segment", MFD_CLOEXEC);
	struct stat st;
	void *bytes;

	TEST_ASSERT_TRUE(from >= 0 && to >= 0);
	TEST_ASSERT_EQUAL_INT(0, fstat(from, &st));
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, from, 0);
	TEST_ASSERT_TRUE(bytes != MAP_FAILED);
	TEST_ASSERT_EQUAL_INT64(st.st_size, write(to, bytes, st.st_size));
	munmap(bytes, st.st_size);
	close(from);
	return to;
}

static inline uint64_t drained_peek(int fd, uint64_t off)
{
	uint64_t word = 0;

	TEST_ASSERT_EQUAL_INT64(
		sizeof(word), pread(fd, &word, sizeof(word), (off_t)off));
	return word;
}

static inline void drained_poke(int fd, uint64_t off, uint64_t word)
{
	TEST_ASSERT_EQUAL_INT64(
		sizeof(word), pwrite(fd, &word, sizeof(word), (off_t)off));
}

static inline void drained_poke32(int fd, uint64_t off, uint32_t word)
{
	TEST_ASSERT_EQUAL_INT64(
		sizeof(word), pwrite(fd, &word, sizeof(word), (off_t)off));
}

/* Where the extent of a type and ordinal is; fails the test if it is nowhere. */
static inline uint64_t drained_extent(int fd, unsigned type, uint32_t ordinal)
{
	uint32_t word, i;

	for (i = 0; i < TTM_EXTENTS_MAX; i++) {
		if (pread(fd, &word, sizeof(word), TTM_DIRECTORY_OFF + 4 * i) ==
				sizeof(word) &&
			word == TTM_EXTENT_WORD(type, ordinal))
			return TTM_EXTENTS_OFF + (uint64_t)i * TTM_EXTENT_SIZE;
	}
	TEST_FAIL_MESSAGE("no such extent");
	return 0;
}

/* The quarantine: an error that has a text. */
static inline void drained_refuses(struct drained *drained, int r)
{
	TEST_ASSERT_EQUAL_INT(-EPROTO, r);
	TEST_ASSERT_NOT_EQUAL('\0', drained->process->source.reason[0]);
	TEST_ASSERT_TRUE(
		memchr(drained->process->source.reason, 0, TTM_REASON_SIZE));
}

/* What the mirror says is live, what the writer says is. */
static inline void drained_is_usage(
	struct drained *drained, uint32_t entry, uint32_t device)
{
	const struct ttm_share *share = &drained->process->model.shares[entry];
	const struct ttm_part *part = drained->process->parts[entry];
	struct ttmem_usage usage = { .size = sizeof(usage) };
	unsigned i;

	TEST_ASSERT_EQUAL_INT(0, ttmem_usage(device, &usage));
	for (i = 0; i < TTMEM_FIGURES; i++) {
		TEST_ASSERT_EQUAL_UINT64(
			usage.figures[i].live_objects, share->live[i].objects);
		TEST_ASSERT_EQUAL_UINT64(
			usage.figures[i].live_bytes, share->live[i].bytes);
		TEST_ASSERT_EQUAL_UINT64(usage.figures[i].peak_bytes,
			part->flows.figures[i].peak_bytes);
	}
}

#endif
