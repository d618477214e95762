/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
/* What dead processes left where no aggregator serves; markers of untracked ones. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "record/segment.h"
#include "shm/identity.h"
#include "shm/text.h"

#define TIDY_ABOVE_BYTES (64ull << 20)
/* Limit where a ttmemd was killed: its successor reads what is there. */
#define TIDY_ABOVE_AWAITED_BYTES (512ull << 20)
#define TIDY_SHARE 4u /* of a small filesystem, as in a container */
#define TIDY_ABOVE_MARKERS 256u
#define ITEMS_MAX 4096u
#define NAME_SIZE 96u
#define LOCK_NAP_NS 100000
#define LOCK_NAPS 1000u

struct item {
	uint64_t time_ns;
	uint64_t bytes;
	uint64_t objects; /* live objects in it */
	uint64_t object_bytes;
	char name[NAME_SIZE];
};

struct tidy {
	int directory;
	uint64_t above; /* bytes that may be left */
	uint64_t bytes; /* of all segments, dead or not */
	uint64_t dead;  /* of the dead segments that are left */
	uint64_t markers;
	struct ttm_lost lost;
	size_t items_len;
	struct item items[ITEMS_MAX];
};

/* -- looking ------------------------------------------------------------------------ */

static bool name_starts(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Returns the PID of "p.PID.START..." or "u.PID.START...", or 0 for other names. */
static uint64_t name_numbers(const char *name, uint64_t *ret_start)
{
	uint64_t pid = 0, start = 0;

	for (name += 2; *name >= '0' && *name <= '9'; name++)
		pid = pid * 10 + (uint64_t)(*name - '0');
	if (*name++ != '.')
		return 0;
	for (; *name >= '0' && *name <= '9'; name++)
		start = start * 10 + (uint64_t)(*name - '0');
	*ret_start = start;
	return pid;
}

/*
 * Returns whether a process is gone, as far as this process can see: both must be in
 * the same pid namespace.
 */
static bool process_is_gone(uint64_t pid, uint64_t start)
{
	char path[48];
	struct ttm_text text;
	uint64_t now;

	ttm_text_init(&text, path, sizeof(path));
	ttm_text_add(&text, "/proc/");
	ttm_text_add_decimal(&text, pid);
	ttm_text_add(&text, "/stat");
	now = ttm_start_time_read(path);
	if (now == 0 || start == 0) /* gone, or invisible to us */
		return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
	return now != start;
}

static bool lock_is_free(int fd)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1
	};

	return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

static bool read_all(int fd, void *ret_bytes, size_t size, uint64_t off)
{
	ssize_t n;

	do
		n = pread(fd, ret_bytes, size, (off_t)off);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size;
}

/* The part of a header that is needed: stacks may be small. */
struct identity {
	uint64_t magic;
	uint8_t skipped[0x28 - 8];
	uint8_t boot_id[16];
	uint8_t run_id[16];
	uint32_t pid;
	uint32_t uid;
	uint64_t pid_namespace;
	uint64_t start_time;
};

static_assert(offsetof(struct identity, start_time) ==
		offsetof(struct ttm_header_const, start_time),
	"as in the header");

/*
 * Returns whether a segment is certainly dead: the lock is free, and its process
 * belonged to another boot, or to this boot and our pid namespace and is gone. In doubt
 * the segment stays.
 */
static bool segment_is_dead(int fd, const struct identity *identity)
{
	static const uint8_t unknown[16];
	uint64_t pid_namespace = ttm_pid_namespace_read();
	uint8_t boot_id[16] = { 0 };

	ttm_boot_id_read(boot_id);
	if (identity->magic != TTM_SEGMENT_MAGIC || !lock_is_free(fd) ||
		memcmp(boot_id, unknown, sizeof(boot_id)) == 0 ||
		memcmp(identity->boot_id, unknown, sizeof(boot_id)) == 0)
		return false;
	if (memcmp(boot_id, identity->boot_id, sizeof(boot_id)) != 0)
		return true;
	return pid_namespace != 0 && identity->pid_namespace == pid_namespace &&
		process_is_gone(identity->pid, identity->start_time);
}

