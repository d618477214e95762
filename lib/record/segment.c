/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#include "record/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/header.h"
#include "shm/random.h"
#include "shm/text.h"

/* Away from the small numbers that programs close or expect. */
#define DESCRIPTOR_FLOOR 700
#define DEFAULT_MAX_BYTES (1ull << 30)
#define GROWTH_PAUSE_NS 100000000ull

/*
 * Allocates the range: on a full filesystem this is a clean ENOSPC, where a
 * sparse file would kill the program with SIGBUS at the first touch. Beyond
 * RLIMIT_FSIZE the kernel would send SIGXFSZ, so that is asked first.
 */
static int range_allocate(int fd, uint64_t off, uint64_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return -errno;
	if (limit.rlim_cur != RLIM_INFINITY && off + size > limit.rlim_cur)
		return -EFBIG;
	while (fallocate(fd, 0, (off_t)off, (off_t)size) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static void *range_map(int fd, uint64_t off, uint64_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_POPULATE, fd, (off_t)off);

	return memory == MAP_FAILED ? NULL : memory;
}

static int descriptor_raise(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR);

	if (high < 0)
		return fd; /* a low limit: any number will do */
	close(fd);
	return high;
}

/*
 * Without a name until it is complete. Where O_TMPFILE or /proc is missing it
 * gets a hidden temporary name instead.
 */
static int file_open(struct ttm_process *process, int directory)
{
	struct ttm_text name;
	int fd = -1;

	if (access("/proc/self/fd", X_OK) == 0)
		fd = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC,
			0600);
	if (fd < 0) {
		ttm_text_init(&name, process->temporary_name,
			sizeof(process->temporary_name));
		ttm_text_add(&name, ".new.");
		ttm_text_add_hex(&name, ttm_random64(), 16);
		fd = openat(directory, process->temporary_name,
			O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	}
	if (fd < 0)
		return -errno;
	return descriptor_raise(fd);
}

static void segment_places_set(struct ttm_process *process, char *base)
{
	process->header = (void *)(base + TTM_HEADER_OFF);
	process->directory = (void *)(base + TTM_DIRECTORY_OFF);
	process->controls = (void *)(base + TTM_LANES_OFF);
	process->devices = (void *)(base + TTM_DEVICES_OFF);
	process->failures = (void *)(base + TTM_FAILURES_OFF);
	process->marks = (void *)(base + TTM_MARKS_OFF);
}

static uint32_t extents_max(uint64_t max_bytes)
{
	uint64_t extents;

	if (max_bytes == 0)
		max_bytes = DEFAULT_MAX_BYTES;
	if (max_bytes <= TTM_EXTENTS_OFF)
		return 0;
	extents = (max_bytes - TTM_EXTENTS_OFF) / TTM_EXTENT_SIZE;
	return extents < TTM_EXTENTS_MAX ? (uint32_t)extents : TTM_EXTENTS_MAX;
}

static void final_name(struct ttm_process *process)
{
	const struct ttm_header_const *sealed = &process->header->sealed;
	struct ttm_text name;
	uint64_t random;

	memcpy(&random, sealed->uuid, sizeof(random));
	ttm_text_init(&name, process->file_name, sizeof(process->file_name));
	ttm_text_add(&name, TTM_SEGMENT_PREFIX);
	ttm_text_add_decimal(&name, sealed->pid);
	ttm_text_add(&name, ".");
	ttm_text_add_decimal(&name, sealed->start_time);
	ttm_text_add(&name, ".");
	ttm_text_add_hex(&name, random, 16);
}

static int segment_fill(struct ttm_process *process, uint64_t max_bytes)
{
	struct stat st;
	char *base;
	int r;

	/* The umask may have taken our own right to read. */
	if (fchmod(process->fd, 0600) < 0 || fstat(process->fd, &st) < 0)
		return -errno;
	process->device = st.st_dev;
	process->inode = st.st_ino;
	r = range_allocate(process->fd, 0, TTM_EXTENTS_OFF);
	if (r < 0)
		return r;
	base = range_map(process->fd, 0, TTM_EXTENTS_OFF);
	if (!base)
		return -ENOMEM;
	segment_places_set(process, base);
	ttm_header_fill(process->header, extents_max(max_bytes));
	final_name(process);
	return 0;
}

int ttm_segment_create(
	struct ttm_process *process, const char *base, uint64_t max_bytes)
{
	int directory, r;

	r = ttm_user_directory_open(
		base, process->directory_path, &directory);
	if (r < 0)
		return r;
	process->fd = file_open(process, directory);
	if (process->fd < 0) {
		close(directory);
		return process->fd;
	}
	r = segment_fill(process, max_bytes);
	if (r < 0)
		ttm_segment_discard(process);
	close(directory);
	return r;
}

