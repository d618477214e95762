/* SPDX-License-Identifier: Apache-2.0 */
/* One value as people read it. Unknown is "-", never 0. */
#ifndef TTM_DUMP_CELL_H
#define TTM_DUMP_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/value.h"

#define DUMP_CELL_SIZE 64u

/* All return `buffer`. */
const char *dump_bytes(
	uint64_t bytes, bool exact, char buffer[static DUMP_CELL_SIZE]);
const char *dump_bytes_signed(
	int64_t bytes, bool exact, char buffer[static DUMP_CELL_SIZE]);
const char *dump_hex(uint64_t value, char buffer[static DUMP_CELL_SIZE]);
/* "13.9 %"; "-" unless both are known and `whole` is not 0. */
const char *dump_percent(
	uint64_t part, uint64_t whole, char buffer[static DUMP_CELL_SIZE]);
/* "12 ms", "3.2 s", "5 min 12 s", "2 h 3 min", "4 d 1 h" */
const char *dump_duration(uint64_t ns, char buffer[static DUMP_CELL_SIZE]);
/* "2025-07-01T12:00:00.123Z" */
const char *dump_time(uint64_t realtime_ns, char buffer[static DUMP_CELL_SIZE]);

/* How long before the figures it was; unknown if later. Times as in snapshots. */
uint64_t dump_ago(const struct ttmem_snapshot *snapshot, uint64_t time_ns);

/* Over all reasons, unknown if one of them is. */
uint64_t dump_reasons_sum(const uint64_t counts[TTMEM_REASONS]);

#endif
