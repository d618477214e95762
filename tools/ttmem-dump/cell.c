/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "cell.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/text.h"

#define SECOND_NS 1000000000ull

const char *dump_bytes(
	uint64_t bytes, bool exact, char buffer[static DUMP_CELL_SIZE])
{
	if (bytes == TTMEM_UNKNOWN)
		return ttm_unknown_text(buffer);
	if (exact)
		return ttm_count_text(bytes, buffer);
	return ttm_bytes_text(bytes, buffer);
}

const char *dump_bytes_signed(
	int64_t bytes, bool exact, char buffer[static DUMP_CELL_SIZE])
{
	char amount[DUMP_CELL_SIZE];

	if (bytes == TTMEM_HEADROOM_UNKNOWN)
		return ttm_unknown_text(buffer);
	if (bytes >= 0)
		return dump_bytes((uint64_t)bytes, exact, buffer);
	snprintf(buffer, DUMP_CELL_SIZE, "-%.30s",
		dump_bytes(-(uint64_t)bytes, exact, amount));
	return buffer;
}

const char *dump_hex(uint64_t value, char buffer[static DUMP_CELL_SIZE])
{
	if (value == TTMEM_UNKNOWN)
		return ttm_unknown_text(buffer);
	snprintf(buffer, DUMP_CELL_SIZE, "0x%llx", (unsigned long long)value);
	return buffer;
}

const char *dump_percent(
	uint64_t part, uint64_t whole, char buffer[static DUMP_CELL_SIZE])
{
	if (part == TTMEM_UNKNOWN || whole == TTMEM_UNKNOWN || whole == 0)
		return ttm_unknown_text(buffer);
	snprintf(buffer, DUMP_CELL_SIZE, "%.1f %%",
		100.0 * (double)part / (double)whole);
	return buffer;
}

const char *dump_duration(uint64_t ns, char buffer[static DUMP_CELL_SIZE])
{
	unsigned long long s = ns / SECOND_NS;

	if (ns == TTMEM_UNKNOWN)
		return ttm_unknown_text(buffer);
	if (ns < 1000000)
		snprintf(
			buffer, DUMP_CELL_SIZE, "%u us", (unsigned)(ns / 1000));
	else if (s == 0)
		snprintf(buffer, DUMP_CELL_SIZE, "%u ms",
			(unsigned)(ns / 1000000));
	else if (s < 10)
		snprintf(buffer, DUMP_CELL_SIZE, "%.1f s",
			(double)(ns / 100000000) / 10);
	else if (s < 60)
		snprintf(buffer, DUMP_CELL_SIZE, "%llu s", s);
	else if (s < 3600)
		snprintf(buffer, DUMP_CELL_SIZE, "%llu min %llu s", s / 60,
			s % 60);
	else if (s < 86400)
		snprintf(buffer, DUMP_CELL_SIZE, "%llu h %llu min", s / 3600,
			s / 60 % 60);
	else
		snprintf(buffer, DUMP_CELL_SIZE, "%llu d %llu h", s / 86400,
			s / 3600 % 24);
	return buffer;
}

const char *dump_time(uint64_t realtime_ns, char buffer[static DUMP_CELL_SIZE])
{
	time_t seconds = (time_t)(realtime_ns / SECOND_NS);
	struct tm parts;
	size_t length;

	if (realtime_ns == TTMEM_UNKNOWN || !gmtime_r(&seconds, &parts))
		return ttm_unknown_text(buffer);
	length = strftime(buffer, DUMP_CELL_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(buffer + length, DUMP_CELL_SIZE - length, ".%03uZ",
		(unsigned)(realtime_ns / 1000000 % 1000));
	return buffer;
}

uint64_t dump_ago(const struct ttmem_snapshot *snapshot, uint64_t time_ns)
{
	return ttm_value_ago(ttmem_snapshot_info(snapshot)->taken_ns, time_ns);
}

uint64_t dump_reasons_sum(const uint64_t counts[TTMEM_REASONS])
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < TTMEM_REASONS; i++)
		sum = ttm_value_add(sum, counts[i]);
	return sum;
}