static int segment_directory_open(const struct ttm_process *process)
{
	return open(process->directory_path,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/*
 * The lock tells everybody that this process lives: the kernel drops it whatever
 * way the process ends, and a forked child does not have it.
 */
static int segment_lock(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	return fcntl(fd, F_SETLK, &lock) < 0 ? -errno : 0;
}

static int file_link(struct ttm_process *process, int directory)
{
	char path[40];
	struct ttm_text text;

	if (process->temporary_name[0])
		return (int)syscall(SYS_renameat2, directory,
			process->temporary_name, directory, process->file_name,
			RENAME_NOREPLACE);
	ttm_text_init(&text, path, sizeof(path));
	ttm_text_add(&text, "/proc/self/fd/");
	ttm_text_add_decimal(&text, (uint64_t)process->fd);
	return linkat(AT_FDCWD, path, directory, process->file_name,
		AT_SYMLINK_FOLLOW);
}

int ttm_segment_name(struct ttm_process *process)
{
	int directory, r;

	r = segment_lock(process->fd);
	if (r < 0)
		return r;
	TTM_TESTPOINT("segment locked");
	directory = segment_directory_open(process);
	if (directory < 0)
		return -errno;
	r = file_link(process, directory) < 0 ? -errno : 0;
	if (r < 0 && process->temporary_name[0])
		unlinkat(directory, process->temporary_name, 0);
	close(directory);
	TTM_TESTPOINT("segment named");
	return r;
}

void ttm_segment_discard(struct ttm_process *process)
{
	int directory;

	if (process->temporary_name[0]) {
		directory = segment_directory_open(process);
		if (directory >= 0) {
			unlinkat(directory, process->temporary_name, 0);
			close(directory);
		}
	}
	if (process->header)
		munmap(process->header, TTM_EXTENTS_OFF);
	if (process->fd >= 0)
		close(process->fd);
}

void ttm_segment_close(struct ttm_process *process)
{
	/* relaxed: see growth_is_blocked */
	ttm_store(&process->growth_blocked_ns, UINT64_MAX);
	close(process->fd);
}

static bool segment_has_survivors(struct ttm_process *process)
{
	const struct ttm_words *slots;
	size_t extent, i;

	for (extent = 0; extent < TTM_SLOT_EXTENTS_MAX; extent++) {
		slots = ttm_pointer_load(&process->slots[extent]);
		for (i = 0; slots && i < TTM_SLOTS_PER_EXTENT; i++)
			if (TTM_W0_STATE(ttm_load(&slots[i].w[0])) ==
				TTM_SLOT_LIVE)
				return true;
	}
	return false;
}

void ttm_segment_end(struct ttm_process *process)
{
	int directory;

	/* pairs(segment-end): release, with the aggregator's final read: no
	 * event of a stopped process follows */
	ttm_store_release(&process->header->live.state, TTM_SEGMENT_ENDED);
	TTM_TESTPOINT("segment ended");
	directory = segment_directory_open(process);
	if (directory < 0)
		return;
	if (!segment_has_survivors(process) &&
		!ttm_directory_is_served(directory))
		unlinkat(directory, process->file_name, 0);
	TTM_TESTPOINT("segment removed");
	close(directory);
}

/* -- growth ------------------------------------------------------------------ */

static bool growth_is_blocked(struct ttm_process *process)
{
	/* relaxed: a stale value costs one more try, or one less */
	uint64_t until = ttm_load(&process->growth_blocked_ns);

	return until && ttm_clock_ns(CLOCK_MONOTONIC_COARSE) < until;
}

static void growth_block(struct ttm_process *process)
{
	/* relaxed: see growth_is_blocked */
	ttm_store(&process->growth_blocked_ns,
		ttm_clock_ns(CLOCK_MONOTONIC_COARSE) + GROWTH_PAUSE_NS);
}

/*
 * A program that closes every descriptor may have got our number for a file of
 * its own since. That file must not be touched.
 */
static bool descriptor_is_ours(const struct ttm_process *process)
{
	struct stat st;

	return fstat(process->fd, &st) == 0 && st.st_dev == process->device &&
		st.st_ino == process->inode;
}

static bool directory_claim(struct ttm_process *process, uint32_t *ret_index)
{
	uint32_t i, max = process->header->sealed.extents_max;

	for (i = 0; i < max; i++) {
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

static void *extent_make(struct ttm_process *process, uint32_t index)
{
	uint64_t off = TTM_EXTENTS_OFF + (uint64_t)index * TTM_EXTENT_SIZE;

	if (!descriptor_is_ours(process) ||
		range_allocate(process->fd, off, TTM_EXTENT_SIZE) < 0)
		return NULL;
	TTM_TESTPOINT("extent allocated");
	return range_map(process->fd, off, TTM_EXTENT_SIZE);
}

void *ttm_extent_claim(struct ttm_process *process, uint32_t *ret_index)
{
	void *extent;
	uint32_t index;

	if (growth_is_blocked(process))
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

void ttm_extent_publish(struct ttm_process *process, uint32_t index,
	enum ttm_extent_type type, uint32_t ordinal)
{
	uint64_t *high = &process->header->live.extents_high;
	uint64_t seen;

	/* relaxed: only a bound, raised before the word below is stored */
	while ((seen = ttm_load(high)) < index + 1)
		ttm_cas(high, seen, index + 1);
	/* pairs(extent): release, with the aggregator's directory read: the
	 * extent is allocated and zero */
	ttm_store32_release(
		&process->directory[index], TTM_EXTENT_WORD(type, ordinal));
	TTM_TESTPOINT("extent published");
}

void ttm_extent_abandon(
	struct ttm_process *process, uint32_t index, void *extent)
{
	if (extent)
		munmap(extent, TTM_EXTENT_SIZE);
	/* pairs(extent-claim): release, with directory_claim */
	ttm_store32_release(&process->directory[index], TTM_EXTENT_UNUSED);
}

void *ttm_extent_at(struct ttm_process *process, void **place,
	enum ttm_extent_type type, uint32_t ordinal)
{
	void *extent = ttm_pointer_load(place);
	uint32_t index;

	if (TTM_LIKELY(extent != NULL))
		return extent;
	extent = ttm_extent_claim(process, &index);
	if (!extent)
		return ttm_pointer_load(place);
	if (!ttm_pointer_publish(place, extent)) {
		ttm_extent_abandon(process, index, extent);
		return ttm_pointer_load(place);
	}
	ttm_extent_publish(process, index, type, ordinal);
	return extent;
}
