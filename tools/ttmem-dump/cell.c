/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "cell.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/text.h"

#define SECOND_NS 1000000000ull

static const char *unknown(char buffer[static DUMP_CELL_SIZE])
{
	return memcpy(buffer, "-", 2);
}

const char *dump_bytes(
	uint64_t bytes, bool exact, char buffer[static DUMP_CELL_SIZE])
{
	if (bytes == TTMEM_UNKNOWN)
		return unknown(buffer);
	if (exact)
		return dump_count(bytes, buffer);
	return ttm_bytes_text(bytes, buffer);
}

const char *dump_bytes_signed(
	int64_t bytes, bool exact, char buffer[static DUMP_CELL_SIZE])
{
	char amount[DUMP_CELL_SIZE];

	if (bytes == TTMEM_HEADROOM_UNKNOWN)
		return unknown(buffer);
	if (bytes >= 0)
		return dump_bytes((uint64_t)bytes, exact, buffer);
	snprintf(buffer, DUMP_CELL_SIZE, "-%.30s",
		dump_bytes(-(uint64_t)bytes, exact, amount));
	return buffer;
}

const char *dump_count(uint64_t count, char buffer[static DUMP_CELL_SIZE])
{
	if (count == TTMEM_UNKNOWN)
		return unknown(buffer);
	snprintf(buffer, DUMP_CELL_SIZE, "%llu", (unsigned long long)count);
	return buffer;
}

const char *dump_hex(uint64_t value, char buffer[static DUMP_CELL_SIZE])
{
	if (value == TTMEM_UNKNOWN)
		return unknown(buffer);
	snprintf(buffer, DUMP_CELL_SIZE, "0x%llx", (unsigned long long)value);
	return buffer;
}

const char *dump_percent(
	uint64_t part, uint64_t whole, char buffer[static DUMP_CELL_SIZE])
{
	if (part == TTMEM_UNKNOWN || whole == TTMEM_UNKNOWN || whole == 0)
		return unknown(buffer);
	snprintf(buffer, DUMP_CELL_SIZE, "%.1f %%",
		100.0 * (double)part / (double)whole);
	return buffer;
}

const char *dump_duration(uint64_t ns, char buffer[static DUMP_CELL_SIZE])
{
	unsigned long long s = ns / SECOND_NS;

	if (ns == TTMEM_UNKNOWN)
		return unknown(buffer);
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
		return unknown(buffer);
	length = strftime(buffer, DUMP_CELL_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(buffer + length, DUMP_CELL_SIZE - length, ".%03uZ",
		(unsigned)(realtime_ns / 1000000 % 1000));
	return buffer;
}

const char *dump_pci(uint64_t address, char buffer[static DUMP_CELL_SIZE])
{
	if (address == TTMEM_UNKNOWN)
		return unknown(buffer);
	snprintf(buffer, DUMP_CELL_SIZE, "%04llx:%02x:%02x.%x",
		(unsigned long long)(address >> 16),
		(unsigned)(address >> 8 & 0xff),
		(unsigned)(address >> 3 & 0x1f), (unsigned)(address & 7));
	return buffer;
}

/* Asked once per user: name services may be slow. */
const char *dump_user(uint64_t uid, char buffer[static DUMP_CELL_SIZE])
{
	static uint64_t known_uid = TTMEM_UNKNOWN;
	static char known[DUMP_CELL_SIZE];
	const struct passwd *user;

	if (uid == TTMEM_UNKNOWN)
		return unknown(buffer);
	if (uid != known_uid) {
		user = getpwuid((uid_t)uid);
		if (user)
			ttm_text_escape(user->pw_name, known, sizeof(known));
		else
			dump_count(uid, known);
		known_uid = uid;
	}
	return memcpy(buffer, known, sizeof(known));
}

uint64_t dump_ago(const struct ttmem_snapshot *snapshot, uint64_t time_ns)
{
	uint64_t now = ttmem_snapshot_info(snapshot)->monotonic_ns;

	if (now == TTMEM_UNKNOWN || time_ns == TTMEM_UNKNOWN || time_ns > now)
		return TTMEM_UNKNOWN;
	return now - time_ns;
}

uint64_t dump_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	if (a == TTMEM_UNKNOWN || b == TTMEM_UNKNOWN ||
		__builtin_add_overflow(a, b, &sum))
		return TTMEM_UNKNOWN;
	return sum;
}