static void slots_count(int fd, uint64_t off, struct item *item)
{
	struct ttm_words slots[16];
	size_t at, i, slots_size = sizeof(slots);

	for (at = 0; at < TTM_EXTENT_SIZE; at += slots_size) {
		if (!read_all(fd, slots, slots_size, off + at))
			return;
		for (i = 0; i < 16; i++) {
			if (TTM_W0_STATE(slots[i].w[0]) != TTM_SLOT_LIVE)
				continue;
			item->objects++;
			item->object_bytes += ttm_words_bytes(&slots[i]);
		}
	}
}

static void survivors_count(int fd, struct item *item)
{
	uint32_t words[128];
	size_t at, i;

	for (at = 0; at < TTM_EXTENTS_MAX; at += 128) {
		if (!read_all(fd, words, sizeof(words),
			    TTM_DIRECTORY_OFF + at * sizeof(words[0])))
			return;
		for (i = 0; i < 128; i++)
			if (TTM_EXTENT_TYPE(words[i]) == TTM_EXTENT_SLOTS)
				slots_count(fd,
					TTM_EXTENTS_OFF +
						(at + i) * TTM_EXTENT_SIZE,
					item);
	}
}

static bool segment_inspect(int directory, struct item *item)
{
	struct identity identity;
	int fd = openat(directory, item->name,
		O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool dead;

	if (fd < 0)
		return false;
	dead = read_all(fd, &identity, sizeof(identity), 0) &&
		segment_is_dead(fd, &identity);
	if (dead)
		survivors_count(fd, item);
	close(fd);
	return dead;
}

/* -- collecting --------------------------------------------------------------------- */

static int size_visit(void *context, const char *name)
{
	struct tidy *tidy = context;
	struct stat st;

	if (name_starts(name, TTM_MARKER_PREFIX))
		tidy->markers++;
	if (name_starts(name, TTM_SEGMENT_PREFIX) &&
		fstatat(tidy->directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		tidy->bytes += (uint64_t)st.st_blocks * 512;
	return 0;
}

/* Skips our own segment: closing it would drop our lock. */
static int item_visit(void *context, const char *name)
{
	struct tidy *tidy = context;
	struct item *item = &tidy->items[tidy->items_len];
	uint64_t start;
	struct stat st;

	if (!name_starts(name, TTM_SEGMENT_PREFIX) ||
		strlen(name) >= NAME_SIZE ||
		name_numbers(name, &start) == (uint64_t)getpid() ||
		fstatat(tidy->directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	memset(item, 0, sizeof(*item));
	memcpy(item->name, name, strlen(name) + 1);
	item->bytes = (uint64_t)st.st_blocks * 512;
	item->time_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u +
		(uint64_t)st.st_mtim.tv_nsec;
	if (segment_inspect(tidy->directory, item)) {
		tidy->dead += item->bytes;
		tidy->items_len++;
	}
	return tidy->items_len == ITEMS_MAX;
}

static bool item_before(const struct item *a, const struct item *b)
{
	if ((a->objects == 0) != (b->objects == 0))
		return a->objects == 0;
	return a->time_ns < b->time_ns;
}

/* Linear search: there are a few thousand items at most. */
static struct item *item_next(struct tidy *tidy)
{
	struct item *next = NULL;
	size_t i;

	for (i = 0; i < tidy->items_len; i++)
		if (tidy->items[i].name[0] &&
			(!next || item_before(&tidy->items[i], next)))
			next = &tidy->items[i];
	return next;
}

/* -- removing ----------------------------------------------------------------------- */

static void segments_remove(struct tidy *tidy)
{
	struct item *item;

	while (tidy->dead > tidy->above / 2 &&
		(item = item_next(tidy)) != NULL) {
		if (unlinkat(tidy->directory, item->name, 0) == 0) {
			tidy->dead -= item->bytes;
			tidy->lost.segments += item->objects > 0;
			tidy->lost.objects += item->objects;
			tidy->lost.bytes += item->object_bytes;
		}
		item->name[0] = '\0';
	}
}

static int marker_visit(void *context, const char *name)
{
	struct tidy *tidy = context;
	uint64_t pid, start = 0;

	if (!name_starts(name, TTM_MARKER_PREFIX))
		return 0;
	pid = name_numbers(name, &start);
	if (pid && process_is_gone(pid, start) &&
		unlinkat(tidy->directory, name, 0) == 0)
		tidy->lost.markers++;
	return 0;
}

static int lost_lock(int lost, short type)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_len = 1
	};

	return fcntl(lost, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

/*
 * Takes the lock of the lost file: one thread of all processes tidies at a time. Waits
 * for the thread that has it, if the caller needs the room, but not for long.
 */
static int lost_lock_take(int lost, bool pressed)
{
	const struct timespec nap = { .tv_nsec = LOCK_NAP_NS };
	int r = lost_lock(lost, F_WRLCK);
	unsigned naps;

	for (naps = 0; pressed && r == -EAGAIN && naps < LOCK_NAPS; naps++) {
		nanosleep(&nap, NULL);
		r = lost_lock(lost, F_WRLCK);
	}
	return r;
}

/* Opens and locks the lost file. Returns a descriptor or a negative errno. */
static int lost_open(int directory, bool pressed)
{
	int fd = openat(directory, TTM_LOST_FILE,
		O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	int r = 0;

	if (fd < 0)
		return -errno;
	/* Set the mode whatever the umask is, and allocate room for the
	 * count first: beyond a limit, the write would be a signal. */
	if (fchmod(fd, 0600) < 0)
		r = -errno;
	if (r == 0)
		r = lost_lock_take(fd, pressed);
	if (r == 0)
		r = ttm_range_allocate(fd, 0, sizeof(struct ttm_lost));
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* Returns the history of a dead segment to the filesystem. */
static void history_give_back(int fd)
{
	const uint32_t gone = TTM_EXTENT_WORD(TTM_EXTENT_CLAIMED, 0);
	int flags = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	uint64_t i, word_off;
	uint32_t word;

	for (i = 0; i < TTM_EXTENTS_MAX; i++) {
		word_off = TTM_DIRECTORY_OFF + i * sizeof(word);
		if (!read_all(fd, &word, sizeof(word), word_off))
			return;
		if (TTM_EXTENT_TYPE(word) != TTM_EXTENT_LANE)
			continue;
		if (pwrite(fd, &gone, sizeof(gone), (off_t)word_off) !=
				(ssize_t)sizeof(gone) ||
			fallocate(fd, flags,
				(off_t)(TTM_EXTENTS_OFF + i * TTM_EXTENT_SIZE),
				TTM_EXTENT_SIZE) < 0)
			return;
	}
}

static void item_shrink(int directory, const struct item *item)
{
	int fd = openat(directory, item->name,
		O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	/* The words of the directory have memory; a limit may be in the way. */
	if (ttm_range_check(TTM_EXTENTS_OFF) == 0)
		history_give_back(fd);
	close(fd);
}

/*
 * Frees space where the filesystem is too full to count: removes only segments without
 * objects, and the history of others, which needs no count.
 */
static void room_make(struct tidy *tidy)
{
	struct item *item;

	ttm_directory_each(tidy->directory, item_visit, tidy);
	item = item_next(tidy);
	if (item && item->objects == 0)
		unlinkat(tidy->directory, item->name, 0);
	else if (item)
		item_shrink(tidy->directory, item);
	tidy->items_len = 0;
	tidy->dead = 0;
}

/*
 * Count after the removal: a kill in between leaves a figure that is too low by what
 * one start removed; the docs call it "at least".
 */
static void lost_add(int fd, const struct ttm_lost *lost)
{
	struct ttm_lost total = { 0, 0, 0, 0 };
	ssize_t n = pread(fd, &total, sizeof(total), 0);

	if (n != (ssize_t)sizeof(total))
		memset(&total, 0, sizeof(total));
	total.segments += lost->segments;
	total.objects += lost->objects;
	total.bytes += lost->bytes;
	total.markers += lost->markers;
	do
		n = pwrite(fd, &total, sizeof(total), 0);
	while (n < 0 && errno == EINTR);
}

static void tidy(struct tidy *tidy, uint64_t above, bool pressed)
{
	int lost;

	ttm_directory_each(tidy->directory, size_visit, tidy);
	if ((tidy->bytes <= above && tidy->markers <= TIDY_ABOVE_MARKERS) ||
		ttm_directory_is_served(tidy->directory))
		return;
	lost = lost_open(tidy->directory, pressed);
	if (lost == -ENOSPC && tidy->bytes > above) {
		room_make(tidy);
		lost = lost_open(tidy->directory, pressed);
	}
	if (lost < 0)
		return;
	/* Another process may have tidied until just now: look again. */
	if (tidy->bytes > above)
		ttm_directory_each(tidy->directory, item_visit, tidy);
	if (tidy->dead > above)
		segments_remove(tidy);
	if (tidy->markers > TIDY_ABOVE_MARKERS)
		ttm_directory_each(tidy->directory, marker_visit, tidy);
	lost_add(lost, &tidy->lost);
	/* A child forked meanwhile has the file open, too: closing it would
	 * leave the lock. */
	lost_lock(lost, F_UNLCK);
	close(lost);
}

/* A share of a filesystem that is not much larger than that limit. */
static uint64_t tidy_above(int directory)
{
	uint64_t most = ttm_directory_is_awaited(directory, UINT64_MAX) ?
		TIDY_ABOVE_AWAITED_BYTES :
		TIDY_ABOVE_BYTES;
	struct statfs fs;
	uint64_t share;

	if (fstatfs(directory, &fs) < 0 || fs.f_blocks == 0)
		return most;
	share = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize / TIDY_SHARE;
	return share < most ? share : most;
}

void ttm_leftover_tidy(int directory, bool pressed)
{
	struct tidy *memory = ttm_private_memory(sizeof(*memory));

	if (!memory)
		return;
	memory->directory = directory;
	memory->above = tidy_above(directory);
	tidy(memory, pressed ? memory->above / 2 : memory->above, pressed);
	ttm_private_memory_drop(memory, sizeof(*memory));
}

/* -- markers ------------------------------------------------------------------------- */

static void marker_name(int error, char ret_name[NAME_SIZE])
{
	const char *run_id = ttm_environment("TTMEM_RUN_ID");
	struct ttm_text text;
	size_t i;

	ttm_text_init(&text, ret_name, NAME_SIZE);
	ttm_text_add(&text, TTM_MARKER_PREFIX);
	ttm_text_add_decimal(&text, (uint64_t)getpid());
	ttm_text_add(&text, ".");
	ttm_text_add_decimal(&text, ttm_start_time_read("/proc/self/stat"));
	ttm_text_add(&text, ".");
	ttm_text_add_decimal(&text, (uint64_t)-error);
	ttm_text_add(&text, ".");
	for (i = 0; run_id && i < 16 && run_id[i]; i++)
		ttm_text_add_hex(&text, (uint8_t)run_id[i], 2);
}

void ttm_leftover_mark(const char *base, int error)
{
	char name[NAME_SIZE];

	marker_name(error, name);
	ttm_user_directory_mark(base, name);
}

struct own_markers {
	int directory;
	uint64_t start;
};

/*
 * A process that could not read the number when it started, for want of a descriptor,
 * says 0.
 */
static int own_marker_visit(void *context, const char *name)
{
	const struct own_markers *own = context;
	uint64_t start = 0;

	if (name_starts(name, TTM_MARKER_PREFIX) &&
		name_numbers(name, &start) == (uint64_t)getpid() &&
		(start == 0 || start == own->start))
		unlinkat(own->directory, name, 0);
	return 0;
}

void ttm_leftover_unmark(const char *base)
{
	struct own_markers own = {
		.start = ttm_start_time_read("/proc/self/stat"),
	};
	char path[TTM_PATH_SIZE];

	if (ttm_user_directory_open(base, path, &own.directory) < 0)
		return;
	ttm_directory_each(own.directory, own_marker_visit, &own);
	close(own.directory);
}
