/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: sysfs -> [probe] -> report -> rows */
/*
 * Who has a device open, as the driver lists it: a pid per open file, again and again
 * for one process, 0 for processes outside of our pid namespace, and some that ended
 * already. Who they are comes from /proc.
 */
#ifndef TTM_DAEMON_HOLDERS_H
#define TTM_DAEMON_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Listed of one device; the others are counted. */
#define TTM_HOLDERS_MAX 256u

struct ttm_holder {
	uint32_t pid;
	uint32_t uid; /* real one, all ones: unknown */
	uint64_t start_time;
	uint64_t seen_ns;
	char comm[16];
	char cmdline[256];
};

struct ttm_holders {
	struct ttm_holder *items; /* by pid */
	size_t len;
	uint64_t hidden;   /* open files of processes that cannot be seen */
	uint64_t unlisted; /* processes beyond what is listed */
};

/*
 * Reads the driver's file anew. Of those that were there before only with `again` is
 * read who they are (they may have called exec). Returns 0 or a negative errno as in
 * sysfs.h, or -ENOMEM: then there are none.
 */
int ttm_holders_read(struct ttm_holders *holders, const char *path, bool again);

void ttm_holders_drop(struct ttm_holders *holders);

#endif
