/* SPDX-License-Identifier: Apache-2.0 */
/* One value as it is shown. Unknown is "-", never 0. */
#ifndef TTM_TOP_FORMAT_H
#define TTM_TOP_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "common/value.h"

#define TOP_TEXT_SIZE TTM_VALUE_SIZE

/* All return `buffer`. "31.9 GiB", as ttmem-dump has it. */
const char *top_bytes(uint64_t bytes, char buffer[static TOP_TEXT_SIZE]);
/* "31.9G": five columns at most */
const char *top_bytes_short(uint64_t bytes, char buffer[static TOP_TEXT_SIZE]);
/* TTMEM_HEADROOM_UNKNOWN is unknown */
const char *top_bytes_signed(int64_t bytes, char buffer[static TOP_TEXT_SIZE]);
/* "12.3k": five columns at most */
const char *top_count_short(uint64_t count, char buffer[static TOP_TEXT_SIZE]);
/* "13.9%"; "-" unless both are known and `whole` is not 0 */
const char *top_percent(
	uint64_t part, uint64_t whole, char buffer[static TOP_TEXT_SIZE]);
/* "12ms", "3.2s", "5m12s", "2h03m", "4d01h" */
const char *top_duration(uint64_t ns, char buffer[static TOP_TEXT_SIZE]);
/* "2025-07-01 12:00:00" in local time */
const char *top_time(uint64_t realtime_ns, char buffer[static TOP_TEXT_SIZE]);
/* "12:00:00" */
const char *top_time_of_day(
	uint64_t realtime_ns, char buffer[static TOP_TEXT_SIZE]);
/* TTMEM_TEMPERATURE_UNKNOWN is unknown */
const char *top_degrees(int64_t thousandths, char buffer[static TOP_TEXT_SIZE]);
const char *top_watts(uint64_t millionths, char buffer[static TOP_TEXT_SIZE]);

/* The product, unknown if one of them is. */
uint64_t top_multiply(uint64_t a, uint64_t b);
/* More than 1 if it is; -1 unless both are known and `whole` is not 0. */
double top_fraction(uint64_t part, uint64_t whole);

#endif
