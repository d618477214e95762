/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what is on each device, as ttmemd knows it.
 *
 *   cc devices.c -o devices $(pkg-config --cflags --libs ttmem-reader)
 */
#include <inttypes.h>
#include <stdio.h>

#include <ttmem/reader.h>

static int why_not(struct ttmem_reader *reader)
{
	struct ttmem_reader_status status = { .size = sizeof(status) };

	if (ttmem_reader_status(reader, &status) == 0)
		fprintf(stderr, "%s\n", status.reason);
	return 1;
}

static void devices_print(const struct ttmem_snapshot *snapshot)
{
	const struct ttmem_device_row *device;
	uint64_t i;

	for (i = 0; (device = ttmem_snapshot_device(snapshot, i)) != NULL; i++)
		printf("device %" PRIu64 " %s: DRAM %" PRIu64 ", L1 %" PRIu64
		       ", left behind %" PRIu64 " bytes of DRAM\n",
			device->logical, device->board ? device->board : "?",
			device->dram_use, device->l1_use,
			device->figures[TTMEM_FIGURE_DRAM].orphaned_bytes);
}

int main(void)
{
	struct ttmem_snapshot *snapshot = NULL;
	struct ttmem_reader *reader = NULL;
	int status = 1;

	if (ttmem_reader_open(NULL, &reader) < 0)
		return 1;
	if (ttmem_reader_snapshot(reader, 0, &snapshot) < 0)
		status = why_not(reader);
	/* Old figures are not figures. */
	else if (ttmem_snapshot_info(snapshot)->source != TTMEM_SOURCE_OK)
		fprintf(stderr, "ttmemd is %s\n",
			ttmem_name(TTMEM_NAMES_SOURCE,
				ttmem_snapshot_info(snapshot)->source));
	else
		status = 0;
	if (status == 0)
		devices_print(snapshot);
	ttmem_snapshot_free(&snapshot);
	ttmem_reader_close(&reader);
	return status;
}
