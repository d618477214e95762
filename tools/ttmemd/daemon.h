/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of ttmemd have of each other: options, the log, the service manager. */
#ifndef TTMEMD_DAEMON_H
#define TTMEMD_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/aggregate.h"

struct options {
	const char *dir;        /* NULL: $TTMEM_DIR, /run/ttmem, /dev/shm */
	const char *sysfs_root; /* NULL: $TTMEM_SYSFS_ROOT, /sys */
	const char *proc_root;  /* NULL: $TTMEM_PROC_ROOT, /proc */
	enum ttm_aggregate_mode mode;
	uint64_t max_processes; /* 0: default */
	uint64_t max_bytes;     /* 0: default */
	uint32_t file_mode;
	uint32_t group; /* (uint32_t)-1: leave */
	bool log_events;
	bool notify;
	bool verbose;
};

/* Ends the program after --help and --version, and for a wrong use. */
void options_parse(int argc, char **argv, struct options *ret_options);

/* One line each, to stderr, or so that the journal knows how important it is. */

/* Once, before any thread. Without `verbose`, LOG_INFO and below is not said. */
void log_open(bool verbose);

/* Any thread. A priority of syslog(3); lines are whole, control bytes shown as ?. */
void log_text(int priority, const char *text);
__attribute__((format(printf, 2, 3))) void log_format(
	int priority, const char *format, ...);

/* sd_notify(3), as far as it is needed. */

/*
 * Sends the state to $NOTIFY_SOCKET. Returns 1, 0 if nobody asked, or a negative
 * errno.
 */
int notify_send(const char *state);

/* How often WATCHDOG=1 is expected, at the latest; 0: not at all. */
uint64_t notify_watchdog_us(void);

#endif
