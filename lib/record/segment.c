/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* The segment file: header, making, naming and ending. */
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

#include "record/counters.h"
#include "shm/checksum.h"
#include "shm/identity.h"
#include "shm/random.h"
#include "shm/text.h"

#define DEFAULT_MAX_BYTES (1ull << 30)
/* "self" means the first thread, and fails after that thread has ended. */
#define DESCRIPTORS "/proc/thread-self/fd"

/*
 * Makes a file without a name, which it gets when it is complete. Where O_TMPFILE or
 * /proc is missing, the file gets a hidden temporary name.
 */
static int file_open(struct ttm_process *process, int directory)
{
	struct ttm_text name;
	int fd = -1, r;

	if (access(DESCRIPTORS, X_OK) == 0)
		fd = openat(
			directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		ttm_text_init(&name, process->temporary_name,
			sizeof(process->temporary_name));
		ttm_text_add(&name, ".new.");
		ttm_text_add_hex(&name, ttm_random64(), 16);
		fd = openat(directory, process->temporary_name,
			O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	}
	if (fd < 0) {
		r = -errno;
		/* The next try may need no name. */
		process->temporary_name[0] = '\0';
		return r;
	}
	return ttm_descriptor_raise(fd);
}

static void segment_places_set(struct ttm_process *process, char *base)
{
	process->header = (void *)(base + TTM_HEADER_OFF);
	process->directory = (void *)(base + TTM_DIRECTORY_OFF);
	process->controls = (void *)(base + TTM_LANES_OFF);
	process->devices = (void *)(base + TTM_DEVICES_OFF);
	process->failures = (void *)(base + TTM_FAILURES_OFF);
	process->marks = (void *)(base + TTM_MARKS_OFF);
	process->place_words = (void *)(base + TTM_PLACES_OFF);
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

/* -- the header -------------------------------------------------------------------- */

/* Copies the path of the line "0::PATH" of the unified hierarchy. */
static void cgroup_read(char *ret_path, size_t size)
{
	char text[512];
	size_t length = ttm_file_read(
		"/proc/self/cgroup", text, sizeof(text) - 1);
	const char *line, *end;

	text[length] = '\0';
	for (line = text; line && *line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		if (strncmp(line, "0::", 3) != 0)
			continue;
		line += 3;
		length = end ? (size_t)(end - line) : strlen(line);
		memcpy(ret_path, line, length < size ? length : size);
		return;
	}
}

/* Read the process's name, not that of the thread that happens to be first. */
static void comm_read(char *ret_comm, size_t size)
{
	size_t length = ttm_file_read("/proc/self/comm", ret_comm, size);

	if (length && ret_comm[length - 1] == '\n')
		ret_comm[length - 1] = '\0';
}

static void identity_fill(struct ttm_header_const *sealed)
{
	const char *run_id = ttm_environment("TTMEM_RUN_ID");

	ttm_random_bytes(sealed->uuid, sizeof(sealed->uuid));
	sealed->uuid[6] = (uint8_t)((sealed->uuid[6] & 0x0f) | 0x40);
	sealed->uuid[8] = (uint8_t)((sealed->uuid[8] & 0x3f) | 0x80);
	ttm_boot_id_read(sealed->boot_id);
	if (run_id)
		memcpy(sealed->run_id, run_id,
			strnlen(run_id, sizeof(sealed->run_id)));
	sealed->pid = (uint32_t)getpid();
	sealed->uid = geteuid();
	sealed->pid_namespace = ttm_pid_namespace_read();
	sealed->start_time = ttm_start_time_read("/proc/self/stat");
	comm_read(sealed->comm, sizeof(sealed->comm));
	/* "self" has no start time once the first thread has ended, but is
	 * asked first: an emulator knows no other. */
	if (ttm_file_read("/proc/self/cmdline", sealed->cmdline,
		    sizeof(sealed->cmdline)) == 0)
		ttm_file_read("/proc/thread-self/cmdline", sealed->cmdline,
			sizeof(sealed->cmdline));
	cgroup_read(sealed->cgroup, sizeof(sealed->cgroup));
}

static void places_fill(struct ttm_header_const *sealed)
{
	sealed->extent_size = TTM_EXTENT_SIZE;
	sealed->lanes_max = TTM_LANES_MAX;
	sealed->lane_records = TTM_LANE_RECORDS;
	sealed->devices_max = TTM_DEVICES_MAX;
	sealed->failures_kept = TTM_FAILURES_KEPT;
	sealed->marks_kept = TTM_MARKS_KEPT;
	sealed->directory_off = TTM_DIRECTORY_OFF;
	sealed->lanes_off = TTM_LANES_OFF;
	sealed->devices_off = TTM_DEVICES_OFF;
	sealed->failures_off = TTM_FAILURES_OFF;
	sealed->marks_off = TTM_MARKS_OFF;
	sealed->places_off = TTM_PLACES_OFF;
	sealed->extents_off = TTM_EXTENTS_OFF;
}

/* Writes the process's identity into a zeroed header and seals it. */
static void header_fill(struct ttm_header *header, uint32_t extents_max)
{
	struct ttm_header_const *sealed = &header->sealed;

	sealed->magic = TTM_SEGMENT_MAGIC;
	sealed->version = TTM_SEGMENT_VERSION;
	sealed->header_size = sizeof(*header);
	sealed->signature = TTM_SEGMENT_SIGNATURE;
	identity_fill(sealed);
	sealed->clock_kind = TTM_CLOCK_KIND;
	sealed->clock_hz = ttm_clock_hz();
	sealed->clock_base = ttm_clock_now();
	sealed->monotonic_base_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	sealed->realtime_base_ns = ttm_clock_ns(CLOCK_REALTIME);
	places_fill(sealed);
	sealed->extents_max = extents_max;
	sealed->checksum = ttm_checksum(
		sealed, offsetof(struct ttm_header_const, checksum));
	header->live.state = TTM_SEGMENT_RUNNING;
}

/* -- making and naming ------------------------------------------------------------ */

static int segment_fill(struct ttm_process *process, int fd, uint64_t max_bytes)
{
	struct stat st;
	char *base;
	int r;

	/* The umask may have removed our own right to read. */
	if (fchmod(fd, 0600) < 0 || fstat(fd, &st) < 0)
		return -errno;
	process->device = st.st_dev;
	process->inode = st.st_ino;
	r = ttm_range_check(TTM_EXTENTS_OFF);
	if (r == 0 && ftruncate(fd, TTM_EXTENTS_OFF) < 0)
		r = -errno;
	if (r < 0)
		return r;
	base = ttm_range_map(fd, 0, TTM_EXTENTS_OFF);
	if (!base)
		return -ENOMEM;
	segment_places_set(process, base);
	/* Allocate what a process with one thread and four devices needs;
	 * other pages of the tables get memory when they are used. */
	if (!ttm_table_prepare(process, 0, TTM_DIRECTORY_OFF + 1) ||
		!ttm_table_prepare(process, TTM_LANES_OFF, 1) ||
		!ttm_table_prepare(process, TTM_DEVICES_OFF, 1) ||
		!ttm_table_prepare(process, TTM_PLACES_OFF, 1))
		return -ENOSPC;
	header_fill(process->header, extents_max(max_bytes));
	final_name(process);
	return 0;
}

static int segment_make(
	struct ttm_process *process, int directory, uint64_t max_bytes)
{
	int fd = file_open(process, directory), r;

	if (fd < 0)
		return fd;
	process->fd = (uint32_t)fd;
	r = segment_fill(process, fd, max_bytes);
	if (r < 0)
		ttm_segment_discard(process);
	return r;
}

int ttm_segment_create(
	struct ttm_process *process, const char *base, uint64_t max_bytes)
{
	int directory, r;

	r = ttm_user_directory_open(base, process->directory_path, &directory);
	if (r < 0)
		return r;
	ttm_leftover_tidy(directory, false);
	r = segment_make(process, directory, max_bytes);
	if (r == -ENOSPC) {
		ttm_leftover_tidy(directory, true);
		r = segment_make(process, directory, max_bytes);
	}
	close(directory);
	return r;
}

int ttm_segment_directory_open(const struct ttm_process *process)
{
	return open(process->directory_path,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int file_link(struct ttm_process *process, int directory)
{
	char path[48];
	struct ttm_text text;

	if (process->temporary_name[0])
		return (int)syscall(SYS_renameat2, directory,
			process->temporary_name, directory, process->file_name,
			RENAME_NOREPLACE);
	ttm_text_init(&text, path, sizeof(path));
	ttm_text_add(&text, DESCRIPTORS "/");
	ttm_text_add_decimal(&text, process->fd);
	return linkat(AT_FDCWD, path, directory, process->file_name,
		AT_SYMLINK_FOLLOW);
}

static bool file_is_named(const struct ttm_process *process, int directory)
{
	struct stat st;

	return fstatat(directory, process->file_name, &st,
		       AT_SYMLINK_NOFOLLOW) == 0 &&
		st.st_ino == process->inode && st.st_dev == process->device;
}

int ttm_segment_name(struct ttm_process *process)
{
	int directory, r;

	if (!ttm_segment_owns(process, (int)process->fd))
		return -EBADF; /* stopped meanwhile */
	r = ttm_segment_lock((int)process->fd);
	if (r < 0)
		return r;
	TTM_TESTPOINT("segment locked");
	directory = ttm_segment_directory_open(process);
	if (directory < 0)
		return -errno;
	r = file_link(process, directory) < 0 ? -errno : 0;
	if (r < 0 && file_is_named(process, directory))
		r = 0; /* another thread was faster */
	if (r < 0 && process->temporary_name[0])
		unlinkat(directory, process->temporary_name, 0);
	close(directory);
	/* relaxed: a thread that does not see it finds the name there */
	if (r == 0)
		ttm_store32(&process->named, 1);
	TTM_TESTPOINT("segment named");
	return r;
}

void ttm_segment_discard(struct ttm_process *process)
{
	int directory;

	if (process->temporary_name[0]) {
		directory = ttm_segment_directory_open(process);
		if (directory >= 0) {
			unlinkat(directory, process->temporary_name, 0);
			close(directory);
		}
	}
	process->temporary_name[0] = '\0';
	if (process->header)
		munmap(process->header, TTM_EXTENTS_OFF);
	process->header = NULL;
	/* The next try makes another file. */
	process->tables_ready[0] = 0;
	process->tables_ready[1] = 0;
	process->growth_blocked_ns = 0;
	if (process->fd != TTM_NO_DESCRIPTOR)
		close((int)process->fd);
	process->fd = TTM_NO_DESCRIPTOR;
}

static bool segment_has_survivors(struct ttm_process *process)
{
	const struct ttm_words *slots;
	uint32_t extent, i, len;

	for (extent = 0; extent < TTM_SLOT_EXTENTS_MAX; extent++) {
		len = ttm_extent_ready_len(
			&process->slots[extent], sizeof(*slots));
		if (!len)
			continue;
		slots = ttm_slot_at(process, extent * TTM_SLOTS_PER_EXTENT);
		/* relaxed: concurrent changes of other threads come too late */
		for (i = 0; i < len; i++)
			if (TTM_W0_STATE(ttm_load(&slots[i].w[0])) ==
				TTM_SLOT_LIVE)
				return true;
	}
	return false;
}

/*
 * Returns whether events were lost: then it is unknown whether lost objects were freed,
 * and the segment must stay to say so. An event without a name is in the segment.
 */
static bool segment_has_losses(struct ttm_process *process)
{
	struct ttm_losses losses;
	uint64_t sum = 0;
	size_t i;

	ttm_losses_sum(process, &losses);
	for (i = 0; i < TTMEM_LOSSES; i++)
		if (i != TTMEM_LOSS_NO_NAME)
			sum += losses.events[i];
	return sum != 0;
}

void ttm_segment_end(struct ttm_process *process)
{
	int directory;

	/* pairs(segment-end): release, with the aggregator's final read: no
	 * event of a stopped process follows */
	ttm_store_release(&process->header->live.state, TTM_SEGMENT_ENDED);
	TTM_TESTPOINT("segment ended");
	directory = ttm_segment_directory_open(process);
	if (directory < 0)
		return;
	/* An aggregator that serves the directory reads the segment and
	 * removes it. */
	if (!ttm_directory_is_awaited(
		    directory, process->header->sealed.monotonic_base_ns) &&
		!segment_has_survivors(process) && !segment_has_losses(process))
		unlinkat(directory, process->file_name, 0);
	TTM_TESTPOINT("segment removed");
	close(directory);
}
