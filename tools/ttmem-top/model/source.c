/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/source.h"
#include "common/text.h"
#include "format.h"

#define SECOND_NS 1000000000ull
#define PAUSE_MAX_NS                                                           \
	(5 * SECOND_NS) /* gaps in a recording are not waited for */
#define SILENT_NS (5 * SECOND_NS)
#define FOLLOW_NS SECOND_NS
#define TRIES 3
/* In a row. */
#define BAD_LINES_MAX 1000

struct top_source {
	struct top_source_config config;
	struct ttmem_reader *reader; /* NULL: a recording */
	struct ttmem_replay *replay;
	int fd;                      /* of a pipe, non-blocking; -1: none */
	bool fd_was_blocking;        /* stdin itself: others may use it */
	struct ttmem_snapshot *next; /* of a file: read, but not due */
	uint64_t due_ns;
	uint64_t taken_ns;    /* of the snapshot given last */
	uint64_t arrived_ns;  /* when that was */
	uint64_t interval_ns; /* between the last two */
	bool ended;
	bool failed; /* it is no recording: nothing more is read */
	bool any;
	uint64_t state; /* enum ttmem_source, of the last snapshot */
	uint64_t age_ns;
	uint64_t pid;
	uint64_t rows_unlisted; /* by ttmemd, for want of room */
	uint64_t objects_unlisted;
	struct ttmem_reader_status status; /* why there is none */
	char error[TTMEM_PARSE_ERROR_SIZE + 256];
};

/* -- opening ------------------------------------------------------------------ */

/* A description of our own where possible: stdin's flags are not only ours. */
static int stdin_open(struct top_source *source)
{
	int flags;

	source->fd = open("/dev/stdin", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (source->fd >= 0)
		return 0;
	source->fd = STDIN_FILENO;
	flags = fcntl(STDIN_FILENO, F_GETFL);
	if (flags < 0)
		return -errno;
	source->fd_was_blocking = !(flags & O_NONBLOCK);
	return fcntl(STDIN_FILENO, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno :
								      0;
}

static int replay_open(struct top_source *source)
{
	const char *path = source->config.replay;
	struct stat st;
	int r = 0;

	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO)) {
		ttm_error("standard input is a terminal, not a recording");
		return TTM_EXIT_USAGE;
	}
	if (strcmp(path, "-") != 0)
		source->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	else if (source->config.every)
		source->fd = dup(STDIN_FILENO);
	else
		r = stdin_open(source);
	if (r == 0 && source->fd < 0)
		r = -errno;
	if (r == 0)
		r = ttmem_replay_open_fd(source->fd, &source->replay);
	if (r < 0) {
		ttm_error("%s: %s", path, strerror(-r));
		return TTM_EXIT_FAILURE;
	}
	if (source->config.every && fstat(source->fd, &st) == 0 &&
		S_ISFIFO(st.st_mode) && strcmp(path, "-") != 0)
		fcntl(source->fd, F_SETFL, 0);
	return 0;
}

int top_source_open(
	const struct top_source_config *config, struct top_source **ret_source)
{
	struct top_source *source = calloc(1, sizeof(*source));
	int status;

	if (!source) {
		ttm_error("%s", strerror(ENOMEM));
		return TTM_EXIT_FAILURE;
	}
	source->config = *config;
	source->fd = -1;
	source->status.size = sizeof(source->status);
	status = config->replay ?
		replay_open(source) :
		ttm_source_open(config->dir, config->system, &source->reader);
	if (status)
		top_source_close(&source);
	else
		*ret_source = source;
	return status;
}

void top_source_close(struct top_source **source)
{
	struct top_source *s = *source;

	if (!s)
		return;
	ttmem_reader_close(&s->reader);
	ttmem_replay_close(&s->replay);
	ttmem_snapshot_free(&s->next);
	if (s->fd == STDIN_FILENO && s->fd_was_blocking)
		fcntl(s->fd, F_SETFL, fcntl(s->fd, F_GETFL) & ~O_NONBLOCK);
	else if (s->fd > STDIN_FILENO)
		close(s->fd);
	free(s);
	*source = NULL;
}

/* -- taking ------------------------------------------------------------------- */

static void snapshot_noted(struct top_source *source,
	const struct ttmem_snapshot *snapshot, uint64_t now_ns)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(snapshot);
	const struct ttmem_health_row *h = ttmem_snapshot_health(snapshot);

	if (source->any && info->taken_ns > source->taken_ns)
		source->interval_ns = info->taken_ns - source->taken_ns;
	source->any = true;
	source->state = info->source;
	source->age_ns = info->age_ns;
	source->pid = info->pid;
	source->rows_unlisted = h ? ttm_value_or_0(h->rows_unlisted) : 0;
	source->objects_unlisted = h ? ttm_value_or_0(h->objects_unlisted) : 0;
	source->taken_ns = info->taken_ns;
	source->arrived_ns = now_ns;
	source->error[0] = '\0';
}

