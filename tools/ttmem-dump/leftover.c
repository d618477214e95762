/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ttmem/ttmem.h>

#include "common/process.h"
#include "place.h"

/* As in docs/layout.md. */
#define SEGMENT_MAGIC 0x4745534d454d5454ull
#define SEGMENT_VERSION 2u
#define EXTENT_SIZE 0x20000u
#define EXTENTS_MAX 8192u
#define DIRECTORY_OFF 0x1000u
#define PLACES_OFF 0x2c000u
#define PLACES_MAX 16384u
#define EXTENTS_OFF 0x50000u
#define EXTENT_IS_SLOTS 2u
#define SLOT_IS_LIVE 2u
#define SLOT_WORDS 8u
#define FIGURE_CB 5u
#define FLAG_BORROWED 1u
#define BYTES_MASK ((1ull << 46) - 1)

#define ERRNO_MOST 4095u
#define RUN_ID_SIZE 16u

#define UNFINISHED_S 60

struct header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_size;
	uint64_t signature;
	uint8_t uuid[16];
	uint8_t boot_id[16];
	uint8_t run_id[16];
	uint32_t pid;
	uint32_t uid;
	uint64_t pid_namespace;
	uint64_t start_time;
	uint8_t clock[0x88 - 0x60];
	uint32_t extent_size;
	uint32_t extents_max;
};

_Static_assert(sizeof(struct header) == 0x90, "as in docs/layout.md");

static bool read_at(int fd, void *ret_bytes, size_t size, uint64_t off)
{
	ssize_t n;

	do
		n = pread(fd, ret_bytes, size, (off_t)off);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size;
}

/* -- what is in it ---------------------------------------------------------------------- */

/* Used on each device. */
static uint64_t slot_bytes(const uint64_t slot[SLOT_WORDS])
{
	if ((slot[1] >> 40 & 15) < FIGURE_CB)
		return slot[5] & BYTES_MASK;
	if (slot[1] >> 44 & FLAG_BORROWED)
		return 0;
	return (slot[4] & BYTES_MASK) * (slot[7] >> 40 & 0xfff);
}

/* The devices of a live slot; `places` is the segment's table. */
static uint64_t slot_devices(
	const uint64_t slot[SLOT_WORDS], const uint64_t *places)
{
	return (uint64_t)__builtin_popcountll(
		places[slot[0] >> 2 & (PLACES_MAX - 1)]);
}

static void slots_count(int fd, uint64_t off, const uint64_t *places,
	struct dump_leftover *leftover)
{
	uint64_t slots[64][SLOT_WORDS];
	size_t at, i;

	for (at = 0; at < EXTENT_SIZE; at += sizeof(slots)) {
		if (!read_at(fd, slots, sizeof(slots), off + at))
			return;
		for (i = 0; i < 64; i++) {
			if ((slots[i][0] & 3) != SLOT_IS_LIVE)
				continue;
			leftover->objects++;
			leftover->bytes += slot_bytes(slots[i]) *
				slot_devices(slots[i], places);
		}
	}
}

static void survivors_count(
	int fd, const struct header *header, struct dump_leftover *leftover)
{
	static uint64_t places[PLACES_MAX]; /* large */
	uint32_t words[256];
	size_t at, i;

	if (header->version != SEGMENT_VERSION ||
		header->extent_size != EXTENT_SIZE ||
		!read_at(fd, places, sizeof(places), PLACES_OFF))
		return;
	leftover->objects = 0;
	leftover->bytes = 0;
	for (at = 0; at < EXTENTS_MAX; at += 256) {
		if (!read_at(fd, words, sizeof(words), DIRECTORY_OFF + at * 4))
			return;
		for (i = 0; i < 256; i++)
			if (words[i] >> 24 == EXTENT_IS_SLOTS)
				slots_count(fd,
					EXTENTS_OFF + (at + i) * EXTENT_SIZE,
					places, leftover);
	}
}

