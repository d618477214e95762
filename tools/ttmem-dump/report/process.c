/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
/* A process as people know it. */
#include <stdio.h>
#include <string.h>

#include "common/process.h"
#include "ttmem-dump/cell.h"
#include "report.h"

#define DEVICES_LISTED 64u

const char *dump_process_name(const struct ttmem_snapshot *snapshot,
	uint64_t index, char buffer[static DUMP_NAME_SIZE])
{
	const struct ttmem_process_row *p = ttmem_snapshot_process(
		snapshot, index);

	return p ? ttm_process_name(p, buffer) : memcpy(buffer, "-", 2);
}

bool dump_process_is_dead(const struct ttmem_process_row *process)
{
	return process->state == TTMEM_PROCESS_EXITED ||
		process->state == TTMEM_PROCESS_DIED;
}

const char *dump_process_devices(const struct ttmem_snapshot *snapshot,
	uint64_t process, char buffer[static DUMP_NAME_SIZE])
{
	size_t len = ttmem_snapshot_shares_len(snapshot), length = 0, i, n = 0,
	       k;
	uint64_t listed[DEVICES_LISTED];
	char name[DUMP_CELL_SIZE];

	for (i = 0; i < len; i++) {
		const struct ttmem_share_row *share = ttmem_snapshot_share(
			snapshot, i);

		if (share->process != process)
			continue;
		for (k = 0; k < n && listed[k] != share->device; k++)
			;
		if (k < n)
			continue; /* under another number already */
		dump_device_name(snapshot, share->device, name, sizeof(name));
		if (n == DEVICES_LISTED ||
			length + strlen(name) + 5 >= DUMP_NAME_SIZE) {
			memcpy(buffer + length, ",...", 5);
			return buffer;
		}
		listed[n++] = share->device;
		length += (size_t)snprintf(buffer + length,
			DUMP_NAME_SIZE - length, "%s%s", length ? "," : "",
			name);
	}
	if (length == 0)
		memcpy(buffer, "-", 2);
	return buffer;
}
