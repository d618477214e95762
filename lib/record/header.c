/* SPDX-License-Identifier: Apache-2.0 */
/* [event -> lane] -> drain -> apply -> publish -> read -> render */
#include "record/header.h"

#include <string.h>
#include <unistd.h>

#include "shm/checksum.h"
#include "shm/clock.h"
#include "shm/directory.h"
#include "shm/identity.h"
#include "shm/random.h"

/* Copies the path of the line "0::PATH" of the unified hierarchy. */
static void cgroup_read(char *ret_path, size_t size)
{
	char text[512];
	size_t length = ttm_file_read(
		"/proc/self/cgroup", text, sizeof(text) - 1);
	const char *line, *end;

	text[length] = '\0';
	for (line = text; line && *line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		if (strncmp(line, "0::", 3) != 0)
			continue;
		line += 3;
		length = end ? (size_t)(end - line) : strlen(line);
		memcpy(ret_path, line, length < size ? length : size);
		return;
	}
}

/* Read the process's name, not that of the thread that happens to be first. */
static void comm_read(char *ret_comm, size_t size)
{
	size_t length = ttm_file_read("/proc/self/comm", ret_comm, size);

	if (length && ret_comm[length - 1] == '\n')
		ret_comm[length - 1] = '\0';
}

static void identity_fill(struct ttm_header_const *sealed)
{
	const char *run_id = ttm_environment("TTMEM_RUN_ID");

	ttm_random_bytes(sealed->uuid, sizeof(sealed->uuid));
	sealed->uuid[6] = (uint8_t)((sealed->uuid[6] & 0x0f) | 0x40);
	sealed->uuid[8] = (uint8_t)((sealed->uuid[8] & 0x3f) | 0x80);
	ttm_boot_id_read(sealed->boot_id);
	if (run_id)
		memcpy(sealed->run_id, run_id,
			strnlen(run_id, sizeof(sealed->run_id)));
	sealed->pid = (uint32_t)getpid();
	sealed->uid = geteuid();
	sealed->pid_namespace = ttm_pid_namespace_read();
	sealed->start_time = ttm_start_time_read("/proc/self/stat");
	comm_read(sealed->comm, sizeof(sealed->comm));
	/* "self" has no start time once the first thread has ended, but is
	 * asked first: an emulator knows no other. */
	if (ttm_file_read("/proc/self/cmdline", sealed->cmdline,
		    sizeof(sealed->cmdline)) == 0)
		ttm_file_read("/proc/thread-self/cmdline", sealed->cmdline,
			sizeof(sealed->cmdline));
	cgroup_read(sealed->cgroup, sizeof(sealed->cgroup));
}

static void places_fill(struct ttm_header_const *sealed)
{
	sealed->extent_size = TTM_EXTENT_SIZE;
	sealed->lanes_max = TTM_LANES_MAX;
	sealed->lane_records = TTM_LANE_RECORDS;
	sealed->devices_max = TTM_DEVICES_MAX;
	sealed->failures_kept = TTM_FAILURES_KEPT;
	sealed->marks_kept = TTM_MARKS_KEPT;
	sealed->directory_off = TTM_DIRECTORY_OFF;
	sealed->lanes_off = TTM_LANES_OFF;
	sealed->devices_off = TTM_DEVICES_OFF;
	sealed->failures_off = TTM_FAILURES_OFF;
	sealed->marks_off = TTM_MARKS_OFF;
	sealed->places_off = TTM_PLACES_OFF;
	sealed->extents_off = TTM_EXTENTS_OFF;
}

void ttm_header_fill(struct ttm_header *header, uint32_t extents_max)
{
	struct ttm_header_const *sealed = &header->sealed;

	sealed->magic = TTM_SEGMENT_MAGIC;
	sealed->version = TTM_SEGMENT_VERSION;
	sealed->header_size = sizeof(*header);
	sealed->signature = TTM_SEGMENT_SIGNATURE;
	identity_fill(sealed);
	sealed->clock_kind = TTM_CLOCK_KIND;
	sealed->clock_hz = ttm_clock_hz();
	sealed->clock_base = ttm_clock_now();
	sealed->monotonic_base_ns = ttm_clock_ns(CLOCK_MONOTONIC);
	sealed->realtime_base_ns = ttm_clock_ns(CLOCK_REALTIME);
	places_fill(sealed);
	sealed->extents_max = extents_max;
	sealed->checksum = ttm_checksum(
		sealed, offsetof(struct ttm_header_const, checksum));
	header->live.state = TTM_SEGMENT_RUNNING;
}
