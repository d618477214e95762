/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: sysfs -> probe -> [report] -> rows */
/*
 * Telemetry of the driver's devices. Reading a device's attribute may take as long as
 * its reset does, so each device has a thread of its own that may wait, and one more,
 * the scout, looks every second which devices there are. What a thread has read it
 * hands over as a report that never changes: the drain takes whatever report there is
 * and waits for nobody.
 *
 *   scout    starts and ends workers; touches no attribute
 *   worker   a probe of its device every second, all at the same moments
 *   drain    ttm_telemetry_report()
 *
 * Whoever calls new and free, and the drain, are registered with liburcu.
 */
#ifndef TTM_DAEMON_TELEMETRY_H
#define TTM_DAEMON_TELEMETRY_H

#include <stddef.h>
#include <stdint.h>

#include <urcu.h>

#include "daemon/sensors/holders.h"
#include "shm/aggregate.h"

/* Threads, and thereby devices; more are left out, which is logged. */
#define TTM_WORKERS_MAX 128u

struct ttm_telemetry;

struct ttm_telemetry_config {
	const char *sysfs_root; /* NULL: /sys */
	const char *proc_root;  /* NULL: /proc; for the driver's files alone */
	/* One line for an operator. Called by the scout. NULL: nobody cares. */
	void (*log)(int priority, const char *text);
};

/* What a worker knows about its device; never changes. */
struct ttm_report {
	struct rcu_head rcu;
	uint64_t serial; /* never the same again for this worker's place */
	struct ttm_telemetry_row row; /* self, device and busy_ns are 0 */
	size_t holders_len;
	struct ttm_holder holders[]; /* by pid */
};

/*
 * Starts the scout, which starts the rest. Threads inherit the signal mask. Returns
 * 0, -ENOMEM, -ENAMETOOLONG, or an error of eventfd(2), pthread_create(3).
 */
int ttm_telemetry_new(const struct ttm_telemetry_config *config,
	struct ttm_telemetry **ret_telemetry);

/*
 * Ends the threads. One that does not come back within half a second is left alone,
 * with the memory that it uses: it ends with the process. Accepts NULL.
 */
void ttm_telemetry_free(struct ttm_telemetry **telemetry);

/* Workers from this number on have never had a device. Any thread. */
size_t ttm_telemetry_places(const struct ttm_telemetry *telemetry);

/*
 * What worker number `place` found last; NULL: it has no device, or nothing yet.
 * *ret_busy_ns: a read has not returned since then, 0: none that would be worth
 * telling. Wait-free. Under rcu_read_lock(), and valid until it ends.
 */
const struct ttm_report *ttm_telemetry_report(
	const struct ttm_telemetry *telemetry, size_t place, uint64_t now_ns,
	uint64_t *ret_busy_ns);

#endif
