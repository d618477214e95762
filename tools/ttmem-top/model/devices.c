/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct top_id device_id(const struct ttmem_device_row *row)
{
	struct top_id id = { row->identity + 1, 0 };

	id.b = row->identity == TTMEM_IDENTITY_CHIP ? row->chip_id :
		row->identity == TTMEM_IDENTITY_PCI ? row->pci_address :
						      row->logical;
	return id;
}

static int device_compare(const void *x, const void *y)
{
	const struct top_device *a = x, *b = y;

	return ttm_device_compare(a->number, a->row, b->number, b->row);
}

static void telemetry_join(
	const struct ttmem_snapshot *snapshot, struct top_devices *devices)
{
	const struct ttmem_telemetry_row *t;
	const struct ttmem_holder_row *holder;
	size_t i, at;

	for (i = 0; i < ttmem_snapshot_telemetry_len(snapshot); i++) {
		t = ttmem_snapshot_telemetry(snapshot, i);
		at = top_devices_of_index(devices, t->device);
		if (at < devices->len)
			devices->list[at].telemetry = t;
	}
	for (i = 0; i < ttmem_snapshot_holders_len(snapshot); i++) {
		holder = ttmem_snapshot_holder(snapshot, i);
		at = top_devices_of_index(devices, holder->device);
		if (at < devices->len && holder->reporting == 0)
			devices->list[at].untracked++;
	}
}

int top_devices_make(
	const struct ttmem_snapshot *snapshot, struct top_devices *ret_devices)
{
	size_t len = ttmem_snapshot_devices_len(snapshot), i;
	struct top_devices devices = { NULL, len };

	if (len) {
		devices.list = calloc(len, sizeof(*devices.list));
		if (!devices.list)
			return -ENOMEM;
	}
	for (i = 0; i < len; i++) {
		devices.list[i].index = i;
		devices.list[i].row = ttmem_snapshot_device(snapshot, i);
		devices.list[i].id = device_id(devices.list[i].row);
		devices.list[i].number = ttm_device_number(snapshot, i);
		ttm_device_name(snapshot, i, devices.list[i].name);
	}
	if (len)
		qsort(devices.list, len, sizeof(*devices.list), device_compare);
	telemetry_join(snapshot, &devices);
	*ret_devices = devices;
	return 0;
}

void top_devices_free(struct top_devices *devices)
{
	free(devices->list);
	devices->list = NULL;
	devices->len = 0;
}

size_t top_devices_find(const struct top_devices *devices, struct top_id id)
{
	size_t i;

	for (i = 0; i < devices->len; i++)
		if (top_id_equal(devices->list[i].id, id))
			break;
	return i;
}

size_t top_devices_of_index(const struct top_devices *devices, uint64_t index)
{
	size_t i;

	for (i = 0; i < devices->len; i++)
		if (devices->list[i].index == index)
			break;
	return i;
}

const char *top_device_board(const struct top_device *device)
{
	if (device->row->board)
		return device->row->board;
	return device->telemetry ? device->telemetry->card_type : NULL;
}

const char *top_device_arch(const struct top_device *device)
{
	if (device->row->arch)
		return device->row->arch;
	return device->telemetry ? device->telemetry->arch : NULL;
}
