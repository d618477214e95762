/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
/* Snapshots from lines of JSON: a file, or a pipe that is still being written. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ttmem/reader.h>

#define READ_SIZE 65536u
#define LINE_MAX_DEFAULT ((size_t)1 << 30)
#define PREFIX_SIZE 32u

struct ttmem_replay {
	int fd;
	bool owns_fd;
	bool skipping; /* the rest of a line that was refused as too long */
	size_t line_max;
	uint64_t line;
	char *bytes; /* what was read and not parsed */
	size_t size;
	size_t begin;
	size_t searched; /* no newline before here */
	size_t end;
	char error[PREFIX_SIZE + TTMEM_PARSE_ERROR_SIZE];
};

static int replay_new(int fd, bool owns_fd, struct ttmem_replay **ret_replay)
{
	struct ttmem_replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return -ENOMEM;
	replay->fd = fd;
	replay->owns_fd = owns_fd;
	replay->line_max = LINE_MAX_DEFAULT;
	*ret_replay = replay;
	return 0;
}

int ttmem_replay_open(const char *path, struct ttmem_replay **ret_replay)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = replay_new(fd, true, ret_replay);
	if (r < 0)
		close(fd);
	return r;
}

int ttmem_replay_open_fd(int fd, struct ttmem_replay **ret_replay)
{
	return replay_new(fd, false, ret_replay);
}

void ttmem_replay_close(struct ttmem_replay **replay)
{
	if (!replay || !*replay)
		return;
	if ((*replay)->owns_fd)
		close((*replay)->fd);
	free((*replay)->bytes);
	free(*replay);
	*replay = NULL;
}

void ttmem_replay_limit(struct ttmem_replay *replay, size_t bytes)
{
	replay->line_max = bytes ? bytes : LINE_MAX_DEFAULT;
}

uint64_t ttmem_replay_line(const struct ttmem_replay *replay)
{
	return replay->line;
}

const char *ttmem_replay_error(const struct ttmem_replay *replay)
{
	return replay->error;
}

/* Makes room behind `end`: by moving, then by growing. */
static int replay_room(struct ttmem_replay *replay)
{
	char *bytes;
	size_t size;

	if (replay->begin) {
		memmove(replay->bytes, replay->bytes + replay->begin,
			replay->end - replay->begin);
		replay->end -= replay->begin;
		replay->searched -= replay->begin;
		replay->begin = 0;
	}
	if (replay->size - replay->end >= READ_SIZE)
		return 0;
	size = replay->size * 2 + 2 * READ_SIZE;
	bytes = realloc(replay->bytes, size);
	if (!bytes)
		return -ENOMEM;
	replay->bytes = bytes;
	replay->size = size;
	return 0;
}

/* Returns 1 when something came, 0 at the end, or a negative errno. */
static int replay_fill(struct ttmem_replay *replay)
{
	ssize_t n;
	int r = replay_room(replay);

	if (r < 0)
		return r;
	do {
		n = read(replay->fd, replay->bytes + replay->end,
			replay->size - replay->end);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	replay->end += (size_t)n;
	return n > 0;
}

/*
 * The next newline that was read already, or NULL; then *ret_zero says whether what was
 * read since the last search has a zero byte.
 */
static char *newline_find(struct ttmem_replay *replay, bool *ret_zero)
{
	size_t length = replay->end - replay->searched;
	char *from = length ? replay->bytes + replay->searched : NULL;
	char *at = length ? memchr(from, '\n', length) : NULL;

	*ret_zero = length && !at && memchr(from, '\0', length);
	replay->searched = replay->end;
	return at;
}

static void replay_say(struct ttmem_replay *replay, const char *text)
{
	snprintf(replay->error, sizeof(replay->error), "line %" PRIu64 ": %s",
		replay->line, text);
}

/*
 * Refuses a line before its end is known, for it may have none. Returns 0 if reading
 * may go on.
 */
static int line_refuse(struct ttmem_replay *replay, bool zero)
{
	int r = 0;

	if (replay->end - replay->begin > replay->line_max)
		r = -EFBIG;
	else if (zero)
		r = -EILSEQ;
	if (r < 0 || replay->skipping)
		replay->begin = replay->searched = replay->end;
	if (r == 0 || replay->skipping)
		return 0;
	replay->skipping = true;
	replay->line++;
	replay_say(replay, r == -EFBIG ? "too long" : "not text");
	return r;
}

/*
 * The next line is bytes[begin] up to *ret_end. Returns 1 with a line, 0 without
 * any at the end, or a negative errno.
 */
static int line_next(struct ttmem_replay *replay, size_t *ret_end)
{
	char *newline;
	bool zero;
	int r;

	while (!(newline = newline_find(replay, &zero))) {
		r = line_refuse(replay, zero);
		if (r < 0)
			return r;
		r = replay_fill(replay);
		if (r < 0)
			return r;
		if (r == 0) {
			/* The last line may lack its newline. */
			*ret_end = replay->end;
			return replay->end > replay->begin || replay->skipping;
		}
	}
	*ret_end = (size_t)(newline - replay->bytes);
	return 1;
}

static bool line_is_blank(const char *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r')
			return false;
	return true;
}

/* Returns 1 for a line without anything in it, or the rest of one that was refused. */
static int line_parse(struct ttmem_replay *replay, size_t end,
	struct ttmem_snapshot **ret_snapshot)
{
	char error[TTMEM_PARSE_ERROR_SIZE] = "no memory";
	const char *line = replay->bytes + replay->begin;
	size_t size = end - replay->begin;
	int r;

	replay->line += !replay->skipping;
	if (replay->skipping) {
		replay->skipping = false;
		r = 1;
	} else if (size > replay->line_max) {
		replay_say(replay, "too long");
		r = -EFBIG;
	} else if (line_is_blank(line, size)) {
		r = 1;
	} else {
		r = ttmem_snapshot_parse(line, size, ret_snapshot, error);
		if (r < 0)
			replay_say(replay, error);
	}
	replay->begin = replay->searched = end < replay->end ? end + 1 : end;
	return r;
}

int ttmem_replay_next(
	struct ttmem_replay *replay, struct ttmem_snapshot **ret_snapshot)
{
	size_t end;
	int r;

	replay->error[0] = '\0';
	do {
		r = line_next(replay, &end);
		if (r < 0 && r != -EAGAIN && !replay->error[0]) {
			replay->line++;
			replay_say(replay, "cannot be read");
			replay->line--;
		}
		if (r < 0)
			return r;
		if (r == 0)
			return -ENODATA;
		r = line_parse(replay, end, ret_snapshot);
	} while (r == 1);
	return r;
}