static int reader_take(struct top_source *source, uint32_t flags,
	struct ttmem_snapshot **ret_snapshot)
{
	int tries, r = -EAGAIN;

	/* Not for long: whatever is shown now is shown until then. */
	for (tries = 0; r == -EAGAIN && tries < TRIES; tries++)
		r = ttmem_reader_snapshot(source->reader, flags, ret_snapshot);
	if (r == 0)
		return 0;
	if (ttmem_reader_status(source->reader, &source->status) < 0)
		snprintf(source->status.reason, sizeof(source->status.reason),
			"cannot look for ttmemd");
	source->state = source->status.state;
	if (r == -EAGAIN)
		return r;
	if (source->state == TTMEM_SOURCE_OK)
		source->state = TTMEM_SOURCE_BROKEN; /* just come or gone */
	source->age_ns = source->status.age_ns;
	return r == -EPROTO ? -ENODATA : r;
}

static void replay_explain(struct top_source *source, int error)
{
	bool of_line = error == -EPROTO || error == -EPROTONOSUPPORT ||
		error == -EFBIG || error == -EILSEQ;

	snprintf(source->error, sizeof(source->error), "%.200s: %s",
		source->config.replay,
		of_line ? ttmem_replay_error(source->replay) :
			  strerror(-error));
}

/*
 * The next line that can be understood. What has too many others, or one without an
 * end, is no recording.
 */
static int replay_next(
	struct top_source *source, struct ttmem_snapshot **ret_snapshot)
{
	unsigned tries = 0;
	int r;

	if (source->failed)
		return -ENODATA;
	do {
		r = ttmem_replay_next(source->replay, ret_snapshot);
		if (r < 0 && r != -ENODATA && r != -EAGAIN)
			replay_explain(source, r);
	} while ((r == -EPROTO || r == -EPROTONOSUPPORT) &&
		++tries < BAD_LINES_MAX);
	source->failed = r < 0 && r != -ENODATA && r != -EAGAIN;
	source->ended = r == -ENODATA || source->failed;
	return r;
}

/* Of a pipe the newest that has come: who watches wants now. */
static int pipe_take(struct top_source *source, uint64_t now_ns,
	struct ttmem_snapshot **ret_snapshot)
{
	struct ttmem_snapshot *newest = NULL, *snapshot;
	int r;

	while ((r = replay_next(source, &snapshot)) == 0) {
		ttmem_snapshot_free(&newest);
		newest = snapshot;
	}
	source->due_ns = r == -ENODATA ? now_ns + FOLLOW_NS : 0;
	if (!newest)
		return r;
	*ret_snapshot = newest;
	return 0;
}

/* Of a file one after the other, as they were taken. */
static uint64_t pause_of(
	const struct top_source *source, const struct ttmem_snapshot *next)
{
	uint64_t taken = ttmem_snapshot_info(next)->taken_ns, pause;

	if (!source->any)
		return 0;
	if (source->config.delay_ns)
		return source->config.delay_ns;
	if (taken == TTMEM_UNKNOWN || taken <= source->taken_ns)
		return SECOND_NS;
	pause = taken - source->taken_ns;
	return pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS;
}

static int file_take(struct top_source *source, uint64_t now_ns,
	struct ttmem_snapshot **ret_snapshot)
{
	int r;

	if (!source->next) {
		r = replay_next(source, &source->next);
		if (r < 0) {
			source->due_ns = now_ns + FOLLOW_NS;
			return r;
		}
		source->due_ns = source->arrived_ns +
			pause_of(source, source->next);
	}
	if (source->any && now_ns < source->due_ns)
		return -EAGAIN;
	*ret_snapshot = source->next;
	source->next = NULL;
	return 0;
}

static bool is_pipe(const struct top_source *source)
{
	struct stat st;

	return fstat(source->fd, &st) == 0 && !S_ISREG(st.st_mode);
}

int top_source_take(struct top_source *source, uint32_t flags, uint64_t now_ns,
	struct ttmem_snapshot **ret_snapshot)
{
	int r;

	if (source->reader)
		r = reader_take(source, flags, ret_snapshot);
	else if (source->config.every)
		r = replay_next(source, ret_snapshot);
	else if (is_pipe(source))
		r = pipe_take(source, now_ns, ret_snapshot);
	else
		r = file_take(source, now_ns, ret_snapshot);
	if (r == 0)
		snapshot_noted(source, *ret_snapshot, now_ns);
	return r;
}