/* -- whether its process is gone ----------------------------------------------------------- */

static enum dump_answer doubt(struct dump_leftover *leftover, const char *why)
{
	leftover->why = why;
	return DUMP_UNKNOWN;
}

/* The process still has this pid: it may have become another program. */
static enum dump_answer exec_judge(
	const struct stat *st, struct dump_leftover *leftover)
{
	if (dump_proc_has_mapped(leftover->pid, st->st_dev, st->st_ino) ==
		DUMP_NO)
		return DUMP_YES;
	return doubt(leftover, "its process runs, but does not hold the lock");
}

static enum dump_answer process_judge(const struct stat *st,
	const struct header *header, struct dump_leftover *leftover)
{
	static const uint8_t unknown[16];
	uint64_t ours = ttm_proc_pid_namespace(0);
	uint8_t boot_id[16];

	if (!dump_boot_id(boot_id) ||
		memcmp(header->boot_id, unknown, sizeof(unknown)) == 0)
		return doubt(leftover, "it cannot be told of which boot it is");
	if (memcmp(boot_id, header->boot_id, sizeof(boot_id)) != 0)
		return DUMP_YES;
	if (ours == 0 || header->pid_namespace != ours)
		return doubt(
			leftover, "its process is of another pid namespace");
	switch (dump_proc_has_ended(header->pid, header->start_time)) {
	case DUMP_YES:
		return DUMP_YES;
	case DUMP_NO:
		return exec_judge(st, leftover);
	case DUMP_UNKNOWN:
	default:
		return doubt(leftover, "its process cannot be looked at");
	}
}

static enum dump_answer segment_judge(int fd, const struct stat *st,
	const struct header *header, struct dump_leftover *leftover)
{
	uint64_t holder;

	switch (dump_lock_is_free(fd, &holder)) {
	case DUMP_NO:
		return DUMP_NO;
	case DUMP_YES:
		return process_judge(st, header, leftover);
	case DUMP_UNKNOWN:
	default:
		return doubt(leftover, "its lock cannot be asked");
	}
}

static void segment_look(
	int fd, const struct stat *st, struct dump_leftover *leftover)
{
	struct header header;

	if (!read_at(fd, &header, sizeof(header), 0) ||
		header.magic != SEGMENT_MAGIC) {
		leftover->dead = doubt(leftover, "it is no segment");
		return;
	}
	leftover->pid = header.pid;
	leftover->start_time = header.start_time;
	leftover->dead = segment_judge(fd, st, &header, leftover);
	if (leftover->dead == DUMP_YES)
		survivors_count(fd, &header, leftover);
}

/* It has its name within milliseconds, or nobody is there to give it one. */
static void unfinished_look(
	int fd, const struct stat *st, struct dump_leftover *leftover)
{
	struct timespec now;
	uint64_t holder;

	clock_gettime(CLOCK_REALTIME, &now);
	if (dump_lock_is_free(fd, &holder) != DUMP_YES)
		leftover->dead = DUMP_NO;
	else if (now.tv_sec - st->st_mtim.tv_sec < UNFINISHED_S)
		leftover->dead = doubt(
			leftover, "it is less than a minute old");
	else
		leftover->dead = DUMP_YES;
}

/* -- all -------------------------------------------------------------------------------------- */

static enum dump_leftover_kind kind_of(
	const char *name, struct dump_leftover *leftover)
{
	if (strncmp(name, ".new.", 5) == 0)
		return DUMP_LEFT_UNFINISHED;
	if (strcmp(name, "lost") == 0)
		return DUMP_LEFT_LOST;
	if (!dump_name_parse(name, &leftover->pid, &leftover->start_time,
		    &leftover->error))
		return DUMP_LEFT_NOTHING;
	return name[0] == 'p' ? DUMP_LEFT_SEGMENT : DUMP_LEFT_MARKER;
}

