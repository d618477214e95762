/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TTMEMD_OPTIONS_H
#define TTMEMD_OPTIONS_H

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

#endif