int top_source_fd(const struct top_source *source)
{
	/* After its end a pipe would always be ready. */
	return source->replay && !source->ended && is_pipe(source) ?
		source->fd :
		-1;
}

uint64_t top_source_due_ns(const struct top_source *source)
{
	return source->replay ? source->due_ns : 0;
}

const char *top_source_failure(const struct top_source *source)
{
	return source->failed ? source->error : NULL;
}

bool top_source_is_replay(const struct top_source *source)
{
	return source->replay != NULL;
}

/* -- what it is worth --------------------------------------------------------- */

static const char *hint_of(uint64_t state)
{
	switch (state) {
	case TTMEM_SOURCE_NO_BASE:
		return "make the base directory, or name another with --dir";
	case TTMEM_SOURCE_NO_PERMISSION:
		return "run it as the user whose processes you ask for";
	case TTMEM_SOURCE_NEVER_STARTED:
	case TTMEM_SOURCE_DEAD:
		return "start ttmemd";
	case TTMEM_SOURCE_STALE:
		return "ttmemd is stopped or starved";
	case TTMEM_SOURCE_NOT_SERVING:
		return "see ttmem-dump doctor";
	case TTMEM_SOURCE_VERSION:
	case TTMEM_SOURCE_BROKEN:
		return "restart ttmemd";
	default:
		return "";
	}
}

static void worth_of_state(
	const struct top_source *source, struct top_worth *worth)
{
	char age[TOP_TEXT_SIZE], path[256];

	worth->status = ttm_source_status(source->state);
	worth->stale = source->state != TTMEM_SOURCE_OK &&
		source->state != TTMEM_SOURCE_NOT_SERVING;
	snprintf(
		worth->hint, sizeof(worth->hint), "%s", hint_of(source->state));
	top_duration(source->age_ns, age);
	if (ttm_source_text(source->state, source->pid, age, worth->text,
		    sizeof(worth->text)))
		return;
	ttm_text_escape(source->status.path, path, sizeof(path));
	snprintf(worth->text, sizeof(worth->text), "no data: %s%s%s",
		source->status.reason[0] ? source->status.reason :
					   "not known why",
		path[0] ? ": " : "", path);
}

static void worth_of_replay(const struct top_source *source, uint64_t now_ns,
	struct top_worth *worth)
{
	uint64_t silent = source->any ? now_ns - source->arrived_ns : 0;
	uint64_t patience = 3 * source->interval_ns;
	char text[TOP_TEXT_SIZE];

	if (source->error[0]) {
		worth->status = TTM_EXIT_INCOMPLETE;
		snprintf(worth->text, sizeof(worth->text), "%s", source->error);
		return;
	}
	if (!source->any && source->ended) {
		worth->status = TTM_EXIT_NO_DATA;
		snprintf(worth->text, sizeof(worth->text),
			"no data: there is nothing in the recording");
		return;
	}
	if (source->config.every || !is_pipe(source))
		return;
	patience = patience > SILENT_NS ? patience : SILENT_NS;
	if (source->ended) {
		worth->stale = true;
		snprintf(worth->text, sizeof(worth->text),
			"the stream has ended: figures are %s old",
			top_duration(silent, text));
	} else if (silent > patience) {
		worth->stale = true;
		snprintf(worth->text, sizeof(worth->text),
			"the stream is silent: figures are %s old",
			top_duration(silent, text));
	}
}

/* Of now, but not all: sums are right as long as their rows are there. */
static void worth_of_room(
	const struct top_source *source, struct top_worth *worth)
{
	if (!source->rows_unlisted && !source->objects_unlisted)
		return;
	worth->status = TTM_EXIT_INCOMPLETE;
	snprintf(worth->text, sizeof(worth->text),
		"ttmemd has no room to show %llu rows and %llu objects",
		(unsigned long long)source->rows_unlisted,
		(unsigned long long)source->objects_unlisted);
	snprintf(
		worth->hint, sizeof(worth->hint), "make room in its directory");
}

void top_source_worth(const struct top_source *source, uint64_t now_ns,
	struct top_worth *ret_worth)
{
	memset(ret_worth, 0, sizeof(*ret_worth));
	if (source->any || source->reader)
		worth_of_state(source, ret_worth);
	if (source->replay && !ret_worth->text[0])
		worth_of_replay(source, now_ns, ret_worth);
	if (source->any && !ret_worth->text[0])
		worth_of_room(source, ret_worth);
}