static void lost_look(int fd, struct dump_leftover *leftover)
{
	uint64_t lost[4];

	leftover->dead = DUMP_UNKNOWN;
	if (!read_at(fd, lost, sizeof(lost), 0))
		return;
	leftover->objects = lost[1];
	leftover->bytes = lost[2];
}

static void file_look(
	int directory, const char *name, struct dump_leftover *leftover)
{
	struct stat st;
	int fd = openat(directory, name,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	leftover->dead = DUMP_UNKNOWN;
	leftover->why = "it cannot be opened";
	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		leftover->kind = DUMP_LEFT_NOTHING;
		close(fd);
		return;
	}
	leftover->why = NULL;
	leftover->inode = st.st_ino;
	leftover->file_bytes = (uint64_t)st.st_blocks * 512;
	if (leftover->kind == DUMP_LEFT_SEGMENT)
		segment_look(fd, &st, leftover);
	else if (leftover->kind == DUMP_LEFT_UNFINISHED)
		unfinished_look(fd, &st, leftover);
	else
		lost_look(fd, leftover);
	close(fd);
}

void dump_leftover_look(
	int directory, const char *name, struct dump_leftover *ret_leftover)
{
	memset(ret_leftover, 0, sizeof(*ret_leftover));
	ret_leftover->objects = TTMEM_UNKNOWN;
	ret_leftover->bytes = TTMEM_UNKNOWN;
	ret_leftover->kind = kind_of(name, ret_leftover);
	if (ret_leftover->kind == DUMP_LEFT_MARKER)
		ret_leftover->dead = dump_proc_is_gone(
			ret_leftover->pid, ret_leftover->start_time);
	else if (ret_leftover->kind != DUMP_LEFT_NOTHING)
		file_look(directory, name, ret_leftover);
}

bool dump_segment_is_dead(
	int directory, const char *name, const uint8_t *run_id)
{
	struct dump_leftover leftover;
	struct header header;
	struct stat st;
	bool dead = false;
	int fd;

	memset(&leftover, 0, sizeof(leftover));
	if (kind_of(name, &leftover) != DUMP_LEFT_SEGMENT)
		return false;
	fd = openat(directory, name,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && read_at(fd, &header, sizeof(header), 0) &&
		header.magic == SEGMENT_MAGIC &&
		(!run_id ||
			memcmp(header.run_id, run_id, sizeof(header.run_id)) ==
				0)) {
		leftover.pid = header.pid;
		dead = segment_judge(fd, &st, &header, &leftover) == DUMP_YES;
	}
	close(fd);
	return dead;
}

/* Two digits for each byte of it, up to the first that is 0. */
static bool hex_is_of_run(const char *hex, const uint8_t *run_id)
{
	char wanted[2 * RUN_ID_SIZE + 1] = "";
	size_t digits = strspn(hex, "0123456789abcdef"), i;

	if (hex[digits] || digits % 2 || digits > 2 * RUN_ID_SIZE)
		return false;
	if (!run_id)
		return true;
	for (i = 0; i < RUN_ID_SIZE && run_id[i]; i++)
		snprintf(wanted + 2 * i, 3, "%02x", run_id[i]);
	return strcmp(hex, wanted) == 0;
}

bool dump_marker_is_of_run(const char *name, const uint8_t *run_id)
{
	struct dump_leftover leftover;
	char wanted[80];
	int length;

	memset(&leftover, 0, sizeof(leftover));
	if (kind_of(name, &leftover) != DUMP_LEFT_MARKER || !leftover.error ||
		leftover.error > ERRNO_MOST)
		return false;
	length = snprintf(wanted, sizeof(wanted), "u.%llu.%llu.%llu.",
		(unsigned long long)leftover.pid,
		(unsigned long long)leftover.start_time,
		(unsigned long long)leftover.error);
	return strncmp(name, wanted, (size_t)length) == 0 &&
		hex_is_of_run(name + length, run_id);
}
