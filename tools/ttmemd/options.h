/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TTMEMD_OPTIONS_H
#define TTMEMD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/aggregate.h"

#define STATUS_GOOD 0
#define STATUS_FAILURE 1
#define STATUS_USAGE 2

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

/*
 * Returns true, or false with the status to end with: after --help and --version,
 * which it prints, and after a wrong use, which it explains on stderr.
 */
bool options_parse(
	int argc, char **argv, struct options *ret_options, int *ret_status);

/* "64", "64K", "1G": K, M, G, T are powers of 1024. False: none, or too large. */
bool size_parse(const char *text, uint64_t *ret_bytes);

#endif
