/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "format.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/text.h"

#define SECOND_NS 1000000000ull

const char *top_bytes(uint64_t bytes, char buffer[static TOP_TEXT_SIZE])
{
	if (bytes == TTMEM_UNKNOWN)
		return ttm_unknown_text(buffer);
	return ttm_bytes_text(bytes, buffer);
}

/* The same digits as in the long form. */
const char *top_bytes_short(uint64_t bytes, char buffer[static TOP_TEXT_SIZE])
{
	char *unit;

	top_bytes(bytes, buffer);
	unit = strchr(buffer, ' ');
	if (unit) {
		unit[0] = unit[1];
		unit[1] = '\0';
	}
	return buffer;
}

const char *top_bytes_signed(int64_t bytes, char buffer[static TOP_TEXT_SIZE])
{
	char amount[TOP_TEXT_SIZE];

	if (bytes == TTMEM_HEADROOM_UNKNOWN)
		return ttm_unknown_text(buffer);
	if (bytes >= 0)
		return top_bytes((uint64_t)bytes, buffer);
	snprintf(buffer, TOP_TEXT_SIZE, "-%.20s",
		top_bytes(-(uint64_t)bytes, amount));
	return buffer;
}

const char *top_count_short(uint64_t count, char buffer[static TOP_TEXT_SIZE])
{
	static const char units[] = "kMGTPE";
	double value = (double)count / 1000;
	size_t unit = 0;

	if (count == TTMEM_UNKNOWN)
		return ttm_unknown_text(buffer);
	if (count < 10000)
		return ttm_count_text(count, buffer);
	while (value >= 999.5 && unit + 2 < sizeof(units)) {
		value /= 1000;
		unit++;
	}
	snprintf(buffer, TOP_TEXT_SIZE, "%.*f%c",
		value < 9.995         ? 2 :
			value < 99.95 ? 1 :
					0,
		value, units[unit]);
	return buffer;
}

const char *top_percent(
	uint64_t part, uint64_t whole, char buffer[static TOP_TEXT_SIZE])
{
	double fraction = top_fraction(part, whole);

	if (fraction < 0)
		return ttm_unknown_text(buffer);
	snprintf(buffer, TOP_TEXT_SIZE, "%.1f%%", 100 * fraction);
	return buffer;
}

const char *top_duration(uint64_t ns, char buffer[static TOP_TEXT_SIZE])
{
	unsigned long long s = ns / SECOND_NS;

	if (ns == TTMEM_UNKNOWN)
		return ttm_unknown_text(buffer);
	if (ns < 1000000)
		snprintf(buffer, TOP_TEXT_SIZE, "%uus", (unsigned)(ns / 1000));
	else if (s == 0)
		snprintf(buffer, TOP_TEXT_SIZE, "%ums",
			(unsigned)(ns / 1000000));
	else if (s < 10)
		snprintf(buffer, TOP_TEXT_SIZE, "%.1fs",
			(double)(ns / 100000000) / 10);
	else if (s < 60)
		snprintf(buffer, TOP_TEXT_SIZE, "%llus", s);
	else if (s < 3600)
		snprintf(buffer, TOP_TEXT_SIZE, "%llum%02llus", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buffer, TOP_TEXT_SIZE, "%lluh%02llum", s / 3600,
			s / 60 % 60);
	else
		snprintf(buffer, TOP_TEXT_SIZE, "%llud%02lluh", s / 86400,
			s / 3600 % 24);
	return buffer;
}

const char *top_time(uint64_t realtime_ns, char buffer[static TOP_TEXT_SIZE])
{
	time_t seconds = (time_t)(realtime_ns / SECOND_NS);
	struct tm parts;

	if (realtime_ns == TTMEM_UNKNOWN || !localtime_r(&seconds, &parts) ||
		!strftime(buffer, TOP_TEXT_SIZE, "%Y-%m-%d %H:%M:%S", &parts))
		return ttm_unknown_text(buffer);
	return buffer;
}

const char *top_time_of_day(
	uint64_t realtime_ns, char buffer[static TOP_TEXT_SIZE])
{
	char *space;

	top_time(realtime_ns, buffer);
	space = strchr(buffer, ' ');
	if (space)
		memmove(buffer, space + 1, strlen(space));
	return buffer;
}

const char *top_degrees(int64_t thousandths, char buffer[static TOP_TEXT_SIZE])
{
	if (thousandths == TTMEM_TEMPERATURE_UNKNOWN)
		return ttm_unknown_text(buffer);
	snprintf(buffer, TOP_TEXT_SIZE, "%.0fC", (double)thousandths / 1000);
	return buffer;
}

const char *top_watts(uint64_t millionths, char buffer[static TOP_TEXT_SIZE])
{
	if (millionths == TTMEM_UNKNOWN)
		return ttm_unknown_text(buffer);
	snprintf(buffer, TOP_TEXT_SIZE, "%.0fW", (double)millionths / 1e6);
	return buffer;
}

uint64_t top_multiply(uint64_t a, uint64_t b)
{
	uint64_t product;

	if (a == TTMEM_UNKNOWN || b == TTMEM_UNKNOWN ||
		__builtin_mul_overflow(a, b, &product))
		return TTMEM_UNKNOWN;
	return product;
}

double top_fraction(uint64_t part, uint64_t whole)
{
	if (part == TTMEM_UNKNOWN || whole == TTMEM_UNKNOWN || whole == 0)
		return -1;
	return (double)part / (double)whole;
}
