/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/output.h"

__attribute__((noreturn)) static void give_up(const char *path)
{
	ttm_error("%s: %s", path, strerror(errno));
	exit(TTM_EXIT_FAILURE);
}

void fake_path(char ret_path[FAKE_PATH_SIZE], const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(ret_path, FAKE_PATH_SIZE, format, arguments);
	va_end(arguments);
	if (n < 0 || (size_t)n >= FAKE_PATH_SIZE) {
		errno = ENAMETOOLONG;
		give_up("--fake-sysfs");
	}
}

void fake_directory(const char *path)
{
	char part[FAKE_PATH_SIZE];
	size_t i;

	fake_path(part, "%s/", path);
	for (i = 1; part[i]; i++) {
		if (part[i] != '/')
			continue;
		part[i] = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			give_up(part);
		part[i] = '/';
	}
}

static void value_give_up(const char *path, int error)
{
	ttm_error("%s: %s", path, ttm_output_error(error));
	exit(TTM_EXIT_FAILURE);
}

static void value_open(const char *path, struct ttm_output *ret_output)
{
	int r = ttm_output_open(path, true, ret_output);

	if (r < 0)
		value_give_up(path, r);
}

static void value_close(const char *path, struct ttm_output *output)
{
	int r = ttm_output_close(output, true);

	if (r < 0)
		value_give_up(path, r);
}

void fake_empty(const char *directory, const char *name)
{
	char path[FAKE_PATH_SIZE];
	struct ttm_output output;

	fake_path(path, "%s/%s", directory, name);
	value_open(path, &output);
	value_close(path, &output);
}

void fake_value(
	const char *directory, const char *name, const char *format, ...)
{
	char path[FAKE_PATH_SIZE];
	struct ttm_output output;
	va_list arguments;

	fake_path(path, "%s/%s", directory, name);
	value_open(path, &output);
	va_start(arguments, format);
	vfprintf(output.file, format, arguments);
	va_end(arguments);
	fputc('\n', output.file);
	value_close(path, &output);
}

void fake_link(const char *target, const char *path)
{
	if (unlink(path) < 0 && errno != ENOENT)
		give_up(path);
	if (symlink(target, path) < 0)
		give_up(path);
}
