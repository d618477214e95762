/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/line.h"
#include "source.h"

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
	/* Whoever writes it may be in the middle of a line. */
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
