/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include "common/line.h"
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/source.h"
#include "common/text.h"
#include "cell.h"
#include "clock.h"

#define TRIES 100
#define TRY_NS 5000000

struct dump_source {
	struct ttmem_reader *reader; /* NULL: from the file */
	const char *from;
};

/* -- opening ------------------------------------------------------------------ */

void dump_where_check(const struct dump_where *where)
{
	if (where->from && (where->dir || where->system))
		ttm_error_usage("--from reads a file: neither --dir nor "
				"--system goes with it");
}

int dump_source_open(
	const struct dump_where *where, struct dump_source **ret_source)
{
	struct dump_source *source = calloc(1, sizeof(*source));
	int status;

	if (!source) {
		ttm_error("%s", strerror(ENOMEM));
		return TTM_EXIT_FAILURE;
	}
	source->from = where->from;
	status = where->from ?
		0 :
		ttm_source_open(where->dir, where->system, &source->reader);
	if (status)
		free(source);
	else
		*ret_source = source;
	return status;
}

void dump_source_close(struct dump_source **source)
{
	if (*source)
		ttmem_reader_close(&(*source)->reader);
	free(*source);
	*source = NULL;
}

/* -- what it is worth ---------------------------------------------------------- */

static const char *worth_hint(uint64_t state)
{
	switch (state) {
	case TTMEM_SOURCE_NO_BASE:
		return "make the base directory (a tmpfs), or name another one "
		       "with --dir or TTMEM_DIR";
	case TTMEM_SOURCE_NO_PERMISSION:
		return "run it as the user whose processes you ask for, or ask "
		       "who runs ttmemd for --file-mode 0644";
	case TTMEM_SOURCE_NEVER_STARTED:
		return "start ttmemd, with the same base directory; if it "
		       "runs, make room there";
	case TTMEM_SOURCE_DEAD:
		return "start ttmemd, with the same base directory";
	case TTMEM_SOURCE_STALE:
		return "ttmemd is stopped or starved: look at its process";
	case TTMEM_SOURCE_NOT_SERVING:
		return "start ttmemd as this user, or see why the running one "
		       "refuses the directory: ttmem-dump doctor";
	case TTMEM_SOURCE_VERSION:
		return "ttmemd and ttmem-dump are of different releases: "
		       "restart ttmemd";
	case TTMEM_SOURCE_BROKEN:
		return "restart ttmemd";
	default:
		return NULL;
	}
}

static void worth_fill(
	uint64_t state, uint64_t age_ns, struct dump_worth *worth)
{
	memset(worth, 0, sizeof(*worth));
	worth->state = state;
	worth->age_ns = age_ns;
	worth->status = ttm_source_status(state);
	worth->hint = worth_hint(state);
}

/* The worth of a snapshot by what it says of itself. */
static void worth_of(
	const struct ttmem_snapshot *snapshot, struct dump_worth *ret_worth)
{
	const struct ttmem_info_row *info = ttmem_snapshot_info(snapshot);
	char age[DUMP_CELL_SIZE];

	worth_fill(info->source, info->age_ns, ret_worth);
	dump_duration(info->age_ns, age);
	if (ttm_source_text(info->source, info->pid, age, ret_worth->reason,
		    sizeof(ret_worth->reason)))
		return;
	snprintf(ret_worth->reason, sizeof(ret_worth->reason),
		"it is not known what these figures are worth");
	ret_worth->status = TTM_EXIT_NO_DATA;
}

/* There are no figures. */
static void worth_of_reader(
	struct ttmem_reader *reader, struct dump_worth *ret_worth)
{
	struct ttmem_reader_status status = { .size = sizeof(status) };
	char path[sizeof(status.path)];

	if (ttmem_reader_status(reader, &status) < 0) {
		worth_fill(TTMEM_SOURCE_BROKEN, TTMEM_UNKNOWN, ret_worth);
		return;
	}
	worth_fill(status.state, status.age_ns, ret_worth);
	if (ret_worth->status == TTM_EXIT_OK)
		ret_worth->status = TTM_EXIT_NO_DATA; /* just come or gone */
	ttm_text_escape(status.path, path, sizeof(path));
	snprintf(ret_worth->reason, sizeof(ret_worth->reason), "%s%s%s",
		status.reason, path[0] ? ": " : "", path);
}

/* -- taking -------------------------------------------------------------------- */

static int reader_take(struct ttmem_reader *reader, uint32_t flags,
	struct ttmem_snapshot **ret_snapshot, struct dump_worth *ret_worth)
{
	int tries, r = -EAGAIN;

