/* SPDX-License-Identifier: Apache-2.0 */
#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *error_name = "ttmem";
static const char *error_command;

/* Others are worse than all that has a place here. */
static int exit_rank(int status)
{
	static const int ranked[] = { TTM_EXIT_OK, TTM_EXIT_INCOMPLETE,
		TTM_EXIT_LIMIT, TTM_EXIT_LEAKS, TTM_EXIT_NO_DATA,
		TTM_EXIT_FAILURE, TTM_EXIT_USAGE };
	int i;

	for (i = 0; i < (int)(sizeof(ranked) / sizeof(ranked[0])); i++)
		if (ranked[i] == status)
			break;
	return i;
}

int ttm_exit_join(int a, int b)
{
	return exit_rank(a) >= exit_rank(b) ? a : b;
}

void ttm_error_name(const char *name)
{
	error_name = name;
}

void ttm_error_command(const char *name)
{
	error_command = name;
}

/*
 * One write, so that the lines of several processes do not mix; past stdio, whose
 * lock somebody may hold across a fork.
 */
__attribute__((format(printf, 1, 0))) static void error_write(
	const char *format, va_list arguments, const char *hint)
{
	char text[1024];
	char line[1280];
	int length;
	int error = errno;

	vsnprintf(text, sizeof(text), format, arguments);
	length = snprintf(
		line, sizeof(line), "%s: %s%s\n", error_name, text, hint);
	if (length >= (int)sizeof(line))
		length = (int)sizeof(line) - 1;
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		errno = error; /* nobody is left to be told */
	errno = error;
}

void ttm_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	error_write(format, arguments, "");
	va_end(arguments);
}

void ttm_error_usage(const char *format, ...)
{
	va_list arguments;
	char hint[80];

	snprintf(hint, sizeof(hint), "; %s --help tells more",
		error_command ? error_command : error_name);
	va_start(arguments, format);
	error_write(format, arguments, hint);
	va_end(arguments);
	exit(TTM_EXIT_USAGE);
}
