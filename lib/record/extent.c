/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* Growth of the segment, and the descriptor that growth uses. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/segment.h"

/* Above the small numbers that programs close or expect. */
#define DESCRIPTOR_FLOOR 700
#define GROWTH_PAUSE_NS 100000000ull
#define PAGE 4096u
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int segment_fd(struct ttm_process *process);

int ttm_range_check(uint64_t end)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return -errno;
	if (limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur)
		return -EFBIG;
	return 0;
}

/*
 * Allocates the range, so that a full filesystem is a clean ENOSPC; touching a hole
 * would kill the program with SIGBUS. The limit is checked first, because beyond
 * RLIMIT_FSIZE the kernel would send SIGXFSZ.
 */
int ttm_range_allocate(int fd, uint64_t off, uint64_t size)
{
	int tries, r = ttm_range_check(off + size);

	if (r < 0)
		return r;
	/* Signals are held, but a stopped and traced process may still see
	 * EINTR. */
	for (tries = 0; fallocate(fd, 0, (off_t)off, (off_t)size) < 0; tries++)
		if (errno != EINTR || tries == 100)
			return -errno;
	return 0;
}

void *ttm_range_map(int fd, uint64_t off, uint64_t size)
{
	void *memory = mmap(
		NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);

	return memory == MAP_FAILED ? NULL : memory;
}

bool ttm_table_prepare(struct ttm_process *process, uint64_t off, uint64_t size)
{
	uint64_t page = off / PAGE, last = (off + size - 1) / PAGE, seen;
	struct ttm_hold hold;
	bool done = true;
	int fd;

	for (; page <= last && done; page++) {
		uint64_t *word = &process->tables_ready[page / 64];
		uint64_t bit = 1ull << page % 64;

		/* pairs(table-ready): acquire, with the CAS below */
		if (ttm_load_acquire(word) & bit)
			continue;
		ttm_hold(&hold);
		fd = segment_fd(process);
		done = fd >= 0 &&
			ttm_range_allocate(fd, page * PAGE, PAGE) == 0;
		if (done)
			do
				seen = ttm_load(word); /* relaxed: the CAS */
			/* pairs(table-ready): full */
			while (!ttm_cas(word, seen, seen | bit));
		ttm_release(&hold);
	}
	return done;
}

/*
 * Moves the descriptor above the standard ones, even if the program has closed those:
 * its output must not end up in the segment.
 */
int ttm_descriptor_raise(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR);

	if (high < 0 && fd > STDERR_FILENO)
		return fd; /* the limit is low: any other number will do */
	if (high < 0)
		high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (high < 0)
		high = -errno;
	close(fd);
	return high;
}

/*
 * Takes the lock that shows that this process lives. The kernel drops it however the
 * process ends, and a forked child does not have it.
 */
int ttm_segment_lock(int fd)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	return fcntl(fd, F_SETLK, &lock) < 0 ? -errno : 0;
}

void ttm_segment_close(struct ttm_process *process)
{
	int fd;

	/* relaxed: see ttm_growth_is_blocked */
	ttm_store(&process->growth_blocked_ns, UINT64_MAX);
	fd = (int)ttm_load32(&process->fd); /* relaxed: see segment_fd */
	if (ttm_segment_owns(process, fd))
		close(fd);
}

/* -- growth ------------------------------------------------------------------ */

bool ttm_growth_is_blocked(struct ttm_process *process)
{
	/* relaxed: a stale value costs one try more or less */
	uint64_t until = ttm_load(&process->growth_blocked_ns);

	return until && ttm_clock_ns(CLOCK_MONOTONIC_COARSE) < until;
}

static void growth_block(struct ttm_process *process)
{
	/* relaxed: see ttm_growth_is_blocked. A block for good is kept. */
	uint64_t until = ttm_load(&process->growth_blocked_ns);

	if (until != UINT64_MAX)
		ttm_cas(&process->growth_blocked_ns, until,
			ttm_clock_ns(CLOCK_MONOTONIC_COARSE) + GROWTH_PAUSE_NS);
}

bool ttm_segment_owns(const struct ttm_process *process, int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == process->device &&
		st.st_ino == process->inode;
}

