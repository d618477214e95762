/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain] -> apply -> publish -> read -> render */
/*
 * Whether a header can be believed. All offsets and counts are constants of this
 * version: a header that has others is not computed with, it is refused. Texts
 * (comm, cmdline, cgroup) may fill their fields to the last byte and hold any
 * bytes: whoever prints them goes by the field's size.
 */
#include "daemon/find/attached.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shm/checksum.h"

#define CLOCK_HZ_MIN 1000ull
#define CLOCK_HZ_MAX 100000000000ull

static int reason_set(char ret_reason[TTM_REASON_SIZE], const char *text)
{
	snprintf(ret_reason, TTM_REASON_SIZE, "%s", text);
	return -EPROTO;
}

static int reason_number(
	char ret_reason[TTM_REASON_SIZE], const char *field, uint64_t value)
{
	snprintf(ret_reason, TTM_REASON_SIZE, "%s is %llu", field,
		(unsigned long long)value);
	return -EPROTO;
}

static int format_check(
	const struct ttm_header_const *header, char ret_reason[TTM_REASON_SIZE])
{
	if (header->magic != TTM_SEGMENT_MAGIC)
		return reason_set(ret_reason, "it is no segment (magic)");
	if (header->version != TTM_SEGMENT_VERSION)
		return reason_number(ret_reason, "version", header->version);
	if (header->header_size != sizeof(struct ttm_header))
		return reason_number(
			ret_reason, "header size", header->header_size);
	if (header->signature != TTM_SEGMENT_SIGNATURE)
		return reason_set(
			ret_reason, "layout is another one (signature)");
	if (header->checksum !=
		ttm_checksum(
			header, offsetof(struct ttm_header_const, checksum)))
		return reason_set(ret_reason, "checksum is wrong");
	return 0;
}

/* Members of a header that have one right value. */
static int constants_check(
	const struct ttm_header_const *header, char ret_reason[TTM_REASON_SIZE])
{
	const struct {
		const char *name;
		uint64_t value;
		uint64_t wanted;
	} fields[] = {
		{ "extent size", header->extent_size, TTM_EXTENT_SIZE },
		{ "number of lanes", header->lanes_max, TTM_LANES_MAX },
		{ "records of a lane", header->lane_records, TTM_LANE_RECORDS },
		{ "number of devices", header->devices_max, TTM_DEVICES_MAX },
		{ "failures kept", header->failures_kept, TTM_FAILURES_KEPT },
		{ "marks kept", header->marks_kept, TTM_MARKS_KEPT },
		{ "directory offset", header->directory_off,
			TTM_DIRECTORY_OFF },
		{ "lanes offset", header->lanes_off, TTM_LANES_OFF },
		{ "devices offset", header->devices_off, TTM_DEVICES_OFF },
		{ "failures offset", header->failures_off, TTM_FAILURES_OFF },
		{ "marks offset", header->marks_off, TTM_MARKS_OFF },
		{ "places offset", header->places_off, TTM_PLACES_OFF },
		{ "extents offset", header->extents_off, TTM_EXTENTS_OFF },
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].value != fields[i].wanted)
			return reason_number(
				ret_reason, fields[i].name, fields[i].value);
	return 0;
}

static int ranges_check(const struct ttm_header_const *header,
	uint64_t file_size, char ret_reason[TTM_REASON_SIZE])
{
	uint64_t extents = header->extents_max;

	if (extents > TTM_EXTENTS_MAX)
		return reason_number(
			ret_reason, "most extents it may have", extents);
	if (file_size < TTM_EXTENTS_OFF ||
		file_size > TTM_EXTENTS_OFF + extents * TTM_EXTENT_SIZE)
		return reason_number(ret_reason, "file size", file_size);
	if (header->clock_kind < TTM_CLOCK_X86_TSC ||
		header->clock_kind > TTM_CLOCK_MONOTONIC_NS)
		return reason_number(
			ret_reason, "clock kind", header->clock_kind);
	if (header->clock_hz != 0 &&
		(header->clock_hz < CLOCK_HZ_MIN ||
			header->clock_hz > CLOCK_HZ_MAX))
		return reason_number(
			ret_reason, "clock rate", header->clock_hz);
	return 0;
}

static int identity_check(
	const struct ttm_header_const *header, char ret_reason[TTM_REASON_SIZE])
{
	static const uint8_t none[16];

	if (header->pid == 0 || header->pid > INT32_MAX)
		return reason_number(ret_reason, "pid", header->pid);
	/* Retirements go by it. */
	if (memcmp(header->uuid, none, sizeof(none)) == 0)
		return reason_set(ret_reason, "uuid is empty");
	return 0;
}

int ttm_header_check(const struct ttm_header_const *header, uint64_t file_size,
	char ret_reason[TTM_REASON_SIZE])
{
	int r = format_check(header, ret_reason);

	if (r == 0)
		r = constants_check(header, ret_reason);
	if (r == 0)
		r = ranges_check(header, file_size, ret_reason);
	if (r == 0)
		r = identity_check(header, ret_reason);
	return r;
}
