/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <syslog.h>
#include <unistd.h>

#define LINE_SIZE 1024u

/* Constant once threads run. */
static bool log_verbose;
static bool log_to_journal;

/* JOURNAL_STREAM is DEVICE:INODE of what stderr was; it may be a file by now. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
		fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device &&
		st.st_ino == inode;
}

void log_open(bool verbose)
{
	log_verbose = verbose;
	log_to_journal = stderr_is_journal();
}

/* In one piece, so that lines of two threads do not mix. */
static void line_write(const char *line, size_t length)
{
	ssize_t n;

	do
		n = write(STDERR_FILENO, line, length);
	while (n < 0 && errno == EINTR);
}

void log_text(int priority, const char *text)
{
	char line[LINE_SIZE];
	int length, i;

	if (priority >= LOG_INFO && !log_verbose)
		return;
	if (log_to_journal)
		length = snprintf(
			line, sizeof(line) - 1, "<%d>%s", priority, text);
	else
		length = snprintf(line, sizeof(line) - 1, "ttmemd: %s", text);
	if (length < 0)
		return;
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	/* Names are anybody's. Also beyond ASCII there are control characters, and
	 * what they look like depends on the terminal. */
	for (i = 0; i < length; i++)
		if (line[i] < ' ' || line[i] > '~')
			line[i] = '?';
	line[length] = '\n';
	line_write(line, (size_t)length + 1);
}

void log_format(int priority, const char *format, ...)
{
	char text[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_text(priority, text);
}
