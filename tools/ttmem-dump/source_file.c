/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> [read] -> render */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "source.h"

struct line {
	char *text;
	size_t size;
	ssize_t length;
};

/* The last two lines that are not empty; the last one may be cut off. */
struct lines {
	struct line last;
	struct line before;
	struct line next;
};

static void lines_free(struct lines *lines)
{
	free(lines->last.text);
	free(lines->before.text);
	free(lines->next.text);
}

/* Only the last is parsed: a recording may have very many. */
static int lines_read(FILE *file, struct lines *lines)
{
	struct line spare;

	errno = 0;
	while ((lines->next.length = getline(
			&lines->next.text, &lines->next.size, file)) > 0) {
		if (lines->next.text[0] == '\n')
			continue;
		spare = lines->before;
		lines->before = lines->last;
		lines->last = lines->next;
		lines->next = spare;
	}
	if (ferror(file) || (!feof(file) && errno))
		return errno ? -errno : -EIO;
	return 0;
}

static int line_parse(const struct line *line,
	struct ttmem_snapshot **ret_snapshot,
	char ret_error[TTMEM_PARSE_ERROR_SIZE])
{
	return ttmem_snapshot_parse(
		line->text, (size_t)line->length, ret_snapshot, ret_error);
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
	const struct line *last = &lines->last;
	int r;

	if (last->length <= 0) {
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
	bool is_stdin = strcmp(path, "-") == 0;
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	struct lines lines;
	int status, r;

	if (!file) {
		ttm_error("%s: %s", path, strerror(errno));
		return TTM_EXIT_FAILURE;
	}
	memset(&lines, 0, sizeof(lines));
	r = lines_read(file, &lines);
	if (r < 0) {
		ttm_error("%s: %s", path, strerror(-r));
		status = TTM_EXIT_FAILURE;
	} else {
		status = lines_parse(path, &lines, ret_snapshot);
	}
	lines_free(&lines);
	if (!is_stdin)
		fclose(file);
	return status;
}
