/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: sysfs -> [probe] -> report -> rows */
/*
 * What one device of the driver says about itself, read again and again. Never opens
 * /dev/tenstorrent: that would wake the chip and keep out who wants it alone.
 * One thread uses a probe, and may wait in it for long.
 */
#ifndef TTM_DAEMON_PROBE_H
#define TTM_DAEMON_PROBE_H

#include <stdbool.h>

#include "daemon/sensors/holders.h"
#include "daemon/sensors/sysfs.h"
#include "shm/aggregate.h"

struct ttm_probe {
	const char *proc_root;        /* of the caller, as long as the probe */
	struct ttm_telemetry_row row; /* self, device and busy_ns are 0 */
	struct ttm_holders holders;
	char directory[TTM_SYSFS_PATH_SIZE]; /* .../tenstorrent!N */
	int class_fd;                        /* of it, or a negative errno */
	int hwmon_fd;       /* of its sensors, or a negative errno */
	unsigned until_all; /* rounds until what hardly changes is read again */
};

/* Returns 0 or -ENAMETOOLONG. */
int ttm_probe_init(struct ttm_probe *probe, const char *sysfs_root,
	const char *proc_root, uint64_t number);
void ttm_probe_drop(struct ttm_probe *probe);

/*
 * One round: all that moves, and from time to time, or if it failed, what hardly
 * does. `step`, unless NULL, is called after each reading.
 */
void ttm_probe_read(
	struct ttm_probe *probe, void (*step)(void *context), void *context);

#endif
