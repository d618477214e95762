/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: sysfs -> probe -> report -> [rows] */
/* The drain's side of telemetry: reports become rows, and devices of their own. */
#ifndef TTM_DAEMON_TELEMETRY_ROWS_H
#define TTM_DAEMON_TELEMETRY_ROWS_H

#include <stdint.h>

#include "daemon/publish/output.h"
#include "daemon/sensors/telemetry.h"

struct ttm_telemetry_rows;

/* Returns 0 or -ENOMEM. */
int ttm_telemetry_rows_new(struct ttm_telemetry_rows **ret_rows);
void ttm_telemetry_rows_free(struct ttm_telemetry_rows **rows);

/*
 * Brings the rows up to date with the reports; waits for nothing. Who reports is
 * looked up in the registry. Under rcu_read_lock().
 */
void ttm_telemetry_rows_show(struct ttm_telemetry_rows *rows,
	const struct ttm_telemetry *telemetry, struct ttm_registry *registry,
	struct ttm_output *output, uint64_t now_ns);

#endif