/* Opens the file again; -1 if it is gone. */
static int descriptor_renew(struct ttm_process *process, uint32_t lost)
{
	int directory = ttm_segment_directory_open(process), fd;

	if (directory < 0)
		return -1;
	fd = openat(directory, process->file_name,
		O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(directory);
	if (fd < 0)
		return -1;
	if (!ttm_segment_owns(process, fd)) {
		close(fd);
		return -1;
	}
	fd = ttm_descriptor_raise(fd);
	if (fd < 0)
		return -1;
	if (!ttm_cas32(&process->fd, lost, (uint32_t)fd)) {
		close(fd); /* this drops the other thread's lock, too */
		fd = (int)ttm_load32(&process->fd); /* relaxed: just a number */
	}
	ttm_segment_lock(fd);
	return fd;
}

/*
 * Returns the segment's descriptor. A program that closes every descriptor may own our
 * number by now: that file must not be touched. Our file is then opened again by name,
 * and the lock, which went with the descriptor, is taken again.
 */
static int segment_fd(struct ttm_process *process)
{
	uint32_t fd = ttm_load32(&process->fd); /* relaxed: checked next */

	if (ttm_segment_owns(process, (int)fd))
		return (int)fd;
	return descriptor_renew(process, fd);
}

static bool directory_claim(struct ttm_process *process, uint32_t *ret_index)
{
	uint32_t i, max = process->header->sealed.extents_max;

	for (i = 0; i < max; i++) {
		/* The directory gets memory page by page, too. */
		if (i % (PAGE / 4) == 0 &&
			!ttm_table_prepare(process,
				TTM_DIRECTORY_OFF + 4ull * i, sizeof(uint32_t)))
			return false;
		/* relaxed: the CAS decides */
		if (ttm_load32(&process->directory[i]) != TTM_EXTENT_UNUSED)
			continue;
		/* pairs(extent-claim): full, with ttm_extent_abandon */
		if (ttm_cas32(&process->directory[i], TTM_EXTENT_UNUSED,
			    TTM_EXTENT_WORD(TTM_EXTENT_CLAIMED, 0))) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

static uint64_t extent_off(uint32_t index)
{
	return TTM_EXTENTS_OFF + (uint64_t)index * TTM_EXTENT_SIZE;
}

static void *extent_make(struct ttm_process *process, uint32_t index)
{
	int fd = segment_fd(process);
	void *extent;

	/* Allocate the last page: the file then reaches to the end of the
	 * extent. Unlike ftruncate, this cannot cut off what another thread
	 * adds. */
	if (fd < 0 ||
		ttm_range_allocate(fd,
			extent_off(index) + TTM_EXTENT_SIZE - PAGE, PAGE) < 0)
		return NULL;
	extent = ttm_range_map(fd, extent_off(index), TTM_EXTENT_SIZE);
	ttm_pointer_set(&process->extents[index], extent);
	return extent;
}

static void *extent_claim(struct ttm_process *process, uint32_t *ret_index)
{
	void *extent;
	uint32_t index;

	if (ttm_growth_is_blocked(process))
		return NULL;
	if (!directory_claim(process, &index)) {
		growth_block(process);
		return NULL;
	}
	TTM_TESTPOINT("extent claimed");
	extent = extent_make(process, index);
	if (!extent) {
		growth_block(process);
		ttm_extent_abandon(process, index, NULL);
		return NULL;
	}
	*ret_index = index;
	return extent;
}

void *ttm_extent_claim(struct ttm_process *process, uint32_t *ret_index)
{
	struct ttm_hold hold;
	void *extent;

	ttm_hold(&hold);
	extent = extent_claim(process, ret_index);
	ttm_release(&hold);
	return extent;
}

void ttm_extent_enter(struct ttm_process *process, uint32_t index,
	enum ttm_extent_type type, uint32_t ordinal)
{
	/* An upper bound, raised before the word below is stored. */
	ttm_raise(&process->header->live.extents_high, index + 1);
	/* pairs(extent): release, with the aggregator's directory read: the
	 * extent is allocated and zero */
	ttm_store32_release(
		&process->directory[index], TTM_EXTENT_WORD(type, ordinal));
	TTM_TESTPOINT("extent published");
}

void ttm_extent_abandon(
	struct ttm_process *process, uint32_t index, void *extent)
{
	ttm_pointer_set(&process->extents[index], NULL);
	if (extent)
		munmap(extent, TTM_EXTENT_SIZE);
	/* pairs(extent-claim): release, with directory_claim */
	ttm_store32_release(&process->directory[index], TTM_EXTENT_UNUSED);
}

void *ttm_extent_move(
	struct ttm_process *process, uint32_t index, void *extent, void *place)
{
	struct ttm_hold hold;

	ttm_hold(&hold);
	/* Store the new address first: if another thread forks in between,
	 * its child maps private memory there and nowhere else. */
	ttm_pointer_set(&process->extents[index], place);
	if (mremap(extent, TTM_EXTENT_SIZE, TTM_EXTENT_SIZE,
		    MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) {
		place = extent;
		ttm_pointer_set(&process->extents[index], place);
	}
	ttm_release(&hold);
	return place;
}

static uint32_t extent_index(
	const struct ttm_process *process, const struct ttm_extent *extent)
{
	uint32_t number = ttm_load32(&extent->number),
		 i; /* relaxed: a number */

	if (number)
		return number - 1;
	/* Another thread has just stored the memory, and not yet the number. */
	for (i = 0; i < TTM_EXTENTS_MAX; i++)
		if (ttm_pointer_load(&process->extents[i]) ==
			ttm_pointer_load(&extent->memory))
			break;
	return i;
}

bool ttm_extent_allocate(struct ttm_process *process, struct ttm_extent *extent,
	uint32_t from, uint32_t size)
{
	uint32_t index = extent_index(process, extent);
	struct ttm_hold hold;
	bool done;
	int fd;

	/* Only a new failure moves the end of the pause. */
	if (ttm_growth_is_blocked(process))
		return false;
	ttm_hold(&hold);
	fd = segment_fd(process);
	done = fd >= 0 &&
		ttm_range_allocate(fd, extent_off(index) + from, size) == 0;
	if (done)
		/* Saves the page faults of the first touches, if the kernel can. */
		madvise((char *)ttm_pointer_load(&extent->memory) + from, size,
			MADV_POPULATE_WRITE);
	else
		growth_block(process);
	ttm_release(&hold);
	TTM_TESTPOINT("extent allocated");
	return done;
}

static void extent_put(struct ttm_process *process, struct ttm_extent *extent,
	enum ttm_extent_type type, uint32_t ordinal)
{
	uint32_t index;
	void *memory = extent_claim(process, &index);

	if (!memory)
		return;
	if (!ttm_pointer_set_once(&extent->memory, memory)) {
		ttm_extent_abandon(process, index, memory);
		return;
	}
	ttm_store32(&extent->number, index + 1); /* relaxed: see extent_index */
	TTM_TESTPOINT("extent placed");
	ttm_extent_enter(process, index, type, ordinal);
}

static void extent_prepare(
	struct ttm_process *process, struct ttm_extent *extent, uint32_t size)
{
	/* relaxed: the CAS decides */
	uint32_t ready = ttm_load32(&extent->ready);

	size = (size + PAGE - 1) / PAGE * PAGE;
	if (ready < size &&
		!ttm_extent_allocate(process, extent, ready, size - ready))
		return;
	/* pairs(ready): full, with ttm_extent_at */
	while (ready < size && !ttm_cas32(&extent->ready, ready, size))
		ready = ttm_load32(&extent->ready); /* relaxed: as above */
}

/*
 * Signals are held throughout: what a handler wrote to an extent that is not in the
 * directory yet would be lost if the program ended there.
 */
void *ttm_extent_make(struct ttm_process *process, struct ttm_extent *extent,
	enum ttm_extent_type type, uint32_t ordinal, uint32_t size)
{
	struct ttm_hold hold;

	ttm_hold(&hold);
	if (!ttm_pointer_load(&extent->memory))
		extent_put(process, extent, type, ordinal);
	if (ttm_pointer_load(&extent->memory))
		extent_prepare(process, extent, size);
	ttm_release(&hold);
	if (ttm_load32_acquire(&extent->ready) <
		size) /* pairs(ready): acquire */
		return NULL;
	return ttm_pointer_load(&extent->memory);
}

static void range_make_private(
	void *memory, uint64_t off, uint64_t size, int fd)
{
	int flags = MAP_PRIVATE | MAP_FIXED;

	if (fd < 0 ||
		mmap(memory, size, PROT_READ | PROT_WRITE, flags, fd,
			(off_t)off) == MAP_FAILED)
		mmap(memory, size, PROT_READ | PROT_WRITE,
			flags | MAP_ANONYMOUS, -1, 0);
}

static void segment_remap(struct ttm_process *process, int fd)
{
	uint32_t i;

	/* The private copy must not grow the file. */
	ttm_store(&process->growth_blocked_ns, UINT64_MAX); /* relaxed */
	range_make_private(process->header, 0, TTM_EXTENTS_OFF, fd);
	for (i = 0; i < TTM_EXTENTS_MAX; i++)
		if (process->extents[i])
			range_make_private(process->extents[i], extent_off(i),
				TTM_EXTENT_SIZE, fd);
}

void ttm_segment_make_private(struct ttm_process *process)
{
	int fd = (int)ttm_load32(&process->fd); /* relaxed: one thread */

	segment_remap(process, ttm_segment_owns(process, fd) ? fd : -1);
}

void ttm_segment_let_go(struct ttm_process *process)
{
	segment_remap(process, -1);
}
