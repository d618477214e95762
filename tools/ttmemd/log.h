/* SPDX-License-Identifier: Apache-2.0 */
/* One line each, to stderr, or so that the journal knows how important it is. */
#ifndef TTMEMD_LOG_H
#define TTMEMD_LOG_H

#include <stdbool.h>

/* Once, before any thread. Without `verbose`, LOG_INFO and below is not said. */
void log_open(bool verbose);

/* Any thread. A priority of syslog(3); lines are whole, control bytes shown as ?. */
void log_text(int priority, const char *text);
__attribute__((format(printf, 2, 3))) void log_format(
	int priority, const char *format, ...);

#endif
