/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a text file of a user's choice. A line has a maximum length and holds no zero
 * byte, so that /dev/zero or a disk image is refused at once and without much memory.
 */
#ifndef TTM_COMMON_LINE_H
#define TTM_COMMON_LINE_H

#include <stddef.h>

/* For lines that people write. */
#define TTM_LINE_MAX 65536u

struct ttm_input {
	int fd;
	size_t at;
	size_t len;
	char bytes[65536];
};

/* All zero: none yet. */
struct ttm_line {
	char *text; /* with its newline, if it has one, and a zero byte */
	size_t size;
	size_t length;
};

/* Opens a file. Returns 0 or a negative errno. */
int ttm_input_open(const char *path, struct ttm_input *ret_input);
void ttm_input_use(int fd, struct ttm_input *ret_input);
/* Closes the descriptor, unless it is standard input. */
void ttm_input_close(struct ttm_input *input);

/*
 * Reads the next line over what `line` held. Returns 1, 0 at the end, -EFBIG (more than
 * max bytes), -EILSEQ (a zero byte), -ENOMEM, or an error of read(2).
 */
int ttm_line_read(struct ttm_input *input, size_t max, struct ttm_line *line);
void ttm_line_free(struct ttm_line *line);

/*
 * Takes each line of a file, without its end. `take` returns 0 or a status. Returns the
 * first of those that is not 0; TTM_EXIT_FAILURE for a file that cannot be read, told on
 * stderr. `not` comes before what is wrong with a line: "not a baseline: ", or "".
 */
int ttm_lines_each(const char *path, const char * not,
	int (*take)(void *context, char *line, unsigned number), void *context);

/* What such an error means, for a message. */
const char *ttm_line_error(int error);

#endif
