/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a snapshot, in the order in which they are shown. */
#ifndef TTM_TOP_DEVICES_H
#define TTM_TOP_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/reader.h>

#include "common/device.h"
#include "format.h"

/* What stays the same from snapshot to snapshot. All zero: nobody. */
struct top_id {
	uint64_t a, b;
};

static inline bool top_id_equal(struct top_id x, struct top_id y)
{
	return x.a == y.a && x.b == y.b;
}

struct top_device {
	struct top_id id;
	uint64_t index; /* in the snapshot */
	const struct ttmem_device_row *row;
	const struct ttmem_telemetry_row *telemetry; /* NULL: none */
	uint64_t untracked; /* processes that have it open and do not report */
	uint64_t number;    /* that is displayed, or TTMEM_UNKNOWN */
	char name[TTM_DEVICE_NAME_SIZE];
};

struct top_devices {
	struct top_device *list;
	size_t len;
};

/* As ttm_device_compare() sorts them. Returns 0 or -ENOMEM. */
int top_devices_make(
	const struct ttmem_snapshot *snapshot, struct top_devices *ret_devices);
void top_devices_free(struct top_devices *devices);

/* Place in the list; `len`: none. */
size_t top_devices_find(const struct top_devices *devices, struct top_id id);
size_t top_devices_of_index(const struct top_devices *devices, uint64_t index);

/* What the board calls itself, else what programs said; NULL: unknown. */
const char *top_device_board(const struct top_device *device);
const char *top_device_arch(const struct top_device *device);

#endif
