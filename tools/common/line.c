/* SPDX-License-Identifier: Apache-2.0 */
#include "common/line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"

int ttm_input_open(const char *path, struct ttm_input *ret_input)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	ttm_input_use(fd, ret_input);
	return 0;
}

void ttm_input_use(int fd, struct ttm_input *ret_input)
{
	ret_input->fd = fd;
	ret_input->at = ret_input->len = 0;
}

void ttm_input_close(struct ttm_input *input)
{
	if (input->fd != STDIN_FILENO)
		close(input->fd);
}

/* Returns 1 when there are bytes, 0 at the end, or a negative errno. */
static int input_fill(struct ttm_input *input)
{
	ssize_t n;

	if (input->at < input->len)
		return 1;
	do
		n = read(input->fd, input->bytes, sizeof(input->bytes));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	input->at = 0;
	input->len = (size_t)n;
	return n > 0;
}

static int line_add(
	struct ttm_line *line, const char *bytes, size_t length, size_t max)
{
	size_t size = line->size;
	char *text;

	if (length > max - line->length)
		return -EFBIG;
	if (memchr(bytes, '\0', length))
		return -EILSEQ;
	while (size <= line->length + length)
		size = size * 2 + 256;
	if (size != line->size) {
		text = realloc(line->text, size);
		if (!text)
			return -ENOMEM;
		line->text = text;
		line->size = size;
	}
	memcpy(line->text + line->length, bytes, length);
	line->length += length;
	line->text[line->length] = '\0';
	return 0;
}

int ttm_line_read(struct ttm_input *input, size_t max, struct ttm_line *line)
{
	const char *from, *newline = NULL;
	size_t length;
	int r;

	line->length = 0;
	while (!newline) {
		r = input_fill(input);
		if (r <= 0)
			return r == 0 ? line->length > 0 : r;
		from = input->bytes + input->at;
		length = input->len - input->at;
		newline = memchr(from, '\n', length);
		if (newline)
			length = (size_t)(newline - from) + 1;
		r = line_add(line, from, length, max);
		if (r < 0)
			return r;
		input->at += length;
	}
	return 1;
}

void ttm_line_free(struct ttm_line *line)
{
	free(line->text);
	memset(line, 0, sizeof(*line));
}

int ttm_lines_each(const char *path, const char * not,
	int (*take)(void *context, char *line, unsigned number), void *context)
{
	struct ttm_line line = { NULL, 0, 0 };
	struct ttm_input input;
	unsigned number = 0;
	int status = 0, r = ttm_input_open(path, &input);

	if (r < 0) {
		ttm_error("%s: %s", path, strerror(-r));
		return TTM_EXIT_FAILURE;
	}
	while (status == 0 &&
		(r = ttm_line_read(&input, TTM_LINE_MAX, &line)) > 0) {
		line.text[strcspn(line.text, "\r\n")] = '\0';
		status = take(context, line.text, ++number);
	}
	if (r < 0) {
		ttm_error("%s:%u: %s%s", path, number + 1, not,
			ttm_line_error(r));
		status = TTM_EXIT_FAILURE;
	}
	ttm_line_free(&line);
	ttm_input_close(&input);
	return status;
}

const char *ttm_line_error(int error)
{
	switch (error) {
	case -EFBIG:
		return "the line is too long";
	case -EILSEQ:
		return "not text: there is a zero byte";
	default:
		return strerror(-error);
	}
}