	for (tries = 0; r == -EAGAIN && tries < TRIES; tries++) {
		if (tries)
			dump_pause(TRY_NS);
		r = ttmem_reader_snapshot(reader, flags, ret_snapshot);
	}
	if (r == 0) {
		worth_of(*ret_snapshot, ret_worth);
		return ret_worth->status;
	}
	worth_of_reader(reader, ret_worth);
	if (r == -ENODATA || r == -EPROTO)
		return ret_worth->status;
	ttm_error("cannot read what ttmemd publishes: %s", strerror(-r));
	ret_worth->status = TTM_EXIT_FAILURE;
	return TTM_EXIT_FAILURE;
}

int dump_source_take(struct dump_source *source, uint32_t flags,
	struct ttmem_snapshot **ret_snapshot, struct dump_worth *ret_worth)
{
	int status;

	*ret_snapshot = NULL;
	if (source->reader)
		return reader_take(
			source->reader, flags, ret_snapshot, ret_worth);
	worth_fill(TTMEM_SOURCE_OK, TTMEM_UNKNOWN, ret_worth);
	status = dump_file_read(source->from, ret_snapshot);
	if (status == 0)
		worth_of(*ret_snapshot, ret_worth);
	else
		ret_worth->status = status;
	ret_worth->recorded = true;
	return ret_worth->status;
}

/* -- files ------------------------------------------------------------------------ */

/* A snapshot of a million objects has some 300 MB; the reader's limit is the same. */
#define LINE_MAX_SIZE ((size_t)1 << 30)

/* The last two lines that are not empty; the last one may be cut off. */
struct lines {
	struct ttm_line last;
	struct ttm_line before;
	struct ttm_line next;
};

static void lines_free(struct lines *lines)
{
	ttm_line_free(&lines->last);
	ttm_line_free(&lines->before);
	ttm_line_free(&lines->next);
}

/* Only the last is parsed: a recording may have very many. */
static int lines_read(
	struct ttm_input *input, struct lines *lines, unsigned long *number)
{
	struct ttm_line spare;
	int r;

	while ((r = ttm_line_read(input, LINE_MAX_SIZE, &lines->next)) > 0) {
		++*number;
		if (lines->next.text[0] == '\n')
			continue;
		spare = lines->before;
		lines->before = lines->last;
		lines->last = lines->next;
		lines->next = spare;
	}
	return r;
}

static int line_parse(const struct ttm_line *line,
	struct ttmem_snapshot **ret_snapshot,
	char ret_error[TTMEM_PARSE_ERROR_SIZE])
{
	return ttmem_snapshot_parse(
		line->text, line->length, ret_snapshot, ret_error);
}

static int parse_failed(const char *path, int r, const char *error)
{
	if (r == -EPROTONOSUPPORT) {
		ttm_error("%s: of another version: %s", path, error);
		return TTM_EXIT_INCOMPLETE;
	}
	ttm_error("%s: not a snapshot: %s", path,
		r == -EPROTO ? error : strerror(-r));
	return TTM_EXIT_FAILURE;
}

static int lines_parse(const char *path, const struct lines *lines,
	struct ttmem_snapshot **ret_snapshot)
{
	char error[TTMEM_PARSE_ERROR_SIZE] = "";
	const struct ttm_line *last = &lines->last;
	int r;

	if (last->length == 0) {
		ttm_error("%s: there is nothing in it", path);
		return TTM_EXIT_NO_DATA;
	}
	r = line_parse(last, ret_snapshot, error);
	/* The last line is incomplete while another program is writing it. */
	if (r == -EPROTO && last->text[last->length - 1] != '\n' &&
		lines->before.length > 0)
		r = line_parse(&lines->before, ret_snapshot, error);
	return r < 0 ? parse_failed(path, r, error) : 0;
}

int dump_file_read(const char *path, struct ttmem_snapshot **ret_snapshot)
{
	unsigned long number = 0;
	struct ttm_input input;
	struct lines lines;
	int status, r = 0;

	if (strcmp(path, "-") == 0)
		ttm_input_use(STDIN_FILENO, &input);
	else
		r = ttm_input_open(path, &input);
	if (r < 0) {
		ttm_error("%s: %s", path, strerror(-r));
		return TTM_EXIT_FAILURE;
	}
	memset(&lines, 0, sizeof(lines));
	r = lines_read(&input, &lines, &number);
	if (r < 0) {
		ttm_error("%s:%lu: %s", path, number + 1, ttm_line_error(r));
		status = TTM_EXIT_FAILURE;
	} else {
		status = lines_parse(path, &lines, ret_snapshot);
	}
	lines_free(&lines);
	ttm_input_close(&input);
	return status;
}
